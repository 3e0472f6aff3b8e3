"""How stages and links interact: one frozen dataclass with independent knobs, and the regimes that have names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from hpsim.errors import RegimeError
from hpsim.exact import NumberLike, number
from hpsim.vectors import in_short

NAMES = ("free", "async", "blocking", "partial")


@dataclass(frozen=True)
class Regime:
    """The rules by which a pipeline runs.

    Attributes
    ----------
    overlap : number or sequence of numbers, default 1
        Share of each transfer that overlaps with the sender's work, 0…1, for all links or one for each (S-1): at 1 a
        transfer holds nobody (Theorem 2), at 0 it holds its sender throughout (Theorem 3). Text is read exactly.
    communication : bool, default True
        False leaves transfers and latencies out altogether (Theorem 1).

    Raises
    ------
    RegimeError
        When a knob has no meaning.
    """

    overlap: NumberLike | Sequence[NumberLike] = 1
    communication: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "overlap", _read_overlap(self.overlap))
        if not isinstance(self.communication, bool):
            raise RegimeError("communication", in_short(self.communication), "true or false")
        if not self.communication and self.overlap != 1:
            raise RegimeError("overlap", f"{self.overlap} without communication", "leave overlap out")


def PARTIAL(rho: NumberLike | Sequence[NumberLike]) -> Regime:
    """The share ``rho`` of each transfer overlaps with the sender's work: for all links, or one value for each.

    Raises
    ------
    RegimeError
        When a share lies outside 0…1.
    """
    return Regime(overlap=rho)


def named(name: str, rho: NumberLike | Sequence[NumberLike] | None = None) -> Regime:
    """The regime of this name, one of :data:`NAMES`. ``rho`` is the overlapped share of ``partial``; others ignore it.

    Raises
    ------
    RegimeError
        For another name, and for ``partial`` without ``rho``.
    """
    if isinstance(name, str) and name == "partial":
        if rho is None:
            raise RegimeError("regime", "'partial' without rho", "give the overlapped share, for example rho=0.5")
        return PARTIAL(rho)
    if not isinstance(name, str) or name not in _WITHOUT_RHO:
        near = difflib.get_close_matches(str(name).lower(), NAMES, n=1, cutoff=0.5)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise RegimeError("regime", f"{in_short(name)} is unknown", f"one of {', '.join(NAMES)}{hint}")
    return _WITHOUT_RHO[name]


def _read_overlap(overlap: object) -> object:
    if isinstance(overlap, (list, tuple)) or getattr(overlap, "ndim", 0) == 1:
        shares: Iterable[object] = overlap  # type: ignore[assignment]
        return tuple(_read_share(f"overlap[{s}]", share) for s, share in enumerate(shares))
    return _read_share("overlap", overlap)


def _read_share(place: str, share: object) -> int | float | Fraction:
    try:
        value = number(share)
    except ValueError as fault:
        raise RegimeError(place, str(fault), "a share from 0 (blocking) to 1 (fully overlapped)") from None
    if not 0 <= value <= 1:
        raise RegimeError(place, in_short(share), "a share from 0 (blocking) to 1 (fully overlapped)")
    return value


FREE = Regime(communication=False)
ASYNC = Regime()
BLOCKING = Regime(overlap=0)

_WITHOUT_RHO = {"free": FREE, "async": ASYNC, "blocking": BLOCKING}
