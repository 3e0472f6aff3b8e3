"""What to improve in a pipeline, and what it buys: the changes that can be had, the best gain for the effort first.

The slope is the largest term of the throughput law, and a time or limit is found in a few terms only. A limit is
proposed one higher: one place, channel or micro-batch more. A time is proposed shorter by what pays, down to where
another resource binds; where that is nowhere above 0, half of it is proposed, for no time can be had away altogether.

**Gain** is the share of the time per micro-batch that a change saves. **Effort** is 1 for one more place, channel or
micro-batch in flight (for all stages or links alike, 1 for each of them), 1 for each tenth of itself that a time is
shortened by, and 1 for each tenth of a transfer that is overlapped in addition. So a time gains for its effort a tenth
of its share in the slowest resource, 0.1 at most, and a limit that saves more than that comes before all times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from hpsim.exact import exact
from hpsim.pipeline import Pipeline
from hpsim.regime import Regime
from hpsim.throughput_terms import Term, shown

_KINDS = {"buffers": "credit", "channels": "link"}
_ALL = {"buffers": "buffers, all stages", "channels": "channels, all links", "overlap": "overlap, all links"}
_TENTHS = 10  # units of effort that a whole time would take, or a whole transfer overlapped


@dataclass(frozen=True)
class Improvement:
    """What one change buys.

    Attributes
    ----------
    parameter : str
        ``tau[2]``, ``d[0]``, ``latency[0]``, ``feedback``, ``buffers[1]``, ``channels[0]``, ``window``, ``overlap[0]``;
        or ``buffers``, ``channels``, ``overlap``, all stages or links alike.
    value : Fraction or int
        What it is now.
    until : Fraction or int
        What is proposed: a limit that is one higher, a share that is higher, a time that is shorter and above 0.
    slope : Fraction
        Time per micro-batch then.
    then : str
        A resource that binds then, as in :attr:`Term.name`: another one where there is one.
    effort : Fraction or int
        In the units above.
    enough : Fraction or int
        How far the parameter pays: still more of a limit or share, or less of a time, changes the slope no further.
    """

    parameter: str
    value: Fraction | int
    until: Fraction | int
    slope: Fraction
    then: str
    effort: Fraction | int
    enough: Fraction | int

    def __str__(self) -> str:
        """The change in words: ``tau[2] from 5 to 3``."""
        return f"{_ALL.get(self.parameter, self.parameter)} from {shown(self.value)} to {shown(self.until)}"


def improvements(terms: Sequence[Term], pipeline: Pipeline, regime: Regime) -> tuple[Improvement, ...]:
    """Every single change that lowers the slope, the one that gains most for its effort first.

    Of equal ones limits come first, then overlap, then times. All stages or links alike (where the regime has one
    number for them) are named only where that buys more than any change on its own.

    Parameters
    ----------
    terms : sequence of Term
        All terms of the law for them.
    pipeline : Pipeline
        Its times.
    regime : Regime
        Its knobs.
    """
    slowest_first = sorted(terms, key=lambda term: -term.slope)
    slope = slowest_first[0].slope
    binding = [term for term in terms if term.slope == slope]
    single = [
        *_of_limits(binding[:1], slowest_first),
        *_of_times(binding, terms, slowest_first, _shares(pipeline, regime), rising=True),
        *_of_times(binding, terms, slowest_first, _values(pipeline, regime)),
    ]
    best = min([slope, *(found.slope for found in single)])
    together = [found for found in _together(terms, slowest_first, regime) if found.slope < best]
    lower = [found for found in (*together, *single) if found.slope < slope]
    return tuple(sorted(lower, key=lambda found: (found.slope - slope) / found.effort))


def _of_times(
    binding: Sequence[Term],
    terms: Sequence[Term],
    slowest_first: Sequence[Term],
    values: Mapping[str, Fraction],
    rising: bool = False,
) -> Iterator[Improvement]:
    """Changes of what every binding term has a part of; no other can change the slope."""
    shared = set.intersection(*({name for part in term.parts for name in part.depends} for term in binding))
    touched: dict[str, list[tuple[Term, Fraction]]] = {name: [] for name in values if name in shared}
    for term in terms:
        for part in term.parts:
            for name in part.depends:
                if name in touched:
                    touched[name].append((term, part.amount))
    for name, affected in touched.items():
        yield _reduced(name, values[name], affected, slowest_first, rising)


def _reduced(
    parameter: str,
    value: Fraction,
    affected: Sequence[tuple[Term, Fraction]],
    slowest_first: Sequence[Term],
    rising: bool,
    places: int = 1,
) -> Improvement:
    """A time that is shorter, or a share that is held for less of it (``rising``: the overlap is told).

    ``affected`` holds each term that has a part of it, and how large that part is; ``places`` is how many stages or
    links change.
    """
    rest = _largest_without([term for term, _ in affected], slowest_first)
    least = max(
        [rest.slope if rest else Fraction(0), *((term.time - amount) / term.count for term, amount in affected)]
    )
    enough = min((least * term.count - (term.time - amount)) * value / amount for term, amount in affected)
    until = enough if enough or rising else value / 2
    left = {term.name: (term.time - amount * (1 - until / value)) / term.count for term, amount in affected}
    own = max(left, key=lambda name: left[name])
    slope, then = (rest.slope, rest.name) if rest and rest.slope >= left[own] else (left[own], own)
    if rising:
        return Improvement(parameter, 1 - value, 1 - until, slope, then, _TENTHS * (value - until) * places, 1 - enough)
    return Improvement(parameter, value, until, slope, then, _TENTHS * (1 - until / value), enough)


def _of_limits(affected: Sequence[Term], slowest_first: Sequence[Term], parameter: str = "") -> Iterator[Improvement]:
    """One more: of one term, or of all terms of a kind alike."""
    name, rest = parameter or affected[0].limit, _largest_without(affected, slowest_first)
    if name is None or rest is None:
        return
    beside = 1 if affected[0].kind == "credit" else 0  # the one in service counts for the loop, but is no input place
    enough = max(ceil(term.time / rest.slope) for term in affected) - beside
    own = max(affected, key=lambda term: term.time / (term.count + 1))
    left, value = own.time / (own.count + 1), affected[0].count - beside
    slope, then = (rest.slope, rest.name) if rest.slope >= left else (left, own.name)
    yield Improvement(name, value, value + 1, slope, then, len(affected), enough)


def _together(terms: Sequence[Term], slowest_first: Sequence[Term], regime: Regime) -> Iterator[Improvement]:
    """Changes of all stages or links alike, where one number stands for them."""
    for knob, kind in _KINDS.items():
        if not isinstance(getattr(regime, knob), tuple):
            affected = [term for term in terms if term.kind == kind]
            if len(affected) > 1:
                yield from _of_limits(affected, slowest_first, knob)
    if not isinstance(regime.overlap, tuple):
        holds = [(term, part) for term in terms for part in term.parts if part.role == "hold"]
        links = len({part.depends for _, part in holds})
        if links > 1:
            amounts = [(term, part.amount) for term, part in holds]
            yield _reduced("overlap", 1 - exact(regime.overlap), amounts, slowest_first, True, links)


def _largest_without(affected: Sequence[Term], slowest_first: Sequence[Term]) -> Term | None:
    gone = {(term.kind, term.place) for term in affected}
    return next((term for term in slowest_first if (term.kind, term.place) not in gone), None)


def _values(pipeline: Pipeline, regime: Regime) -> dict[str, Fraction]:
    lists = (("tau", pipeline.tau), ("d", pipeline.d), ("latency", pipeline.latency))
    values = {f"{name}[{s}]": exact(time) for name, times in lists for s, time in enumerate(times)}
    return values | {"feedback": exact(regime.feedback)}


def _shares(pipeline: Pipeline, regime: Regime) -> dict[str, Fraction]:
    """The share of each transfer that holds its sender."""
    return {f"overlap[{s}]": 1 - exact(share) for s, share in enumerate(regime.overlap_of(pipeline.S - 1))}
