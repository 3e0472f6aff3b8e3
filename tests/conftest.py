"""What tests share: a seeded generator, published cases, and Hypothesis without surprises."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import settings

SHARED_CASES = Path(__file__).resolve().parents[2] / "shared" / "cases"

SIZE = 0.02 if os.environ.get("NUMBA_DISABLE_JIT") == "1" else 1.0  # kernels as plain Python are that much slower

settings.register_profile("reproducible", derandomize=True, deadline=None, database=None)
settings.load_profile("reproducible")


def scaled(n: int) -> int:
    """``n`` cases, fewer of them when the kernels are not compiled."""
    return max(1, int(n * SIZE))


def pytest_configure(config: pytest.Config) -> None:
    """The sampler's words wrap around 2^64; compiled code does so silently, NumPy's scalars say it."""
    if SIZE < 1:
        config.addinivalue_line("filterwarnings", "ignore:overflow encountered in scalar:RuntimeWarning")


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


def drawn_on(terminal: int) -> bytes:
    """Everything drawn on a pseudo-terminal until its other end is closed; the terminal is closed too."""
    drawn = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # how Linux tells that the other end is closed
            break
        if not piece:
            break
        drawn += piece
    os.close(terminal)
    return drawn
