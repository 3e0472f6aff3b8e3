"""A number as the paper prints it, and whether a computed one agrees with it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction

from hpsim.exact import Number, exact

AGREE = "agree"
DISAGREE = "disagree"
CONTRADICTION = "the paper contradicts itself"
NO_LOG = "no log given"
NOT_IN_LOG = "not in this log"
NOT_IN_FULL = "not run in full (--quick)"
VERDICTS = (AGREE, DISAGREE, CONTRADICTION, NO_LOG, NOT_IN_LOG, NOT_IN_FULL)

_PRINTED = re.compile(
    r"(?P<sign>~?)(?P<digits>[0-9][0-9,]*\.?[0-9]*)(×10\^(?P<power>-?[0-9]+))?"
    r"(?P<unit> ?%| s|×)?"
)
_POWER_ALONE = re.compile(r"(?P<sign>[<~]) ?10\^(?P<power>-?[0-9]+)(?P<unit>×)?")


class Unavailable(Exception):  # noqa: N818  it says what is, not what went wrong
    """A number that cannot be computed in this run; ``verdict`` and ``note`` say why."""

    def __init__(self, verdict: str, note: str = "") -> None:
        super().__init__(verdict, note)
        self.verdict = verdict
        self.note = note


@dataclass(frozen=True)
class Printed:
    """A number as printed: what rounds to it.

    Attributes
    ----------
    low, high : Fraction or None
        Every number from ``low`` to ``high`` is printed like this; None: no bound. Both belong to it.
    decimals : int
        Digits behind the point.
    unit : str
        Behind the number, with its blank.
    """

    low: Fraction | None
    high: Fraction | None
    decimals: int
    unit: str

    def holds(self, value: Number) -> bool:
        """Whether ``value`` (a share where the unit is per cent) would be printed like this."""
        scaled = self._scaled(value)
        return (self.low is None or self.low <= scaled) and (self.high is None or scaled <= self.high)

    def show(self, value: Number) -> str:
        """``value`` in the same unit, with up to two more decimals."""
        scaled = self._scaled(value)
        if self.low is None:
            return f"{float(scaled):.1e}" if scaled else "0"
        if scaled.denominator == 1 and self.decimals == 0:
            return f"{int(scaled):,}{self.unit}"
        digits = f"{float(scaled):,.{self.decimals + 2}f}"
        return f"{digits.rstrip('0').rstrip('.')}{self.unit}"

    def _scaled(self, value: Number) -> Fraction:
        return exact(value) * (100 if self.unit.strip() == "%" else 1)


def read(text: str) -> Printed:
    """A printed number: ``12.5``, ``166.7 %``, ``8,571``, ``1.6×10^5``, ``~20``, ``~10^3×`` or ``< 10^-9``.

    ``~`` is a number with one significant digit, ``~10^3`` one nearer to that power of ten than to another.

    Raises
    ------
    ValueError
        For another text.
    """
    alone, printed = _POWER_ALONE.fullmatch(text), _PRINTED.fullmatch(text)
    if alone:
        power, unit = int(alone["power"]), alone["unit"] or ""
        if alone["sign"] == "<":
            return Printed(None, Fraction(10) ** power, 0, unit)
        return Printed(exact(10 ** (power - 0.5)), exact(10 ** (power + 0.5)), 0, unit)
    if not printed:
        raise ValueError(f"{text!r} is no printed number")
    digits = printed["digits"].replace(",", "")
    decimals = len(digits.partition(".")[2])
    scale = Fraction(10) ** int(printed["power"] or 0)
    if printed["sign"] == "~":
        half = Fraction(10) ** math.floor(math.log10(float(digits))) / 2
    else:
        half = scale / 10**decimals / 2
    middle = exact(digits) * scale
    shown = decimals if scale == 1 else max(0, decimals - int(printed["power"]))
    return Printed(middle - half, middle + half, shown, printed["unit"] or "")
