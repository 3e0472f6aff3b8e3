"""``hpsim warmup`` compiles all that later runs need, and the first compile is announced."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import children
import pytest
from conftest import SIZE

from hpsim import warmup as library
from hpsim.cli.warmup import warmup as command
from hpsim.warmup import Warmup, cache_folder

compiled_only = pytest.mark.skipif(SIZE < 1, reason="nothing is compiled")

SIGNATURES = """
import json
from hpsim.kernels import chain, checking, closed_forms, sampling, tables
modules = chain, checking, closed_forms, sampling, tables
members = {name: member for module in modules for name, member in vars(module).items()}
kernels = {name: member for name, member in members.items() if hasattr(member, "signatures")}
print(json.dumps({name: sorted(map(str, kernel.signatures)) for name, kernel in kernels.items()}))
"""

WARMUP = f"""
from hpsim.warmup import warmup
warmup()
{SIGNATURES}
"""

REAL_RUNS = f"""
from numba.core import event
with event.install_recorder("numba:compile") as recorder:
    from pathlib import Path
    from hpsim import Regime, simulate
    from hpsim.conjecture.verify import verify
    from hpsim.sweep.run import run_sweep
    from hpsim.sweep.sample import configuration
    from hpsim.sweep.spec import load_sweep, make_sweep
    for name in ("paper_fuzz", "paper_fuzz_float64", "hand_crafted", "phase_transition"):
        run_sweep(load_sweep(name), Path(name))
    configuration(load_sweep("billion"), 10**8)
    lognormal = {{"lognormal": [1, 0.5]}}
    parts = {{"configs": 100, "stages": {{"choice": [1, 3, 12, 20]}}, "tau": lognormal, "latency": lognormal}}
    run_sweep(make_sweep(parts | {{"regimes": ["free", "async"]}}), Path("lognormal"))
    every_rho = {{"tau": [[1, 2], [2, 1]], "d": [[1]], "rho": [0, 0.5, 1]}}
    run_sweep(make_sweep({{"grid": every_rho, "regimes": ["partial"]}}), Path("grid"))
    verify(1000)
    for S in range(1, 18):
        tau, d = [[1.0] * S] * 50, [[0.5] * (S - 1)] * 50
        simulate(tau, M=[8, 1], regime="free")
        simulate(tau, d, M=3, regime="blocking", latency=d)
        simulate(tau, d, M=300, regime="partial", rho=[0.5] * 50)
        simulate(tau, d, M=3, regime=Regime(overlap=[0.25] * (S - 1) or 1))
{SIGNATURES}
from hpsim import lanes
lanes.CELLS_PER_CALL = 1000  # runs that are cut into several calls, of kernels that are parts of others above
with event.install_recorder("numba:compile") as cut:
    for S in range(1, 18):
        simulate([[1.0] * S] * 50, M=300)
print(len(recorder.buffer) + len(cut.buffer))
"""


def python(code: str, *words: str, cwd: Path, **environment: str) -> children.Ended:
    """``code`` in a new process."""
    command = [sys.executable, "-c", code, *words]
    return children.run(command, cwd=cwd, env=os.environ | environment, check=True, tasks=3000)


def hpsim(*words: str, cwd: Path, **environment: str) -> children.Ended:
    return python("from hpsim.cli import main; main()", *words, cwd=cwd, **environment)


@compiled_only
def test_real_runs_compile_nothing_after_it(tmp_path: Path) -> None:
    """Sweeps, verify and simulate need no kernel, and no argument types, that warmup has not compiled.

    The types are compared too: another test may have left in the cache what warmup leaves out.
    """
    ready: dict[str, Any] = json.loads(python(WARMUP, cwd=tmp_path).stdout)
    used, count = python(REAL_RUNS, cwd=tmp_path).stdout.splitlines()
    assert count == "0"
    used_types = json.loads(used)
    assert len(used_types["rows_short"]) == 16
    assert len(used_types["rows_long"]) == len(used_types["lanes_long"]) == 1
    assert {
        name: set(types) - set(ready[name]) for name, types in used_types.items() if set(types) - set(ready[name])
    } == {}


@pytest.mark.slow
@compiled_only
def test_the_second_time_everything_is_in_the_cache(tmp_path: Path) -> None:
    """The line tells how many kernels there are, that all came from the cache, and where it is."""
    hpsim("warmup", cwd=tmp_path)
    again = hpsim("warmup", cwd=tmp_path)
    line = re.fullmatch(r"(\d+) kernels: 0 compiled, (\d+) from the cache · \d+\.\d s · cache in (.+)\n", again.stdout)
    assert line is not None
    assert line[1] == line[2]
    assert int(line[1]) > 20, "one for each of the 16 short lengths, one for long pipelines, sampling, checking"
    assert Path(line[3]) == cache_folder()
    assert again.stderr == ""


@compiled_only
def test_the_first_compile_is_announced(tmp_path: Path) -> None:
    """With an empty cache one line on stderr says what happens and where the code is kept; the next run is silent."""
    words = ("sweep", "config", "paper_fuzz", "--id", "3")
    first = hpsim(*words, cwd=tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    told = re.fullmatch(
        r"compiling the simulation kernels for this processor, up to half a minute; "
        r"the code is kept in (.+), so this happens once\n",
        first.stderr,
    )
    assert told is not None
    assert Path(told[1]).is_relative_to(tmp_path / "cache")
    assert list(Path(told[1]).glob("*.nbc"))
    second = hpsim(*words, cwd=tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert second.stderr == ""
    assert second.stdout == first.stdout


def test_with_the_jit_off_it_says_so(tmp_path: Path) -> None:
    """With NUMBA_DISABLE_JIT there is nothing to compile."""
    done = hpsim("warmup", cwd=tmp_path, NUMBA_DISABLE_JIT="1")
    assert done.stdout == "nothing to compile: NUMBA_DISABLE_JIT is set\n"


@pytest.mark.parametrize(
    ("done", "told"),
    [
        (Warmup(25, 24, 12.34, Path("/some/folder")), "24 compiled, 1 from the cache · 12.3 s · cache in /some/folder"),
        (
            Warmup(25, 25, 12.34, None),
            "25 compiled, 0 from the cache · 12.3 s · no cache: no folder for it can be written",
        ),
        (Warmup(25, 0, 1.0, None), "0 compiled, 25 from the cache · 1.0 s · the cache is read-only"),
    ],
)
def test_the_line(done: Warmup, told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What was compiled, what was found, how long it took, and where it is kept, or that it is not."""
    monkeypatch.setattr(library, "warmup", lambda: done)
    command([], standalone_mode=False)
    assert capsys.readouterr().out == f"25 kernels: {told}\n"


def test_each_kernel_is_counted_once() -> None:
    """In this process the same kernels are ready, whichever were compiled."""
    first, second = library.warmup(), library.warmup()
    assert first.kernels == second.kernels
    assert 0 <= first.compiled == second.compiled <= first.kernels
    assert (first.kernels == 0) is (SIZE < 1)
