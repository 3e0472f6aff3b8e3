"""New processes: how long a command takes from nothing, and how much memory a sweep needs at its peak.

They start in a scratch folder and find the same hpsim as this process.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import hpsim
from hpsim.errors import HpsimError

LONGEST = 600  # seconds after which a child counts as stuck
COMMAND = "from hpsim.cli import main; main()"
PEAK = "from hpsim.bench.children import report_peak; report_peak()"


def run_python(code: str, words: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None) -> str:
    """What ``code`` prints in a new Python process with the arguments ``words``, in ``folder``.

    Raises
    ------
    HpsimError
        When it fails or does not end.
    """
    package = str(Path(hpsim.__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
    try:
        child = subprocess.run(
            [sys.executable, "-c", code, *words],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": path, **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=LONGEST,
        )
    except subprocess.TimeoutExpired:
        raise HpsimError(_in_words(code, words), f"not done after {LONGEST} s", "it should end long before") from None
    if child.returncode != 0:
        last = child.stderr.strip().splitlines()[-1:] or ["it said nothing"]
        found = f"exit code {child.returncode} ({last[0]})"
        raise HpsimError(_in_words(code, words), found, "it should end with exit code 0")
    return child.stdout


def _in_words(code: str, words: Sequence[str]) -> str:
    return " ".join(["hpsim", *words] if code == COMMAND else ["python -c", repr(code), *words])


def peak_memory(file: str, settings: Sequence[str], out: Path) -> int:
    """Bytes of memory that a run of the sweep ``file`` holds at most, all included; ``out`` is removed again."""
    peak = int(json.loads(run_python(PEAK, [file, str(out), *settings], out.parent)))
    shutil.rmtree(out)
    return peak


def report_peak() -> None:
    """In the child: run the sweep and print its peak memory."""
    from hpsim.sweep.run import run_sweep
    from hpsim.sweep.spec import load_sweep

    file, out, *settings = sys.argv[1:]
    run_sweep(load_sweep(file, settings), Path(out))
    print(json.dumps(own_peak()))


def own_peak() -> int:
    """The most memory this process has held, in bytes.

    Linux counts in ``ru_maxrss`` what the parent held when it started this process, but not in ``VmHWM``.
    """
    status = Path("/proc/self/status")
    if status.exists():
        lines = (line.split() for line in status.read_text(encoding="utf-8").splitlines())
        return next(int(words[1]) * 1024 for words in lines if words[0] == "VmHWM:")
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
