"""Compiled code on disk, a sealed file for each compiled form of a function.

What is read back is machine code: one wrong byte is a crash or a wrong number. Numba's own files carry no checksum, and
their shared index lets two processes that compile at the same time mix up each other's functions. Here a file is named
by all that its content depends on and sealed with a checksum; what is not as it was written does not count.
"""

from __future__ import annotations

import hashlib
import pickle
import secrets
from pathlib import Path
from typing import Any

from numba.core.serialize import dumps

_SEAL = hashlib.sha256().digest_size


class CodeFiles:
    """The compiled forms of one function, a file each; any number of processes may read and write at once.

    Parameters
    ----------
    folder : Path
        Where they are.
    function : str
        The start of each file's name.
    origin : object
        Whatever all forms depend on (source, versions, flags), told apart by its ``repr``.
    """

    def __init__(self, folder: Path, function: str, origin: object) -> None:
        self.folder = folder
        self.function = function
        self.origin = origin

    def load(self, key: object) -> Any:
        """What was saved for ``key``, None when nothing was.

        Raises
        ------
        OSError, ValueError
            When the file cannot be read, or is not as it was written.
        """
        path = self._path(key)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        code = content[_SEAL:]
        if content[:_SEAL] != _seal(path, code):
            raise ValueError(f"{path} is damaged")
        return pickle.loads(code)

    def save(self, key: object, data: object) -> None:
        """Put ``data`` there for ``key``, at once and whole."""
        path, code = self._path(key), dumps(data)  # type: ignore[no-untyped-call]
        temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}.tmp")
        try:
            temporary.write_bytes(_seal(path, code) + code)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise

    def _path(self, key: object) -> Path:
        name = hashlib.sha256(repr((self.origin, key)).encode()).hexdigest()[:32]
        return self.folder / f"{self.function}.{name}.nbc"


def _seal(path: Path, code: bytes) -> bytes:
    """The checksum covers the name, so that a file under another's name does not count."""
    return hashlib.sha256(path.name.encode() + b"\0" + code).digest()
