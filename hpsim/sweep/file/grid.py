"""The ``grid:`` source of a sweep: every combination of explicit values."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import Annotated, Any

from pydantic import Field, PlainValidator, TypeAdapter, WithJsonSchema, field_validator, model_validator

from hpsim.sweep.file.fields import (
    MAX_STAGES,
    NUMBER_SCHEMA,
    Listed,
    Number,
    Part,
    Stages,
    common_denominator,
    counted,
    plain,
    refusal,
    repeated,
    shown,
)

MOST_LEVELS = 100_000
Vector = tuple[Fraction, ...]
Level = Fraction | Vector
"""A number, which is meant for every link, or a vector with one value a link."""


@dataclass(frozen=True)
class Each:
    """Every entry of a vector runs over ``values`` on its own, the last entry fastest."""

    values: Vector


Axis = tuple[Level, ...] | Each


class AxisForm(Part):
    """An axis as a mapping: exactly one of ``each`` and ``range``."""

    each: Listed[Number] | None = Field(
        None, min_length=1, description="Values that every entry takes independently of the others."
    )
    range: Listed[Number] | None = Field(
        None, min_length=3, max_length=3, description="[start, stop, step]: start, start + step, …, stop, exactly."
    )

    @model_validator(mode="after")
    def _one(self) -> AxisForm:
        if (self.each is None) == (self.range is None):
            found = "both each and range" if self.each else "neither each nor range"
            raise refusal((), f"found {found}", "allowed: {each: [values]}, {range: [start, stop, step]}, or a list")
        index = repeated(self.each or ())
        if self.each is not None and index is not None:
            raise refusal(("each", index), f"{shown(self.each[index])} a second time", "allowed: each value once")
        if self.range is not None:
            _check_range(*self.range)
        return self

    def axis(self) -> Axis:
        if self.each is not None:
            return Each(tuple(self.each))
        assert self.range is not None
        start, stop, step = self.range
        return tuple(start + step * k for k in range(int((stop - start) / step) + 1))


def _check_range(start: Fraction, stop: Fraction, step: Fraction) -> None:
    if step == 0:
        raise refusal(("range", 2), "a step of 0", "allowed: a step > 0")
    if start > stop:
        raise refusal(("range",), f"an empty range, from {shown(start)} to {shown(stop)}", "allowed: start <= stop")
    steps = (stop - start) / step
    if steps >= MOST_LEVELS:
        raise refusal(("range",), f"about {int(steps)} levels", f"allowed: at most {MOST_LEVELS}")
    if steps.denominator != 1:
        ends = [shown(start + step * k) for k in (math.floor(steps), math.ceil(steps))]
        found = f"{shown(stop)} is not start plus a whole number of steps"
        raise refusal(("range", 1), found, f"allowed: the nearest ends are {ends[0]} and {ends[1]}")


_VECTOR = TypeAdapter(Listed[Number])
_LEVELS = TypeAdapter(Listed[Annotated[Level, PlainValidator(lambda value: _level(value))]])
_VECTORS = TypeAdapter(Listed[Listed[Number]])


def _level(value: object) -> Level:
    if isinstance(value, list | tuple):
        return tuple(_VECTOR.validate_python(value))
    numbers: list[Fraction] = _VECTOR.validate_python([value])
    return numbers[0]


def _axis(value: object) -> Axis:
    if isinstance(value, Each):
        return value
    if isinstance(value, dict):
        return AxisForm.model_validate(value).axis()
    levels = value if isinstance(value, list | tuple) else [value]
    if not levels:
        raise refusal((), "an empty list", "allowed: at least one level")
    return tuple(_LEVELS.validate_python(list(levels)))


def _tau_axis(value: object) -> Axis:
    example = "allowed: a list of vectors, [[0.5, 1, 1, 5]], or {each: [1, 2]} with stages"
    if isinstance(value, Each):
        return value
    if isinstance(value, dict):
        axis = AxisForm.model_validate(value).axis()
        if not isinstance(axis, Each):
            raise refusal(("range",), "a range of service times", example)
        if 0 in axis.values:
            raise refusal(("each", axis.values.index(Fraction(0))), "0", "allowed: service times > 0 with each")
        return axis
    if not isinstance(value, list | tuple) or not value or not all(isinstance(entry, list | tuple) for entry in value):
        raise refusal((), f"found {shown(value)}", example)
    vectors = _VECTORS.validate_python([list(entry) for entry in value])
    for index, vector in enumerate(vectors):
        if not vector:
            raise refusal((index,), "no service time", "allowed: one for each stage, such as [0.5, 1, 1, 5]")
        if not any(vector):
            raise refusal((index,), "every service time is 0", "allowed: at least one above 0")
        if len(vector) > MAX_STAGES:
            raise refusal((index,), f"{len(vector)} stages", f"allowed: at most {MAX_STAGES}")
    return tuple(tuple(vector) for vector in vectors)


def _rho_axis(value: object) -> tuple[Fraction, ...]:
    if value == ():
        return ()
    axis = _axis(value)
    if isinstance(axis, Each):
        raise refusal((), "found each", "allowed: a list of shares, or {range: [0, 1, 0.25]}")
    shares: list[Fraction] = []
    for index, share in enumerate(axis):
        if isinstance(share, tuple) or share > 1:
            raise refusal((index,), f"found {shown(share)}", "allowed: a share from 0 to 1, the same for every link")
        shares.append(share)
    return tuple(shares)


_LIST_SCHEMA: dict[str, Any] = {"type": "array", "items": NUMBER_SCHEMA, "minItems": 1}
_VECTORS_SCHEMA: dict[str, Any] = {"type": "array", "items": _LIST_SCHEMA, "minItems": 1}
_LEVELS_SCHEMA: dict[str, Any] = {
    "type": "array",
    "items": {"anyOf": [NUMBER_SCHEMA, {"type": "array", "items": NUMBER_SCHEMA}]},
    "minItems": 1,
}
_FORM_SCHEMA = AxisForm.model_json_schema()
_AXIS_SCHEMA = {"anyOf": [NUMBER_SCHEMA, _LEVELS_SCHEMA, _FORM_SCHEMA]}

TauAxis = Annotated[Axis, PlainValidator(_tau_axis), WithJsonSchema({"anyOf": [_VECTORS_SCHEMA, _FORM_SCHEMA]})]
LinkAxis = Annotated[Axis, PlainValidator(_axis), WithJsonSchema(_AXIS_SCHEMA)]
RhoAxis = Annotated[
    tuple[Fraction, ...],
    PlainValidator(_rho_axis),
    WithJsonSchema({"anyOf": [NUMBER_SCHEMA, _LIST_SCHEMA, _FORM_SCHEMA]}),
]


class Grid(Part):
    """Every combination of the given values.

    Configurations are numbered with S outermost, then tau, d, latency, and rho innermost (fastest). ``stages`` gives
    the order of S; vectors of several lengths are grouped by length, lengths in the order in which they first appear,
    and within a length vectors stay in the order given. Of an :class:`Each` vector the last entry varies fastest. With
    one stage there are no links: a number stays one level, an ``Each`` has one (empty) combination.

    Attributes
    ----------
    stages : tuple of int
        The numbers of stages.
    tau : tuple of vectors, or Each
        Service times.
    d, latency : tuple of (number or vector), or Each
        A number means that number on every link; 0 when left out.
    rho : tuple of Fraction
        Overlapped shares, for ``partial``; empty when left out.
    """

    tau: TauAxis = Field(description="Service times: a list of vectors, or each.")
    stages: tuple[Stages, ...] = Field((), fail_fast=True, description="Numbers of stages, for `tau: {each: …}`.")
    d: LinkAxis = Field((Fraction(0),), description="Transfer times: levels, vectors, range or each.")
    latency: LinkAxis = Field((Fraction(0),), description="Travel times that occupy nothing.")
    rho: RhoAxis = Field((), description="Overlapped shares of each transfer, for `partial`.")

    @field_validator("stages", mode="before")
    @classmethod
    def _one_number(cls, value: Any) -> Any:
        return value if isinstance(value, list | tuple) else [value]

    @model_validator(mode="before")
    @classmethod
    def _lengths(cls, data: Any) -> Any:
        """The numbers of stages, where the vectors of ``tau`` tell them."""
        vectors = data.get("tau") if isinstance(data, dict) else None
        if not isinstance(vectors, list | tuple) or not all(isinstance(vector, list | tuple) for vector in vectors):
            return data
        if data.get("stages") is not None:
            raise refusal(("stages",), "stages beside vectors, whose lengths say it", "allowed: with `tau: {each: …}`")
        lengths = dict.fromkeys(len(vector) for vector in vectors if 0 < len(vector) <= MAX_STAGES)
        return {"stages": list(lengths)} | data

    @model_validator(mode="after")
    def _fits(self) -> Grid:
        if not self.stages:
            raise refusal(("stages",), "this key is missing", "allowed: with `tau: {each: …}`, stages: 3 or [2, 3]")
        if repeated(self.stages) is not None:
            raise refusal(("stages",), "a number of stages twice", "allowed: each once")
        for key in ("d", "latency"):
            axis = getattr(self, key)
            for index, level in enumerate(axis if isinstance(axis, tuple) else ()):
                for S in self.stages if isinstance(level, tuple) else ():
                    if len(level) != S - 1:
                        found = f"{counted(len(level), 'value')} for {counted(S, 'stage')}"
                        allowed = f"allowed: {counted(S - 1, 'value')}, or one number for every link"
                        raise refusal((key, index), found, allowed)
        self.scale  # noqa: B018 - refuses what is too long
        return self

    def count(self, S: int) -> int:
        """How many configurations have ``S`` stages."""
        links = math.prod(_count(axis, S - 1) for axis in (self.d, self.latency))
        return self.tau_count(S) * links * max(1, len(self.rho))

    def tau_count(self, S: int) -> int:
        """How many vectors of service times have ``S`` stages."""
        if isinstance(self.tau, Each):
            return _count(self.tau, S)
        return self._lengths_of_tau[S]

    @cached_property
    def _lengths_of_tau(self) -> Counter[int]:
        """How many vectors of ``tau`` there are of each length."""
        levels = () if isinstance(self.tau, Each) else self.tau
        return Counter(len(vector) for vector in levels if isinstance(vector, tuple))

    @cached_property
    def total(self) -> int:
        """How many configurations there are."""
        return sum(self.count(S) for S in self.stages)

    @cached_property
    def scale(self) -> int:
        """Common denominator of every time in the grid."""
        return common_denominator(chain(entries(self.tau), entries(self.d), entries(self.latency)))

    def resolved(self) -> dict[str, Any]:
        """As in a sweep file, in plain JSON types."""
        axes = {key: _plain_axis(getattr(self, key)) for key in ("tau", "d", "latency")}
        stages = {"stages": list(self.stages)} if isinstance(self.tau, Each) else {}
        return stages | axes | ({"rho": _plain_axis(self.rho)} if self.rho else {})


def entries(axis: Axis) -> Vector:
    """Every number that occurs in ``axis``."""
    if isinstance(axis, Each):
        return axis.values
    return tuple(value for level in axis for value in (level if isinstance(level, tuple) else (level,)))


def _count(axis: Axis, length: int) -> int:
    """How many vectors of ``length`` entries ``axis`` has."""
    return len(axis.values) ** length if isinstance(axis, Each) else len(axis)


def _plain_axis(axis: Axis) -> Any:
    if isinstance(axis, Each):
        return {"each": [plain(value) for value in axis.values]}
    return [[plain(v) for v in level] if isinstance(level, tuple) else plain(level) for level in axis]
