"""Makespans of the chain regimes in closed form, and the lemma that makes that legitimate.

With occupancy ``o`` and flight ``f`` the recurrence is ``C[m][s] = max(C[m][s-1] + f[s-1], C[m-1][s]) + o[s]``. By
induction ``C[m][s] = sum(o[:s+1]) + sum(f[:s]) + m·max(o[:s+1])``: the solver checks the first micro-batch, the first
stage and the step, for any non-negative times.
"""

from __future__ import annotations

from hpsim.conjecture.prove.formula import Formula, compared, some
from hpsim.conjecture.prove.poly import Poly, variable
from hpsim.conjecture.prove.smt import Prover
from hpsim.exact import exact
from hpsim.regime import Regime

CHAINS = ("free", "async", "blocking", "partial")


def chain_lemma(prover: Prover) -> bool:
    """Whether the closed form is shown by induction over micro-batches and stages (three lemmas)."""
    m, before, flown, longest, new = (variable(name) for name in ("m", "sum o", "sum f", "max o", "max o'"))
    o, f, earlier, above, moment = (variable(name) for name in ("o", "f", "C[m][s-1]", "C[m-1][s]", "C[m][s]"))
    signs = [compared(each, ">=") for each in (before, flown, longest, o, f)]
    later = compared(m - 1, ">=")
    # before, flown and longest are of the stages ahead of stage s, whose occupancy is o; new is of both
    first_batch = [
        *signs,
        compared(earlier - (before + flown), "=="),
        compared(moment - (earlier + f + o), "=="),
        compared(moment - ((before + o) + (flown + f)), "!="),
    ]
    first_stage = [
        *signs,
        later,
        compared(above - (o + (m - 1) * o), "=="),
        compared(moment - (above + o), "=="),
        compared(moment - (o + m * o), "!="),
    ]
    step = [
        *signs,
        later,
        *_largest(new, longest, o),
        compared(earlier - (before + flown + m * longest), "=="),
        compared(above - ((before + o) + (flown + f) + (m - 1) * new), "=="),
        *_largest(moment - o, earlier + f, above),
        compared(moment - ((before + o) + (flown + f) + m * new), "!="),
    ]
    return (
        prover.shows("closed form of the chain, first micro-batch", first_batch)
        and prover.shows("closed form of the chain, first stage", first_stage)
        and prover.shows("closed form of the chain, step", step)
    )


def _largest(largest: Poly, *numbers: Poly) -> list[Formula]:
    bounds: list[Formula] = [compared(largest - number, ">=") for number in numbers]
    return [*bounds, some(compared(largest - number, "==") for number in numbers)]


def is_chain(name: str, regimes: dict[str, Regime]) -> bool:
    """Whether the regime of this name is a chain, and so has the closed form."""
    return regimes[name].is_chain if name in regimes else name in CHAINS


def occupancy_and_flight(
    name: str, regimes: dict[str, Regime], tau: Poly, d: Poly, latency: Poly, rho: Poly, link: int | None = None
) -> tuple[Poly, Poly]:
    """What a micro-batch occupies a stage for, and what it then flies, in a chain regime.

    ``link`` is the number of the link after the stage; None after the last stage, and where all links are alike.
    """
    regime = regimes.get(name)
    if name == "free" if regime is None else not regime.communication:
        return tau, 0 * tau
    if regime is None:
        overlapped: Poly = {"async": 1 + 0 * rho, "blocking": 0 * rho, "partial": rho}[name]
    else:
        shares = regime.overlap if isinstance(regime.overlap, tuple) else (regime.overlap,)
        overlapped = exact(shares[0 if len(shares) == 1 or link is None else link]) + 0 * rho
    return tau + (1 - overlapped) * d, overlapped * d + latency
