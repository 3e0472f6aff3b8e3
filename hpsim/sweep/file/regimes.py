"""The regimes of a sweep file: names, and mappings of knobs whose counts may be drawn for each configuration.

``{name: tight, overlap: 0, buffers: 1}`` fixes knobs, ``{name: some, window: {integers: [1, 8]}}`` draws one, and
``{name: roomy, like: tight, buffers: +1}`` takes another regime's knobs, draws included, and changes some.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from typing import Annotated, Any, cast

from pydantic import Field, PlainValidator, WithJsonSchema

from hpsim.errors import RegimeError
from hpsim.exact import exact
from hpsim.regime import NAMES, Regime, named
from hpsim.sweep.file.distribution import DISTRIBUTION_SCHEMA, Distribution, read_whole
from hpsim.sweep.file.document import Increment
from hpsim.sweep.file.fields import NUMBER_SCHEMA, Part, plain, read_number, refusal, repeated, shown
from hpsim.sweep.file.knob_regime import COUNTS, KNOBS, Count, Draw, Entry, KnobRegime
from hpsim.sweep.file.validation import nearest

MOST = 2**20
MOST_REGIMES = 1000
UNLIMITED = "unlimited"
EXAMPLE = "{name: tight, overlap: 0, buffers: 1}"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,39}")
_LEAST = {"buffers": 0, "channels": 1, "window": 1}


def resolve(entries: Sequence[str | RegimeForm | KnobRegime]) -> list[Entry]:
    """The regimes of a list in known order: those that have names of their own, then mappings as they stand.

    Raises
    ------
    PydanticCustomError
        For too many regimes, a name that stands twice, and ``like`` with a regime that does not stand before.
    """
    if len(entries) > MOST_REGIMES:
        raise refusal((), f"{len(entries)} regimes", f"allowed: at most {MOST_REGIMES}")
    known: dict[str, KnobRegime] = {}
    names = [entry if isinstance(entry, str) else entry.name for entry in entries]
    again = repeated(name.lower() for name in names)
    for index, (name, entry) in enumerate(zip(names, entries, strict=True)):
        if index == again:
            raise refusal((index,), f"{shown(name)} a second time", "allowed: each regime once")
        if isinstance(entry, KnobRegime):
            known[name] = entry
        elif isinstance(entry, RegimeForm):
            known[name] = entry.knobs(known, index)
    return [*sorted((name for name in names if name in NAMES), key=NAMES.index), *known.values()]


def _limit(knob: str) -> Callable[[object], Any]:
    """A reader of a knob that counts: a whole number, ``unlimited``, ``+1``, a list of those, or a distribution."""
    least, each = _LEAST[knob], {"buffers": "stage", "channels": "link"}.get(knob)
    forms = [f"a whole number from {least} to {MOST}", UNLIMITED, f"a distribution such as {{integers: [{least}, 4]}}"]
    forms += [f"a list with one for each {each}"] if each else []
    allowed = f"allowed: {', '.join(forms)}, or with `like` so many more, such as +1"

    def one(path: tuple[int, ...], value: object) -> int | str:
        if value == UNLIMITED:
            return UNLIMITED
        number = -1
        if isinstance(value, int | Fraction) and not isinstance(value, bool) and value == int(value):
            number = int(value)
        if not least <= number <= MOST or isinstance(value, Increment):
            raise refusal(path, f"found {_signed(value)}", allowed)
        return number

    def read(value: object) -> int | str | tuple[int | str, ...] | Distribution:
        if isinstance(value, Increment):
            value = _signed(value)
        if isinstance(value, str) and re.fullmatch(r"\+[0-9]{1,6}", value):
            return value
        if isinstance(value, list | tuple) and each:
            if not value:
                raise refusal((), "an empty list", allowed)
            return tuple(one((index,), entry) for index, entry in enumerate(value))
        if isinstance(value, dict | Distribution):
            return read_whole(value, least, MOST, allowed)
        return one((), value)

    return read


def _signed(value: object) -> str:
    return f"+{int(value)}" if isinstance(value, Increment) else shown(value)


def _feedback(value: object) -> Fraction:
    if isinstance(value, Increment):
        raise refusal((), f"found {_signed(value)}", "allowed: a time >= 0; +1 adds to buffers, channels and window")
    return read_number(value)


def _overlap(value: object) -> Fraction | tuple[Fraction, ...]:
    listed = isinstance(value, list | tuple)
    entries: Sequence[object] = value if isinstance(value, list | tuple) else [value]
    if not entries:
        raise refusal((), "an empty list", "allowed: one share, or one for each link")
    shares = []
    for index, entry in enumerate(entries):
        share = read_number(entry)
        if share > 1:
            found = f"found {shown(share)}"
            raise refusal((index,) * listed, found, "allowed: a share from 0 (blocking) to 1 (fully overlapped)")
        shares.append(share)
    return tuple(shares) if listed else shares[0]


def _own_name(value: object) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        allowed = "allowed: letters, digits and `_`, a letter first, at most 40, since it names columns"
        raise refusal((), f"found {shown(value)}", allowed)
    if value in NAMES or value == "gpipe":
        raise refusal((), f"{value} is taken", f"allowed: a name other than {', '.join(NAMES)}, gpipe")
    return value


def _count_schema(least: int, each: str | None) -> dict[str, Any]:
    one = [{"type": "integer", "minimum": least, "maximum": MOST}, {"const": UNLIMITED}]
    several = [{"type": "array", "items": {"anyOf": one}}] if each else []
    drawn = DISTRIBUTION_SCHEMA["anyOf"][1:]  # the first is a bare number of any kind
    return {"anyOf": [*one, {"type": "string", "pattern": r"^\+[0-9]{1,6}$"}, *several, *drawn]}


_SHARE_SCHEMA = {"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, NUMBER_SCHEMA["anyOf"][1]]}
_OVERLAP_SCHEMA = {"anyOf": [_SHARE_SCHEMA, {"type": "array", "items": _SHARE_SCHEMA, "minItems": 1}]}
_Feedback = Annotated[Any, PlainValidator(_feedback), WithJsonSchema(NUMBER_SCHEMA)]
_Name = Annotated[str, PlainValidator(_own_name), WithJsonSchema({"type": "string", "pattern": f"^{_NAME.pattern}$"})]
_Overlap = Annotated[Any, PlainValidator(_overlap), WithJsonSchema(_OVERLAP_SCHEMA)]
_Buffers = Annotated[Any, PlainValidator(_limit("buffers")), WithJsonSchema(_count_schema(0, "stage"))]
_Channels = Annotated[Any, PlainValidator(_limit("channels")), WithJsonSchema(_count_schema(1, "link"))]
_Window = Annotated[Any, PlainValidator(_limit("window")), WithJsonSchema(_count_schema(1, None))]


class RegimeForm(Part):
    """A regime as a mapping of knobs."""

    name: _Name = Field(description="Names its columns: T_<name>, slope_<name>, critical_<name>.")
    like: str | None = Field(None, description="A regime of this list whose knobs it takes where it gives none.")
    overlap: _Overlap | None = Field(None, description="Share of each transfer that does not hold its sender; 1.")
    buffers: _Buffers | None = Field(None, description="Input places of each stage beside the one in service.")
    channels: _Channels | None = Field(None, description="Transfers that a link carries at once.")
    window: _Window | None = Field(None, description="Micro-batches in flight at most.")
    feedback: _Feedback | None = Field(None, description="With a window: time from the last stage back to the first.")

    def knobs(self, known: Mapping[str, KnobRegime], index: int = 0) -> KnobRegime:
        """The regime, with what it takes from ``known``; ``index`` is its place in the list, for messages."""
        base = KnobRegime(self.name)
        if self.like is not None:
            base = _base(self.like, known, index)
        changes: dict[str, Any] = {knob: getattr(self, knob) for knob in KNOBS if getattr(self, knob) is not None}
        changes.update({knob: self._count(knob, changes[knob], base, index) for knob in COUNTS if knob in changes})
        made = replace(base, **changes, name=self.name, written=tuple(self._written()), place=index)
        _check(made, index)
        return made

    def _count(self, knob: str, value: Any, base: KnobRegime, index: int) -> Count:
        if isinstance(value, str) and value.startswith("+"):
            if self.like is None:
                raise refusal((index, knob), f"{value} without `like`", "allowed: a number, or like: another regime")
            return _increased(getattr(base, knob), int(value), (index, knob))
        if isinstance(value, Distribution):
            if value.kind == "constant":
                return int(value.values[0])
            return Draw(value, self.name, knob)
        if isinstance(value, tuple):
            return tuple(None if entry == UNLIMITED else cast(int, entry) for entry in value)
        return None if value == UNLIMITED else cast(int, value)

    def _written(self) -> Iterator[tuple[str, Any]]:
        for key in type(self).model_fields:
            value = getattr(self, key)
            if isinstance(value, Distribution):
                yield key, value.resolved()
            elif isinstance(value, tuple):
                yield key, [plain(entry) if isinstance(entry, Fraction) else entry for entry in value]
            elif value is not None:
                yield key, plain(value) if isinstance(value, Fraction) else value


def _from_regime(regime: Regime) -> KnobRegime:
    """A regime that has a name, all of whose knobs are single numbers."""
    knobs = {knob.name: getattr(regime, knob.name) for knob in fields(regime)}
    return KnobRegime("", **(knobs | {name: exact(knobs[name]) for name in ("overlap", "feedback")}))


def _base(name: str, known: Mapping[str, KnobRegime], index: int) -> KnobRegime:
    """The regime that another is like: one that stands before, or one that has a name of its own."""
    if name in known:
        return known[name]
    if name in NAMES and name != "partial":
        return _from_regime(named(name))
    if name == "partial":
        raise refusal((index, "like"), "partial, whose overlap is drawn as rho", "allowed: a share as overlap")
    others = [*known, *(name for name in NAMES if name != "partial")]
    raise refusal((index, "like"), f"no regime {shown(name)} stands before", nearest(name, others))


def _increased(count: Count, by: int, path: tuple[int, str]) -> Count:
    more: Count
    if count is None:
        raise refusal(path, f"+{by} of what is unlimited", "allowed: leave it out, or a number")
    if isinstance(count, Draw):
        more, most = replace(count, plus=count.plus + by), int(count.distribution.high) + count.plus + by
    elif isinstance(count, tuple):
        more = tuple(None if entry is None else entry + by for entry in count)
        most = max((entry + by for entry in count if entry is not None), default=0)
    else:
        more = most = count + by
    if most > MOST:
        raise refusal(path, f"+{by} makes {most}", f"allowed: at most {MOST}")
    return more


def _check(made: KnobRegime, index: int) -> None:
    """Refuse knobs that mean nothing together."""
    try:
        made.regime({draw.knob: int(draw.distribution.high) + draw.plus for draw in made.draws})
    except RegimeError as error:
        written = dict(made.written)
        knob = next((knob for knob in (error.place, *KNOBS) if knob in written), "name")
        found = f"channels with overlap {_shares(made)}" if error.place == "channels" else error.found
        raise refusal((index, knob), found, f"allowed: {error.allowed}") from None


def _shares(made: KnobRegime) -> str:
    return ", ".join(shown(share) for share in made.shares)


def read_entry(value: object) -> str | RegimeForm | KnobRegime:
    """A regime of the list, by name or as a mapping."""
    if isinstance(value, KnobRegime):
        return value
    if isinstance(value, dict):
        return RegimeForm.model_validate(value)
    if not isinstance(value, str):
        raise refusal((), f"found {shown(value)}", f"allowed: {', '.join(NAMES)}, or a mapping, such as {EXAMPLE}")
    if value not in NAMES:
        raise refusal((), f"unknown regime {shown(value)}", f"{nearest(value, NAMES)}, or a mapping, such as {EXAMPLE}")
    return value


def _entry_schema() -> dict[str, Any]:
    return {"anyOf": [{"enum": list(NAMES)}, RegimeForm.model_json_schema()]}


RegimeEntry = Annotated[Any, PlainValidator(read_entry), WithJsonSchema(_entry_schema())]
