"""The distributions of a sampled sweep, as written in YAML: ``{loguniform: [0.1, 10]}``, a bare number, ….

Adding one: here its name and an example of its values (:data:`EXAMPLES`), its key in :class:`DistributionForm`, what
the values must satisfy (:func:`_check`), its ``low`` and ``high``; then its number and quantile function in
``kernels/sampling.py``, the number and what that computes with in ``sweep/sample.py``, and its twin in
``reference/sampling.py``. Type checker and tests name what is missing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Context
from fractions import Fraction
from typing import Annotated, Any, Literal, cast, get_args

from pydantic import Field, PlainValidator, WithJsonSchema, model_validator

from hpsim.exact import exact
from hpsim.sweep.file.fields import MAX_STAGES, NUMBER_SCHEMA, Listed, Number, Part, plain, refusal, shown

Kind = Literal["constant", "uniform", "loguniform", "lognormal", "integers", "choice"]
Times = Literal["mean_tau", "max_tau"]
KINDS: tuple[Kind, ...] = get_args(Kind)
WHOLE_KINDS = ("constant", "uniform", "integers", "choice")
"""What a number of stages may be drawn from."""
EXAMPLES: dict[Kind, Any] = {
    "uniform": [0.5, 2],
    "loguniform": [0.1, 10],
    "lognormal": [1, 0.5],
    "integers": [1, 4],
    "choice": [1, 2, 5],
    "constant": 1,
}
WIDEST_NORMAL = "8.3"
"""A normal draw from a 53-bit uniform number is never further from 0 than this."""
EXAMPLE = "allowed: a number, or one of " + ", ".join(f"{{{kind}: {values}}}" for kind, values in EXAMPLES.items())

Pair = Annotated[Listed[Number], Field(min_length=2, max_length=2)]


@dataclass(frozen=True)
class Distribution:
    """What one quantity of a configuration is drawn from.

    Attributes
    ----------
    kind : str
        ``constant``, ``uniform``, ``loguniform``, ``lognormal``, ``integers`` or ``choice``.
    values : tuple of Fraction
        constant: the value; uniform, loguniform, integers: low and high; lognormal: median and sigma (of the natural
        logarithm); choice: the values, each equally likely.
    times : {None, "mean_tau", "max_tau"}
        What a draw is multiplied by: the mean or the largest service time of its configuration.
    """

    kind: Kind
    values: tuple[Fraction, ...]
    times: Times | None = None

    @property
    def low(self) -> Fraction:
        """The smallest value of a draw, before ``times``."""
        return self._lognormal(-1) if self.kind == "lognormal" else min(self.values)

    @property
    def high(self) -> Fraction:
        """The largest value of a draw, before ``times``."""
        return self._lognormal(+1) if self.kind == "lognormal" else max(self.values)

    def _lognormal(self, sign: int) -> Fraction:
        """``median · exp(±8.3 sigma)`` to 40 digits, then as float64: the same on every machine, unlike libm's exp."""
        digits = Context(prec=40)
        median, sigma = (digits.divide(x.numerator, x.denominator) for x in self.values)
        reach = digits.multiply(digits.create_decimal(WIDEST_NORMAL), sigma)
        return Fraction(float(digits.multiply(median, digits.exp(sign * reach))))

    def resolved(self) -> int | float | str | dict[str, Any]:
        """As in a sweep file, in plain JSON types."""
        values = [plain(value) for value in self.values]
        if self.kind == "constant":
            return values[0] if self.times is None else {"constant": values[0], "times": self.times}
        return {self.kind: values} | ({"times": self.times} if self.times else {})


class DistributionForm(Part):
    """A distribution as a mapping: exactly one kind, and perhaps ``times``."""

    constant: Number | None = Field(None, description="This value, always.")
    uniform: Pair | None = Field(None, description="[low, high], each value between them equally likely.")
    loguniform: Pair | None = Field(None, description="[low, high], low > 0; the logarithm is uniform.")
    lognormal: Pair | None = Field(None, description="[median, sigma]; the natural logarithm is normal.")
    integers: Pair | None = Field(None, description="[low, high], whole numbers, both ends included.")
    choice: Annotated[Listed[Number], Field(min_length=1)] | None = Field(None, description="One of these values.")
    times: Times | None = Field(None, description="Multiply each draw by the configuration's mean or largest tau.")

    @model_validator(mode="after")
    def _one_kind(self) -> DistributionForm:
        given = [kind for kind in KINDS if getattr(self, kind) is not None]
        if len(given) != 1:
            raise refusal((), f"found {' and '.join(given) if given else 'no distribution'}", EXAMPLE)
        _check(given[0], getattr(self, given[0]))
        return self

    def distribution(self) -> Distribution:
        kind = next(kind for kind in KINDS if getattr(self, kind) is not None)
        values = getattr(self, kind)
        return Distribution(kind, tuple(values) if isinstance(values, list) else (values,), self.times)


