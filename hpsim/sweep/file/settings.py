"""``--set key=value``: pieces of a sweep given on the command line, which beat the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from hpsim.errors import SweepFileError
from hpsim.sweep.file.distribution import KINDS
from hpsim.sweep.file.document import Document, KeyPath, dotted, one_line
from hpsim.sweep.file.yaml_file import MAX_DEPTH, parse, without_value

MOST_SETTINGS = 1000


def with_settings(document: Document, settings: Sequence[str]) -> Document:
    """``document`` with each ``key=value`` applied in turn.

    Keys are dotted (``tau.loguniform=[0.1, 10]``), values YAML. Setting one distribution replaces the other kinds; a
    key inside something that is no mapping replaces it.

    Raises
    ------
    SweepFileError
        For a setting that is not ``key=value``, or whose value is empty or not YAML.
    """
    if len(settings) > MOST_SETTINGS:
        raise SweepFileError("--set", f"{len(settings)} settings", f"at most {MOST_SETTINGS}")
    changed = replace(document, lines=dict(document.lines))  # a copy, to take from
    for setting in settings:
        changed = _applied(changed, setting)
    return changed


def _applied(document: Document, setting: str) -> Document:
    key, equals, text = setting.partition("=")
    path: KeyPath = tuple(key.strip().split("."))
    if not equals or "" in path:
        raise SweepFileError(f"--set {one_line(setting, 60)}", "not key=value", "for example --set configs=100")
    place = f"--set {one_line(key.strip(), 60)}"
    if len(path) > MAX_DEPTH:
        raise SweepFileError(place, f"a key of {len(path)} parts", f"at most {MAX_DEPTH}")
    value, _ = parse(text, place, line_numbers=False)
    empty = without_value(value)
    if empty is not None:
        found = f"no value at {dotted(empty)}" if empty else "no value"
        raise SweepFileError(place, found, "give a value; for the default, take the key out of the file")
    gone, replaced = _replaced_at(document.data, path)
    if isinstance(replaced, list) and len(gone) < len(path):
        raise SweepFileError(place, f"a key inside the list {dotted(gone)}", f"give all of it: {dotted(gone)}=[…]")
    for known in _paths(replaced, gone):
        document.lines.pop(known, None)
    data = _replaced(document.data, path, value)
    given = {known: where for known, where in document.settings.items() if known[: len(gone)] != gone}
    return Document(document.file, data, document.lines, given | {path: place})


def _paths(data: Any, path: KeyPath) -> Iterator[KeyPath]:
    """The key paths of ``data``, which stands at ``path``."""
    yield path
    for key, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        yield from _paths(value, (*path, key))


def _replaced_at(data: Any, path: KeyPath) -> tuple[KeyPath, Any]:
    """Where what was in ``data`` gives way to ``path``, there or above it at what is no mapping; and what it is."""
    for length, key in enumerate(path, start=1):
        data = data.get(key)
        if not isinstance(data, dict):
            return path[:length], data
    return path, data


def _replaced(data: Any, path: KeyPath, value: Any) -> dict[str, Any]:
    """A copy of the mapping ``data`` with ``value`` at ``path``."""
    key = str(path[0])
    copy: dict[str, Any] = dict(data) if isinstance(data, dict) else {}
    if len(path) > 1:
        copy[key] = _replaced(copy.get(key), path[1:], value)
    else:
        if key in KINDS:
            copy = {other: kept for other, kept in copy.items() if other not in KINDS}
        copy[key] = value
    return copy
