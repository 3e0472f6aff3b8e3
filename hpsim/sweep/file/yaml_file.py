"""Strict YAML: plain data, numbers exactly as written, the line of every key, one clear error instead of a guess.

A small part of YAML, chosen so that a file means what it seems to mean: one UTF-8 document, a mapping at the top, no
duplicate keys, no tags, no anchors or aliases (so nothing can expand without bound), no empty values. A plain number is
read exactly, ``1e-3`` and ``.5`` included; what is neither a number nor ``true``/``false`` is text. Sizes are limited
(:data:`MAX_BYTES`, :data:`MOST_VALUES`, :data:`MOST_KEYS`, :data:`MAX_DEPTH`), so that any file is read, or refused,
within seconds.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, NoReturn

import yaml

from hpsim.errors import SweepFileError
from hpsim.sweep.file.document import Document, Increment, KeyPath, Plain, dotted, one_line

MAX_BYTES = 8 * 2**20
MOST_VALUES = 250_000
"""Numbers, texts, lists and mappings of a file: 10,000 pipelines of 10 stages have 220,000."""
MOST_KEYS = 1000
MAX_DEPTH = 40
Kind = Literal["sweeps", "configs", "configs/counterexamples", "configs/logs"]
_KINDS: dict[Kind, tuple[str, str]] = {  # what such a file is, and how its name ends
    "sweeps": ("sweep file", ".yaml"),
    "configs": ("pipelines file", ".yaml"),
    "configs/counterexamples": ("counterexample file", ".yaml"),
    "configs/logs": ("request log", ".csv"),
}
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?0*([0-9]+))?")
_WORDS = dict.fromkeys(("", "~", "null", "Null", "NULL")) | dict.fromkeys(("true", "True", "TRUE"), True)
_WORDS |= dict.fromkeys(("false", "False", "FALSE"), False)
_TAG_DIRECTIVE = re.compile(r"(?:^|[\r\n\x85\u2028\u2029])%TAG")
_LONGEST_NUMBER = 400
_Parser = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load(path: Path, example: str = "configs: 1000", room: int = 1) -> Document:
    """Read a YAML file whose top level is a mapping, for example ``example``.

    ``room`` multiplies the limits of its size, for what hpsim wrote itself.

    Raises
    ------
    SweepFileError
        When the file is missing, unreadable, too large, not UTF-8, not YAML, empty, or not within the strict part of
        YAML described above.
    """
    file = str(path)
    data, lines = parse(_text(path, room * MAX_BYTES), file, most_values=room * MOST_VALUES)
    if data is None:
        raise SweepFileError(f"{file}:1", "the file is empty", f"a mapping of keys, for example `{example}`")
    if not isinstance(data, dict):
        allowed = f"a mapping of keys, for example `{example}`"
        raise SweepFileError(f"{file}:{lines[()]}", f"the top level is {_kind(data)}", allowed)
    empty = without_value(data)
    if empty is not None:
        place = f"{file}:{lines[empty]}: {dotted(empty)}"
        raise SweepFileError(place, "no value", "write a value, or leave the key out")
    return Document(file, data, lines)


def parse(
    text: str, place: str, line_numbers: bool = True, most_values: int = MOST_VALUES
) -> tuple[Plain, dict[KeyPath, int]]:
    """Plain data of one YAML document (``None`` when it is empty), and the line of every key path.

    ``place`` opens every error message; without ``line_numbers`` (a value from the command line) it is all of it.
    """
    builder = _Builder(text, place, line_numbers, most_values)
    directive = _TAG_DIRECTIVE.search(text)  # without tags it is of no use, and thousands of them take libyaml hours
    if directive is not None:
        line = text.count("\n", 0, directive.end()) + 1
        _refuse(builder.at(line), "the YAML directive %TAG", "a file without tags")
    try:
        return builder.document(), builder.lines
    except yaml.reader.ReaderError as error:
        position = error.position if isinstance(error.position, int) else 0
        line = text.count("\n", 0, position) + 1
        _refuse(builder.at(line), f"the character {_character(error.character)}", "printable text")
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = int(mark.line) + 1 if mark is not None else 1
        problem = (error.problem or error.context or "it cannot be read")[:200]
        _refuse(builder.at(line), f"not YAML: {problem}", _hint(problem))
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        if isinstance(error, SweepFileError):
            raise
        _refuse(builder.at(1), f"not YAML: {' '.join(str(error).split())[:200]}", _hint(""))


def without_value(data: Plain) -> KeyPath | None:
    """The first key path of ``data`` that has no value, if any."""
    return () if data is None else _without_value(data, ())


def find(name: str, kind: Kind, folder: Path = Path(), place: str | None = None) -> Path:
    """The file that ``name`` means: a path from ``folder`` on, or the bare name of a shipped file.

    ``.yaml``, or ``.csv`` for a request log, may be left off a bare name; ``place`` is where the name was written, for
    the error message.

    Raises
    ------
    SweepFileError
        When there is no such file; the message lists the shipped names.
    """
    path = folder / name
    try:
        if path.exists() and not path.is_dir():
            return path
        found = "is a folder" if path.is_dir() else "no such file"
    except (OSError, ValueError) as error:
        found = f"cannot be opened ({_reason(error)})"
    files = shipped(kind)
    what, ending = _KINDS[kind]
    stem = name.removesuffix(ending)
    if stem in files:
        return files[stem]
    close = difflib.get_close_matches(stem[:100].lower(), files, n=1, cutoff=0.75)
    hint = f"did you mean {close[0]}? otherwise " if close else ""
    allowed = f"{hint}a path to a {what}, or the name of a shipped one ({', '.join(files)})"
    written = one_line(str(path), 300)
    raise SweepFileError(place or written, f"{written}: {found}" if place else found, allowed)


def dump(data: object) -> str:
    """``data`` (plain JSON types) as YAML that :func:`parse` reads back as the same data."""
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, default_flow_style=None, allow_unicode=True, width=120)


class _Dumper(yaml.SafeDumper):
    """Quotes the text that this module would read as a number, which is more than YAML 1.1 does.

    Text that would move the cursor of a terminal is quoted too, with its characters as escapes.
    """

    def analyze_scalar(self, scalar: str) -> Any:
        analysis = super().analyze_scalar(scalar)
        if not scalar.isprintable():  # of the styles this leaves double quotes
            analysis.allow_flow_plain = analysis.allow_block_plain = False
            analysis.allow_single_quoted = analysis.allow_block = False
        return analysis

    def write_double_quoted(self, text: str, split: bool = True) -> None:
        self.allow_unicode = text.isprintable()
        super().write_double_quoted(text, split)


_Dumper.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(rf"(?:{_NUMBER.pattern})\Z"), list("-+.0123456789"))


class _Builder:
    """Turns parser events into plain data; an explicit depth limit, since a nested file must not exhaust the stack."""

    def __init__(self, text: str, place: str, line_numbers: bool, most_values: int) -> None:
        self.place = place
        self.line_numbers = line_numbers
        self.room = self.most_values = most_values
        self.lines: dict[KeyPath, int] = {}
        self.events: Iterator[yaml.Event] = iter(yaml.parse(text, Loader=_Parser))

    def document(self) -> Plain:
        data: Plain = None
        documents = 0
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    _refuse(self.at(_line(event)), "a second YAML document (`---`)", "one document a file")
                data = self.node(next(self.events), ())
        return data

    def node(self, event: yaml.Event, path: KeyPath) -> Plain:
        if path not in self.lines:
            self.lines[path] = _line(event)
        self.room -= 1
        if self.room < 0:
            _refuse(self.at(_line(event)), f"more than {self.most_values:,} values", "a smaller file")
        self.check(event, path)
        if isinstance(event, yaml.ScalarEvent):
            return self.scalar(event, path)
        return self.mapping(path) if isinstance(event, yaml.MappingStartEvent) else self.sequence(path)

    def check(self, event: yaml.Event, path: KeyPath) -> None:
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:  # type: ignore[attr-defined]
            sign = "*" if isinstance(event, yaml.AliasEvent) else "&"
            found = f"the YAML reference {sign}{event.anchor[:60]}"  # type: ignore[attr-defined]
            _refuse(self.at(_line(event), path), found, "write the value out, or quote the text")
        if event.tag is not None:  # type: ignore[attr-defined]
            found = f"the YAML tag {one_line(event.tag, 60)}"  # type: ignore[attr-defined]
            _refuse(self.at(_line(event), path), found, "a value without a tag, or quoted text")
        if len(path) > MAX_DEPTH:
            _refuse(self.at(_line(event)), f"nested deeper than {MAX_DEPTH} levels", "a flatter file")

    def mapping(self, path: KeyPath) -> dict[str, Plain]:
        data: dict[str, Plain] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                _refuse(self.at(_line(event), path), "a key that is a list, a mapping or a reference", "plain keys")
            self.check(event, path)
            if len(data) == MOST_KEYS:
                _refuse(self.at(_line(event), path), f"a mapping of more than {MOST_KEYS:,} keys", "fewer keys")
            key = event.value
            inner = (*path, key)
            if key in data:
                found = f"the key {key[:60]!r} a second time (first in line {self.lines[inner]})"
                _refuse(self.at(_line(event), inner), found, "each key once")
            self.lines[inner] = _line(event)
            data[key] = self.node(next(self.events), inner)
        return data

    def sequence(self, path: KeyPath) -> list[Plain]:
        data: list[Plain] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            data.append(self.node(event, (*path, len(data))))
        return data

    def scalar(self, event: yaml.ScalarEvent, path: KeyPath) -> Plain:
        text: str = event.value
        if event.style is not None and event.style != "":
            return text
        if text in _WORDS:
            return _WORDS[text]
        number = _NUMBER.fullmatch(text)
        if number is None:
            return text
        if len(text) > _LONGEST_NUMBER or len(number[1] or "") > 3:
            _refuse(self.at(_line(event), path), f"the number {text[:40]}", "a number within the range of float64")
        if not text.lstrip("-+").isdecimal():
            return Fraction(*Decimal(text).as_integer_ratio())  # Fraction(text), in half the time
        return Increment(text) if text.startswith("+") else int(text)

    def at(self, line: int, path: KeyPath = ()) -> str:
        if not self.line_numbers:
            return self.place
        return f"{self.place}:{line}: {dotted(path)}" if path else f"{self.place}:{line}"


def _refuse(place: str, found: str, allowed: str) -> NoReturn:
    raise SweepFileError(place, found, allowed) from None


def _line(event: yaml.Event) -> int:
    mark = event.start_mark
    return int(mark.line) + 1 if mark is not None else 1


def _kind(data: Plain) -> str:
    return "a list" if isinstance(data, list) else f"the single value {str(data)[:40]!r}"


def _without_value(data: Plain, path: KeyPath) -> KeyPath | None:
    inner: Iterable[tuple[str | int, Plain]] = ()
    if isinstance(data, dict):
        inner = data.items()
    elif isinstance(data, list):
        inner = enumerate(data)
    for key, value in inner:
        if value is None:
            return (*path, key)
        if isinstance(value, dict | list):
            empty = _without_value(value, (*path, key))
            if empty is not None:
                return empty
    return None


def _hint(problem: str) -> str:
    if "mapping values" in problem:
        return "`key: value`, one a line; text that contains `: ` in quotes"
    if "cannot start any token" in problem or "tab" in problem:
        return "spaces, not tabs, before a key or value; text that starts with a sign such as @ or % in quotes"
    return "valid YAML, with every bracket and quote closed"


def _character(character: object) -> str:
    return f"U+{character:04X}" if isinstance(character, int) else ascii(character)


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)


def shipped(kind: Kind) -> dict[str, Path]:
    """Name → path of the shipped files: inside an installed package, else beside it in a checkout."""
    package = Path(__file__).resolve().parents[2]
    _, ending = _KINDS[kind]
    for folder in (package / kind, package.parent / kind):
        files = {path.stem: path for path in sorted(folder.glob(f"*{ending}"))}
        if files:
            return files
    return {}


def _text(path: Path, most_bytes: int) -> str:
    file = one_line(str(path))
    try:
        with path.open("rb") as stream:
            content = stream.read(most_bytes + 1)
    except FileNotFoundError:
        _refuse(file, "no such file", "a path to a YAML file")
    except (OSError, ValueError) as error:
        _refuse(file, f"cannot be read ({_reason(error)})", "a readable YAML file")
    if len(content) > most_bytes:
        _refuse(file, f"larger than {most_bytes // 2**20} MiB", "a smaller file")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        _refuse(f"{file}:{line}", f"the byte 0x{content[error.start]:02x} is not UTF-8", "a file saved as UTF-8")
