"""The values of a sweep that are words or shares: names, regimes, claims, tolerances."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated, Any

from pydantic import AfterValidator, PlainValidator, WithJsonSchema

from hpsim.sweep.file.checks import CHECKS
from hpsim.sweep.file.fields import NUMBER_SCHEMA, Number, read_number, refusal, repeated, shown

OTHER_CLAIMS = "the id of another claim (`hpsim claims`), or a statement such as T_async <= T_blocking"
RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)


def _name(value: str) -> str:
    if RESERVED.fullmatch(value):
        raise refusal((), f"found {shown(value)}, which Windows keeps for a device", "allowed: any other name")
    if not re.fullmatch(r"\w[\w.-]{0,99}", value) or value.endswith("."):
        allowed = (
            "allowed: letters, digits, `_`, `-` and `.`, with a letter, digit or `_` first and no `.` last, "
            "at most 100, since it names the run folder"
        )
        raise refusal((), f"found {shown(value)}", allowed)
    return value


def _claim(value: object) -> str:
    if not isinstance(value, str):
        raise refusal((), f"found {shown(value)}", f"allowed: {', '.join(CHECKS)}, {OTHER_CLAIMS}")
    if value == "paper":
        raise refusal((), "'paper' beside other claims", "allowed: paper alone, or ids and statements")
    return " ".join(value.split())


def _share(value: Fraction) -> Fraction:
    if value > 1:
        raise refusal((), f"found {shown(value)}", "allowed: a share from 0 to 1")
    return value


def _tolerance(value: object) -> float:
    number = read_number(value)
    if not 0 < number < 1:
        raise refusal((), f"found {shown(value)}", "allowed: a relative tolerance > 0 and < 1 (0 is arithmetic: exact)")
    return float(number)


def each_once(values: list[Any], what: str) -> list[Any]:
    if not values:
        raise refusal((), "an empty list", f"allowed: at least one {what}")
    index = repeated(values)
    if index is not None:
        raise refusal((index,), f"{shown(values[index])} a second time", f"allowed: each {what} once")
    return values


_NAME_SCHEMA = {"type": "string", "minLength": 1, "maxLength": 100, "pattern": r"^[^/\\]+$"}

Name = Annotated[str, AfterValidator(_name), WithJsonSchema(_NAME_SCHEMA)]
ClaimText = Annotated[str, PlainValidator(_claim), WithJsonSchema({"type": "string", "minLength": 1})]
Share = Annotated[Number, AfterValidator(_share), WithJsonSchema(NUMBER_SCHEMA)]
Tolerance = Annotated[float, PlainValidator(_tolerance), WithJsonSchema(NUMBER_SCHEMA)]


def safe_name(stem: str) -> str:
    """A run's name from its file's name."""
    name = re.sub(r"[^\w.-]+", "-", stem.replace("_", "-")).strip("-.")[:100]
    return name if name and not RESERVED.fullmatch(name) else "sweep"
