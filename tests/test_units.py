"""A bare number is in the unit at hand; text with a unit is converted exactly, or refused in words."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from hpsim.units import per_second, time_in


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        ("12", "ms", Fraction(12)),
        (0.1, "ms", Fraction(1, 10)),
        ("12 ms", "ms", Fraction(12)),
        ("12ms", "s", Fraction(12, 1000)),
        ("1/3 s", "ms", Fraction(1000, 3)),
        ("1e-3s", "us", Fraction(1000)),
        ("2 h", "min", Fraction(120)),
        (" .5 µs ", "ns", Fraction(500)),
        ("3 cycles", "cycles", Fraction(3)),
        ("-1 s", "ms", Fraction(-1000)),
        ("7", None, Fraction(7)),
    ],
)
def test_a_time_is_read_exactly_in_the_unit_at_hand(value: object, unit: str | None, expected: Fraction) -> None:
    """Bare numbers stay, units are converted."""
    assert time_in(value, unit) == expected


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        ("12 ms", None, "a time in ms, without a unit to convert it to (--unit ms)"),
        ("12 ms", "cycles", "a time in ms, but the unit is 'cycles'"),
        ("12 parsec", "ms", "the unit 'parsec'"),
        ("ms", "ms", "not a number"),
        ("1e", "ms", "not a number"),
        ("nan", "ms", "not a finite number"),
        ("", "ms", "not a number"),
        (True, "ms", "not a number"),
    ],
)
def test_what_is_no_time_in_that_unit_is_refused(value: object, unit: str | None, words: str) -> None:
    """The message says what was found."""
    with pytest.raises(ValueError, match=re.escape(words)):
        time_in(value, unit)


def test_throughputs_are_per_second_where_the_unit_is_known() -> None:
    """1/31 per ms is 32.26 per second."""
    factor, word = per_second("ms")
    assert (round(float(Fraction(1, 31) * factor), 2), word) == (32.26, "/s")
    assert per_second("cycles") == (1, "/cycles")
    assert per_second(None) == (1, "")
