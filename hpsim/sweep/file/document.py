"""Plain data from a YAML file, and where each piece of it stands."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction

KeyPath = tuple[str | int, ...]
Plain = None | bool | int | float | Fraction | str | list["Plain"] | dict[str, "Plain"]


class Increment(int):
    """A whole number written with a plus sign, which in a few places means: so many more."""


@dataclass(frozen=True)
class Document:
    """Plain data from a YAML file, and where each piece of it stands.

    Attributes
    ----------
    file : str
        The file's path as the user would recognise it.
    data : dict
        Mappings, lists, text, ``bool``, ``int`` and :class:`~fractions.Fraction`.
    lines : dict
        Key path, such as ``("tau", "uniform", 1)``, to line, from 1.
    settings : dict
        Key path to its place, for the pieces that came from the command line and not from the file.
    """

    file: str
    data: dict[str, Plain]
    lines: dict[KeyPath, int] = field(default_factory=dict)
    settings: dict[KeyPath, str] = field(default_factory=dict)

    def place(self, path: KeyPath) -> str:
        """Where ``path`` stands: ``file:line: key.path`` or ``--set key.path``; a missing key has its parent's line."""
        for key, place in self.settings.items():
            if key == path[: len(key)] or (path not in self.lines and path == key[: len(path)]):
                return place
        where = f"{self.file}:{self._line(path)}"
        return f"{where}: {dotted(path)}" if path else where

    def order(self, path: KeyPath) -> tuple[int, int]:
        """Sort key of ``path``: the file from top to bottom, then the command line in the order given."""
        given = [number for number, key in enumerate(self.settings) if key == path[: len(key)]]
        if given:
            return (1, given[0])
        return (0, self._line(path))

    def _line(self, path: KeyPath) -> int:
        while path not in self.lines and path:
            path = path[:-1]
        return self.lines.get(path, 1)


def dotted(path: KeyPath) -> str:
    """``("pipelines", 2, "tau")`` as ``pipelines[2].tau``."""
    text = ""
    for key in path:
        if isinstance(key, int):
            text += f"[{key}]"
        else:
            text += ("." if text else "") + (key if re.fullmatch(r"[\w.+-]{1,60}", key) else repr(key[:60]))
    return text


def one_line(text: str, most: int | None = None) -> str:
    """``text`` for a message: printable, and cut after ``most`` characters."""
    short = text if most is None or len(text) <= most else f"{text[:most]}..."
    return short if short.isprintable() else ascii(short)
