"""Exact makespans of runs of any length, by the makespan law.

**The law.** Let ``w`` be the time of a term of the throughput law (:mod:`hpsim.throughput_terms`) and ``lag`` its
count: 1 for a server, b+1 for a credit loop, c for a link, W for the window. With the same times for every micro-batch,
all of them present at time 0,

    T(M) = T(1) + max{ sum n·w : whole numbers n >= 0, one for each term, with sum n·lag <= M-1 },

where T(1) = sum tau + sum d + sum latency: the first micro-batch waits for nobody.

*Why.* T(M) is the weight of the heaviest path through the event graph (:mod:`hpsim.event_graph`) to the finish of
micro-batch M-1 at the last stage. It begins at the first stage, with the start of micro-batch 0 or a later one, for
every other event waits for one of its own micro-batch; so the lags along it add up to M-1 at most.

- *No more:* a path is an elementary path with elementary cycles put in. From the first start a path gets to an event of
  stage s, or of the link behind it, only along the straight path, and every arc that looks back (release to start,
  release to the departure before, sending to sending, last finish to first start) leads to an event of the straight
  path that has been passed by then. So the only elementary path is the straight one, of weight T(1) and lag 0; and the
  elementary cycles are the terms.
- *No less:* the straight path passes an event of every one of these cycles, so any number of each can be put in. No
  lag is negative, so what results is a path from micro-batch 0 or later if its lags add up to M-1 at most.

Besides this argument the law was compared with simulations step by step: 132,000 random mixtures of all knobs, up to 7
stages and 400 micro-batches, 1,536,574 makespans, every one of them equal.

**The maximum** is an unbounded knapsack of capacity ``C = M-1``, without the terms whose lag exceeds C. Let (W, L) be
the time and lag of the *best* term, with the largest ratio, and w1 the longest time of a server, of lag 1; all other
terms are *sides*. Once sides of lag k in total are chosen, the rest C-k is best filled with ``(C-k) // L`` times the
best term and ``(C-k) mod L`` times the server: a server's time is at least 0, so nothing need be left over, and L
servers are no better than the best term. Measured against W/L for each micro-batch, in units of 1/L, a side loses
``W·lag - w·L >= 0`` and a server ``W - w1·L``; the least total *loss* is sought.

Sides are combined in ascending order of loss (Dijkstra). A combination is dropped when another has the same lag modulo
L and no more loss and lag: as many servers fill that one up, so it can take the place of the first in whatever
contains it. Nothing goes on that loses as much as the least total known by then. Where ``C >= (L-1)·(longest lag of a
side)`` lags need no comparing: of L sides or more some have a lag in total that is a multiple of L and can be left out,
so none of the combinations kept, one for each residue, outgrows C. The work depends on lags and terms, not on M; there
is little, since a side counts only where it loses less than servers in its place.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import wraps
from heapq import heappop, heappush
from math import lcm
from typing import Any, NamedTuple, ParamSpec, TypeVar

from hpsim.errors import RegimeError
from hpsim.exact import exact
from hpsim.pipeline import Pipeline, check_pipeline
from hpsim.regime import ASYNC, Regime, regime_of
from hpsim.throughput_law import law_terms
from hpsim.throughput_terms import Term
from hpsim.vectors import counted

P = ParamSpec("P")
R = TypeVar("R")

_MOST_LOOKS = 20_000_000  # at one more side on a combination: some ten seconds
_MOST_KEPT = 1_000_000  # combinations: some 300 megabytes


class _Side(NamedTuple):
    """A term that is not the best one: what it loses against that, in whole units, and its lag."""

    loss: int
    lag: int


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
    """Completion of micro-batch ``M - 1`` at the last stage, exactly, in a time that does not depend on ``M``.

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
        When ``M`` is no such number, or a knob is a list of another length than there are stages or links. Also when
        limits of many thousands of micro-batches are so many, and so nearly equally slow, that too many combinations of
        them would have to be kept.

    Examples
    --------
    >>> makespan(Pipeline([2, 5], d=[4]), 10**18, Regime(buffers=0))
    Fraction(9000000000000000002, 1)
    """
    check_pipeline(pipeline)
    rules, behind = regime_of(regime), int(counted(M)) - 1
    terms = law_terms(pipeline, rules)
    links = (*pipeline.d, *pipeline.latency) if rules.communication else ()
    return sum(map(exact, (*pipeline.tau, *links)), Fraction(0)) + _heaviest(terms, behind)


def _heaviest(terms: Iterable[Term], capacity: int) -> Fraction:
    """The largest sum of times of terms, each taken any number of times, with lags of ``capacity`` in total."""
    if not capacity:
        return Fraction(0)
    times: dict[int, Fraction] = {}  # the longest of each lag
    for term in terms:
        if term.count <= capacity:
            times[term.count] = max(term.time, times.get(term.count, term.time))
    best = max(times, key=lambda lag: (times[lag] / lag, -lag))
    losses = {lag: times[best] * lag - time * best for lag, time in times.items()}
    server = losses[1]
    # every other term is no better than servers and the best term in its place
    sides = {lag: loss for lag, loss in losses.items() if loss < server * (lag % best)}
    scale = lcm(server.denominator, *(loss.denominator for loss in sides.values()))
    whole = [_Side(int(loss * scale), lag) for lag, loss in sides.items()]
    least = _least_loss(whole, int(server * scale), best, capacity)
    return (times[best] * capacity - Fraction(least, scale)) / best


def _least_loss(sides: Sequence[_Side], server: int, best: int, capacity: int) -> int:
    """The least loss of sides and servers that leave a multiple of the lag ``best`` of ``capacity``.

    Raises
    ------
    RegimeError
        When too many combinations would have to be kept or looked at.
    """
    longest = max((side.lag for side in sides), default=0)
    plenty = (best - 1) * longest <= capacity
    ascending = sorted((loss, 0 if plenty else lag, lag % best) for loss, lag in sides)
    least = server * (capacity % best)
    waiting = [(0, 0, 0)]  # a heap of combinations: loss, lag as far as it counts, lag modulo that of the best term
    lightest = {0: (0, 0)}  # loss and lag of one combination of each residue
    extended: dict[int, int] = {}  # the least lag among those of each residue that sides have been added to
    kept = looks = 0
    while waiting:
        loss, lag, residue = heappop(waiting)
        if loss >= least:
            break
        if residue in extended and extended[residue] <= lag:
            continue
        extended[residue] = lag
        for more, further, step in ascending:
            looks += 1
            together, spanned, modulo = loss + more, lag + further, (residue + step) % best
            if together >= least:
                break
            known = lightest.get(modulo, (together, spanned + 1))
            if spanned > capacity or (known[0] <= together and known[1] <= spanned):
                continue
            lightest[modulo] = min(known, (together, spanned))
            heappush(waiting, (together, spanned, modulo))
            kept += 1
            least = min(least, together + server * ((capacity - modulo) % best))
        if kept > _MOST_KEPT or looks > _MOST_LOOKS:
            limits = f"{len(sides) + 1} limits of up to {max(best, longest):,} micro-batches, almost equally slow"
            most = f"at most {_MOST_KEPT:,} combinations of them kept and {_MOST_LOOKS:,} looked at for one makespan"
            raise RegimeError("regime", limits, f"fewer or smaller ones, {most}")
    return least