def _check(kind: Kind, values: Any) -> None:
    """What the values of ``kind`` must satisfy beyond being numbers >= 0."""
    if kind in ("uniform", "loguniform", "integers"):
        low, high = values
        if low > high:
            raise refusal((kind,), f"an empty range, from {shown(low)} to {shown(high)}", "allowed: [low, high]")
    if kind == "loguniform" and values[0] == 0:
        raise refusal((kind, 0), "the logarithm of 0 does not exist", "allowed: a low end > 0, or uniform")
    if kind == "loguniform" and values[1] > values[0] * 2**1000:
        raise refusal(
            (kind,), f"a range from {float(values[0]):g} to {float(values[1]):g}", "allowed: at most 2^1000 wide"
        )
    if kind == "integers":
        for index, value in enumerate(values):
            if value.denominator != 1:
                raise refusal((kind, index), f"{shown(value)} is not whole", "allowed: whole numbers, or uniform")
    if kind == "lognormal":
        median, sigma = values
        if median == 0:
            raise refusal((kind, 0), "a median of 0", "allowed: [median, sigma] with a median > 0")
        if float(sigma) * float(WIDEST_NORMAL) + abs(math.log(median)) > 700:
            raise refusal((kind, 1), f"a sigma of {shown(sigma)} leaves the range of float64", "allowed: at most 80")


def read_distribution(value: object) -> Distribution:
    """A :class:`Distribution` from its YAML form."""
    if isinstance(value, Distribution):
        return value
    if isinstance(value, dict):
        return DistributionForm.model_validate(value).distribution()
    if isinstance(value, list | tuple) or value is None:
        raise refusal((), f"found {shown(value)}", EXAMPLE)
    return DistributionForm(constant=cast(Fraction, value)).distribution()


def read_stages(value: object) -> Distribution:
    """The distribution of a number of stages."""
    allowed = f"allowed: whole numbers from 1 to {MAX_STAGES}, for example 4, {{uniform: [2, 8]}} or {{choice: [3, 5]}}"
    return read_whole(value, 1, MAX_STAGES, allowed)


def read_whole(value: object, low: int, high: int, allowed: str) -> Distribution:
    """A distribution over whole numbers from ``low`` to ``high``; ``uniform`` means both ends included."""
    for path, number in _numbers(value):
        if not _is_whole(number, low, high):
            raise refusal(path, f"found {shown(number)}", allowed)
    distribution = read_distribution(value)
    if distribution.kind not in WHOLE_KINDS or distribution.times:
        raise refusal((), "found times" if distribution.times else f"found {distribution.kind}", allowed)
    return Distribution("integers", distribution.values) if distribution.kind == "uniform" else distribution


def _numbers(value: object) -> Iterator[tuple[tuple[str | int, ...], object]]:
    """What is written in the place of a number in a distribution over whole numbers, and at which path."""
    if isinstance(value, Distribution):
        yield from (((), number) for number in value.values)
    elif not isinstance(value, dict):
        yield (), value
    else:
        for kind in WHOLE_KINDS:
            written = value.get(kind)
            if isinstance(written, list | tuple):
                yield from (((kind, index), number) for index, number in enumerate(written))
            elif written is not None:
                yield (kind,), written


def _is_whole(value: object, low: int, high: int) -> bool:
    try:
        number = exact(value)
    except ValueError:
        return False
    return number.denominator == 1 and low <= number <= high


def _json_schema() -> dict[str, Any]:
    form = DistributionForm.model_json_schema()
    form["oneOf"] = [{"required": [kind]} for kind in KINDS]
    return {"anyOf": [NUMBER_SCHEMA, form]}


DISTRIBUTION_SCHEMA = _json_schema()
DistributionField = Annotated[Distribution, PlainValidator(read_distribution), WithJsonSchema(DISTRIBUTION_SCHEMA)]
StagesField = Annotated[Distribution, PlainValidator(read_stages), WithJsonSchema(DISTRIBUTION_SCHEMA)]
