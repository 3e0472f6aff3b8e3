"""What ``hpsim calc`` computes for one pipeline in a regime that its options make."""

from __future__ import annotations

from dataclasses import asdict, fields
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


def in_regime(pipeline: Pipeline, regime: Regime, M: int) -> dict[str, Any]:
    """Makespan, throughput, bottlenecks and improvements, in exact numbers; None for what is unlimited."""
    found = throughput(pipeline, regime)
    return {
        **{knob.name: _listed(getattr(regime, knob.name)) for knob in fields(regime)},
        "T": makespan(pipeline, M, regime),
        "slope": found.slope,
        "throughput": found.rate,
        "critical": str(found.critical),
        "cycle": [str(arc.source) for arc in found.cycle],
        "bottlenecks": [term.name for term in found.bottlenecks],
        "terms": [{"name": term.name, "slope": term.slope, "words": str(term)} for term in found.terms],
        "improvements": [asdict(change) for change in found.improvements],
    }


def _listed(knob: Any) -> Any:
    return list(knob) if isinstance(knob, tuple) else knob
