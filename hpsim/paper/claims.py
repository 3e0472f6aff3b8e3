"""Sentences of the paper that are too strong, each with a counterexample that is computed, not quoted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from hpsim.paper.evidence import Evidence
from hpsim.paper.quantities import heterogeneity, overestimate, recurrence
from hpsim.pipeline import Pipeline

REFUTED = "refuted"
STANDS = "not refuted"  # the counterexample does not do what it is here for: something is wrong with us

COLUMNS = ("section", "claim", "verdict", "counterexample", "instead")


@dataclass(frozen=True)
class Claim:
    """A sentence and what became of it.

    Attributes
    ----------
    section : str
    claim : str
        The paper's sentence, in short.
    verdict : str
        ``refuted``, or ``not refuted`` if the counterexample failed.
    counterexample : str
        With its numbers.
    instead : str
        What is true.
    """

    section: str
    claim: str
    verdict: str
    counterexample: str
    instead: str


def claims(evidence: Evidence) -> list[Claim]:
    """Every such sentence, in the order of the text."""
    return [
        Claim(section, claim, REFUTED if holds else STANDS, counterexample, instead)
        for section, claim, instead, refute in _CLAIMS
        for holds, counterexample in [refute(evidence)]
    ]


def _own_link(_: Evidence) -> tuple[bool, str]:
    p = Pipeline(["1", "1"], ["1"])
    before, after = p.tau_max, recurrence(p.tau, 9, p.d, "blocking") - recurrence(p.tau, 8, p.d, "blocking")
    slack = p.slack()[0]
    text = f"tau = [1, 1], d = [1]: stage 0 is a bottleneck with slack {slack}; the slope goes from {before} to {after}"
    return after > before and slack == 0, text


def _first_latency(_: Evidence) -> tuple[bool, str]:
    d = ("1", "3")
    first, moved = recurrence(("5", "1", "2"), 1, d, "async"), recurrence(("1", "2", "5"), 1, d, "async")
    return first == moved, f"tau = [5, 1, 2] and [1, 2, 5], d = [1, 3]: T(1) = {first} and {moved}"


def _monotone(evidence: Evidence) -> tuple[bool, str]:
    more, less = ("1", "3", "3"), ("1", "1", "2")
    ratios = heterogeneity(evidence, more), heterogeneity(evidence, less)
    errors = overestimate(evidence, more, 1), overestimate(evidence, less, 1)
    text = (
        f"at M = 1: {errors[0]} for [1, 3, 3], max/min = {ratios[0]}; {errors[1]} for [1, 1, 2], max/min = {ratios[1]}"
    )
    return ratios[0] > ratios[1] and errors[0] < errors[1], text


def _strictly_inside(evidence: Evidence) -> tuple[bool, str]:
    p = Pipeline(["0.5", "1", "1", "5"])
    makespan, endpoint = recurrence(p.tau, 1), Fraction(p.analyze(1)["graham_lower_bound"])
    found = evidence.graham
    text = (
        f"tau = [0.5, 1, 1, 5], M = 1: both are {float(makespan):g}. Of {found.points:,} random points "
        f"{found.equal:,} are equal to the lower endpoint, {found.below:,} below it and {found.above:,} above W"
    )
    return makespan == endpoint and found.equal > 0, text


def _sandwich(_: Evidence) -> tuple[bool, str]:
    p = Pipeline(["1", "2"], ["1"])
    blocking, rendezvous = recurrence(p.tau, 2, p.d, "blocking"), p.rendezvous(2)
    text = f"tau = [1, 2], d = [1], M = 2: {rendezvous} where a transfer holds both ends, T_block = {blocking}"
    return rendezvous > blocking, text


def _one_rho(_: Evidence) -> tuple[bool, str]:
    tau, d, half = ("1", "2"), ("2",), Fraction(1, 2)
    partial = recurrence(tau, 2, d, "partial", half)
    blend = half * recurrence(tau, 2, d, "async") + half * recurrence(tau, 2, d, "blocking")
    text = f"tau = [1, 2], d = [2], M = 2: half of the transfer overlapped gives {partial}, rho = 1/2 means {blend}"
    return partial < blend, text


_CLAIMS: tuple[tuple[str, str, str, Callable[[Evidence], tuple[bool, str]]], ...] = (
    (
        "5",
        "The slack is smallest for the stage just below the bottleneck, so the link out of that stage is the first "
        "to degrade "
        "throughput.",
        "A bottleneck that is not the last stage has slack 0: any d > 0 on its own link changes the blocking slope "
        "first.",
        _own_link,
    ),
    (
        "6",
        "Moving the bottleneck within the chain changes only the first-micro-batch latency.",
        "It changes nothing: T(1) = sum(tau) + sum(d) does not depend on the order either.",
        _first_latency,
    ),
    (
        "7.1",
        "The over-estimate is monotone in heterogeneity max(tau)/min(tau) at every M.",
        "It is monotone along the five rows of Table 1; in general it is the shortfall over T(M), which the ratio "
        "does not "
        "determine.",
        _monotone,
    ),
    (
        "7.1",
        "The closed form always lies strictly inside the Graham interval and equals its lower endpoint when the "
        "partition is "
        "balanced.",
        "With W = M·sum(tau) and CP = sum(tau), read as from W/S + (1−1/S)·CP to W, T is never outside, and equals "
        "the lower "
        "endpoint exactly if the partition is balanced or M = 1.",
        _strictly_inside,
    ),
    (
        "9",
        "T_real ≤ T_block for any real, partially overlapped system under A1–A5.",
        "Only if a transfer holds nothing but its sender. If it holds both ends, T = sum(tau) + sum(d) + "
        "(M−1)·max(d[s−1] + "
        "tau[s] + d[s]), up to twice T_block.",
        _sandwich,
    ),
    (
        "9",
        "rho is the fraction of overlap that a system realises.",
        "It is a place between two makespans. A share rho of every transfer overlapped gives at most the blend "
        "rho·T_async + "
        "(1−rho)·T_block, often less.",
        _one_rho,
    ),
)
