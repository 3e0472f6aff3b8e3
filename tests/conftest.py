"""What tests share: a seeded generator, published cases, and Hypothesis without surprises."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

SHARED_CASES = Path(__file__).resolve().parents[2] / "shared" / "cases"

settings.register_profile("reproducible", derandomize=True, deadline=None, database=None)
settings.load_profile("reproducible")


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
