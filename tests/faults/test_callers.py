"""``simulate`` called from threads and process pools, and the kernels with every index checked."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from conftest import slow

from faults.callers import CALLS, MICROBATCHES, pipelines
from faults.runs import compiled_only, environment, run
from hpsim.reference import chain

pytestmark = compiled_only

TESTS = Path(__file__).resolve().parents[1]
OUT_OF_BOUNDS = """
import numba, numpy
numba.njit(lambda values: values[3])(numpy.zeros(3))
"""


@pytest.mark.parametrize("kind", ["threads", slow("fork"), slow("spawn")])
def test_many_callers_at_once(tmp_path: Path, kind: str) -> None:
    """Threads, forked and spawned processes that compile and compute at once get what plain Python gets."""
    right = []
    for call in range(CALLS):
        rows = [chain.blocking(tau, d, max(MICROBATCHES)) for tau, d in zip(*pipelines(call), strict=True)]
        right.append([[matrix[M - 1][-1] for M in MICROBATCHES] for matrix in rows])
    script = Path(__file__).with_name("callers.py")
    ended = run([sys.executable, str(script), kind], environment(tmp_path), tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert json.loads(ended.stdout) == right


@pytest.mark.slow
def test_no_kernel_reaches_beyond_its_arrays(tmp_path: Path) -> None:
    """Tests of all kernels pass with every index checked; elsewhere a wrong one would go unnoticed."""
    checked = environment(tmp_path / "code", NUMBA_BOUNDSCHECK="1")
    beyond = run([sys.executable, "-c", OUT_OF_BOUNDS], checked, tmp_path)
    assert "IndexError" in beyond.stderr, "bounds are not checked here"
    names = ("test_kernels_chain.py", "test_kernels_event_graph.py", "test_sample.py", "test_lanes.py", "test_chunk.py")
    files = [str(TESTS / name) for name in names]
    chosen = [
        *(f"recurrence[{S}]" for S in (1, 2, 8, 17, 24)),
        "touch",
        "on_fractions[0]",
        "arcs",
        "rows_give",
        "rational_value",
        "within_rounding",
        "plain_sampler",
        "golden",
        "draw",
        "grid",
        "pack",
    ]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *files, "-k", " or ".join(chosen)]
    passed = run(command, checked, TESTS)
    assert passed.returncode == 0, passed.stdout[-3000:]
    assert int(re.search(r"(\d+) passed", passed.stdout)[1]) > 50
    assert len(list((tmp_path / "code").rglob("*.nbc"))) > 10
