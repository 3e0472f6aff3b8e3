"""Files that are run, and the folders that they stand in: only what no other user can have written.

A checksum says that a file is as it was written, not who wrote it. The system does: a file counts when it, its folder
and every folder and symbolic link on the way there belong to this user or to root, and nobody else may write to them.

Reading is not restricted: machine code made of public sources is no secret, and what root has compiled serves all.
Windows has no such owners and modes: there a user's folders are closed to others anyway, and nothing is checked.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_FOLDER, _FILE = 0o755, 0o644  # at most, whatever the umask allows
_HAS_OWNERS = hasattr(os, "geteuid")


class NotOursError(OSError):
    """Another user owns, or may change, a file or the way to it."""


def read(path: Path) -> bytes:
    """The content of a file that only this user and root can have written.

    Raises
    ------
    NotOursError
        When another user can have written it.
    OSError
        When there is no such file, or it cannot be read.
    """
    path.lstat()  # where nothing stands, whose the folder is does not matter
    check_folder(path.parent)
    with open(path, "rb", opener=_itself) as file:
        found = os.fstat(file.fileno())  # of what is open, whatever stands under its name by now
        if not stat.S_ISREG(found.st_mode):
            raise NotOursError(f"{path} is not a file")
        _check(path, found)
        return file.read()


def write(path: Path, content: bytes) -> None:
    """A new file that others cannot change, whatever the umask."""
    with open(path, "xb", opener=lambda name, flags: os.open(name, flags, _FILE)) as file:
        file.write(content)


def make_folder(folder: Path) -> None:
    """Make a folder, where it is missing, that others cannot change, and nothing where they could exchange it.

    Raises
    ------
    NotOursError
        When another user can change what stands in ``folder``.
    OSError
        When it cannot be made.
    """
    _make(folder)
    check_folder(folder)


@cache
def check_folder(folder: Path) -> None:
    """Make sure that only this user and root can say what stands in ``folder``; looked up once per process.

    The folder itself must not be open to others even with the sticky bit: they cannot remove what is ours there, but
    they can put links to other files of ours beside it.

    Raises
    ------
    NotOursError
        When another user can.
    OSError
        When it is missing.
    """
    _check(folder, folder.stat())
    _check_way(folder)


def _itself(path: str, flags: int) -> int:
    """Open what stands there and not what it points to, without waiting for a writer if it is a pipe."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def _make(folder: Path) -> None:
    if not folder.is_dir():
        _make(folder.parent)
        _check_way(folder.parent)
        folder.mkdir(_FOLDER, exist_ok=True)


def _check_way(folder: Path) -> None:
    """Others must not exchange anything on the way; where the sticky bit is set they cannot (``/tmp``)."""
    for step in _way(folder):
        found = step.lstat()
        _check(step, found, closed=not (stat.S_ISLNK(found.st_mode) or found.st_mode & stat.S_ISVTX))


def _way(path: Path) -> Iterator[Path]:
    """Every folder and symbolic link that leads to ``path``, and itself; a link before what it points to."""
    for step in (*reversed(path.parents), path):
        yield step
        if step.is_symlink():
            yield from _way(step.parent / step.readlink())


def _check(path: Path, found: os.stat_result, *, closed: bool = True) -> None:
    """``found`` belongs to us or root, and if it has to be ``closed``, no others may write to it."""
    if not _HAS_OWNERS:
        return
    if found.st_uid not in (os.geteuid(), 0):
        raise NotOursError(f"{path} belongs to another user")
    if closed and _others_may_write(path, found):
        raise NotOursError(f"other users may write to {path}")


def _others_may_write(path: Path, found: os.stat_result) -> bool:
    if found.st_mode & stat.S_IWOTH:
        return True
    if not found.st_mode & stat.S_IWGRP:
        return False
    return not _alone_in(found.st_gid, found.st_uid) or _has_access_list(path)


@cache
def _alone_in(group: int, owner: int) -> bool:
    """Whether ``group`` is the group of this one user: called the same, and with no other member.

    Where every user has such a group, all that the user makes can usually be written by it (umask 002). Never root's:
    there some system accounts have the same group.
    """
    import grp  # neither is there on Windows
    import pwd

    if owner != os.geteuid() or owner == 0:
        return False
    try:
        user, its_group = pwd.getpwuid(owner), grp.getgrgid(group)
    except KeyError:
        return False
    return (user.pw_gid, user.pw_name) == (group, its_group.gr_name) and set(its_group.gr_mem) <= {user.pw_name}


def _has_access_list(path: Path) -> bool:
    """Whether others may be named in an access list, whose upper bound then stands in place of the group's bits."""
    return hasattr(os, "listxattr") and "system.posix_acl_access" in os.listxattr(path)
