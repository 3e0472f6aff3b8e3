"""``--set key=value``: pieces of a sweep given on the command line, which beat the file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hpsim.errors import SweepFileError
from hpsim.sweep.file.distribution import KINDS
from hpsim.sweep.file.document import Document, KeyPath
from hpsim.sweep.file.yaml_file import parse


def with_settings(document: Document, settings: Sequence[str]) -> Document:
    """``document`` with each ``key=value`` applied in turn.

    Keys are dotted (``tau.loguniform=[0.1, 10]``), values YAML. Setting one distribution replaces the other kinds; a
    key inside something that is no mapping replaces it; an empty value takes the key out, so that its default holds.

    Raises
    ------
    SweepFileError
        For a setting that is not ``key=value``, or whose value is not YAML.
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
    data = _replaced(document.data, path, value)
    lines = {known: line for known, line in document.lines.items() if known[: len(path)] != path}
    given = {known: where for known, where in document.settings.items() if known[: len(path)] != path}
    return Document(document.file, data, lines, given | ({} if value is None else {path: place}))


def _replaced(data: Any, path: KeyPath, value: Any) -> dict[str, Any]:
    """A copy of the mapping ``data`` with ``value`` at ``path``."""
    key = str(path[0])
    copy: dict[str, Any] = dict(data) if isinstance(data, dict) else {}
    if len(path) > 1:
        copy[key] = _replaced(copy.get(key), path[1:], value)
    elif value is None:
        copy.pop(key, None)
    else:
        if key in KINDS:
            copy = {other: kept for other, kept in copy.items() if other not in KINDS}
        copy[key] = value
    return copy
