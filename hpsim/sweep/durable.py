"""Files that are there whole or not at all, a folder's lock, and the operating system's refusals in plain words."""

from __future__ import annotations

import errno
import json
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hpsim.errors import RunFolderError

if TYPE_CHECKING:
    import pyarrow


def lock(path: Path) -> int:
    """A descriptor of the folder that holds its lock until it is closed, or the process ends however it may."""
    import fcntl

    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise RunFolderError(
            str(path), "another run is writing here", "wait until it ends, or choose another folder with --out"
        ) from None
    except OSError:
        pass  # a file system without locks: two runs of one sweep would still write equal files
    return descriptor


def write_durably(target: Path, content: bytes | pyarrow.Buffer, *, name_may_wait: bool = False) -> None:
    """Put ``content`` at ``target`` so that whatever happens the file is there whole, or not at all.

    With ``name_may_wait`` the folder is not fsynced: after a power cut the file may be absent, but never torn.

    It is written beside ``target`` under a name that starts with a dot and ends in ``.tmp``, which a killed process may
    leave behind.
    """
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    if not name_may_wait:
        fsync_directory(target.parent)


def read_json(path: Path) -> object:
    """The content of a JSON file; None when it is damaged or no file (a pipe would be waited for without end)."""
    if not stat.S_ISREG(path.stat().st_mode):
        return None
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return None


def fsync_directory(path: Path) -> None:
    """Make the names in ``path`` last: a renamed or created file survives a power cut only with its directory."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def told_plainly(path: Path) -> Iterator[None]:
    """The operating system's refusals as one line that says what is left and what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise RunFolderError(
                str(path),
                f"no room to write ({error.strerror})",
                "finished parts are intact; make room, and the same command resumes",
            ) from error
        named = str(error.filename or path)
        raise RunFolderError(
            str(path) if named.endswith(".tmp") else named,
            f"cannot be used ({error.strerror or error})",
            "a run needs a folder it may read and write; choose one with --out",
        ) from error
