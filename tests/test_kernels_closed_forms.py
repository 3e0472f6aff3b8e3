"""The compiled closed forms: bit for bit those of ``hpsim.formulas`` on arrays, and equal to them on rationals."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from conftest import scaled

from hpsim import formulas
from hpsim.kernels import closed_forms
from hpsim.kernels.chain import LANES
from hpsim.lanes import pack, unpack
from hpsim.sweep.sample import batches
from hpsim.sweep.spec import load_sweep

Rows = list[list[Fraction]]
COUNTS = np.array([1, 2, 7, 100, 10**9])


def systems(rng: random.Random, S: int, n: int) -> tuple[Rows, Rows, Rows, Rows]:
    """``tau``, ``d``, ``latency``, shares: small multiples of 1/8 with many ties and zeros."""

    def rows(width: int, unit: int, most: int) -> Rows:
        return [[Fraction(rng.randint(0, most), unit) for _ in range(width)] for _ in range(n)]

    return rows(S, 8, 20), rows(S - 1, 8, 12), rows(S - 1, 8, 4), rows(S - 1, 16, 16)


def lanes(rows: Rows) -> np.ndarray:
    return pack(np.array(rows, dtype=np.float64).reshape(len(rows), -1))


def of_each(kernel: object, *given: np.ndarray, n: int) -> list[float]:
    out = np.full((len(given[0]), LANES), np.nan)
    kernel(*given, out)  # type: ignore[operator]
    found: list[float] = out.reshape(-1)[:n].tolist()
    return found


@pytest.mark.parametrize("S", [1, 2, 3, 5, 8, 17])
def test_equal_to_the_formulas_on_rationals(S: int, rng: random.Random) -> None:
    """Every kernel, on dozens of systems with ties and zeros: the same numbers as from Fractions."""
    n = scaled(70)
    tau, d, latency, shares = systems(rng, S, n)
    packed = lanes(tau), lanes(d), lanes(latency)
    exact = list(zip(tau, d, latency, shares, strict=True))
    assert of_each(closed_forms.fill_times, *packed, n=n) == [formulas.fill_time(*row[:3]) for row in exact]
    right = [formulas.rendezvous_slope(*row[:3]) for row in exact]
    assert of_each(closed_forms.rendezvous_slopes, *packed, n=n) == right
    if S > 1:
        right = [formulas.steady_slope(row[0], row[1], row[3]) for row in exact]
        assert of_each(closed_forms.slopes, *packed[:2], lanes(shares), n=n) == right
    one = [row[:1] or [Fraction(1)] for row in shares]
    right = [formulas.steady_slope(row[0], row[1], share[0]) for row, share in zip(exact, one, strict=True)]
    assert of_each(closed_forms.slopes, *packed[:2], lanes(one), n=n) == right
    found = np.full((closed_forms.N_SUMMARIES, len(packed[0]), LANES), np.nan)
    closed_forms.summaries(*packed[:2], found)
    tau_max, tau_sum, d_sum, sigma_max, bias, headroom = found.reshape(len(found), -1)[:, :n].tolist()
    assert tau_max == [max(row) for row in tau]
    assert tau_sum == [sum(row) for row in tau]
    assert d_sum == [sum(row) for row in d]
    assert sigma_max == [formulas.steady_slope(row[0], row[1], 0) for row in exact]
    assert bias == [formulas.homogeneity_bias(row) for row in tau]
    assert [left < 0 for left in headroom] == [formulas.phase_transition(row[0], row[1]) for row in exact]
    if S > 1:
        assert headroom == [min(formulas.link_headroom(row[0], row[1])) for row in exact]
    out = np.full((len(COUNTS), *found.shape[1:]), np.nan)
    closed_forms.gpipe(found[closed_forms.TAU_MAX], S, COUNTS, out)
    right = [[formulas.gpipe_makespan(row, int(M)) for row in tau] for M in COUNTS]
    assert out.reshape(len(out), -1)[:, :n].tolist() == right


@pytest.mark.parametrize("S", [1, 2, 3, 6, 16, 40])
def test_bit_for_bit_the_formulas_on_arrays(S: int) -> None:
    """Off any grid too: sums in the same order, so that a sweep in float64 arithmetic is what the library says."""
    n = 96
    rng = np.random.default_rng(S)
    tau, d, latency, shares = (rng.lognormal(0, 3, (n, width)) for width in (S, S - 1, S - 1, S - 1))
    shares = shares / (1 + shares)
    packed = pack(tau), pack(d), pack(latency)
    columns = [np.asfortranarray(rows) for rows in (tau, d, latency)]  # over which NumPy sums in the same order
    assert of_each(closed_forms.fill_times, *packed, n=n) == formulas.fill_time(*columns).tolist()
    assert of_each(closed_forms.rendezvous_slopes, *packed, n=n) == formulas.rendezvous_slope(*columns).tolist()
    if S > 1:
        right = formulas.steady_slope(*columns[:2], shares).tolist()
        assert of_each(closed_forms.slopes, *packed[:2], pack(shares), n=n) == right
    for share in (0.0, 1.0):
        overlap = np.full((len(packed[0]), 1, LANES), share)
        right = formulas.steady_slope(*columns[:2], share).tolist()
        assert of_each(closed_forms.slopes, *packed[:2], overlap, n=n) == right
    found = np.empty((closed_forms.N_SUMMARIES, len(packed[0]), LANES))
    closed_forms.summaries(*packed[:2], found)
    rows = found.reshape(len(found), -1)[:, :n]
    assert rows[closed_forms.BIAS].tolist() == formulas.homogeneity_bias(columns[0]).tolist()
    assert rows[closed_forms.SIGMA_MAX].tolist() == formulas.steady_slope(*columns[:2], 0).tolist()
    out = np.empty((len(COUNTS), *found.shape[1:]))
    closed_forms.gpipe(found[closed_forms.TAU_MAX], S, COUNTS, out)
    assert out.reshape(len(out), -1)[:, :n].tolist() == formulas.gpipe_makespan(tau, COUNTS[:, None]).tolist()


def test_equal_to_the_formulas_on_every_configuration_of_the_papers_search() -> None:
    """The lines that the shipped random search is checked against are those of ``hpsim.formulas``, bit for bit."""
    sweep = load_sweep("paper_fuzz")
    seen = 0
    for batch in batches(sweep, range(scaled(sweep.n_configs))):
        n = len(batch.ids)
        assert batch.rho is not None
        given = batch.tau, batch.d, batch.latency
        columns = [np.asfortranarray(unpack(values, n)) for values in given]
        shares = batch.rho.reshape(-1)[:n, None]
        assert of_each(closed_forms.fill_times, *given, n=n) == formulas.fill_time(*columns).tolist()
        assert of_each(closed_forms.rendezvous_slopes, *given, n=n) == formulas.rendezvous_slope(*columns).tolist()
        right = formulas.steady_slope(*columns[:2], shares).tolist()
        assert of_each(closed_forms.slopes, *given[:2], batch.rho[:, None], n=n) == right
        seen += n
    assert seen == scaled(sweep.n_configs)


def test_headroom_has_the_exact_sign() -> None:
    """A transfer a hair above, at and below its slack, where rounding the sum would hide which: as on Fractions."""
    cases = [(0.1, 0.3, 0.2), (0.1, 0.2 + 0.1, 0.2), (1e16, 1e16, 1.0), (1.0, 1e16, 1e16), (2.0**-30, 1.0, 1.0)]
    for low, high, transfer in cases:
        for nudged in (np.nextafter(transfer, 0), transfer, np.nextafter(transfer, np.inf)):
            tau, d = np.array([[low, high]]), np.array([[nudged]])
            found = np.empty((closed_forms.N_SUMMARIES, 1, LANES))
            closed_forms.summaries(pack(tau), pack(d), found)
            exact = Fraction(high) - Fraction(low) - Fraction(float(nudged))
            left = found[closed_forms.HEADROOM, 0, 0]
            assert (left > 0, left < 0) == (exact > 0, exact < 0), (low, high, nudged)
            assert (left < 0) == bool(formulas.phase_transition(tau, d)[0])
