"""Sampled configurations in plain Python: the bit-exact twin of the compiled sampler.

Random numbers are counter-based. Word ``k`` of configuration ``id`` is a SplitMix64 hash of (seed, id, k) alone, so any
configuration can be drawn by itself, in any order, on any machine. From there on every step is one IEEE double
operation in a fixed order (Python never fuses a multiplication with an addition, and the only root or logarithm taken
from the C library is ``sqrt``, which IEEE 754 rounds correctly), so two correct implementations agree in every bit.

Sources: Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014) for the mixing function;
Wichura, "Algorithm AS 241: the percentage points of the normal distribution", Applied Statistics 37 (1988) 477-484, for
the normal quantile. Polynomial coefficients that have a formula are computed from it and rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from typing import TypedDict

Distribution = tuple[str, Sequence[Fraction], str | None]
"""(kind, values, times): what a sweep file says, with exact values. Kinds: constant (1 value), uniform, loguniform and
integers (low, high), lognormal (median, sigma), choice (the list). ``times`` is None, ``mean_tau`` or ``max_tau``."""

EDGE_CASES = (
    "tied bottlenecks",
    "slack on one link",
    "slack on every link",
    "no communication",
    "equal stages",
    "tied sigma",
)


class Configuration(TypedDict):
    """One sampled pipeline; ``edge_case`` says which one was forced, if any (with one stage some have no effect)."""

    S: int
    tau: list[float]
    d: list[float]
    latency: list[float]
    rho: float | None
    edge_case: str | None


GOLDEN = 0x9E3779B97F4A7C15
_WORD = 0xFFFFFFFFFFFFFFFF


def mix(x: int) -> int:
    """The output function of SplitMix64, a bijection of the unsigned 64-bit words."""
    x ^= x >> 30
    x = x * 0xBF58476D1CE4E5B9 & _WORD
    x ^= x >> 27
    x = x * 0x94D049BB133111EB & _WORD
    return x ^ x >> 31


def word(seed: int, id: int, draw: int) -> int:
    """Word ``draw`` of configuration ``id``: SplitMix64 three deep, by seed, by configuration, by draw."""
    key = mix(seed + GOLDEN & _WORD)
    config_key = mix(key + (id + 1) * GOLDEN & _WORD)
    return mix(config_key + (draw + 1) * GOLDEN & _WORD)


def uniform(seed: int, id: int, draw: int) -> float:
    """A multiple of 2^-53 in [0, 1)."""
    return (word(seed, id, draw) >> 11) * 2.0**-53


_DECIMAL = Context(prec=60)
_LN2 = _DECIMAL.ln(Decimal(2))
LN2 = float(_LN2)
SQRT_HALF = float(_DECIMAL.sqrt(Decimal("0.5")))


def _exp2_coefficient(n: int) -> float:
    """``sqrt(2)·(ln 2)^n/n!``: the Taylor series of 2^(t + 1/2) in ``t``."""
    power = _DECIMAL.multiply(_DECIMAL.sqrt(Decimal(2)), _DECIMAL.power(_LN2, n))
    return float(_DECIMAL.divide(power, Decimal(math.factorial(n))))


_EXP2 = [_exp2_coefficient(n) for n in range(14)]
_ATANH = [float(Fraction(1, 2 * n + 1)) for n in range(13)]


def _horner(coefficients: Sequence[float], x: float) -> float:
    """The polynomial whose coefficient of ``x^n`` is ``coefficients[n]``, evaluated from the highest power down."""
    result = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        result = result * x + coefficient
    return result


def exp2(y: float) -> float:
    """``2^y`` within 2 units in the last place, for results within the normal range of float64."""
    k = math.floor(y)
    t = (y - k) - 0.5
    return math.ldexp(_horner(_EXP2, t), k)


def ln(p: float) -> float:
    """The natural logarithm of ``p = f·2^e``, f in [sqrt(1/2), sqrt(2)), by ``ln f = 2·artanh((f-1)/(f+1))``."""
    f, e = math.frexp(p)
    if f < SQRT_HALF:
        f, e = 2.0 * f, e - 1
    x = (f - 1.0) / (f + 1.0)
    return e * LN2 + (2.0 * x) * _horner(_ATANH, x * x)


# AS 241, routine PPND16: the coefficients (numerator, denominator) of r^0 … r^7 in each of its three ranges.

_CENTRE = (
    (3.3871328727963666080, 1.0),
    (133.14166789178437745, 42.313330701600911252),
    (1971.5909503065514427, 687.18700749205790830),
    (13731.693765509461125, 5394.1960214247511077),
    (45921.953931549871457, 21213.794301586595867),
    (67265.770927008700853, 39307.895800092710610),
    (33430.575583588128105, 28729.085735721942674),
    (2509.0809287301226727, 5226.4952788528545610),
)
_SHOULDER = (
    (1.42343711074968357734, 1.0),
    (4.63033784615654529590, 2.05319162663775882187),
    (5.76949722146069140550, 1.67638483018380384940),
    (3.64784832476320460504, 0.689767334985100004550),
    (1.27045825245236838258, 0.148103976427480074590),
    (0.241780725177450611770, 0.0151986665636164571966),
    (0.0227238449892691845833, 0.000547593808499534494600),
    (0.000774545014278341407640, 1.05075007164441684324e-9),
)
_TAIL = (
    (6.65790464350110377720, 1.0),
    (5.46378491116411436990, 0.599832206555887937690),
    (1.78482653991729133580, 0.136929880922735805310),
    (0.296560571828504891230, 0.0148753612908506148525),
    (0.0265321895265761230930, 0.000786869131145613259100),
    (0.00124266094738807843860, 1.84631831751005468180e-5),
    (2.71155556874348757815e-5, 1.42151175831644588870e-7),
    (2.01033439929228813265e-7, 2.04426310338993978564e-15),
)


def _fraction(coefficients: Sequence[tuple[float, float]], r: float) -> tuple[float, float]:
    numerator, denominator = zip(*coefficients, strict=True)
    return _horner(numerator, r), _horner(denominator, r)


def normal(u: float) -> float:
    """The standard normal quantile of a uniform number; in the tails half a step keeps ``u = 0`` finite."""
    q = u - 0.5
    if abs(q) <= 0.425:
        numerator, denominator = _fraction(_CENTRE, 0.180625 - q * q)
        return q * numerator / denominator
    p = min(u, 1.0 - u) + 2.0**-54
    r = math.sqrt(-ln(p))
    numerator, denominator = _fraction(_SHOULDER, r - 1.6) if r <= 5.0 else _fraction(_TAIL, r - 5.0)
    z = numerator / denominator
    return -z if q < 0.0 else z


def quantile(distribution: Distribution, u: float) -> float:
    """The value of a distribution at ``u`` in [0, 1), before ``times``.

    Raises
    ------
    ValueError
        For an unknown kind.
    """
    kind, values, _ = distribution
    x = [float(value) for value in values]
    if kind == "constant":
        return x[0]
    if kind == "uniform":
        return min(x[0] + (x[1] - x[0]) * u, x[1])
    if kind == "loguniform":
        return min(x[0] * exp2(u * _log2(_DECIMAL.divide(_decimal(values[1]), _decimal(values[0])))), x[1])
    if kind == "lognormal":
        return x[0] * exp2(normal(u) * float(_DECIMAL.divide(_decimal(values[1]), _LN2)))
    if kind == "integers":
        return min(x[0] + math.floor(u * (x[1] - x[0] + 1.0)), x[1])
    if kind == "choice":
        return x[_pick(u, len(x))]
    raise ValueError(f"unknown distribution {kind!r}")


def highest(distribution: Distribution) -> float:
    """The largest value of a distribution; of a lognormal ``median·exp(8.3·sigma)``, just out of its reach."""
    kind, values, _ = distribution
    if kind == "lognormal":
        exponent = _DECIMAL.multiply(Decimal("8.3"), _decimal(values[1]))
        return float(_DECIMAL.multiply(_decimal(values[0]), _DECIMAL.exp(exponent)))
    return float(max(values))


def _decimal(value: Fraction) -> Decimal:
    return _DECIMAL.divide(Decimal(value.numerator), Decimal(value.denominator))


def _log2(ratio: Decimal) -> float:
    return float(_DECIMAL.divide(_DECIMAL.ln(ratio), _LN2))


def _pick(u: float, n: int) -> int:
    """One of ``0 … n-1``."""
    return min(math.floor(u * n), n - 1)


def sample(
    seed: int,
    id: int,
    stages: Distribution,
    tau: Distribution,
    d: Distribution | None,
    latency: Distribution | None,
    rho: Distribution | None,
    edge_cases: Fraction | float,
    resolution: int | None,
) -> Configuration:
    """Configuration ``id`` of the sampled sweep with this seed.

    ``edge_cases`` is the share of configurations forced onto a tie or a boundary. With a ``resolution`` (exact
    arithmetic) all times are multiples of ``2^-resolution`` and ``rho`` is a multiple of 1/16; without one (float64
    arithmetic) nothing is rounded. ``stages`` given as ``uniform`` means uniform over the integers. No ``d`` or
    ``latency`` means zeros, no ``rho`` gives None.
    """

    def u(draw: int) -> float:
        return uniform(seed, id, draw)

    S = int(quantile(("integers", *stages[1:]) if stages[0] == "uniform" else stages, u(0)))
    services = [_on_grid(quantile(tau, u(16 + 3 * s)), resolution) for s in range(S)]
    if not any(services):
        services[_pick(u(6), S)] = _on_grid(highest(tau), resolution)
    result = Configuration(
        S=S,
        tau=services,
        d=_link_times(d, [u(17 + 3 * s) for s in range(S - 1)], services, resolution),
        latency=_link_times(latency, [u(18 + 3 * s) for s in range(S - 1)], services, resolution),
        rho=None if rho is None else _on_grid(quantile(rho, u(1)), None if resolution is None else 4),
        edge_case=None,
    )
    if u(2) < float(edge_cases):
        _force(EDGE_CASES[_pick(u(3), 6)], result, u)
    return result


def _on_grid(x: float, resolution: int | None) -> float:
    """``x`` at the nearest multiple of ``2^-resolution``, ties to even; unchanged without a resolution."""
    if resolution is None:
        return x
    return round(x * 2.0**resolution) * 2.0**-resolution


def _link_times(
    distribution: Distribution | None, draws: list[float], tau: list[float], resolution: int | None
) -> list[float]:
    if distribution is None:
        return [0.0] * len(draws)
    scale = _scale(distribution, tau)
    return [_on_grid(quantile(distribution, u) * scale, resolution) for u in draws]


def _scale(distribution: Distribution, tau: list[float]) -> float:
    times = distribution[2]
    if times is None:
        return 1.0
    if times == "max_tau":
        return max(tau)
    if times == "mean_tau":
        total = tau[0]
        for x in tau[1:]:
            total = total + x
        return total / len(tau)
    raise ValueError(f"unknown scale {times!r}")


def _force(edge_case: str, configuration: Configuration, u: Callable[[int], float]) -> None:
    """Put a configuration onto a boundary of the theory: ties and exact slacks, which independent draws never hit."""
    S, tau, d = configuration["S"], configuration["tau"], configuration["d"]
    tau_max = max(tau)
    configuration["edge_case"] = edge_case
    if edge_case == "tied bottlenecks" and S >= 2:
        other = _pick(u(4), S - 1)
        tau[other + 1 if other >= tau.index(tau_max) else other] = tau_max
    elif edge_case == "slack on one link" and S >= 2:
        link = _pick(u(5), S - 1)
        d[link] = tau_max - tau[link]
    elif edge_case == "slack on every link":
        d[:] = [tau_max - x for x in tau[:-1]]
    elif edge_case == "no communication":
        d[:] = configuration["latency"][:] = [0.0] * (S - 1)
    elif edge_case == "equal stages":
        tau[:] = [tau_max] * S
    elif edge_case == "tied sigma" and S >= 2:
        link = _pick(u(5), S - 1)
        largest_other = max(tau[s] + (d[s] if s < S - 1 else 0.0) for s in range(S) if s != link)
        if largest_other >= tau[link]:
            d[link] = largest_other - tau[link]
