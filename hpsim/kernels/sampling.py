"""Counter-based random numbers: a draw is a function of (seed, configuration index, draw index) and nothing else.

The words are those of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014), one
stream per configuration:

    word(seed, id, draw) = mix(mix(mix(seed + G) + (id + 1)·G) + (draw + 1)·G),        u = (word >> 11) · 2^-53

Everything else is additions, multiplications, divisions and square roots in a fixed order, with our own polynomials
for 2^y and log2, so that a configuration is the same on every machine. Arrays have shape (blocks, n, LANES).
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from typing import Any

import numpy as np

from hpsim.kernels._jit import kernel

Array = np.ndarray[Any, Any]

GAMMA = np.uint64(0x9E3779B97F4A7C15)
MULTIPLIER_1 = np.uint64(0xBF58476D1CE4E5B9)
MULTIPLIER_2 = np.uint64(0x94D049BB133111EB)
SHIFT_30, SHIFT_27, SHIFT_31, SHIFT_11, ONE = (np.uint64(n) for n in (30, 27, 31, 11, 1))
UNIT = 2.0**-53
STEP = 3  # from the draw of one stage to that of the next: service, transfer and travel time take turns

CONSTANT, UNIFORM, LOG_UNIFORM, LOG_NORMAL, INTEGERS, CHOICE = range(6)
AS_DRAWN, TIMES_MEAN_TAU, TIMES_MAX_TAU = range(3)


def _exp2_coefficients() -> tuple[float, ...]:
    """The doubles nearest to sqrt(2)·(ln 2)^n / n!: the Taylor series of 2^(t + 1/2) about t = 0, exact to 2^-57."""
    with localcontext(prec=50):
        root, log = Decimal(2).sqrt(), Decimal(2).ln()
        return tuple(float(root * log**n / math.factorial(n)) for n in range(14))


EXP2_COEFFICIENTS = _exp2_coefficients()


@kernel
def _mix(x: Any) -> Any:
    x = (x ^ (x >> SHIFT_30)) * MULTIPLIER_1
    x = (x ^ (x >> SHIFT_27)) * MULTIPLIER_2
    return x ^ (x >> SHIFT_31)


@kernel
def stream_keys(seed: Any, ids: Array, out: Array) -> None:
    """``out[b, l]`` = the key of configuration ``ids[b, l]``; uint64 in and out."""
    key = _mix(seed + GAMMA)
    for block in range(ids.shape[0]):
        for lane in range(ids.shape[1]):
            out[block, lane] = _mix(key + (ids[block, lane] + ONE) * GAMMA)


@kernel
def uniforms(keys: Array, first_draw: int, step: int, out: Array) -> None:
    """``out[b, s, l]`` = draw ``first_draw + s·step`` of the stream ``keys[b, l]``, uniform in [0, 1)."""
    for block in range(out.shape[0]):
        for s in range(out.shape[1]):
            offset = np.uint64(first_draw + s * step + 1) * GAMMA
            for lane in range(out.shape[2]):
                out[block, s, lane] = np.float64(_mix(keys[block, lane] + offset) >> SHIFT_11) * UNIT


@kernel
def _exp2(y: float) -> float:
    whole = math.floor(y)
    t = (y - whole) - 0.5
    total = EXP2_COEFFICIENTS[13]
    for n in range(12, -1, -1):
        total = total * t + EXP2_COEFFICIENTS[n]
    power = np.int64((np.int64(whole) + 1023) << 52).view(np.float64)
    return total * power


@kernel
def _log_uniform(low: float, high: float, width: float, u: Array) -> None:
    """In place: ``low · 2^(u·width)``, at most ``high``; ``width = log2(high / low)``, ``u`` flat."""
    for i in range(u.shape[0]):
        value = low * _exp2(u[i] * width)
        u[i] = value if value < high else high


@kernel
def _log(p: float) -> float:
    """Natural logarithm of a normal ``p > 0``: exponent and an odd polynomial in (f - 1)/(f + 1)."""
    mantissa, exponent = math.frexp(p)
    if mantissa < 0.7071067811865476:
        mantissa = 2.0 * mantissa
        exponent = exponent - 1
    x = (mantissa - 1.0) / (mantissa + 1.0)
    square = x * x
    total = 1.0 / 25.0
    for n in range(11, -1, -1):
        total = total * square + 1.0 / (2 * n + 1)
    return exponent * 0.6931471805599453 + (2.0 * x) * total


@kernel
def _polynomial(r: float, coefficients: tuple[float, ...]) -> float:
    """Horner's rule, highest coefficient first."""
    total = coefficients[0]
    for n in range(1, len(coefficients)):
        total = total * r + coefficients[n]
    return total


