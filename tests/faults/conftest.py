"""The undisturbed runs that all others are compared with."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from faults.runs import Undisturbed, environment, undisturbed


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of compiled code that no test damages, the same one for all processes of pytest-xdist."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "compiled"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def fuzz(tmp_path_factory: pytest.TempPathFactory, compiled: Path) -> Undisturbed:
    """The paper's sweep in a hundred parts, every point recorded."""
    out = tmp_path_factory.mktemp("fuzz") / "run"
    return undisturbed(out, environment(compiled), "paper_fuzz", "--set", "chunk=200")


@pytest.fixture(scope="session")
def violating(tmp_path_factory: pytest.TempPathFactory, compiled: Path) -> Undisturbed:
    """A sweep in fifty parts with a tolerance that rounding exceeds, so that each part has violations to record."""
    out = tmp_path_factory.mktemp("violating") / "run"
    settings = ("stages=3", "arithmetic=float64", "tolerance=1e-17", "record=violations", "configs=500", "chunk=10")
    arguments = [word for setting in settings for word in ("--set", setting)]
    return undisturbed(out, environment(compiled), "paper_fuzz", *arguments, code=1)


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory, compiled: Path) -> Undisturbed:
    """A sweep of equal length, for which little is compiled."""
    settings = ("stages=3", "configs=640", "chunk=32")
    arguments = [word for setting in settings for word in ("--set", setting)]
    return undisturbed(tmp_path_factory.mktemp("small") / "run", environment(compiled), "paper_fuzz", *arguments)
