"""Small real runs for the tests of analysis, and their tables read without any of its code."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas
import pyarrow.parquet

from hpsim.sweep.run import run_sweep
from hpsim.sweep.spec import make_sweep

SAMPLED: dict[str, Any] = {
    "name": "small",
    "seed": 7,
    "unit": "ms",
    "configs": 150,
    "stages": {"uniform": [1, 4]},
    "tau": {"loguniform": [0.1, 10]},
    "d": {"loguniform": [0.01, 20], "times": "mean_tau"},
    "rho": {"uniform": [0, 1]},
    "edge_cases": 0.3,
    "microbatches": [1, 2, 9],
    "regimes": ["async", "blocking", "partial"],
    "chunk": 40,
}
PARTS = 4
FIGURE_3 = {
    "name": "figure-3",
    "grid": {"tau": [["0.5", 1, 1, 5]], "d": {"range": [0, 8, "0.125"]}},
    "microbatches": [1, 8, 100],
    "chunk": 16,
}
# A tolerance below the rounding of doubles, so that checks fail.
STRICT = {key: value for key, value in SAMPLED.items() if key != "edge_cases"} | {
    "name": "strict",
    "arithmetic": "float64",
    "tolerance": 1e-17,
}


def make_run(folder: Path, data: dict[str, Any]) -> Path:
    """Run the sweep ``data`` in ``folder``."""
    run_sweep(make_sweep(data), folder, workers=1)
    return folder


def table(folder: Path, name: str) -> pandas.DataFrame:
    """All rows of one table."""
    parts = sorted((folder / name).glob("*.parquet"))
    return pandas.concat([pyarrow.parquet.read_table(part).to_pandas() for part in parts], ignore_index=True)


def ranked(values: Sequence[float]) -> dict[str, float]:
    """The quantiles of the summary by their definition: the value at rank ceil(p n / 100) of the sorted values."""
    ordered = sorted(values)
    percent = {"p5": 5, "p25": 25, "median": 50, "p75": 75, "p95": 95, "max": 100}
    return {name: ordered[math.ceil(p * len(ordered) / 100) - 1] for name, p in percent.items()}


def digests(folder: Path) -> dict[str, str]:
    """Every file below ``folder`` with the SHA-256 of its content."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
