"""``--set key=value``: pieces of a sweep given on the command line, which beat the file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hpsim.errors import SweepFileError
from hpsim.sweep.file.distribution import KINDS
from hpsim.sweep.file.document import Document, KeyPath, dotted
from hpsim.sweep.file.yaml_file import parse, without_value


def with_settings(document: Document, settings: Sequence[str]) -> Document:
    """``document`` with each ``key=value`` applied in turn.

    Keys are dotted (``tau.loguniform=[0.1, 10]``), values YAML. Setting one distribution replaces the other kinds; a
    key inside something that is no mapping replaces it.

    Raises
    ------
    SweepFileError
        For a setting that is not ``key=value``, or whose value is empty or not YAML.
    """
    for setting in settings:
        document = _applied(document, setting)
    return document


def _applied(document: Document, setting: str) -> Document:
    key, equals, text = setting.partition("=")
    path: KeyPath = tuple(key.strip().split("."))
    if not equals or "" in path:
        raise SweepFileError(f"--set {setting[:60]}", "not key=value", "for example --set configs=100")
    place = f"--set {key.strip()}"
    value, _ = parse(text, place, line_numbers=False)
    empty = without_value(value)
    if empty is not None:
        found = f"no value at {dotted(empty)}" if empty else "no value"
        raise SweepFileError(place, found, "give a value; for the default, take the key out of the file")
    data = _replaced(document.data, path, value)
    gone = _replaced_at(document.data, path)
    lines = {known: line for known, line in document.lines.items() if known[: len(gone)] != gone}
    given = {known: where for known, where in document.settings.items() if known[: len(gone)] != gone}
    return Document(document.file, data, lines, given | {path: place})


def _replaced_at(data: Any, path: KeyPath) -> KeyPath:
    """Where what was in ``data`` gives way to ``path``: there, or above it at what is no mapping."""
    for length, key in enumerate(path, start=1):
        data = data.get(key)
        if not isinstance(data, dict):
            return path[:length]
    return path


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
