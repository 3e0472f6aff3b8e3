"""Keys of a sweep that go together: a source and its own keys, ``rho`` and ``partial``, a chunk and what it holds.

Each check takes the values that it compares, and raises a refusal (a ``PydanticCustomError``) with the place.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction
from typing import Any, Literal

from hpsim.sweep.file.distribution import Distribution
from hpsim.sweep.file.fields import refusal
from hpsim.sweep.file.grid import Grid

Source = Literal["sampled", "pipelines", "grid"]
SOURCES: dict[str, Source] = {"configs": "sampled", "pipelines": "pipelines", "grid": "grid"}
SAMPLED_ONLY = ("stages", "tau", "d", "latency", "edge_cases")
MOST_NUMBERS = 2**27
"""In the tables of one chunk: 1 GiB of float64, which with what surrounds them takes 3.5 GiB while it is written."""
_EXAMPLES = {"stages": "stages: {uniform: [2, 8]}", "tau": "tau: {loguniform: [0.1, 10]}"}
LARGEST_USUAL_CHUNK = 32768
_USUAL_NUMBERS = 2**24  # of a chunk of points, 128 MiB of float64
_ZERO = Distribution("constant", (Fraction(0),))


def defaults(data: Mapping[str, Any]) -> dict[str, Any]:
    """Defaults that depend on the other keys, ``data`` as they stand in the file."""
    filled: dict[str, Any] = {}
    if data.get("record") == "violations":
        filled["chunk"] = 262144
    if data.get("configs") is not None:
        filled |= {"d": _ZERO, "latency": _ZERO, "edge_cases": 0}
        if data.get("arithmetic", "exact") == "exact":
            filled["resolution"] = 20
    if data.get("arithmetic") == "float64":
        filled["tolerance"] = 1e-9
    return filled


def check_source(given: Collection[str]) -> None:
    """One source, and only the keys that go with it; ``given`` holds all keys of the two tables that have a value."""
    sources = [key for key in SOURCES if key in given]
    if not sources:
        raise refusal((), "no source of configurations", f"exactly one of {', '.join(SOURCES)} is required")
    source = sources[0]
    if len(sources) > 1:
        raise refusal((sources[1],), f"a second source beside {source}", f"exactly one of {', '.join(SOURCES)}")
    for key in SAMPLED_ONLY:
        if source == "configs" and key not in given:
            raise refusal((key,), "this key is missing", f"configs needs stages and tau, for example {_EXAMPLES[key]}")
        if source != "configs" and key in given:
            raise refusal((key,), f"{key} beside {source}, which fixes every pipeline", "allowed only with configs")


def check_tau(tau: Distribution) -> None:
    """Service times that are not all zero, and in no need of other service times."""
    if tau.times is not None:
        raise refusal(("tau", "times"), "tau times itself", "allowed for d and latency")
    if tau.high == 0:
        raise refusal(("tau",), "every service time would be 0", "allowed: a distribution that can be above 0")


def check_rho(partial: bool, rho: Distribution | None, grid: Grid | None) -> None:
    """Shares of overlap where the regime ``partial`` needs them, and nowhere else."""
    path = ("rho",) if grid is None else ("grid", "rho")
    given = rho if grid is None else grid.rho
    if grid is not None and rho is not None:
        raise refusal(("rho",), "rho beside grid", "allowed: a list of shares inside grid")
    if partial and not given:
        example = "rho: {uniform: [0, 1]}" if grid is None else "grid: {rho: [0, 0.5, 1], …}"
        raise refusal(path, "this key is missing", f"the regime partial needs it, for example {example}")
    if not partial and given:
        raise refusal(path, "rho without the regime partial", "allowed: add partial to regimes, or leave rho out")
    if rho is None:
        return
    if rho.times is not None:
        raise refusal(("rho", "times"), "rho times a service time", "allowed for d and latency")
    if rho.high > 1:
        raise refusal(("rho",), f"shares up to {float(rho.high):.4g}", "allowed: shares from 0 to 1")


def check_arithmetic(exact: bool, tolerance: float | None, resolution: int | None, source: Source) -> None:
    """A tolerance only in float64 arithmetic, a resolution only for what is sampled on a grid."""
    if exact and tolerance is not None:
        raise refusal(("tolerance",), "a tolerance in exact arithmetic", "allowed with arithmetic: float64")
    if resolution is not None and (not exact or source != "sampled"):
        why = "float64 arithmetic, which has no grid" if not exact else "explicit times, which are never rounded"
        raise refusal(("resolution",), f"a resolution with {why}", "allowed with configs and arithmetic: exact")


def usual_chunk(numbers: int) -> int:
    """Configurations a chunk where points are kept, so many numbers for each, and nothing else is said."""
    chunk = LARGEST_USUAL_CHUNK
    while chunk > 1 and chunk * numbers > _USUAL_NUMBERS:
        chunk //= 2
    return chunk


def check_memory(chunk: int, configs: int, numbers: int) -> None:
    """A chunk that can be held in memory while it is written: so many numbers for each of its configurations."""
    if min(chunk, configs) * numbers > MOST_NUMBERS:
        found = f"about {numbers} numbers for each of {chunk} configurations, too many to hold in memory at once"
        raise refusal(("chunk",), found, f"allowed here: a chunk of at most {max(1, MOST_NUMBERS // numbers)}")
