"""The terms of the throughput law: how long each resource of a pipeline needs for one micro-batch.

With the hold ``h[s] = (1-overlap[s])·d[s]`` (0 at the last stage), ``b`` input places at a stage, ``c`` channels on a
link and a window of ``W``, every elementary cycle of the event graph is one of

    server s        start → finish → depart → release → next start       tau[s] + h[s]
    credit s→s+1    depart at s → sent → start → finish → depart →       (d[s] + latency[s] + tau[s+1] + h[s+1])/(b+1)
                    release at s+1 → depart at s
    window          start at 0 → … → finish at the last → start at 0     (sum tau + sum d + sum latency + feedback)/W
    link s          sent → sent                                          d[s]/c

and the largest of them is the time per micro-batch in the long run. Why there are no others: a path leaves stage s
forwards through its departure only, and comes back to it, from the places of the next stage, through its departure
too. So a cycle that goes back over two links in a row would pass a departure twice; and one that goes back over the
window passes every departure on its way forwards. What a sender is held for is no part of its own credit loop: the
transfer starts at its departure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any, NamedTuple

from hpsim.exact import exact
from hpsim.regime import Regime
from hpsim.vectors import operands

Time = Any  # of any type that adds
_UNITS = {"credit": ("place", "places"), "window": ("micro-batch", "micro-batches"), "link": ("channel", "channels")}


class Part(NamedTuple):
    """One time in a term.

    Attributes
    ----------
    role : str
        ``service``, ``hold``, ``transfer``, ``latency``, ``feedback``; in the window ``fill`` for all but the last.
    amount : Fraction
    depends : tuple of str
        What it is proportional to: ``tau[1]``, ``d[0]``, …; a hold, ``d[0]`` and the held share, ``overlap[0]``.
    """

    role: str
    amount: Fraction
    depends: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Term:
    """What one resource allows.

    Attributes
    ----------
    kind : str
        ``server``, ``credit``, ``window``, ``link``.
    place : int
        The stage; of a credit loop and a link, the sending one; of the window 0.
    parts : tuple of Part
        How long one micro-batch takes it, zeros left out.
    count : int
        How many micro-batches it takes at once: 1, places and server together, the window, channels.
    time : Fraction
        The sum of the parts.
    slope : Fraction
        ``time/count``.
    """

    kind: str
    place: int
    parts: tuple[Part, ...]
    count: int
    time: Fraction
    slope: Fraction

    @property
    def name(self) -> str:
        """``server 2``, ``credit 1→2``, ``window``, ``link 0``."""
        return term_name(self.kind, self.place)

    @property
    def limit(self) -> str | None:
        """The knob that gives ``count``: ``buffers[2]``, ``window``, ``channels[0]``; a server has none."""
        knobs = {"credit": f"buffers[{self.place + 1}]", "window": "window", "link": f"channels[{self.place}]"}
        return knobs.get(self.kind)

    def __str__(self) -> str:
        """The term in words: ``credit loop 1→2: transfer 4 + service 5 over 1 place``."""
        return self.words()

    def words(self, unit: str | None = None) -> str:
        """The term in words, each time with its ``unit`` where there is one."""
        amounts: dict[str, Fraction] = {}
        for part in self.parts:
            amounts[part.role] = amounts.get(part.role, Fraction(0)) + part.amount
        of = f" {unit}" if unit else ""
        times = " + ".join(f"{role} {shown(amount)}{of}" for role, amount in amounts.items()) or "no time"
        name = self.name.replace("credit", "credit loop")
        if self.kind == "server":
            return f"{name}: {times}"
        return f"{name}: {times} over {self.count} {_UNITS[self.kind][self.count != 1]}"


def term_name(kind: str, place: int) -> str:
    """The short name of a term, as in the columns of a sweep."""
    if kind == "window":
        return kind
    return f"credit {place}→{place + 1}" if kind == "credit" else f"{kind} {place}"


def terms_of(
    tau: Sequence[Fraction], d: Sequence[Fraction] | None, latency: Sequence[Fraction] | None, regime: Regime
) -> list[Term]:
    """Every term of the law, in the order servers, credit loops, window, links.

    Parameters
    ----------
    tau : sequence of S numbers, ints or Fractions
        Service times.
    d, latency : sequences of S-1 numbers, or None or empty for none
        Transfer and travel times.
    regime : Regime
        Its lists, if any, of as many values.

    Raises
    ------
    PipelineError, RegimeError
        When a list has not one value for each stage or link.
    """
    _, stages, transfers, travels = operands(1, tau=tau, d=d, latency=latency)
    if not regime.communication:
        transfers, travels = [0] * len(transfers), [0] * len(travels)
    service = [Part("service", time, (f"tau[{s}]",)) for s, time in enumerate(stages)]
    transfer = [Part("transfer", time, (f"d[{s}]",)) for s, time in enumerate(transfers)]
    travel = [Part("latency", time, (f"latency[{s}]",)) for s, time in enumerate(travels)]
    hold = [
        Part("hold", (1 - exact(share)) * time, (f"d[{s}]", f"overlap[{s}]"))
        for s, (share, time) in enumerate(zip(regime.overlap_of(len(transfers)), transfers, strict=True))
    ]
    return list(_terms(service, transfer, travel, hold, regime))


def _terms(
    service: list[Part], transfer: list[Part], travel: list[Part], hold: list[Part], regime: Regime
) -> Iterator[Term]:
    tau, d, latency, held = ([[part] for part in parts] for parts in (service, transfer, travel, hold))
    feedback = [Part("feedback", exact(regime.feedback), ("feedback",))]
    for kind, place, parts, count in resources(tau, d, latency, held, feedback, regime):
        told = [*(part._replace(role="fill") for part in parts[:-1]), parts[-1]] if kind == "window" else parts
        yield _term(kind, place, told, count)


def resources(
    tau: Sequence[Time],
    d: Sequence[Time],
    latency: Sequence[Time],
    hold: Sequence[Time],
    feedback: Time,
    regime: Regime,
) -> Iterator[tuple[str, int, Time, int]]:
    """Kind, place, time for one micro-batch and count of every term: servers, credit loops, the window, links.

    Parameters
    ----------
    tau : sequence of S times
        Service times, of any type that adds: numbers, arrays, terms of a solver, lists of parts.
    d, latency, hold : sequences of S-1 times
        Transfer and travel times, and the part of each transfer that holds its sender; zeros without communication.
    feedback : time
        From the last stage back to the first.
    regime : Regime
        Its places, channels and window.

    Raises
    ------
    RegimeError
        When a knob is a list of another length than there are stages or links.
    """
    occupied = [*map(add, tau[:-1], hold), tau[-1]]
    for s, time in enumerate(occupied):
        yield "server", s, time, 1
    for s, places in enumerate(regime.buffers_of(len(tau))[1:]):
        if places is not None:
            yield "credit", s, d[s] + latency[s] + occupied[s + 1], places + 1
    if regime.window is not None:
        yield "window", 0, reduce(add, (*tau, *d, *latency)) + feedback, regime.window
    for s, channels in enumerate(regime.channels_of(len(d))):
        if channels is not None:
            yield "link", s, d[s], channels


def _term(kind: str, place: int, parts: Sequence[Part], count: int) -> Term:
    time = sum((part.amount for part in parts), Fraction(0))
    return Term(kind, place, tuple(part for part in parts if part.amount), count, time, time / count)


def shown(value: Fraction | int) -> str:
    """A number in a sentence: a short decimal where it is one, else a short fraction, else six digits."""
    value = Fraction(value)
    if abs(value) >= 10**300:
        return f"about 1e{len(str(abs(int(value)))) - 1}"
    decimal = f"{float(value):.12g}"
    if "e" not in decimal and len(decimal) <= 9 and Fraction(decimal) == value:
        return decimal
    return str(value) if len(str(value)) <= 9 else f"{float(value):.6g}"
