"""How the numbers of ``numbers.yaml`` are computed: one small function for each name under ``ours``.

Each takes the evidence and the arguments written in the file, and gives a number; shares are shares, not per cent.
Makespans come from the recurrences on exact numbers, not from closed forms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from hpsim import formulas
from hpsim.exact import Number, NumberLike, exact
from hpsim.paper.evidence import Evidence
from hpsim.paper.fuzz import Search
from hpsim.paper.verdict import NOT_IN_FULL, Unavailable
from hpsim.reference import chain
from hpsim.sweep.file.pipelines_file import load_pipelines

Times = Sequence[NumberLike]


def recurrence(tau: Times, M: int, d: Times = (), regime: str = "free", rho: NumberLike = 1) -> Fraction:
    """The makespan by the recurrence of ``regime``, on exact numbers."""
    stages, transfers = [exact(time) for time in tau], [exact(time) for time in d]
    share = [exact(rho)] * (len(tau) - 1)
    return Fraction(chain.completion(stages, transfers, M, regime, share)[-1][-1])


def makespan(_: Evidence, tau: Times, M: int) -> Number:
    """Without communication."""
    return recurrence(tau, M)


def overestimate(_: Evidence, tau: Times, M: int) -> Number:
    """``(T_c - T)/T`` of the classic formula, without communication."""
    return Fraction(formulas.gpipe_makespan([exact(time) for time in tau], M)) / recurrence(tau, M) - 1


def bias(_: Evidence, tau: Times, M: int = 8) -> Number:
    """What the classic formula adds to the simulated makespan (Corollary 1: the same at every M)."""
    return Fraction(formulas.gpipe_makespan([exact(time) for time in tau], M) - recurrence(tau, M))


def heterogeneity(_: Evidence, tau: Times) -> Number:
    """``max(tau)/min(tau)``."""
    return max(map(exact, tau)) / min(map(exact, tau))


def ratio(_: Evidence, of: NumberLike, to: NumberLike) -> Number:
    """One printed number over another."""
    return exact(of) / exact(to)


def printed(_: Evidence, value: NumberLike) -> Number:
    """What the paper prints in another place."""
    return exact(value)


def distinct(_: Evidence, of: Sequence[str]) -> Number:
    """How many different ones there are."""
    return len(set(of))


def shipped_bias(_: Evidence, pipeline: str) -> Number:
    """The bias of a pipeline of the shipped file ``paper_clusters``."""
    (entry,) = (entry for entry in load_pipelines("paper_clusters").pipelines if entry.name == pipeline)
    return bias(_, entry.pipeline().tau)


def configurations(evidence: Evidence, run: str) -> Number:
    """How many were run."""
    return _in_full(evidence, run).totals.configs


def points(evidence: Evidence, run: str) -> Number:
    """How many (configuration, M) pairs were checked."""
    return _in_full(evidence, run).totals.points


def violations(evidence: Evidence, run: str) -> Number:
    """How many checks failed."""
    return _in_full(evidence, run).totals.violations


def worst_error(evidence: Evidence, run: str) -> Number:
    """The largest relative difference between recurrence and closed form."""
    return _in_full(evidence, run).worst


def farthest_ratio(evidence: Evidence, run: str) -> Number:
    """Recurrence over closed form, where it is farthest from 1 (Python floats hold it)."""
    return 1 + _in_full(evidence, run).worst


def stages(evidence: Evidence, run: str, end: str) -> Number:
    """The smallest (``low``) or largest (``high``) number of stages drawn."""
    drawn = _in_full(evidence, run).configs.column("S").to_pylist()
    return int(min(drawn) if end == "low" else max(drawn))


def bound(evidence: Evidence, run: str, of: str, end: str) -> Number:
    """The ``low`` or ``high`` end of the distribution of ``tau`` or ``d`` (in mean service times)."""
    value: Number = getattr(getattr(evidence.searches[run].sweep, of), end)
    return value


def span(evidence: Evidence, run: str, of: str) -> Number:
    """The high end of a distribution over its low end."""
    return exact(bound(evidence, run, of, "high")) / exact(bound(evidence, run, of, "low"))


def log_requests(evidence: Evidence) -> Number:
    """Requests of the log that can be used."""
    return evidence.from_log().log.kept


def log_direction(evidence: Evidence) -> Number:
    """Requests with ``total_s >= duration_s``; without totals of its own, those with a wait of at least 0, all kept."""
    log = evidence.from_log().log
    return log.direction_held if log.direction_checked else log.kept


def log_total(evidence: Evidence, statistic: str) -> Number:
    """A statistic over all requests: ``waited``, ``median_wait``, ``mean_wait``, ``longest_wait``."""
    return float(getattr(evidence.from_log().summary.totals, statistic))


def log_host(evidence: Evidence, model: str, host: str, statistic: str) -> Number:
    """A statistic of one host: ``count``, ``minimum``, ``median``, ``median_total``."""
    value = getattr(evidence.from_log().group(model, host), statistic)
    return value if isinstance(value, int | float) else float(value.value)


def log_hosts(evidence: Evidence, model: str, host: str, statistic: str, end: str) -> Number:
    """The ``low`` or ``high`` end of a statistic over the hosts with these digits in their names."""
    values = []
    for group in evidence.from_log().groups(model, host):
        value = getattr(group, statistic)
        values.append(value if isinstance(value, int | float) else float(value.value))
    return min(values) if end == "low" else max(values)


def log_bias(evidence: Evidence, model: str) -> Number:
    """The bias of a pipeline with one stage for each host of ``model``, at its smallest duration."""
    return bias(evidence, [group.minimum.value for group in evidence.from_log().groups(model)])


def _in_full(evidence: Evidence, run: str) -> Search:
    found = evidence.searches[run]
    if evidence.quick and run != "hand_crafted":
        totals = found.totals
        note = f"{totals.configs:,} configurations, {totals.points:,} points, {totals.violations:,} violations"
        raise Unavailable(NOT_IN_FULL, note)
    return found


QUANTITIES: dict[str, Callable[..., Number]] = {
    function.__name__: function
    for function in (
        makespan,
        overestimate,
        bias,
        heterogeneity,
        ratio,
        printed,
        distinct,
        shipped_bias,
        configurations,
        points,
        violations,
        worst_error,
        farthest_ratio,
        stages,
        bound,
        span,
        log_requests,
        log_direction,
        log_total,
        log_host,
        log_hosts,
        log_bias,
    )
}
