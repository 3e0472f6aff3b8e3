"""Compiled code on disk, a sealed file for each compiled form of a function.

What is read back is machine code: one wrong byte is a crash or a wrong number. Numba's own files carry no checksum, and
their shared index lets two processes that compile at the same time mix up each other's functions. Here a file is named
by all that its content depends on and sealed with a checksum; what is not as it was written does not count, nor what
another user can have written (:mod:`hpsim.kernels._trust`).
"""

from __future__ import annotations

import hashlib
import pickle
import secrets
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from numba.core.serialize import dumps

from hpsim.kernels import _trust
from hpsim.kernels._trust import NotOursError

_SEAL = hashlib.sha256().digest_size


class CodeFiles:
    """The compiled forms of one function, a file each; any number of processes may read and write at once.

    Parameters
    ----------
    folders : tuple of Path
        Where they may be, absolute; new ones go to the first that can be written and that others cannot change, and
        none behind it is looked in.
    function : str
        The start of each file's name.
    origin : object
        Whatever all forms depend on (source, versions, flags), told apart by its ``repr``.
    """

    def __init__(self, folders: tuple[Path, ...], function: str, origin: object) -> None:
        self.folders = folders
        self.function = function
        self.origin = origin

    @property
    def folder(self) -> Path | None:
        """Where new ones go; None when there is no such folder."""
        return _place(self.folders)[0]

    @property
    def refused(self) -> dict[Path, NotOursError]:
        """The folders passed over because others can change them, and what was found."""
        return _place(self.folders)[1]

    def load(self, key: object) -> Any:
        """What was saved for ``key``, None when nothing was.

        Raises
        ------
        OSError, ValueError
            When there is a file, but it cannot be read, is not as it was written, or another user can have written it.
        """
        trouble: Exception | None = None
        for folder in self.folders:
            path = folder / self._name(key)
            try:
                return pickle.loads(_unsealed(path, _trust.read(path)))
            except (FileNotFoundError, NotADirectoryError, PermissionError):
                pass  # there is none for us
            except (OSError, ValueError) as error:
                trouble = trouble or error
            if folder == self.folder:
                break
        if trouble:
            raise trouble
        return None

    def save(self, key: object, data: object) -> None:
        """Put ``data`` there for ``key``, at once and whole.

        Raises
        ------
        OSError
            When it cannot be written.
        """
        if self.folder is None:
            raise OSError("no folder for it can be written")
        path, code = self.folder / self._name(key), dumps(data)  # type: ignore[no-untyped-call]
        temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}.tmp")
        try:
            _trust.write(temporary, _seal(path, code) + code)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise

    def _name(self, key: object) -> str:
        name = hashlib.sha256(repr((self.origin, key)).encode()).hexdigest()[:32]
        return f"{self.function}.{name}.nbc"


@cache
def _place(folders: tuple[Path, ...]) -> tuple[Path | None, dict[Path, NotOursError]]:
    """The first of ``folders`` that can be written and that others cannot change; those that they can."""
    refused: dict[Path, NotOursError] = {}
    for folder in folders:
        try:
            _trust.make_folder(folder)
            tempfile.TemporaryFile(dir=folder).close()
        except NotOursError as error:
            refused[folder] = error
        except OSError:  # it cannot be written
            continue
        else:
            return folder, refused
    return None, refused


def _unsealed(path: Path, content: bytes) -> bytes:
    code = content[_SEAL:]
    if content[:_SEAL] != _seal(path, code):
        raise ValueError(f"{path} is damaged")
    return code


def _seal(path: Path, code: bytes) -> bytes:
    """The checksum covers the name, so that a file under another's name does not count."""
    return hashlib.sha256(path.name.encode() + b"\0" + code).digest()
