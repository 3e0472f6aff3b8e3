"""The plain sampler against published words, high precision, the standard library, and values written down."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from statistics import NormalDist, fmean, median, pstdev

import pytest

from hpsim.reference import sampling
from hpsim.reference.sampling import EDGE_CASES, Configuration, Distribution, sample

STEP = 2.0**-53


def distribution(kind: str, *values: str | int, times: str | None = None) -> Distribution:
    return (kind, tuple(Fraction(value) for value in values), times)


PAPER = {
    "stages": distribution("integers", 2, 8),
    "tau": distribution("loguniform", "0.1", 10),
    "d": distribution("loguniform", "0.01", 20, times="mean_tau"),
    "latency": None,
    "rho": distribution("uniform", 0, 1),
}
MIXED = {
    "stages": distribution("choice", 3, 5, 6),
    "tau": distribution("lognormal", 2, "1/2"),
    "d": distribution("lognormal", "1/4", "1/2", times="max_tau"),
    "latency": distribution("uniform", "0.1", "0.3"),
    "rho": distribution("choice", 0, "1/3", 1),
}


def draws(n: int, draw: int = 0) -> list[float]:
    """Uniform numbers of ``n`` configurations of one seed."""
    return [sampling.uniform(20261015, id, draw) for id in range(n)]


def configurations(n: int, edge_cases: float = 0.0, resolution: int | None = 20, **changes: object) -> Iterator:
    for id in range(n):
        yield sample(seed=4, id=id, **{**PAPER, **changes}, edge_cases=edge_cases, resolution=resolution)


def units_off(value: float, right: Decimal) -> Decimal:
    """The distance of ``value`` from ``right`` in units in its last place."""
    return abs(Decimal(value) - right) / Decimal(math.ulp(value))


def test_mix_is_the_published_splitmix64() -> None:
    """The first five published outputs of SplitMix64 with seed 1234567."""
    published = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    states = [(1234567 + n * sampling.GOLDEN) % 2**64 for n in range(1, 6)]
    assert [sampling.mix(state) for state in states] == published


def test_words_are_the_written_ones() -> None:
    """Words computed by a separate C program from the definition, the last one wrapping around 2^64 in every sum."""
    assert [sampling.word(20261015, 7, draw) for draw in range(3)] == [
        16902998895526020117,
        14234196984751033705,
        8014146896429661005,
    ]
    assert sampling.word(0, 0, 0) == 2558736989570252433
    assert sampling.word(2**64 - 1, 0xFFFFFFFFF, 1000) == 12210485574339358772


def test_uniform_numbers_are_uniform() -> None:
    """Multiples of 2^-53 in [0, 1): mean 1/2, ten even bins, and no correlation between neighbouring draws or ids."""
    n = 20_000
    u, v = draws(n, 0), draws(n, 1)
    assert all(0 <= x < 1 and (x / STEP).is_integer() for x in u)
    assert abs(fmean(u) - 0.5) < 4 / math.sqrt(12 * n)
    bins = Counter(int(10 * x) for x in u)
    assert sum((count - n / 10) ** 2 / (n / 10) for count in bins.values()) < 27.9  # chi-square, 9 degrees, p = 0.001
    for x, y in ((u, v), (u[:-1], u[1:])):
        products = [(a - 0.5) * (b - 0.5) for a, b in zip(x, y, strict=True)]
        assert abs(fmean(products)) < 4 / 12 / math.sqrt(len(products))


def test_exp2_is_within_two_units_in_the_last_place(rng: random.Random) -> None:
    """Against Decimal at 50 digits over the range a sweep can need, and exact at whole numbers."""
    with localcontext() as context:
        context.prec = 50
        ln2 = Decimal(2).ln()
        samples = [rng.uniform(-60, 60) for _ in range(4000)] + [rng.uniform(-1e-3, 1e-3) for _ in range(1000)]
        edges = [math.nextafter(k, k + side) for k in range(-40, 41) for side in (-1, 1)]
        assert max(units_off(sampling.exp2(y), (Decimal(y) * ln2).exp()) for y in samples + edges) <= 2
    assert all(sampling.exp2(float(k)) == 2.0**k for k in range(-1000, 1000))


def test_exp2_never_falls_below_one_for_positive_numbers() -> None:
    """So a log-uniform draw never falls below its low end, which is not clamped."""
    tiny = [STEP * 2**k for k in range(53)] + [STEP * k for k in range(2000)] + [x * STEP * 1.7 for x in range(2000)]
    assert min(sampling.exp2(y) for y in tiny) == 1.0


def test_ln_is_within_two_units_in_the_last_place(rng: random.Random) -> None:
    """Against Decimal at 50 digits on the tail probabilities that the normal quantile takes."""
    tail = (
        [2.0**-54, STEP, 0.075]
        + [rng.uniform(0, 0.075) for _ in range(1500)]
        + [2 ** rng.uniform(-54, -4) for _ in range(1500)]
    )
    with localcontext() as context:
        context.prec = 50
        assert max(units_off(sampling.ln(p), Decimal(p).ln()) for p in tail) <= 2


def test_normal_quantile_agrees_with_the_standard_library(rng: random.Random) -> None:
    """Against NormalDist.inv_cdf at the same probability, on all three ranges of AS 241 and both signs."""
    standard = NormalDist().inv_cdf
    centre = [round(rng.uniform(0.075, 0.925) / STEP) * STEP for _ in range(3000)] + [0.075, 0.5, 0.925]
    tails = [0.0, STEP] + [round(2 ** rng.uniform(-52, -4) / STEP) * STEP for _ in range(3000)]
    for u in centre:
        assert sampling.normal(u) == pytest.approx(standard(u), rel=2e-15, abs=1e-300)
    for u in (x for x in tails if x < 0.075):
        assert sampling.normal(u) == pytest.approx(standard(u + STEP / 2), rel=4e-15)
        if u > 0:
            assert sampling.normal(1 - u) == -sampling.normal(u)
    assert sampling.normal(0.0) == min(sampling.normal(u) for u in tails)
    assert -8.3 < sampling.normal(0.0) < -8.29


def test_constant_and_choice() -> None:
    """A constant is itself; a choice takes its values equally often, the last one at the largest uniform number."""
    assert sampling.quantile(distribution("constant", "1/3"), 0.7) == 1 / 3
    three = distribution("choice", "0.5", 4, "0.25")
    assert [sampling.quantile(three, u) for u in (0.0, 0.34, 0.67, 1 - STEP)] == [0.5, 4.0, 0.25, 0.25]
    counts = Counter(sampling.quantile(three, u) for u in draws(6000))
    assert all(abs(count - 2000) < 4 * math.sqrt(6000 * 2 / 9) for count in counts.values())


def test_integers_cover_both_ends() -> None:
    """Every whole number from low to high, equally often, both ends included."""
    dice = distribution("integers", 1, 6)
    counts = Counter(sampling.quantile(dice, u) for u in draws(6000))
    assert sorted(counts) == [1, 2, 3, 4, 5, 6]
    assert all(abs(count - 1000) < 4 * math.sqrt(6000 * 5 / 36) for count in counts.values())
    assert sampling.quantile(dice, 1 - STEP) == 6


@pytest.mark.parametrize("kind", ["uniform", "loguniform", "integers"])
@pytest.mark.parametrize(("low", "high"), [("1", "3"), ("0.1", "10"), ("1/3", "1/3"), ("1e-6", "7e5")])
def test_ranges_are_respected(kind: str, low: str, high: str) -> None:
    """No draw leaves [low, high], at the extreme uniform numbers either."""
    if kind == "integers":
        low, high = str(math.ceil(Fraction(low))), str(math.ceil(Fraction(high)))
    ends = [0.0, STEP, 0.5, 1 - 2 * STEP, 1 - STEP]
    values = [sampling.quantile(distribution(kind, low, high), u) for u in draws(2000) + ends]
    assert float(Fraction(low)) <= min(values) <= max(values) <= float(Fraction(high))
    assert sampling.quantile(distribution(kind, low, high), 0.0) == float(Fraction(low))


def test_uniform_moments() -> None:
    """Mean (a+b)/2 and standard deviation (b-a)/sqrt(12)."""
    values = [sampling.quantile(distribution("uniform", 2, 5), u) for u in draws(5000)]
    assert fmean(values) == pytest.approx(3.5, abs=0.05)
    assert pstdev(values) == pytest.approx(3 / math.sqrt(12), rel=0.03)


def test_loguniform_quantiles_and_mean() -> None:
    """Over [0.1, 10]: each quantile u is 0.1·100^u, and the mean is (10 - 0.1)/ln 100."""
    two_decades = distribution("loguniform", "0.1", 10)
    for u in (0.0, 0.25, 0.5, 0.75, 0.999):
        assert sampling.quantile(two_decades, u) == pytest.approx(0.1 * 100**u, rel=1e-15)
    values = [sampling.quantile(two_decades, u) for u in draws(5000)]
    assert median(values) == pytest.approx(1.0, rel=0.1)
    assert fmean(values) == pytest.approx(9.9 / math.log(100), rel=0.06)


def test_lognormal_quantiles_and_moments() -> None:
    """Median and sigma are those of the file: ln(x/median)/sigma is a standard normal number."""
    x = distribution("lognormal", 3, "0.4")
    for u in (0.01, 0.25, 0.5, 0.75, 0.99):
        assert sampling.quantile(x, u) == pytest.approx(3 * math.exp(0.4 * NormalDist().inv_cdf(u)), rel=1e-15)
    z = [math.log(sampling.quantile(x, u) / 3) / 0.4 for u in draws(5000)]
    assert fmean(z) == pytest.approx(0.0, abs=0.06)
    assert pstdev(z) == pytest.approx(1.0, rel=0.04)
    assert sampling.quantile(distribution("lognormal", 3, 0), 0.9) == 3.0


def test_highest_bounds_every_draw() -> None:
    """The stated bound of each kind is attained or just out of reach."""
    assert sampling.highest(distribution("choice", 2, "7/2", 1)) == 3.5
    assert sampling.highest(distribution("loguniform", 1, "1e4")) == 1e4
    lognormal = distribution("lognormal", 2, "1/2")
    assert sampling.highest(lognormal) == pytest.approx(2 * math.exp(4.15), rel=1e-15)
    assert sampling.quantile(lognormal, 1 - STEP) < sampling.highest(lognormal)


def test_unknown_words_are_refused() -> None:
    """A kind or a scale that does not exist is named."""
    with pytest.raises(ValueError, match="'gamma'"):
        sampling.quantile(distribution("gamma", 1, 2), 0.5)
    with pytest.raises(ValueError, match="'sum_tau'"):
        list(configurations(1, d=distribution("constant", 1, times="sum_tau")))


def test_exact_times_are_on_the_grid() -> None:
    """Every time is a multiple of 2^-resolution and rho of 1/16, within half a step of the unrounded draw."""
    for resolution in (0, 3, 20, 40):
        rounded = configurations(200, 0.3, resolution, **MIXED)
        for configuration in rounded:
            for x in configuration["tau"] + configuration["d"] + configuration["latency"]:
                assert (x * 2.0**resolution).is_integer()
            assert configuration["rho"] in (0.0, 0.3125, 1.0)
    pairs = zip(configurations(200, resolution=20), configurations(200, resolution=None), strict=True)
    for on_grid, free in pairs:
        assert all(abs(a - b) <= 2.0**-21 for a, b in zip(on_grid["tau"], free["tau"], strict=True))
        assert abs(on_grid["rho"] - free["rho"]) <= 1 / 32


def test_halves_round_to_even() -> None:
    """Ties between two grid points go to the even one, as IEEE rint does."""
    for text, right in (("0.5", 0.0), ("1.5", 2.0), ("2.5", 2.0), ("3.5", 4.0)):
        (configuration,) = configurations(1, resolution=0, d=distribution("constant", text))
        assert set(configuration["d"]) == {right}
    (configuration,) = configurations(1, rho=distribution("constant", "5/32"))
    assert configuration["rho"] == 2 / 16


def test_d_is_scaled_by_the_drawn_service_times() -> None:
    """A constant d times mean_tau or max_tau is that multiple of the configuration's own tau."""
    for configuration in configurations(100, resolution=None, d=distribution("constant", "1/2", times="mean_tau")):
        assert configuration["d"] == pytest.approx(
            [fmean(configuration["tau"]) / 2] * (configuration["S"] - 1), rel=1e-14
        )
    for configuration in configurations(100, latency=distribution("constant", 2, times="max_tau")):
        assert set(configuration["latency"]) == {2 * max(configuration["tau"])}


