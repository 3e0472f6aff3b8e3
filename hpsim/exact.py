"""Numbers as the user wrote them, read exactly: text is a decimal or a fraction, a float its shortest decimal form."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational, Real

Number = int | float | Fraction
NumberLike = int | float | Fraction | Decimal | str

_TEXT = re.compile(r"[+-]?([0-9]+/[0-9]+|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?)")
_LONGEST_TEXT = 1000  # longer text is no measured time, and Python refuses integers of more than 4,300 digits
_WIDEST_EXPONENT = 400  # beyond float64 either way; keeps 10**exponent small for a Decimal


def exact(value: object) -> Fraction:
    """The rational number that ``value`` was written as.

    ``"0.1"`` and ``0.1`` both give 1/10 (a float is read by its shortest decimal form), ``"1/3"`` gives 1/3.

    Raises
    ------
    ValueError
        When ``value`` is not a finite number within the range of float64; the message says what was found.
    """
    fraction = _fraction(value)
    try:
        nearest = float(fraction)
    except OverflowError:
        raise ValueError(f"{_shown(value)} is beyond the range of float64") from None
    if nearest == 0 and fraction != 0:
        raise ValueError(f"{_shown(value)} is below the range of float64")
    return fraction


def number(value: object) -> Number:
    """``value`` as a number to compute with: text and decimals become Fractions, floats and integers stay.

    A float of another width becomes the float64 nearest to what it shows: ``float32(0.1)`` gives 0.1.

    Raises
    ------
    ValueError
        As :func:`exact`.
    """
    fraction = exact(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real) and not isinstance(value, Rational):
        return float(fraction)
    return fraction


def _fraction(value: object) -> Fraction:
    if type(value) is Fraction:  # the usual kinds, ahead of the slower tests for their like
        return value
    if type(value) is int:
        return Fraction(value)
    if isinstance(value, str):
        return _from_text(value)
    if isinstance(value, Rational) and not _is_no_number(value):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, Decimal):
        return _from_decimal(value)
    if isinstance(value, Real) and not _is_no_number(value):
        if not math.isfinite(value):
            raise ValueError(f"{float(value)} is not a finite number")
        # str of a NumPy scalar is its shortest decimal form at its own width; repr would name the type
        return Fraction(Decimal(str(value) if hasattr(value, "dtype") else repr(float(value))))
    raise ValueError(f"{_shown(value)} is not a number")


def _is_no_number(value: object) -> bool:
    """Whether ``value`` is a truth value or a NumPy duration, which Python takes for integers."""
    return isinstance(value, bool) or getattr(getattr(value, "dtype", None), "kind", "") == "m"


def _from_text(value: str) -> Fraction:
    text = value.strip()
    if len(text) > _LONGEST_TEXT:
        raise ValueError(f"a text of {len(text)} characters is too long for a number")
    if text.lower().lstrip("+-") in ("nan", "inf", "infinity"):
        raise ValueError(f"{value!r} is not a finite number")
    if not _TEXT.fullmatch(text) or re.search(r"/0+$", text):
        raise ValueError(f"{_shown(value)} is not a number")
    return Fraction(text)


def _from_decimal(value: Decimal) -> Fraction:
    if not value.is_finite():
        raise ValueError(f"{value} is not a finite number")
    if value and abs(value.adjusted()) > _WIDEST_EXPONENT:
        raise ValueError(f"{_shown(value)} is beyond the range of float64")
    return Fraction(value)


def _shown(value: object) -> str:
    """``value`` on one line of moderate length, for a message."""
    if isinstance(value, Rational) and not _is_no_number(value):
        wide = max(abs(int(value.numerator)), int(value.denominator)).bit_length() > 256
        return "a number of very many digits" if wide else str(value)
    if isinstance(value, Decimal):
        return f"{value:.6g}"
    line = " ".join(repr(value).split())
    return line if len(line) <= 60 else f"{line[:57]}..."
