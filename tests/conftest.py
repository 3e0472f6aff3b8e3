"""What tests share: a seeded generator, published cases, and Hypothesis without surprises."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import children
import pytest
from hypothesis import HealthCheck, settings

SHARED_CASES = Path(__file__).resolve().parents[2] / "shared" / "cases"

SIZE = 0.02 if os.environ.get("NUMBA_DISABLE_JIT") == "1" else 1.0  # kernels as plain Python are that much slower

settings.register_profile(
    "reproducible", derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("reproducible")


def slow(*values: object) -> object:
    """A case that only the whole suite needs: a smaller one of its kind is always there."""
    return pytest.param(*values, marks=pytest.mark.slow)


def seeds(n: int) -> list[object]:
    """So many seeds, of which the fast run takes a quarter."""
    return [*range(-(-n // 4)), *map(slow, range(-(-n // 4), n))]


def scaled(n: int) -> int:
    """``n`` cases, fewer of them when the kernels are not compiled."""
    return max(1, int(n * SIZE))


def pytest_configure(config: pytest.Config) -> None:
    """The sampler's words wrap around 2^64; compiled code does so silently, NumPy's scalars say it."""
    if SIZE < 1:
        config.addinivalue_line("filterwarnings", "ignore:overflow encountered in scalar:RuntimeWarning")


@pytest.fixture(autouse=True)
def _no_child_outlives_its_test() -> Iterator[None]:
    """Whatever a test has started ends with it, though it fails or is interrupted."""
    yield
    children.end_all()


@pytest.fixture
def signals_are_heard() -> Iterator[None]:
    """Python's own handlers in this process, also where the tests run in the background and SIGINT is ignored."""
    with children.signals_as_in_a_terminal():
        yield


@pytest.fixture
def rng() -> random.Random:
    """A generator that starts every test from the same seed."""
    return random.Random(20261015)


@pytest.fixture
def shared_case() -> Callable[[str], object]:
    """Read one JSON file of the published cases that stand beside the checkout; skip where they do not exist."""

    def read(name: str) -> object:
        if not SHARED_CASES.is_dir():
            pytest.skip("the published cases (../shared/cases) are not beside this checkout")
        return json.loads((SHARED_CASES / name).read_text(encoding="utf-8"))

    return read


def as_typed(told: str, words: Sequence[str]) -> str:
    """A message with its place, an argument of the library, under the name of the option among ``words`` for it."""
    return f"--{told}" if f"--{told.partition(':')[0]}" in words else told