def test_all_zero_service_times_are_rescued() -> None:
    """Exactly one stage, any of them, gets the highest tau, before anything is scaled by it."""
    changes = {"stages": distribution("constant", 3), "d": distribution("constant", 1, times="max_tau")}
    mostly_zero = distribution("choice", *[0] * 40, 5)
    picked = Counter()
    for id, configuration in enumerate(configurations(200, tau=mostly_zero, **changes)):
        assert set(configuration["d"]) == {5.0}
        if all(sampling.uniform(4, id, 16 + 3 * s) < 40 / 41 for s in range(3)):
            stage = int(3 * sampling.uniform(4, id, 6))
            assert configuration["tau"] == [5.0 if s == stage else 0.0 for s in range(3)]
            picked[stage] += 1
    assert sorted(picked) == [0, 1, 2]
    assert min(picked.values()) > 40


def test_a_tau_that_is_zero_on_the_grid_stays_zero() -> None:
    """When the highest tau rounds to zero there is nothing to rescue with: the sampler leaves that to its caller."""
    for configuration in configurations(20, tau=distribution("uniform", 0, "1e-9")):
        assert not any(configuration["tau"])


def test_stages_given_as_uniform_are_integers() -> None:
    """``uniform: [2, 8]`` for the number of stages means the whole numbers from 2 to 8."""
    assert list(configurations(50, stages=distribution("uniform", 2, 8))) == list(configurations(50))


