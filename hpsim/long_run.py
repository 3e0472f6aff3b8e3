"""Exact makespans of runs of any length, by jumping over what repeats.

In the long run the moments of a pipeline with constant times repeat: every event has a period ``p`` and a growth ``c``
with ``x(m) = x(m-p) + c``, but transients before may be long, with parts that drift at rates of their own until a
place, a channel or the window binds. So the run is simulated only while something new happens.

**What is jumped.** All times are scaled to integers. The past is kept as blocks (:mod:`hpsim.moments`); the last is
*periodic* when ``x_i(m) = x_i(m-p) + c_i`` for each of its events i and each m from its second period on. Let K be the
last micro-batch of such a block. Event i waits for arcs ``x_j(m-lag) + w``. Over the last period, ``m0`` in
``(K-p, K]``, an arc looks at ``x_j`` over ``(K-p-lag, K-lag]``, which is

- in the last block: it goes on with ``c_j`` for ever, if everything does; or
- in one earlier periodic block, whose period divides p: it goes on with that block's growth in p steps, ``c``, until
  the look reaches the block's end, for ``t <= (end - (K-lag)) // p`` more periods; or
- before the first micro-batch, where nothing is, for ``t <= (lag-1-K) // p`` periods;

and otherwise nothing is jumped. If for every event i and m0 some arc attains the maximum ``x_i(m0)`` and has
``c = c_i``, and for every arc with ``c > c_i`` the slack ``x_i(m0) - x_j(m0-lag) - w`` is at least ``t·(c-c_i)``, then
the block goes on for t periods.

*Proof* by induction over m in ``(K, K+t·p]``, and over the events in their order within m. Let ``m = m0 + u·p``,
``1 <= u <= t``. By the above, or by induction, the arc gives ``x_j(m-lag) + w = x_j(m0-lag) + w + u·c``. That is at
most ``x_i(m0) + u·c_i``: for ``c <= c_i`` since x_i(m0) is a maximum, for ``c > c_i`` by the slack. The arc that
attains x_i(m0) with ``c = c_i`` gives equality. So ``x_i(m) = x_i(m0) + u·c_i``. The release time 0 is an arc with
``c = 0``. ∎

The largest such t is taken, then single steps again, until the run is over or everything has settled.

**What has settled.** Let ``x_i(m) = x_i(m-p) + c_i`` for all events and all m in ``(K-p-reach, K]``, no lag being
longer than ``reach``, and ``c_j <= c_i`` for every arc from j to i. Then it goes on for ever: an arc that attains
x_i(m0) has ``x_j(m0-lag-p) + w = x_i(m0) - c_j``, which is at most ``x_i(m0-p) = x_i(m0) - c_i``; so ``c_j >= c_i``,
hence equal, and the proof above holds for every t. Here p may be long, a whole window of which the blocks keep a few
rows.

Which periods are tried decides about speed only: by the theory of max-plus matrices, parts that have settled have
periods that are least common multiples of lags. While nothing is found, the run is simulated step by step, and after
:data:`PATIENCE` steps handed to :mod:`hpsim.max_plus`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import wraps
from math import lcm
from typing import Any, NamedTuple, ParamSpec, TypeVar

from hpsim.cycle_ratio import critical_cycle
from hpsim.event_graph import Event, EventGraph, event_graph
from hpsim.max_plus import moment_after
from hpsim.moments import Moments
from hpsim.pipeline import Pipeline, check_pipeline
from hpsim.regime import ASYNC, Regime, regime_of
from hpsim.vectors import MOST_MICROBATCHES, counted

P = ParamSpec("P")
R = TypeVar("R")

_MOST_PERIODS = 400  # to try
_LONGEST_PERIOD = 100_000  # of a jump: its rows are kept
PATIENCE = 10_000  # steps before powers of a matrix are tried, which cost the same whatever the run does


class LongRun(NamedTuple):
    """A makespan or another moment, and how many micro-batches were simulated one by one to know it.

    Attributes
    ----------
    moment : Fraction
        In the pipeline's unit.
    steps : int
    """

    moment: Fraction
    steps: int


class _Jump(NamedTuple):
    """All from micro-batch ``first`` on repeats with this period and growth, for ``periods`` more."""

    first: int
    period: int
    growth: list[int]
    periods: int


class _Wait(NamedTuple):
    """An arc: the event waited for by number, how many micro-batches back, and the weight."""

    source: int
    lag: int
    weight: int


Waits = Sequence[Sequence[_Wait]]  # of each event, in an order in which each comes after all it waits for


def _in_either_order(function: Callable[P, R]) -> Callable[P, R]:
    """``function(pipeline, M, regime)``, which for now still takes ``(pipeline, regime, M)``, with a warning."""

    @wraps(function)
    def ordered(*args: P.args, **kwargs: P.kwargs) -> R:
        if len(args) < 2 or not isinstance(args[1], str | Regime):
            return function(*args, **kwargs)
        pipeline, regime, *rest = args
        if ("M" not in kwargs and not rest) or any(isinstance(M, str | Regime) for M in rest):
            return function(*args, **kwargs)  # where there is no number of micro-batches, the order is not the mistake
        warnings.warn(
            "makespan(pipeline, regime, M) is the old order; makespan(pipeline, M, regime) is the one to use",
            DeprecationWarning,
            stacklevel=2,
        )
        old: Any = function
        result: R = old(pipeline, *rest, regime=regime, **kwargs)
        return result

    return ordered


@_in_either_order
def makespan(pipeline: Pipeline, M: int, regime: str | Regime = ASYNC) -> Fraction:
    """Completion of micro-batch ``M - 1`` at the last stage, exactly, in a time that hardly depends on ``M``.

    Parameters
    ----------
    pipeline : Pipeline
        The same times for every micro-batch.
    M : int
        Number of micro-batches, from 1 to 10**300. All are present at time 0.
    regime : str or Regime
        A name, or knobs; lists, if any, as long as the pipeline. The old order, ``regime`` before ``M``, still works
        in this version, with a warning.

    Raises
    ------
    PipelineError, RegimeError
        When ``M`` is no such number, or a knob is a list of another length than there are stages or links.

    Notes
    -----
    Steps are needed for transients only, and what repeats is kept once, so that deep places and wide windows cost
    nothing by themselves. Where nothing repeats for long, as with links of coprime channels that are almost equally
    fast, powers of a max-plus matrix take over (:mod:`hpsim.max_plus`), unless its state is too large.

    Examples
    --------
    >>> makespan(Pipeline([2, 5], d=[4]), 10**18, Regime(buffers=0))
    Fraction(9000000000000000002, 1)
    """
    return long_run(pipeline, regime, M).moment


def long_run(pipeline: Pipeline, regime: str | Regime, M: int) -> LongRun:
    """As :func:`makespan`, with the number of steps that it took."""
    check_pipeline(pipeline)
    return moment(pipeline, regime, Event("finish", pipeline.S - 1), int(counted(M)) - 1)


def moment(pipeline: Pipeline, regime: str | Regime, event: Event, m: int) -> LongRun:
    """When an event of micro-batch ``m``, from 0, takes place: exactly, as :func:`makespan`, and in how many steps."""
    graph = event_graph(pipeline, regime_of(regime))
    scale = lcm(*(Fraction(arc.weight).denominator for arc in graph.arcs))
    waits, followed, after = _contracted(graph, scale, m + 1, event)
    found, steps = _last_moment(waits, followed, m + 1, lambda: critical_cycle(graph).ratio * scale)
    return LongRun(Fraction(found + after, scale), steps)


def _contracted(graph: EventGraph, scale: int, M: int, end: Event) -> tuple[list[list[_Wait]], int, int]:
    """The graph without events that only follow another of their micro-batch: waits, and where ``end`` is found.

    An arc that reaches back M micro-batches or more is not there.
    """
    follows: dict[Event, tuple[int, int]] = {}  # event → the number of the one it follows, and how long after
    kept: list[Event] = []
    for event in graph.events:
        arcs = [arc for arc in graph.into[event] if arc.lag < M]
        if len(arcs) == 1 and arcs[0].lag == 0:
            number, after = follows[arcs[0].source]
            follows[event] = number, after + int(arcs[0].weight * scale)
        else:
            follows[event] = len(kept), 0
            kept.append(event)
    waits = [
        [
            _Wait(follows[arc.source][0], arc.lag, follows[arc.source][1] + int(arc.weight * scale))
            for arc in graph.into[event]
            if arc.lag < M
        ]
        for event in kept
    ]
    return waits, *follows[end]


def _last_moment(waits: Waits, event: int, M: int, slope: Callable[[], Fraction]) -> tuple[int, int]:
    """The moment of ``event`` of micro-batch ``M - 1``, and the number of steps; ``slope`` gives the cycle ratio."""
    moments, periods = Moments(), _periods(waits)
    reach = max((wait.lag for arcs in waits for wait in arcs), default=0)
    steps, pause, due = 0, 1, 1
    while moments.count < M:
        moments.add(_step(waits, moments))
        steps += 1
        if steps == PATIENCE and moments.count >= reach:
            found = moment_after(waits, moments.row, moments.count - 1, event, M - 1, slope())
            if found is not None:
                return found, steps
        if steps < due:
            continue
        jump, settled = _what_repeats(waits, moments, periods, reach)
        if settled is not None:
            return _settled_moment(moments, event, M, settled), steps
        if jump is not None:
            moments.fold(jump.first, jump.period, jump.growth)
            moments.go_on(min(jump.periods * jump.period, M - moments.count))
        pause = 1 if jump is not None else 2 * pause
        due = steps + pause
    return moments.value(M - 1, event), steps


def _what_repeats(
    waits: Waits, moments: Moments, periods: Sequence[int], reach: int
) -> tuple[_Jump | None, _Jump | None]:
    """A jump, of the shortest period that allows one; or else a period with which all has settled for ever."""
    for period in periods:
        if 2 * period > moments.count:
            continue
        growth = moments.growth(period)
        found = moments.repeats(period, growth, period + reach)
        if found < period:
            continue
        first = moments.count - found - period
        if found >= period + reach and _nobody_catches_up(waits, growth):
            return None, _Jump(first, period, growth, 0)
        ahead = _periods_ahead(waits, moments, first, period, growth) if period <= _LONGEST_PERIOD else 0
        if ahead:
            return _Jump(first, period, growth, ahead), None
    return None, None


def _nobody_catches_up(waits: Waits, growth: Sequence[int]) -> bool:
    return all(growth[wait.source] <= growth[event] for event, arcs in enumerate(waits) for wait in arcs)


def _settled_moment(moments: Moments, event: int, M: int, settled: _Jump) -> int:
    periods = max(0, -((moments.count - M) // settled.period))
    return moments.value(M - 1 - periods * settled.period, event) + periods * settled.growth[event]


def _periods_ahead(waits: Waits, moments: Moments, first: int, period: int, growth: Sequence[int]) -> int:
    """For how many periods the micro-batches from ``first`` on are certain to go on as they do."""
    end = moments.count
    ahead = MOST_MICROBATCHES
    looks: list[list[tuple[int, int, int, int]]] = []  # source, lag, weight and growth of each arc that is there
    for arcs in waits:
        there = []
        for source, lag, weight in arcs:
            low, high = end - period - lag, end - lag
            if high <= 0:
                ahead = min(ahead, -high // period)
                continue
            rate = growth[source]
            if low < first:
                block = moments.block_at(low) if low >= 0 else None
                if block is None or block.growth is None or high > block.end or period % len(block.rows):
                    return 0
                rate = block.growth[source] * (period // len(block.rows))
                ahead = min(ahead, (block.end - high) // period)
            there.append((source, lag, weight, rate))
        looks.append(there)
    for m in range(end - period, end):
        if not ahead:
            return 0
        for event, moment in enumerate(moments.row(m)):
            attained = moment == 0 == growth[event]
            for source, lag, weight, rate in looks[event]:
                slack = moment - moments.value(m - lag, source) - weight
                faster = rate - growth[event]
                if faster > 0:
                    ahead = min(ahead, slack // faster)
                elif faster == 0 == slack:
                    attained = True
            if not attained:
                return 0
    return ahead


def _periods(waits: Waits) -> list[int]:
    """Periods to try, ascending: least common multiples of lags."""
    found = {1}
    for lag in sorted({wait.lag for arcs in waits for wait in arcs if wait.lag}):
        found |= {lcm(lag, period) for period in found}
        found = set(sorted(found)[:_MOST_PERIODS])
    return sorted(found)


def _step(waits: Waits, moments: Moments) -> list[int]:
    """The moments of the next micro-batch."""
    m = moments.count
    now: list[int] = []
    for arcs in waits:
        latest = 0  # nothing is earlier, and the first stage waits for the release at 0
        for source, lag, weight in arcs:
            if lag <= m:
                moment = (now[source] if lag == 0 else moments.value(m - lag, source)) + weight
                if moment > latest:
                    latest = moment
        now.append(latest)
    return now
