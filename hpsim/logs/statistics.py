"""Service times and waits of each model on each host, and of the whole log (§7.2, §9)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hpsim.logs.bootstrap import Bootstrap, Estimate, estimate, quantile, resampled_mean, resampled_quantile
from hpsim.logs.read import RequestLog, Requests

FEW_REQUESTS = 20
FEW_NEAR = 5
NEAR = 1.1  # times the minimum
_QUANTILES = {"minimum": 0.0, "p5": 0.05, "median": 0.5, "maximum": 1.0}


@dataclass(frozen=True)
class Group:
    """One model on one host; times in the unit of the log.

    Attributes
    ----------
    model, host : str
    count : int
    minimum, p5, median, mean, maximum : Estimate
        Of the service time ``duration_s``; ``p5`` is the 5th percentile.
    waited : float
        Share of the requests with a wait above 0.
    longest_wait : float
    median_total : float
        Of the time from end to end.
    near_minimum : int
        Requests within 10 % of the minimum, itself included.
    flags : tuple of str
        In words, why the minimum may say little about an idle host.
    """

    model: str
    host: str
    count: int
    minimum: Estimate
    p5: Estimate
    median: Estimate
    mean: Estimate
    maximum: Estimate
    waited: float
    longest_wait: float
    median_total: float
    near_minimum: int
    flags: tuple[str, ...]


@dataclass(frozen=True)
class Totals:
    """The whole log; times in its unit, over all requests kept.

    Attributes
    ----------
    waited : float
        Share of the requests with a wait above 0.
    median_wait, mean_wait, longest_wait : float
    median_duration, longest_duration, median_total, longest_total : float
    """

    waited: float
    median_wait: float
    mean_wait: float
    longest_wait: float
    median_duration: float
    longest_duration: float
    median_total: float
    longest_total: float


@dataclass(frozen=True)
class Summary:
    """What :func:`summarize` says: every group, by model and host, and the whole log."""

    groups: tuple[Group, ...]
    totals: Totals
    bootstrap: Bootstrap


def summarize(log: RequestLog, bootstrap: Bootstrap | None = None) -> Summary:
    """Statistics of ``log``, in its unit, with bootstrap intervals (default: 1,000 resamples, seed 0)."""
    drawn = bootstrap or Bootstrap()
    return Summary(tuple(_group(requests, drawn, log.unit) for requests in log.requests), _totals(log), drawn)


def duration_quantile(requests: Requests, q: float, bootstrap: Bootstrap) -> tuple[float, np.ndarray]:
    """The ``q``-quantile of the service time, and that of each resample of these requests."""
    random = bootstrap.generator(requests.model, requests.host, f"quantile {q}")
    replicates = resampled_quantile(requests.duration, q, bootstrap.resamples, random)
    return quantile(requests.duration, q), replicates


def _group(requests: Requests, bootstrap: Bootstrap, unit: str) -> Group:
    durations = {name: estimate(*duration_quantile(requests, q, bootstrap)) for name, q in _QUANTILES.items()}
    random = bootstrap.generator(requests.model, requests.host, "mean")
    means = resampled_mean(requests.duration, bootstrap.resamples, random) if bootstrap.resamples else np.empty(0)
    waited = float((requests.wait > 0).mean())
    near = int(np.searchsorted(requests.duration, NEAR * requests.duration[0], side="right"))
    return Group(
        requests.model,
        requests.host,
        len(requests.duration),
        mean=estimate(float(requests.duration.mean()), means),
        waited=waited,
        longest_wait=float(requests.wait.max()),
        median_total=float(np.median(requests.total)),
        near_minimum=near,
        flags=tuple(_flags(requests, near, waited, unit)),
        **durations,
    )


def _flags(requests: Requests, near: int, waited: float, unit: str) -> list[str]:
    """Doubts about the minimum. Of several shortest requests the one that waited least comes first."""
    count, wait = len(requests.duration), float(requests.wait[0])
    flags = []
    if not requests.duration[0]:
        flags.append("the minimum is 0, which no service takes: rounded, cached or never served")
    if count < FEW_REQUESTS:
        flags.append(f"the minimum rests on {count} request{'s' * (count > 1)} in all, fewer than {FEW_REQUESTS}")
    elif near < FEW_NEAR:
        alone = "on one request: no other lies" if near == 1 else f"on a handful: only {near} requests lie"
        flags.append(f"the minimum rests {alone} within 10 % of it")
    if wait > 0:
        flags.append(f"the shortest request itself waited {wait:.3g} {unit}, so the host was not idle then")
    if waited > 0.5:
        flags.append(f"saturated: {100 * waited:.3g} % of the requests waited, so an idle host may be faster still")
    return flags


def _totals(log: RequestLog) -> Totals:
    duration, wait, total = (
        np.concatenate([getattr(requests, name) for requests in log.requests]) for name in ("duration", "wait", "total")
    )
    return Totals(
        waited=float((wait > 0).mean()),
        median_wait=float(np.median(wait)),
        mean_wait=float(wait.mean()),
        longest_wait=float(wait.max()),
        median_duration=float(np.median(duration)),
        longest_duration=float(duration.max()),
        median_total=float(np.median(total)),
        longest_total=float(total.max()),
    )