def test_no_rho_and_no_communication() -> None:
    """Without distributions the links are zero and rho is absent."""
    (configuration,) = configurations(1, d=None, rho=None)
    assert configuration["d"] == configuration["latency"] == [0.0] * (configuration["S"] - 1)
    assert configuration["rho"] is None


def forced(edge_case: str, **changes: object) -> Iterator[tuple[Configuration, Configuration]]:
    """Pairs (forced onto the edge case, the same configuration as it was drawn)."""
    changes = {"latency": distribution("uniform", 1, 2), **changes}
    pairs = list(zip(configurations(400, 1.0, **changes), configurations(400, 0.0, **changes), strict=True))
    chosen = [pair for pair in pairs if pair[0]["edge_case"] == edge_case]
    assert len(chosen) >= 40
    return iter(chosen)


def changed(after: list[float], before: list[float]) -> list[int]:
    return [s for s, (x, y) in enumerate(zip(after, before, strict=True)) if x != y]


def test_the_share_of_edge_cases() -> None:
    """The share is kept, all six kinds occur equally often, and the rest is as without edge cases."""
    kinds = Counter(configuration["edge_case"] for configuration in configurations(3000, 0.3))
    assert set(kinds) == {*EDGE_CASES, None}
    assert kinds[None] == pytest.approx(2100, abs=4 * math.sqrt(3000 * 0.21))
    assert all(kinds[kind] == pytest.approx(150, abs=4 * math.sqrt(150)) for kind in EDGE_CASES)
    for some, none in zip(configurations(300, 0.3), configurations(300), strict=True):
        assert some["edge_case"] is not None or some == none


