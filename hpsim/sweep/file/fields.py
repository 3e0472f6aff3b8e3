"""What our YAML files are made of, for pydantic: exact numbers, whole numbers, mappings with a closed set of keys."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainValidator,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from hpsim.exact import exact

MAX_STAGES = 1024
MAX_MICROBATCHES = 2**40
MAX_CONFIGS = 2**48
MOST_DIGITS = 4000
"""Of a common denominator; Python writes no longer numbers than 4,300 digits."""
_TOO_LONG = 10**MOST_DIGITS

T = TypeVar("T")
Listed = Annotated[list[T], Field(fail_fast=True)]
"""A list that is read up to its first mistake, the one that is told, however many there are."""

NUMBER_SCHEMA: dict[str, Any] = {
    "anyOf": [
        {"type": "number", "minimum": 0},
        {"type": "string", "pattern": r"^\s*\+?([0-9]+/[0-9]+|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,3})?)\s*$"},
    ],
    "description": "a finite number >= 0, read exactly: 0.1, 1e-3, or a fraction as text, 1/3",
}


class Part(BaseModel):
    """A mapping in a YAML file: a closed set of keys, each with a value, not changed after loading."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    @model_validator(mode="before")
    @classmethod
    def _keys_with_values(cls, data: Any) -> Any:
        for key, value in data.items() if isinstance(data, Mapping) else ():
            if not isinstance(key, str):
                raise refusal((), f"the key {shown(key)}", "allowed: keys that are text")
            if value is None:
                raise refusal((key,), "no value", "write a value, or leave the key out")
        return data


def refusal(path: Sequence[str | int], found: str, allowed: str) -> PydanticCustomError:
    """The error of a validator: what was found and what is allowed at ``path``, counted from where it validates."""
    context = {"path": tuple(path), "found": found, "allowed": allowed}
    return PydanticCustomError("refused", "{found}; {allowed}", context)


def shown(value: object) -> str:
    """What the user wrote, short and on one line."""
    try:
        text = _written(value)
    except (ValueError, OverflowError):  # beyond float64, or a whole number that Python does not write out
        return "a number of very many digits"
    return text if len(text) <= 60 or isinstance(value, dict) else f"{text[:57]}..."


def _written(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        keys = ", ".join(str(key)[:20] for key in list(value)[:4])
        return f"a mapping ({keys!r})" if not keys.isprintable() else f"a mapping ({keys})"
    if isinstance(value, Fraction):
        return str(plain(value))
    return repr(value[:60] if isinstance(value, str) else value)


def counted(count: int, noun: str) -> str:
    """``1 value``, ``2 values``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def repeated(values: Iterable[Hashable]) -> int | None:
    """The index of the first of ``values`` that stands there a second time, if any."""
    seen: set[Hashable] = set()
    for index, value in enumerate(values):
        if value in seen:
            return index
        seen.add(value)
    return None


def common_denominator(times: Iterable[Fraction], path: Sequence[str | int] = ()) -> int:
    """The least number by which all ``times`` become whole; raises a refusal at ``path`` when it is too long."""
    scale = 1
    for time in times:
        scale = math.lcm(scale, time.denominator)
        if scale >= _TOO_LONG:
            found = f"times whose common denominator has more than {MOST_DIGITS} digits"
            raise refusal(path, found, "allowed: rounder times")
    return scale


def plain(value: Fraction) -> int | float | str:
    """An exact number in JSON: an integer, a decimal whose shortest form is exact, or a fraction as text."""
    if value.denominator == 1:
        return value.numerator
    decimal = float(value)
    return decimal if exact(decimal) == value else f"{value.numerator}/{value.denominator}"


def read_number(value: object) -> Fraction:
    """A finite number >= 0, exactly; raises a refusal for anything else."""
    if isinstance(value, list | tuple | dict) or value is None:
        raise refusal((), f"found {shown(value)}", "allowed: a number, for example 0.5 or 1/3")
    try:
        number = exact(value)
    except ValueError as error:
        raise refusal((), str(error), "allowed: a finite number, for example 0.5, 1e-3 or 1/3") from None
    if number.numerator < 0:
        raise refusal((), f"{shown(number)} is negative", "allowed: numbers >= 0")
    return number


@dataclass(frozen=True)
class Whole:
    """Metadata of an ``int`` field: a whole number from ``low`` to ``high``; 1e6 and 8.0 are whole, 1.5 is not."""

    low: int
    high: int
    what: str

    def read(self, value: object) -> int:
        try:
            number = None if isinstance(value, str) else exact(value)
        except ValueError:
            number = None
        if number is None or number.denominator != 1 or not self.low <= number <= self.high:
            allowed = f"allowed: {self.what}, a whole number from {self.low} to {self.high}"
            raise refusal((), f"found {shown(value)}", allowed)
        return int(number)

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.low, "maximum": self.high, "description": self.what}


Number = Annotated[Fraction, PlainValidator(read_number), WithJsonSchema(NUMBER_SCHEMA)]
Seed = Annotated[int, Whole(0, 2**64 - 1, "the seed of the random numbers")]
Configs = Annotated[int, Whole(1, MAX_CONFIGS, "the number of random configurations")]
MicroBatches = Annotated[int, Whole(1, MAX_MICROBATCHES, "a number of micro-batches")]
Stages = Annotated[int, Whole(1, MAX_STAGES, "a number of stages")]
Resolution = Annotated[int, Whole(0, 40, "the resolution (sampled times are multiples of 2^-resolution)")]
Chunk = Annotated[int, Whole(1, 2**22, "the number of configurations in a chunk")]
