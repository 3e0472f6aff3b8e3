"""Where two sweeps differ, in the words of their files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction

from hpsim.sweep.file.fields import plain


def differing_keys(there: object, here: object, key: str = "") -> Iterator[str]:
    """Each differing key, dotted, with both values."""
    if isinstance(there, dict) and isinstance(here, dict):
        for name in [*there, *(name for name in here if name not in there)]:
            yield from differing_keys(there.get(name), here.get(name), f"{key}.{name}" if key else str(name))
    elif there != here:
        yield f"{key}: {short(there)} there, {short(here)} here"


def _plain(value: object) -> object:
    return plain(value) if isinstance(value, Fraction) else str(value)


def short(value: object) -> str:
    """A value of a sweep file on one short line."""
    text = "absent" if value is None else json.dumps(value, ensure_ascii=False, default=_plain)
    return text if len(text) <= 60 else text[:57] + "..."
