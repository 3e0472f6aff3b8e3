"""A sweep that is stopped or killed at any moment loses nothing, and resumed it ends like an undisturbed one."""

from __future__ import annotations

import json
import random
import re
import signal
import time
from pathlib import Path

import children
import pytest
from conftest import slow

from faults.runs import (
    Undisturbed,
    compiled_only,
    end,
    environment,
    every_part_opens,
    records,
    wait_for_records,
)

pytestmark = compiled_only

KILLS = 20
INTERRUPTS = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]


@pytest.mark.slow
@pytest.mark.parametrize(("signum", "code"), INTERRUPTS)
def test_signals_at_random_moments(
    fuzz: Undisturbed, tmp_path: Path, rng: random.Random, signum: signal.Signals, code: int
) -> None:
    """Stopped again and again in one run, each time in good order, it ends with the undisturbed run's bytes."""
    for finished in sorted(rng.sample(range(fuzz.parts - 20), 3)):
        process = fuzz.sweep.start(tmp_path)
        wait_for_records(tmp_path, process, finished)
        time.sleep(rng.random() / 100)
        process.send_signal(signum)
        returned, stdout, stderr = end(process)
        assert (returned, stdout) == (code, ""), stderr
        told = re.search(rf"stopped by {signum.name}: (\d+) of {fuzz.parts} parts are finished", stderr)
        assert told is not None, stderr
        assert int(told[1]) == records(tmp_path) < fuzz.parts
        assert every_part_opens(tmp_path) == 2 * int(told[1]), "no part without its record"
        assert not list(tmp_path.rglob(".*.tmp"))
    fuzz.ends_alike(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("signum", "code"), INTERRUPTS)
def test_signals_before_the_first_part(
    fuzz: Undisturbed, tmp_path: Path, rng: random.Random, signum: signal.Signals, code: int
) -> None:
    """Stopped while libraries load and when a run starts, the code is right, nothing is spilled, and it resumes."""
    for k in range(3):
        ready, out = tmp_path / f"ready-{k}", tmp_path / f"run-{k}"
        process = fuzz.sweep.elsewhere({**fuzz.sweep.environment, "READY": str(ready)}).start(out)
        children.wait_until(process, ready.exists)
        time.sleep(0.05 + 0.4 * rng.random())
        process.send_signal(signum)
        returned, _, stderr = end(process)
        assert returned == code, stderr
        assert "Traceback" not in stderr, stderr
        every_part_opens(out)
    fuzz.ends_alike(out)


def test_a_signal_while_kernels_compile(small: Undisturbed, tmp_path: Path) -> None:
    """Stopped while the first chunks wait for the compiler it ends in good order, and resumes."""
    process = small.sweep.elsewhere(environment(tmp_path / "code")).start(tmp_path / "run")
    children.wait_until(process, lambda: list(tmp_path.glob("code/*/*.nbc")))
    process.send_signal(signal.SIGTERM)
    returned, _, stderr = end(process)
    assert returned == 143, stderr
    assert "stopped by SIGTERM" in stderr
    assert records(tmp_path / "run") < small.parts
    small.ends_alike(tmp_path / "run")


@pytest.mark.slow
def test_killed_twenty_times_in_one_run(fuzz: Undisturbed, tmp_path: Path, rng: random.Random) -> None:
    """``kill -9`` at twenty random moments over one run: every part opens each time, and no byte is lost or altered."""
    before = 0
    for finished in sorted(rng.sample(range(fuzz.parts - 20), KILLS)):
        process = fuzz.sweep.start(tmp_path)
        wait_for_records(tmp_path, process, finished)
        time.sleep(rng.random() / 100)
        process.kill()
        returned, _, stderr = end(process)
        assert returned == 128 + signal.SIGKILL, stderr
        assert every_part_opens(tmp_path) >= 2 * records(tmp_path) >= before
        before = 2 * records(tmp_path)
    fuzz.ends_alike(tmp_path)
    run = json.loads((tmp_path / "run.json").read_text())
    assert (run["status"], run["parts_done"], run["totals"]["points"]) == ("complete", fuzz.parts, 160_000)


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("name", [slow("fuzz"), "violating"])
def test_workers_do_not_change_a_byte(request: pytest.FixtureRequest, tmp_path: Path, name: str, workers: int) -> None:
    """1, 2 and 5 threads write the same files, of points and of violations."""
    reference: Undisturbed = request.getfixturevalue(name)
    assert any(part.startswith("violations/") for part in reference.content) == (name == "violating")
    reference.ends_alike(tmp_path, "--workers", str(workers))
