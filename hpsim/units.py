"""One rule for units of time: a bare number is in the unit at hand, text with a unit of its own is converted into it.

Times share one unit, which the caller picks: one of :data:`SECONDS`, or a word of its own (``cycles``), or none. Only
the former can be converted, and only they have throughputs per second.
"""

from __future__ import annotations

import re
from fractions import Fraction

from hpsim.exact import exact

SECONDS = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "min": Fraction(60),
    "h": Fraction(3600),
}
_WITH_UNIT = re.compile(r"(?P<number>.*[0-9.])\s*(?P<unit>[^\s0-9.+-][^0-9.]*)", re.DOTALL)


def time_in(value: object, unit: str | None) -> Fraction:
    """``value`` in ``unit``: a number is in it already; text such as ``12 ms`` is converted.

    Raises
    ------
    ValueError
        When it is no number as :func:`hpsim.exact.exact` reads it, or has a unit that cannot be converted into
        ``unit``; the message says what was found.

    Examples
    --------
    >>> time_in("1500 us", "ms"), time_in("0.1", "ms")
    (Fraction(3, 2), Fraction(1, 10))
    """
    found = _WITH_UNIT.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None or found["unit"].lower() == "e":  # 1e is a number cut off, not a unit
        return exact(value)
    number, own = exact(found["number"]), found["unit"].strip()
    if own == unit:
        return number
    if own not in SECONDS:
        raise ValueError(f"the unit {own[:40]!r} (known are {', '.join(SECONDS)})")
    if unit not in SECONDS:
        unknown = f"but the unit is {unit[:40]!r}" if unit else f"without a unit to convert it to (--unit {own})"
        raise ValueError(f"a time in {own}, {unknown}")
    return number * SECONDS[own] / SECONDS[unit]


def per_second(unit: str | None) -> tuple[Fraction, str]:
    """What turns a throughput per ``unit`` into the one that is shown, and its unit.

    Per second where ``unit`` can be converted, otherwise per ``unit``; without a unit there is nothing to say.

    Examples
    --------
    >>> per_second("ms"), per_second("cycles"), per_second(None)
    ((Fraction(1000, 1), '/s'), (Fraction(1, 1), '/cycles'), (Fraction(1, 1), ''))
    """
    if unit in SECONDS:
        return 1 / SECONDS[unit], "/s"
    return Fraction(1), f"/{unit}" if unit else ""