# fmt: off
# M. J. Wichura, Algorithm AS 241 (PPND16), Applied Statistics 37(3), 1988: central part, tail, far tail
CENTRE = ((2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
           13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608),
          (5226.495278852854561, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867,
           5394.1960214247511077, 687.1870074920579083, 42.313330701600911252, 1.0))
TAIL = ((7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177, 1.27045825245236838258,
         3.64784832476320460504, 5.7694972214606914055, 4.6303378461565452959, 1.42343711074968357734),
        (1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966, 0.14810397642748007459,
         0.68976733498510000455, 1.6763848301838038494, 2.05319162663775882187, 1.0))
FAR_TAIL = ((2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386, 0.026532189526576123093,
             0.29656057182850489123, 1.7848265399172913358, 5.4637849111641143699, 6.6579046435011037772),
            (2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5, 7.868691311456132591e-4,
             0.0148753612908506148525, 0.13692988092273580531, 0.59983220655588793769, 1.0))
# fmt: on


@kernel
def _normal(u: float) -> float:
    """The standard normal quantile of ``u`` in [0, 1)."""
    q = u - 0.5
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        return q * _polynomial(r, CENTRE[0]) / _polynomial(r, CENTRE[1])
    r = math.sqrt(-_log(min(u, 1.0 - u) + 2.0**-54))
    if r <= 5.0:
        z = _polynomial(r - 1.6, TAIL[0]) / _polynomial(r - 1.6, TAIL[1])
    else:
        z = _polynomial(r - 5.0, FAR_TAIL[0]) / _polynomial(r - 5.0, FAR_TAIL[1])
    return z if q > 0.0 else -z


@kernel
def _log_normal(median: float, width: float, u: Array) -> None:
    """In place: ``median · 2^(z·width)``, ``z`` the normal quantile of ``u``; ``width = sigma·log2(e)``, ``u`` flat."""
    for i in range(u.shape[0]):
        u[i] = median * _exp2(_normal(u[i]) * width)


@kernel
def _quantile(kind: int, values: Array, u: Array) -> None:
    """In place, flat: what the uniform draws ``u`` stand for; the arguments are those of :func:`draw`."""
    if kind == CONSTANT:
        u[:] = values[0]
    elif kind == UNIFORM:
        for i in range(u.shape[0]):
            value = u[i] * (values[1] - values[0]) + values[0]
            u[i] = value if value < values[1] else values[1]
    elif kind == LOG_UNIFORM:
        _log_uniform(values[0], values[1], values[2], u)
    elif kind == LOG_NORMAL:
        _log_normal(values[0], values[1], u)
    elif kind == INTEGERS:
        for i in range(u.shape[0]):
            value = math.floor(u[i] * (values[1] - values[0] + 1.0)) + values[0]
            u[i] = value if value < values[1] else values[1]
    elif kind == CHOICE:
        for i in range(u.shape[0]):
            u[i] = values[min(int(u[i] * values.shape[0]), values.shape[0] - 1)]
    else:
        u[:] = np.nan


