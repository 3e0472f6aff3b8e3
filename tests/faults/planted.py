"""Compiled code as somebody else would plant it: sealed as ours is, and running something else when it is read."""

from __future__ import annotations

import hashlib
import os
import pickle
from pathlib import Path


class Payload:
    """Unpickled, it makes the file ``marker``."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, ...]:
        return os.open, (str(self.marker), os.O_CREAT)


def plant(file: Path, marker: Path) -> None:
    """Put it in the place of a file of compiled code; its checksum is right, for it is no secret how it is made."""
    code = pickle.dumps(Payload(marker))
    file.write_bytes(hashlib.sha256(file.name.encode() + b"\0" + code).digest() + code)