def test_tied_bottlenecks() -> None:
    """One further stage is raised to the largest tau; links stay; every stage but the bottleneck is eligible."""
    raised = Counter()
    for after, before in forced("tied bottlenecks", stages=distribution("constant", 4)):
        (stage,) = changed(after["tau"], before["tau"])
        assert after["tau"][stage] == max(before["tau"]) == max(after["tau"])
        assert (after["d"], after["latency"]) == (before["d"], before["latency"])
        raised[stage] += 1
    assert set(raised) == {0, 1, 2, 3}


def test_slack_on_one_link() -> None:
    """One link's transfer takes exactly the slack of its sender, so sigma ties with the largest tau there."""
    links = Counter()
    for after, before in forced("slack on one link", stages=distribution("constant", 4)):
        (link,) = changed(after["d"], before["d"])
        assert after["tau"][link] + after["d"][link] == max(after["tau"])
        assert (after["tau"], after["latency"]) == (before["tau"], before["latency"])
        links[link] += 1
    assert set(links) == {0, 1, 2}


def test_slack_on_every_link() -> None:
    """Every sigma but perhaps the last equals the largest tau."""
    for after, before in forced("slack on every link"):
        assert {x + y for x, y in zip(after["tau"][:-1], after["d"], strict=True)} == {max(before["tau"])}
        assert (after["tau"], after["latency"]) == (before["tau"], before["latency"])


def test_no_communication() -> None:
    """All transfers and latencies are zero."""
    for after, before in forced("no communication"):
        assert after["tau"] == before["tau"]
        assert after["d"] == after["latency"] == [0.0] * (after["S"] - 1)


def test_equal_stages() -> None:
    """All stages take the largest tau; links stay."""
    for after, before in forced("equal stages"):
        assert after["tau"] == [max(before["tau"])] * after["S"]
        assert (after["d"], after["latency"]) == (before["d"], before["latency"])