@kernel
def _mean_or_max(tau: Array, relation: int, out: Array) -> None:
    """``out`` (LANES,) = the mean, added up from the first stage to the last, or the largest of ``tau`` (S, LANES)."""
    for lane in range(out.shape[0]):
        out[lane] = tau[0, lane]
    for s in range(1, tau.shape[0]):
        for lane in range(out.shape[0]):
            if relation == TIMES_MEAN_TAU:
                out[lane] += tau[s, lane]
            elif tau[s, lane] > out[lane]:
                out[lane] = tau[s, lane]
    if relation == TIMES_MEAN_TAU:
        for lane in range(out.shape[0]):
            out[lane] /= tau.shape[0]


@kernel
def draw(
    keys: Array, first_draw: int, kind: int, values: Array, relation: int, tau: Array, grid: float, out: Array
) -> None:
    """``out[b, s, l]`` = what draw ``first_draw + STEP·s`` of the stream ``keys[b, l]`` stands for.

    ``kind``, ``values``: the distribution and its values, in float64: the value; low and high; low, high and
    log2(high / low) of a log-uniform one; median and sigma·log2(e) of a log-normal one; the choice. ``relation``: what
    the values are multiplied by, over the stages of ``tau`` (blocks, S, LANES). ``grid``: a power of two, of whose
    inverse the results are multiples; 0 for none.
    """
    factor = np.ones(out.shape[2])
    for block in range(out.shape[0]):
        one = slice(block, block + 1)
        if kind != CONSTANT:
            uniforms(keys[one], first_draw, STEP, out[one])
        flat = out[block].reshape(-1)
        _quantile(kind, values, flat)
        if relation != AS_DRAWN:
            _mean_or_max(tau[block], relation, factor)
            for s in range(out.shape[1]):
                for lane in range(out.shape[2]):
                    out[block, s, lane] *= factor[lane]
        if grid > 0.0:
            for i in range(flat.shape[0]):
                flat[i] = np.rint(flat[i] * grid) * (1.0 / grid)


@kernel
def force_edge_cases(share: float, u: Array, tau: Array, d: Array, latency: Array) -> None:
    """Turn a share of the configurations into ties and boundaries, in place.

    ``u`` (blocks, 8, LANES) holds draws 0 to 7: draw 2 decides whether, draw 3 which, draws 4 and 5 where.
    ``tau`` (blocks, S, LANES); ``d``, ``latency`` (blocks, S-1, LANES).
    """
    n_stages = tau.shape[1]
    n_links = n_stages - 1
    for block in range(tau.shape[0]):
        for lane in range(tau.shape[2]):
            if u[block, 2, lane] >= share:
                continue
            kind = min(int(u[block, 3, lane] * 6), 5)
            longest = 0
            for s in range(1, n_stages):
                if tau[block, s, lane] > tau[block, longest, lane]:
                    longest = s
            tau_max = tau[block, longest, lane]
            link = min(int(u[block, 5, lane] * n_links), n_links - 1)
            if kind == 0 and n_links > 0:  # tied bottlenecks
                other = min(int(u[block, 4, lane] * n_links), n_links - 1)
                tau[block, other + 1 if other >= longest else other, lane] = tau_max
            elif kind == 1 and n_links > 0:  # one transfer equal to its slack
                d[block, link, lane] = tau_max - tau[block, link, lane]
            elif kind == 2:  # every transfer equal to its slack
                for s in range(n_links):
                    d[block, s, lane] = tau_max - tau[block, s, lane]
            elif kind == 3:  # no communication
                for s in range(n_links):
                    d[block, s, lane] = 0.0
                    latency[block, s, lane] = 0.0
            elif kind == 4:  # equal stages
                for s in range(n_stages):
                    tau[block, s, lane] = tau_max
            elif kind == 5 and n_links > 0:  # one sender tied with the longest hold of the others
                hold = tau[block, n_links, lane]
                for s in range(n_links):
                    if s != link:
                        hold = max(hold, tau[block, s, lane] + d[block, s, lane])
                if hold >= tau[block, link, lane]:
                    d[block, link, lane] = hold - tau[block, link, lane]
