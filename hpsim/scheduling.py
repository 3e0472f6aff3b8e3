"""One pipeline in one regime → when everything happens, micro-batch by micro-batch.

The module is not called ``schedule``: it would hide the function of that name in the package.

All times are scaled to whole numbers by their common denominator, the arcs of the event graph are followed on these,
and each result is rounded once: no error adds up, and ties are ties.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hpsim.errors import PipelineError
from hpsim.event_graph import Event, EventGraph, graph_of
from hpsim.exact import Number, exact
from hpsim.given_times import GivenTimes, number_of_microbatches, rows_of
from hpsim.pipeline import Pipeline
from hpsim.regime import ASYNC, Regime, regime_of
from hpsim.vectors import in_short

if TYPE_CHECKING:
    import numpy as np

Array = Any  # a NumPy array: of float64, int64, or of objects (ints and Fractions)

_AT_STAGES = ("start", "finish", "depart", "release")


@dataclass(frozen=True, eq=False)
class Split:
    """What each stage does from 0 to the makespan: four arrays (S,) that add up to it.

    They are added up exactly and rounded once each, so of whole numbers and Fractions the sum is exact.

    Attributes
    ----------
    service : array (S,)
        It serves.
    sending : array (S,)
        A transfer holds it (the share that does not overlap).
    starved : array (S,)
        It waits for a micro-batch: also before its first one, and after its last.
    blocked : array (S,)
        It has finished, and the next stage has no place for the micro-batch.
    """

    service: Array
    sending: Array
    starved: Array
    blocked: Array


@dataclass(frozen=True, eq=False)
class Schedule:
    """When everything happens, in the unit of the times given; row m of an array is micro-batch m.

    The arrays are float64, correctly rounded; of whole numbers and Fractions alone (text and decimals are Fractions)
    they are exact: int64, or of objects where a value is a fraction or does not fit. They cannot be written to.

    Attributes
    ----------
    arrival, start, finish : arrays (M, S)
        At the stage; of its service, B; of its service, F.
    depart : array (M, S)
        The next stage's place is taken and the transfer is posted, P; at the last stage the finish.
    release : array (M, S)
        The stage, and the input place that the micro-batch held there, are free again, R.
    send, sent : arrays (M, S-1)
        The link takes the transfer up, X; the transfer is over, E.
    makespan : number
        Finish of the last micro-batch at the last stage.
    split : Split
        What each stage does from 0 to the makespan.
    """

    arrival: Array
    start: Array
    finish: Array
    depart: Array
    release: Array
    send: Array
    sent: Array
    makespan: Number
    split: Split

    def __repr__(self) -> str:
        stages, many = "s" if self.S > 1 else "", "es" if self.M > 1 else ""
        return f"<Schedule: {self.S} stage{stages}, {self.M:,} micro-batch{many}, makespan {float(self.makespan):.10g}>"

    @property
    def M(self) -> int:
        """Number of micro-batches."""
        return int(self.start.shape[0])

    @property
    def S(self) -> int:
        """Number of stages."""
        return int(self.start.shape[1])

    @property
    def utilization(self) -> Array:
        """Share of the makespan in which each stage serves, float64 (S,); 0 where the makespan is 0."""
        import numpy as np

        span = Fraction(self.makespan)
        return np.array([float(Fraction(busy) / span) if span else 0.0 for busy in self.split.service.tolist()])


def schedule(
    p: Pipeline,
    M: int | None = None,
    regime: str | Regime = ASYNC,
    service: Any = None,
    transfer: Any = None,
    release: Any = None,
) -> Schedule:
    """Every start, finish, departure and release of one pipeline.

    Parameters
    ----------
    p : Pipeline
        Its stages, links and constant times.
    M : int, optional
        Number of micro-batches; may be left out where one of the lists below tells it.
    regime : str or Regime
        How stages and links interact: a name (``"async"``, ``"rendezvous"``, …) or the knobs.
    service : (M, S) times, optional
        Instead of ``p.tau``: the service time of each micro-batch at each stage.
    transfer : (M, S-1) times, optional
        Instead of ``p.d``.
    release : (M,) times, optional
        When each micro-batch is there; by default all are at 0. Stages serve in index order all the same.

    Times are lists or arrays in the unit of ``p``; floats are read by their shortest decimal form, text exactly.

    Raises
    ------
    PipelineError, RegimeError
        Naming the first value that makes no sense, ``service[3][1]``; and beyond 2,000,000 micro-batches × stages.

    Examples
    --------
    >>> s = schedule(Pipeline([1, 2], d=[2]), M=2, regime="blocking")
    >>> s.start.tolist(), s.release.tolist(), s.makespan
    ([[0, 3], [3, 6]], [[3, 5], [6, 8]], 8)
    """
    if not isinstance(p, Pipeline):
        raise PipelineError("p", in_short(p), "a Pipeline, for example Pipeline([1, 2], d=[0.5])")
    rules = regime_of(regime)
    given = {"service": service, "transfer": transfer, "release": release}
    tables = {name: rows_of(name, table) for name, table in given.items() if table is not None}
    count = number_of_microbatches(M, p.S, {name: len(table) for name, table in tables.items()})
    times = GivenTimes(rules)
    tau = times.table("service", tables["service"], p.S, "stage") if "service" in tables else times.constant(p.tau)
    d = times.table("transfer", tables["transfer"], p.S - 1, "link") if "transfer" in tables else times.constant(p.d)
    released = times.row("release", tables["release"], count, "micro-batch") if "release" in tables else [0] * count
    graph = graph_of(tau, d, times.constant(p.latency), rules)
    return _follow(graph, rules, count, p.S, released, times.has_floats)


def _follow(
    graph: EventGraph, regime: Regime, M: int, S: int, released: Sequence[int | Fraction], as_floats: bool
) -> Schedule:
    weights = [value for arc in graph.arcs for value in (arc.weight if _is_column(arc.weight) else (arc.weight,))]
    unit = math.lcm(*{int(time.denominator) for time in (*weights, *released)})
    moments = _moments(graph, M, [_whole(time, unit) for time in released], unit)
    rows = {kind: [moments[Event(kind, s)] for s in range(S)] for kind in _AT_STAGES}
    rows["sent"] = [moments[Event("sent", s)] for s in range(S - 1)]
    rows["send"], rows["arrival"] = [], [_arrivals_at_the_first(regime, rows["finish"][-1], released, unit)]
    weight = {(arc.source, arc.target): arc.weight for arc in graph.arcs}
    for s, sent in enumerate(rows["sent"]):
        link = Event("sent", s)
        transfer = _column(weight[Event("depart", s), link], M, unit)
        travel = _column(weight[link, Event("start", s + 1)], M, unit)
        rows["send"].append(list(map(operator.sub, sent, transfer)))
        rows["arrival"].append(list(map(operator.add, sent, travel)))
    return _rounded(rows, unit, as_floats)


def _moments(graph: EventGraph, M: int, released: Sequence[int], unit: int) -> dict[Event, list[int]]:
    """The moment of every event of M micro-batches, in units of 1/unit; as :func:`hpsim.event_graph.run`, but flat."""
    moments: dict[Event, list[int]] = {event: [] for event in graph.events}
    steps = [
        (
            moments[event],
            released if event == ("start", 0) else [0] * M,
            [(moments[arc.source], arc.lag, _column(arc.weight, M, unit)) for arc in graph.into[event] if arc.lag < M],
        )
        for event in graph.events
    ]
    for m in range(M):
        for row, earliest, waits in steps:
            latest = earliest[m]
            for source, lag, weight in waits:
                if lag <= m:
                    moment = source[m - lag] + weight[m]
                    if moment > latest:
                        latest = moment
            row.append(latest)
    return moments


def _arrivals_at_the_first(
    regime: Regime, last: Sequence[int], released: Sequence[int | Fraction], unit: int
) -> list[int]:
    arrivals = [_whole(time, unit) for time in released]
    W = regime.window
    if W is None:
        return arrivals
    back = _whole(exact(regime.feedback), unit)
    return [time if m < W else max(time, last[m - W] + back) for m, time in enumerate(arrivals)]


def _rounded(rows: Mapping[str, list[list[int]]], unit: int, as_floats: bool) -> Schedule:
    """The schedule of these columns of whole numbers, in units of 1/unit."""
    import numpy as np

    makespan, M = rows["finish"][-1][-1], len(rows["finish"][0])
    try:
        nearest = makespan / unit
    except OverflowError:
        raise PipelineError("M", f"{M}, a makespan beyond float64", "fewer micro-batches, or shorter times") from None
    kind: np.dtype[Any] = np.dtype(np.float64 if as_floats else np.int64)
    if not as_floats and (unit > 1 or makespan >= 2**63):
        kind = np.dtype(object)

    def of_kind(values: list[int]) -> Array:
        array = np.array([x / unit if as_floats else _exactly(x, unit) for x in values], dtype=kind)
        array.flags.writeable = False
        return array

    def table(columns: list[list[int]]) -> Array:
        array = np.empty((M, len(columns)), dtype=kind)
        for s, column in enumerate(columns):
            array[:, s] = of_kind(column)
        array.flags.writeable = False
        return array

    start, finish, depart, release = (np.array(list(map(sum, rows[kind])), dtype=object) for kind in _AT_STAGES)
    shares = {
        "service": finish - start,
        "sending": release - depart,
        "starved": makespan - (release - start),
        "blocked": depart - finish,
    }
    tables = {name: table(columns) for name, columns in rows.items()}
    return Schedule(
        **tables,
        makespan=nearest if as_floats else _exactly(makespan, unit),
        split=Split(**{name: of_kind(values.tolist()) for name, values in shares.items()}),
    )


def _is_column(weight: Any) -> bool:
    return getattr(weight, "ndim", 0) > 0


def _column(weight: Any, M: int, unit: int) -> list[int]:
    """A weight for each micro-batch, in units of 1/unit."""
    if _is_column(weight):
        return [_whole(value, unit) for value in weight]
    return [_whole(weight, unit)] * M


def _whole(value: Any, unit: int) -> int:
    return int(value.numerator) * (unit // int(value.denominator))


def _exactly(value: int, unit: int) -> int | Fraction:
    return value // unit if value % unit == 0 else Fraction(value, unit)