def test_tied_sigma() -> None:
    """The chosen link's sigma meets the largest of the others exactly; it stays only where its tau alone is larger."""
    unchanged = 0
    for after, before in forced("tied sigma"):
        links = changed(after["d"], before["d"])
        sigma = [x + y for x, y in zip(after["tau"], [*after["d"], 0.0], strict=True)]
        if links:
            assert sigma[links[0]] == max(sigma)
            assert sigma.count(max(sigma)) >= 2
        else:
            assert any(x > max(sigma[:s] + sigma[s + 1 :]) for s, x in enumerate(after["tau"][:-1]))
            unchanged += 1
        assert (after["tau"], after["latency"]) == (before["tau"], before["latency"])
    assert 0 < unchanged < 40


@pytest.mark.parametrize("edge_cases", [0.0, 1.0])
def test_one_stage(edge_cases: float) -> None:
    """A single stage has no links, and no edge case changes it."""
    for configuration in configurations(60, edge_cases, stages=distribution("constant", 1)):
        assert len(configuration["tau"]) == 1
        assert configuration["d"] == configuration["latency"] == []
    assert [c["tau"] for c in configurations(60, 1.0, stages=distribution("constant", 1))] == [
        c["tau"] for c in configurations(60, stages=distribution("constant", 1))
    ]


WRITTEN_DOWN = [
    # (distributions, seed, id, resolution), edge case, tau, d, latency, rho
    (
        (PAPER, 20261015, 0, 20),
        "tied bottlenecks",
        "0x1.62ab6p+1 0x1.6313c4p+2 0x1.6313c4p+2 0x1.0362ep-1 0x1.5df18p+2",
        "0x1.30d52p-1 0x1.0785ep-1 0x1.55f6p-5 0x1.9e04p-5",
        "0x0p+0 0x0p+0 0x0p+0 0x0p+0",
        "0x1.4p-2",
    ),
    (  # here the mean of tau depends on the order of its sum
        (PAPER, 20261015, 17, None),
        None,
        "0x1.a8bcf45745cfdp+0 0x1.e5d9bf957434cp-4 0x1.75da8d31e777cp+0 0x1.434a32e6cda1p+1 0x1.33a7e38945f7ap-3",
        "0x1.16daff9e9b98ep+1 0x1.71f8360c77bb2p+2 0x1.7da52d1400e2ap-2 0x1.c8c3be81f56p+2",
        "0x0p+0 0x0p+0 0x0p+0 0x0p+0",
        "0x1.7e354875f346p-6",
    ),
    (
        (MIXED, 20261015, 22, None),
        None,
        "0x1.9d1917f680bfap-2 0x1.b3d63e6d5948ap-1 0x1.47ba1a55e1281p+1 0x1.8d9135845c1f7p+0 0x1.0f076d805c817p+0",
        "0x1.534783e6e654p-1 0x1.c4a31e0532508p-2 0x1.5dec219f01027p-1 0x1.996ea67ef7426p-1",
        "0x1.9cc8d2b88bbep-3 0x1.f446ee8315a9dp-4 0x1.c2992679982efp-4 0x1.4def16c7f5495p-3",
        "0x1p+0",
    ),
    (
        (MIXED, 7, 1, None),
        "slack on one link",
        "0x1.138982352cfbfp+0 0x1.d0e05705fbed5p+0 0x1.2701448c8b33dp+2",
        "0x1.c43dc7fe7fe9ap+1 0x1.68ea0c3d9459fp+0",
        "0x1.b0f384b6e14fcp-3 0x1.4d660fe712e4ep-3",
        "0x0p+0",
    ),
    (
        (MIXED, 2**64 - 1, 2**40, 12),
        None,
        "0x1.80cp+1 0x1.29bp+1 0x1.3d9p+0 0x1.556p+0 0x1.f2fp+1",
        "0x1.b74p-2 0x1.23dp+0 0x1.62ap+1 0x1.87cp-1",
        "0x1.0e4p-2 0x1.15p-3 0x1.3d8p-3 0x1.f78p-3",
        "0x1p+0",
    ),
]


@pytest.mark.parametrize(("source", "edge_case", "tau", "d", "latency", "rho"), WRITTEN_DOWN)
def test_whole_configurations_written_down(
    source: tuple, edge_case: str | None, tau: str, d: str, latency: str, rho: str
) -> None:
    """Bit for bit the configurations that a separate C program drew: a seed means the same pipelines for ever."""
    distributions, seed, id, resolution = source
    expected = {
        name: [float.fromhex(x) for x in text.split()] for name, text in (("tau", tau), ("d", d), ("latency", latency))
    }
    assert sample(seed, id, **distributions, edge_cases=0.5, resolution=resolution) == {
        "S": len(expected["tau"]),
        **expected,
        "rho": float.fromhex(rho),
        "edge_case": edge_case,
    }
