"""What ``hpsim calc`` computes for one pipeline in a regime that its options make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields
from fractions import Fraction
from typing import Any

from hpsim.errors import PipelineError, RegimeError
from hpsim.exact import exact
from hpsim.long_run import makespan
from hpsim.pipeline import Pipeline
from hpsim.regime import Regime
from hpsim.throughput_law import throughput
from hpsim.vectors import in_short


def check_fit(pipeline: Pipeline, regime: Regime, M: int, name: str | None) -> None:
    """Whether the regime has as many values as the pipeline stages or links, and the makespan fits float64.

    Raises
    ------
    RegimeError, PipelineError
        When it does not; ``name`` is the pipeline's in its file.
    """
    try:
        regime.buffers_of(pipeline.S)
        regime.channels_of(pipeline.S - 1)
        regime.overlap_of(pipeline.S - 1)
    except RegimeError as fault:
        place = fault.place if name is None else f"pipeline {in_short(name)}, {fault.place}"
        raise RegimeError(place, fault.found, fault.allowed) from None
    times = sum(map(exact, (*pipeline.tau, *pipeline.d, *pipeline.d, *pipeline.latency, regime.feedback)))
    try:
        float(M * times)  # one micro-batch after the other, and each transfer held, takes no longer
    except OverflowError:
        raise PipelineError("M", f"{in_short(M)}, a makespan beyond float64", "fewer micro-batches") from None


def in_regime(
    pipeline: Pipeline, regime: Regime, counts: Sequence[int], measured: Sequence[Fraction], unit: str | None
) -> list[dict[str, Any]]:
    """For each number of micro-batches: makespan, utilization, throughput, bottlenecks and improvements.

    All numbers are exact, and None is what is unlimited. ``measured`` holds a makespan for each count, or nothing.
    ``unit`` is for the words.
    """
    found = throughput(pipeline, regime)
    always = {
        "slope": found.slope,
        "throughput": found.rate,
        "critical": found.critical.words(unit),
        "cycle": [str(arc.source) for arc in found.cycle],
        "bottlenecks": [term.name for term in found.bottlenecks],
        "terms": [{"name": term.name, "slope": term.slope, "words": term.words(unit)} for term in found.terms],
        "improvements": [asdict(change) for change in found.improvements],
    }
    knobs = {knob.name: _listed(getattr(regime, knob.name)) for knob in fields(regime)}
    told = []
    for k, M in enumerate(counts):
        T = makespan(pipeline, M, regime)
        utilization = [M * exact(time) / T for time in pipeline.tau]
        compared = {"measured_off_by": measured[k] / T - 1} if measured else {}
        told.append({**knobs, "T": T, "utilization": utilization, **compared, **always})
    return told


def _listed(knob: Any) -> Any:
    return list(knob) if isinstance(knob, tuple) else knob
