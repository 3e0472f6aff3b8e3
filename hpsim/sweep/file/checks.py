"""The built-in checks of a sweep: their ids and the regimes whose makespans they compare."""

from __future__ import annotations

from collections.abc import Iterable

CHECKS: dict[str, tuple[str, ...]] = {
    "thm1": ("free",),
    "thm2": ("async",),
    "thm3": ("blocking",),
    "partial": ("partial",),
    "rendezvous": ("rendezvous",),
    "cor5": ("async", "blocking"),
}
"""Check id → the regimes that it needs.

``thm1``, ``thm2``, ``thm3``, ``partial`` and ``rendezvous`` compare the recurrence with the closed form of their
regime; ``cor5`` is the sandwich ``T_async <= T_blocking``, with ``T_partial`` in between where the sweep has it.
"""


def for_regimes(regimes: Iterable[str]) -> list[str]:
    """The ids of the checks that a sweep over ``regimes`` can make, in the order of :data:`CHECKS`."""
    present = set(regimes)
    return [check for check, needed in CHECKS.items() if present.issuperset(needed)]
