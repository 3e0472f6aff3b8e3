"""A schedule as a trace in the Chrome trace-event format, which Perfetto and chrome://tracing open.

The format (*Trace Event Format*, the JSON object form): complete events ``X`` for what stages and links do, metadata
``M`` for the names and the order of the rows, and a flow ``s``, ``t``, ``f`` for each transfer: from the service at the
sender by way of the link to the service at the receiver. Times are microseconds; viewers keep whole nanoseconds, so
moments are rounded to these, and durations are differences of rounded moments: no two events of a row overlap.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from hpsim.errors import HpsimError
from hpsim.timeline.moments import lanes, moments, stage_labels
from hpsim.units import SECONDS

if TYPE_CHECKING:
    from hpsim.scheduling import Schedule

UNITS = {unit: int(seconds * 10**9) for unit, seconds in SECONDS.items()}  # nanoseconds
STAGES, LINKS = 1, 2  # process numbers

Event = dict[str, Any]


def trace(schedule: Schedule, unit: str = "s", names: Sequence[str] = ()) -> str:
    """The trace as JSON text, one event a line; ``unit`` (a key of ``UNITS``) is that of the schedule's times.

    ``names`` are those of the stages, or none.
    """
    about = {"makespan": float(schedule.makespan), "unit": unit, "stages": schedule.S, "micro-batches": schedule.M}
    events = ",\n".join(json.dumps(event, separators=(",", ":")) for event in trace_events(schedule, unit, names))
    return f'{{"displayTimeUnit":"ms","otherData":{json.dumps(about)},"traceEvents":[\n{events}\n]}}\n'


def trace_events(schedule: Schedule, unit: str = "s", names: Sequence[str] = ()) -> Iterator[Event]:
    """Names of the rows, then all other events in the order of time.

    Raises
    ------
    HpsimError
        When the run is longer than viewers can count nanoseconds, 292 years.
    """
    import numpy as np

    if float(schedule.makespan) * UNITS[unit] >= 2**63:
        raise HpsimError("unit", f"a run of {float(schedule.makespan):.6g} {unit}", "292 years at most in a trace")
    rounded = {kind: np.rint(array * UNITS[unit]).tolist() for kind, array in moments(schedule).items()}
    at = {kind: [[int(moment) for moment in row] for row in rows] for kind, rows in rounded.items()}
    links = [lanes([row[s] for row in at["send"]], [row[s] for row in at["sent"]]) for s in range(schedule.S - 1)]
    widths = [max(taken) + 1 for taken in links]
    firsts = [sum(widths[:s]) for s in range(len(widths))]
    yield from _names(stage_labels(schedule.S, names), widths)
    events = [event for m in range(schedule.M) for event in _stages(at, m)]
    for s, taken in enumerate(links):
        for m, lane in enumerate(taken):
            events += _transfer(at, m, s, firsts[s] + lane)
    yield from sorted(events, key=lambda event: event["ts"])  # stable: a slice stays ahead of the flows that it holds


def _names(stages: Sequence[str], widths: list[int]) -> Iterator[Event]:
    rows = [(STAGES, stage) for stage in stages]
    for s, width in enumerate(widths):
        rows += [(LINKS, f"link {s}→{s + 1}" + (f" ({lane + 1})" if width > 1 else "")) for lane in range(width)]
    for pid, name in ((STAGES, "stages"), (LINKS, "links")):
        if pid == STAGES or widths:
            yield {"name": "process_name", "ph": "M", "pid": pid, "tid": 0, "args": {"name": name}}
            yield {"name": "process_sort_index", "ph": "M", "pid": pid, "tid": 0, "args": {"sort_index": pid}}
        for tid, row in enumerate(row for process, row in rows if process == pid):
            yield {"name": "thread_name", "ph": "M", "pid": pid, "tid": tid, "args": {"name": row}}
            yield {"name": "thread_sort_index", "ph": "M", "pid": pid, "tid": tid, "args": {"sort_index": tid}}


def _stages(at: dict[str, Any], m: int) -> Iterator[Event]:
    for s, (start, finish, depart, release) in enumerate(
        zip(*(at[kind][m] for kind in ("start", "finish", "depart", "release")), strict=True)
    ):
        yield _complete(f"micro-batch {m}", "service", STAGES, s, start, finish, m)
        if depart > finish:
            yield _complete("blocked", "blocked", STAGES, s, finish, depart, m)
        if release > depart:
            yield _complete("sending", "sending", STAGES, s, depart, release, m)


def _transfer(at: dict[str, Any], m: int, s: int, tid: int) -> Iterator[Event]:
    begin, end, arrival = at["send"][m][s], at["sent"][m][s], at["arrival"][m][s + 1]
    flow = {"name": "transfer", "cat": "transfer", "id": m * len(at["start"][0]) + s}
    yield flow | {"ph": "s", "ts": _microseconds(at["start"][m][s]), "pid": STAGES, "tid": s}
    if end > begin:
        slice_ = _complete(f"micro-batch {m}", "transfer", LINKS, tid, begin, end, m)
        slice_["args"]["arrival"] = _microseconds(arrival)
        yield slice_
        yield flow | {"ph": "t", "ts": _microseconds(begin), "pid": LINKS, "tid": tid}
    arrived = _microseconds(at["start"][m][s + 1])
    yield flow | {"ph": "f", "bp": "e", "ts": arrived, "pid": STAGES, "tid": s + 1}


def _complete(name: str, category: str, pid: int, tid: int, begin: int, end: int, m: int) -> Event:
    ts, dur = _microseconds(begin), _microseconds(end - begin)
    return {"name": name, "cat": category, "ph": "X", "ts": ts, "dur": dur, "pid": pid, "tid": tid, "args": {"m": m}}


def _microseconds(nanoseconds: int) -> float:
    """A number of microseconds that is these nanoseconds again whether a viewer rounds or cuts off."""
    value = nanoseconds / 1000
    return value if int(value * 1000) >= nanoseconds else math.nextafter(value, math.inf)
