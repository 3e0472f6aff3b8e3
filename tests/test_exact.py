"""Numbers are read as they were written, and refused with one clear line."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from hpsim.exact import exact, number


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("0.1", Fraction(1, 10)),
        (" 1/3 ", Fraction(1, 3)),
        ("-2.5e-3", Fraction(-1, 400)),
        (".5", Fraction(1, 2)),
        ("5.", Fraction(5)),
        (0.1, Fraction(1, 10)),
        (1e22, Fraction(10**22)),
        (-0.0, Fraction(0)),
        (7, Fraction(7)),
        (Fraction(2, 6), Fraction(1, 3)),
        (Decimal("0.30"), Fraction(3, 10)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        (np.float16(0.1), Fraction(1, 10)),
        (np.int8(-3), Fraction(-3)),
        (np.uint64(2**64 - 1), Fraction(2**64 - 1)),
    ],
)
def test_every_way_to_write_a_number_is_read_exactly(written, meant):
    """Text, floats of any width, integers and decimals give the rational number that was written."""
    assert exact(written) == meant
    assert type(exact(written)) is Fraction


@pytest.mark.parametrize(
    "value",
    ["", "x", "1,2", "1/0", "1/00", "1_000", "0x10", "1/2/3", "1.5/2", "٣", None, True, np.True_, 1j, [1], b"1", {}],
)
def test_what_is_not_a_number_is_refused(value):
    """The message says what was found, on one line."""
    with pytest.raises(ValueError, match=r"is not a number$") as fault:
        exact(value)
    assert "\n" not in str(fault.value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), np.float64("-inf"), Decimal("NaN"), "nan", "-Infinity"])
def test_nan_and_infinity_are_refused(value):
    """No value that is not finite passes, in whatever form."""
    with pytest.raises(ValueError, match="not a finite number"):
        exact(value)


@pytest.mark.parametrize(
    "value",
    [
        "1e400",
        "1e9999",
        "-1e309",
        10**400,
        pytest.param(10**5000, id="5001-digits"),
        Fraction(10**400, 3),
        Decimal("1e999999999"),
    ],
)
def test_numbers_beyond_float64_are_refused(value):
    """A number too large for float64 is refused at once, however many digits it has."""
    with pytest.raises(ValueError, match="beyond the range of float64"):
        exact(value)


@pytest.mark.parametrize("value", ["1e-400", Fraction(1, 10**400), Decimal("-1e-390")])
def test_numbers_that_float64_would_call_zero_are_refused(value):
    """A positive time never turns into 0 when it is printed."""
    with pytest.raises(ValueError, match="below the range of float64"):
        exact(value)


def test_very_long_text_is_refused():
    """Digits beyond what Python converts are an ordinary message, and so is an array."""
    with pytest.raises(ValueError, match="5000 characters is too long"):
        exact("1" * 5000)
    with pytest.raises(ValueError, match="is not a number") as fault:
        exact(np.ones((30, 30)))
    assert "\n" not in str(fault.value)
    assert len(str(fault.value)) < 100


def test_number_keeps_the_kind_of_number():
    """Floats and integers stay, text and decimals become Fractions, a float32 the float64 nearest to what it shows."""
    kinds = {0.25: float, 3: int, "1/3": Fraction, Decimal("0.5"): Fraction, Fraction(3): Fraction, np.int64(3): int}
    for value, kind in kinds.items():
        assert type(number(value)) is kind
    assert number(np.float32(0.1)) == 0.1
    assert type(number(np.float64(0.1))) is float
