"""How stages and links interact: one frozen dataclass with independent knobs, and the regimes that have names."""

from __future__ import annotations

import difflib
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from hpsim.errors import RegimeError
from hpsim.exact import Number, NumberLike
from hpsim.vectors import A_SHARE, in_short, number_at, plain

NAMES = ("free", "async", "blocking", "partial", "rendezvous")

MOST_REMEMBERED = 2**18  # micro-batches that the limits of a simulation look back to: 200 megabytes on each thread

Knob = int | tuple[int | None, ...] | None  # a count for all, one for each with None for unlimited, or unlimited
V = TypeVar("V")

_BUFFERS = "a whole number of places from 0, or None for unlimited"
_CHANNELS = "a whole number of transfers from 1, or None for unlimited"
_WINDOW = "a whole number of micro-batches from 1, or None for no limit"
_FEEDBACK = "a time of at least 0"


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
    buffers : int or sequence of S int or None, optional
        Input places of each stage beside the one in service; None: unlimited. The first stage's entry is ignored.
    channels : int or sequence of S-1 int or None, optional
        Transfers that a link carries at once; None: unlimited. Needs fully overlapped transfers.
    window : int, optional
        Micro-batches in flight at most: micro-batch m starts when m - window has left the last stage; None: open.
    feedback : number, default 0
        With a window, the time from the last stage back to the first. Text is read exactly.

    Raises
    ------
    RegimeError
        When a knob, or a combination of them, has no meaning.

    Notes
    -----
    :mod:`hpsim.event_graph` gives the exact meaning of every knob, one arc each.
    """

    overlap: NumberLike | Sequence[NumberLike] = 1
    communication: bool = True
    buffers: int | Sequence[int | None] | None = None
    channels: int | Sequence[int | None] | None = None
    window: int | None = None
    feedback: NumberLike = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "overlap", _one_or_each("overlap", self.overlap, _read_share))
        object.__setattr__(self, "buffers", _one_or_each("buffers", self.buffers, _limit(0, _BUFFERS)))
        object.__setattr__(self, "channels", _one_or_each("channels", self.channels, _limit(1, _CHANNELS)))
        object.__setattr__(self, "window", _limit(1, _WINDOW)("window", self.window))
        object.__setattr__(self, "feedback", _read_feedback(self.feedback))
        if not isinstance(self.communication, bool):
            raise RegimeError("communication", in_short(self.communication), "true or false")
        if not self.communication and self.overlap != 1:
            raise RegimeError("overlap", f"{self.overlap} without communication", "leave overlap out")
        if self.channels is not None and not _everywhere(self.overlap, 1):
            found = f"channels with overlap {in_short(self.overlap)}"
            raise RegimeError("channels", found, "channels only where transfers overlap fully, overlap=1")
        if self.feedback and self.window is None:
            raise RegimeError("feedback", f"{in_short(self.feedback)} without a window", "a window, or no feedback")

    @property
    def is_chain(self) -> bool:
        """Whether nothing but service and transfers delays a micro-batch: no limit on places, channels or window."""
        return self.window is None and _everywhere(self.buffers, None) and _everywhere(self.channels, None)

    def overlap_of(self, links: int) -> list[Number]:
        """The overlapped share of each of ``links`` links; RegimeError when their number is another."""
        return _for_each("overlap", self.overlap, links, "link")

    def buffers_of(self, stages: int) -> list[int | None]:
        """Input places of each of ``stages`` stages, the first unlimited; RegimeError when their number is another."""
        places: list[int | None] = _for_each("buffers", self.buffers, stages, "stage")
        return [None, *places[1:]]

    def channels_of(self, links: int) -> list[int | None]:
        """Channels of each of ``links`` links; RegimeError when their number is another."""
        return _for_each("channels", self.channels, links, "link")

    def lags(self, stages: int, microbatches: int) -> dict[str, list[int]]:
        """How many micro-batches back each limit looks: of every stage, every link, and the window; 0 without limit.

        A limit that cannot bind within so many micro-batches is none.

        Raises
        ------
        RegimeError
            When a knob is a list of another length, or all limits together have to remember more micro-batches than
            :data:`MOST_REMEMBERED`.
        """
        back = {
            "buffers": [0 if b is None or b + 1 >= microbatches else b + 1 for b in self.buffers_of(stages)],
            "channels": [0 if c is None or c >= microbatches else c for c in self.channels_of(stages - 1)],
            "window": [0 if self.window is None or self.window >= microbatches else self.window],
        }
        rows = {knob: sum(lags) for knob, lags in back.items()}
        if sum(rows.values()) > MOST_REMEMBERED:
            widest = max(rows, key=lambda knob: rows[knob])
            found = f"{rows[widest]:,} micro-batches to remember in a run of {microbatches:,}"
            raise RegimeError(widest, found, f"at most {MOST_REMEMBERED:,} over all stages, or None for unlimited")
        return back


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


def regime_of(given: object) -> Regime:
    """``given``, a regime or the name of one.

    Raises
    ------
    RegimeError
        For anything else, and for ``partial``, whose name does not say its share.
    """
    if isinstance(given, Regime):
        return given
    if given == "partial":
        raise RegimeError("regime", "'partial' without its share", "regime=PARTIAL(0.5), or Regime(overlap=0.5)")
    if isinstance(given, str):
        return named(given)
    raise RegimeError("regime", in_short(given), 'a name such as "blocking", or a Regime, such as Regime(buffers=1)')


def _one_or_each(knob: str, value: Any, read: Callable[[str, object], V]) -> V | tuple[V, ...]:
    """``value`` read once, or entry by entry where it is a list."""
    value = plain(knob, value, "one value, or a list with one for each", RegimeError)
    if isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) == 1:
        return tuple(read(f"{knob}[{s}]", entry) for s, entry in enumerate(value))
    return read(knob, value)


def _read_share(place: str, share: object) -> Number:
    value = number_at(place, share, A_SHARE, RegimeError)
    if not 0 <= value <= 1:
        raise RegimeError(place, in_short(share), A_SHARE)
    return value


def _read_feedback(feedback: object) -> Number:
    value = number_at("feedback", plain("feedback", feedback, _FEEDBACK, RegimeError), _FEEDBACK, RegimeError)
    if value < 0:
        raise RegimeError("feedback", f"{in_short(feedback)} is negative", _FEEDBACK)
    return value


def _limit(least: int, allowed: str) -> Callable[[str, object], int | None]:
    """A reader of whole numbers of at least ``least``, or None."""

    def read(place: str, value: object) -> int | None:
        if value is None:
            return None
        try:
            count = operator.index(value)  # type: ignore[arg-type]
        except TypeError:
            count = -1
        if isinstance(value, bool) or count < least:
            raise RegimeError(place, in_short(value), allowed)
        return count

    return read


def _everywhere(knob: object, value: object) -> bool:
    """Whether the knob has this value for all stages or links alike."""
    return all(entry == value for entry in (knob if isinstance(knob, tuple) else (knob,)))


def _for_each(name: str, knob: Any, count: int, of: str) -> list[Any]:
    if not isinstance(knob, tuple):
        return [knob] * count
    if len(knob) != count:
        found = f"{len(knob)} value{'' if len(knob) == 1 else 's'} for {count} {of}{'' if count == 1 else 's'}"
        raise RegimeError(name, found, f"one value, or one for each {of}")
    return list(knob)


FREE = Regime(communication=False)
ASYNC = Regime()
BLOCKING = Regime(overlap=0)
RENDEZVOUS = Regime(overlap=0, buffers=0)

_WITHOUT_RHO = {"free": FREE, "async": ASYNC, "blocking": BLOCKING, "rendezvous": RENDEZVOUS}
