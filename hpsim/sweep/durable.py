"""Files that are there whole or not at all, a folder's lock, and the operating system's refusals in plain words."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING

from hpsim.errors import RunFolderError

if TYPE_CHECKING:
    import pyarrow

LARGEST_JSON = 2**20  # bytes of a run.json or a record, which have a few thousand


def check_is_folder(name: str) -> None:
    """Refuse for a new run what this or other programs would take for an address: ``s3:run``, ``file:///…``.

    Raises
    ------
    RunFolderError
        Before anything is written.
    """
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", name):
        raise RunFolderError("out", f"the address {name[:60]!r}", "a folder of this machine, such as results/mine")
    check_is_text(Path(name))


def check_is_text(path: Path) -> None:
    """Refuse a folder whose name has bytes that are no text: DuckDB could not open its files.

    Raises
    ------
    RunFolderError
        With the name, its bytes as escapes.
    """
    name = str(path.absolute())
    try:
        name.encode()
    except UnicodeEncodeError:
        raise RunFolderError(ascii(name[:200]), "has bytes that are no text in UTF-8", "another name") from None


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


def write_durably(target: Path, content: bytes) -> None:
    """Put ``content`` at ``target`` so that whatever happens the file is there whole, or not at all.

    It is written beside ``target`` under a name that starts with a dot and ends in ``.tmp``, which a killed process may
    leave behind.
    """
    temporary = _beside(target)
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
    fsync_directory(target.parent)


class Unnamed:
    """A file on its way to ``target``: written beside it under a name as in :func:`write_durably`, not yet on the disk.

    :meth:`flush` and then :meth:`name` put it in place; :meth:`discard` removes it.
    """

    def __init__(self, target: Path, content: pyarrow.Buffer) -> None:
        self._target = target
        self._content = content
        self._temporary = _beside(target)
        try:
            with self._temporary.open("wb") as file:
                file.write(content)
        except BaseException:
            self.discard()
            raise

    def flush(self) -> str:
        """Bring the content to the disk; its SHA-256."""
        with self._temporary.open("rb+") as file:
            os.fsync(file.fileno())
        return hashlib.sha256(self._content).hexdigest()

    def name(self) -> None:
        """Put the file in place, once it is on the disk.

        The folder is not fsynced: after a power cut the file may be absent, but never torn.
        """
        self._temporary.replace(self._target)

    def discard(self) -> None:
        """Remove the file if it has no name yet."""
        with suppress(OSError):
            self._temporary.unlink()


def _beside(target: Path) -> Path:
    return target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")


class IrregularFileError(OSError):
    """A pipe or a device where a file should be: reading it could wait without end."""


def open_regular(path: Path) -> BufferedReader:
    """The file ``path``, open for reading.

    Raises
    ------
    OSError
        When it is not there, may not be read, or (IrregularFileError) is no regular file.
    """
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115 - the caller closes it
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise IrregularFileError(errno.EINVAL, "it is no regular file", str(path))
    return file


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def read_at_most(path: Path, most: int) -> bytes | None:
    """The content of a file; None when it is longer than ``most`` bytes, or no regular file.

    Raises
    ------
    OSError
        When it is not there, or may not be read.
    """
    try:
        with open_regular(path) as file:
            content = file.read(most + 1)
    except (IrregularFileError, IsADirectoryError):
        return None
    return content if len(content) <= most else None


def read_json(path: Path) -> object:
    """The content of a small JSON file; None when it is damaged, far too large, or no regular file.

    Raises
    ------
    OSError
        When it is not there, or may not be read.
    """
    content = read_at_most(path, LARGEST_JSON)
    try:
        return None if content is None else json.loads(content)
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
