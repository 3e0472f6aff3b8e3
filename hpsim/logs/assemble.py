"""A pipeline from the hosts of a log: one stage each, a quantile of their service times as ``tau`` (§7.2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hpsim import formulas
from hpsim.errors import PipelineError
from hpsim.exact import NumberLike, exact
from hpsim.logs.bootstrap import Bootstrap, Estimate, estimate
from hpsim.logs.columns import LogError, brief, nearest, shown
from hpsim.logs.read import RequestLog, Requests
from hpsim.logs.statistics import duration_quantile
from hpsim.pipeline import Pipeline
from hpsim.units import per_second, time_in


@dataclass(frozen=True)
class Assembly:
    """A pipeline made of measured hosts; intervals from resampling the requests of each host.

    Attributes
    ----------
    model : str
    hosts : tuple of str
        One for each stage.
    counts : tuple of int
        Requests that each service time rests on.
    quantile : float
        Of the service times of a host, taken as its ``tau``.
    M : int
        Number of micro-batches.
    unit : str
        Of all times: that of the log.
    pipeline : Pipeline
        With exact numbers: each quantile and transfer time as its shortest decimal.
    tau : tuple of Estimate
    homogeneity_bias : Estimate
        Corollary 1, ``T_gpipe - T_free``.
    full_bias : Estimate
        Corollary 3, ``T_gpipe - T_async``.
    makespans : dict of str to Estimate
        ``T_free, T_async, T_block, T_gpipe`` at ``M``.
    bottleneck : tuple of int
        Stages that attain ``tau_max``.
    bottleneck_shares : tuple of float
        Share of the resamples in which each stage attains it; empty without a bootstrap.
    """

    model: str
    hosts: tuple[str, ...]
    counts: tuple[int, ...]
    quantile: float
    M: int
    unit: str
    pipeline: Pipeline
    tau: tuple[Estimate, ...]
    homogeneity_bias: Estimate
    full_bias: Estimate
    makespans: dict[str, Estimate]
    bottleneck: tuple[int, ...]
    bottleneck_shares: tuple[float, ...]

    def throughputs(self) -> tuple[dict[str, float], str]:
        """Micro-batches per second as M grows (Proposition 1), async and blocking, and ``/s``."""
        factor, per = per_second(self.unit)
        pipeline = self.pipeline
        rates = {"async": pipeline.throughput(), "blocking": pipeline.throughput(blocking=True)}
        return {name: float(Fraction(rate) * factor) for name, rate in rates.items()}, per


def assemble(
    log: RequestLog,
    hosts: Sequence[str],
    model: str | None = None,
    quantile: float = 0.0,
    d: Iterable[NumberLike] | None = None,
    M: int = 8,
    bootstrap: Bootstrap | None = None,
) -> Assembly:
    """The pipeline of ``hosts`` in this order, serving ``model``.

    Parameters
    ----------
    log : RequestLog
        As :func:`~hpsim.logs.read.read_log` gives it.
    hosts : sequence of str
        One for each stage.
    model : str, optional
        May be left out when each of the hosts serves one model, the same.
    quantile : float
        From 0, the minimum, to 1. The minimum is the paper's lower-bound estimate of the service time: the shortest
        request had little to do, on a host as idle as it ever was.
    d : S-1 numbers or texts, optional
        Transfer times: numbers in the unit of the log, or text with a unit of its own (``"4 ms"``).
    M : int
        Number of micro-batches.
    bootstrap : Bootstrap, optional
        Default: 1,000 resamples, seed 0.

    Raises
    ------
    LogError
        For an unknown host or model, a host named twice, or a model that is not clear.
    PipelineError
        For ``d`` or ``M`` that make no sense, or when every service time is 0.
    """
    if not 0 <= quantile <= 1:
        raise LogError("quantile", str(quantile), "a share from 0, the minimum, to 1, for example 0.05 or 0.5")
    drawn = bootstrap or Bootstrap()
    stages = _choose(log, hosts, model)
    values, replicates = zip(*(duration_quantile(stage, quantile, drawn) for stage in stages), strict=True)
    pipeline = Pipeline([exact(value) for value in values], None if d is None else _transfers(d, log.unit))
    tau = np.stack(replicates, axis=-1)  # (resamples, S)
    transfers = [float(transfer) for transfer in pipeline.d]
    points = {
        "T_free": pipeline.free(M),
        "T_async": pipeline.async_(M),
        "T_block": pipeline.blocking(M),
        "T_gpipe": pipeline.gpipe(M),
    }
    resampled = {
        "T_free": formulas.makespan_free(tau, M),
        "T_async": formulas.makespan_async(tau, M, transfers),
        "T_block": formulas.makespan_blocking(tau, M, transfers),
        "T_gpipe": formulas.gpipe_makespan(tau, M),
    }
    slowest = tau == tau.max(axis=-1, keepdims=True)
    return Assembly(
        model=stages[0].model,
        hosts=tuple(stage.host for stage in stages),
        counts=tuple(len(stage.duration) for stage in stages),
        quantile=float(quantile),
        M=int(M),
        unit=log.unit,
        pipeline=pipeline,
        tau=tuple(estimate(value, drawn_again) for value, drawn_again in zip(values, replicates, strict=True)),
        homogeneity_bias=estimate(float(pipeline.bias()), formulas.homogeneity_bias(tau)),
        full_bias=estimate(float(pipeline.full_bias()), formulas.full_bias_decomposition(tau, transfers)),
        makespans={name: estimate(float(value), resampled[name]) for name, value in points.items()},
        bottleneck=pipeline.bottleneck(),
        bottleneck_shares=tuple(slowest.mean(axis=0).tolist()) if len(tau) else (),
    )


def caution(made: Assembly) -> str:
    """In words, what the numbers of a pipeline made from a log can and cannot say."""
    if made.quantile:
        return (
            "These service times include what the load of the log added, and mix short requests with long ones: "
            "the makespans are those of a pipeline whose stages always take that long."
        )
    return (
        "Minima are lower bounds of the service times of ordinary requests, so the makespans are lower bounds too; "
        "the GPipe formula errs upward whatever tau is (Corollary 1), but by how much depends on these minima."
    )


def _transfers(d: Iterable[NumberLike], unit: str) -> list[Fraction]:
    read = []
    for s, transfer in enumerate(d):
        try:
            read.append(time_in(transfer, unit))
        except ValueError as fault:
            allowed = f"a time in {unit}, or with a unit of its own, such as 4 ms"
            raise PipelineError(f"d[{s}]", str(fault), allowed) from None
    return read


def _choose(log: RequestLog, hosts: Sequence[str], model: str | None) -> list[Requests]:
    """The requests of each host."""
    known = sorted({requests.host for requests in log.requests})
    if not hosts:
        raise LogError("pipeline", "no host", f"hosts in the order of the stages; {nearest('', known)}")
    for position, host in enumerate(hosts):
        if host not in known:
            raise LogError("pipeline", f"unknown host {shown(host)}", nearest(host, known))
        if host in hosts[:position]:
            raise LogError("pipeline", f"host {shown(host)} twice", "each host once: it serves one stage")
    models = sorted({requests.model for requests in log.requests})
    if model is not None and model not in models:
        raise LogError("model", f"unknown model {shown(model)}", nearest(model, models))
    chosen = model if model is not None else _only_model(log, hosts)
    by_host = {requests.host: requests for requests in log.requests if requests.model == chosen}
    idle = [host for host in hosts if host not in by_host]
    if idle:
        found = f"no request for {shown(chosen)} on {', '.join(map(brief, idle))}"
        raise LogError("pipeline", found, f"hosts that served it: {', '.join(map(brief, sorted(by_host)))}")
    return [by_host[host] for host in hosts]


def _only_model(log: RequestLog, hosts: Sequence[str]) -> str:
    served = {host: [requests.model for requests in log.requests if requests.host == host] for host in hosts}
    several = next((host for host in hosts if len(served[host]) > 1), None)
    if several is not None:
        found = f"{brief(several)} serves {len(served[several])} models"
        raise LogError("model", found, f"one of them with --model: {', '.join(map(brief, served[several]))}")
    models = sorted({models[0] for models in served.values()})
    if len(models) > 1:
        found = f"these hosts serve different models: {', '.join(map(brief, models))}"
        raise LogError("model", found, "hosts that share one, chosen with --model")
    return models[0]
