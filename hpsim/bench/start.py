"""From nothing to an answer: new processes, timed from outside."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from hpsim.bench.children import COMMAND, run_python
from hpsim.bench.figures import Comparison, Figure, Section, Target
from hpsim.bench.sizes import Size
from hpsim.bench.stopwatch import Stopwatch
from hpsim.sweep.run import run_sweep
from hpsim.sweep.spec import load_sweep

FILE = "paper_fuzz"
NUMPY = "import numpy"
INSTANT = {"hpsim --help": ["--help"], "hpsim calc --tau 1,2": ["calc", "--tau", "1,2"]}
AT_ONCE = Target(False, factor=2.5, plus=0.1)
COMPILED = Target(False, plus=30.0)
FROM_CACHE = Target(False, plus=1.5)


def start(size: Size, stopwatch: Stopwatch, scratch: Path, told: Callable[[str], None]) -> Section:
    """Commands beside the import of NumPy; a sweep with no compiled code on disk, and then with it."""
    told("start-up of commands")
    commands = [partial(run_python, COMMAND, words, scratch) for words in INSTANT.values()]
    *instant, importing = stopwatch.alternate(size.start_repeats, *commands, partial(run_python, NUMPY, [], scratch))
    numpy = Figure.duration("import numpy", importing)
    rows = [Comparison(f"python -c '{NUMPY}'", numpy)]
    for name, seconds in zip(INSTANT, instant, strict=True):
        rows.append(Comparison(name, Figure.duration(name, seconds), numpy, AT_ONCE))
    told(f"start-up of {FILE}, cold and warm")
    runs = _Runs(size, stopwatch, scratch)
    cold = runs.new_process()
    warm = [runs.new_process() for _ in range(size.start_repeats)]
    hot = runs.in_this_process()
    for name, starts, target in (("cold", [cold], COMPILED), ("warm", warm, FROM_CACHE)):
        total = Figure.duration(name, [seconds for seconds, _ in starts])
        rows.append(Comparison(f"hpsim sweep run {FILE}, {name}", total, numpy))
        extra = Figure.duration(name, [max(0.0, within - hot) for _, within in starts])
        rows.append(Comparison(_KERNELS[name], extra, numpy, target))
    how = f"new processes, median of {size.start_repeats}, in turn; one cold start, with an empty cache of its own"
    return Section("start-up", how, rows)


_KERNELS = {"cold": "of that, compiling", "warm": "of that, reading compiled code"}


class _Runs:
    """Runs of the same sweep, each into a new folder, with a cache of compiled code that starts empty.

    What compiling costs is how much longer the run itself takes, by its own account, than once more in a process that
    has run it before: the first use of pyarrow is in it, the start of the interpreter and the import of Numba are not.
    """

    def __init__(self, size: Size, stopwatch: Stopwatch, scratch: Path) -> None:
        self.settings = size.start
        self.stopwatch = stopwatch
        self.scratch = scratch
        self.cache = scratch / "numba"
        self.out = scratch / "start"

    def new_process(self) -> tuple[float, float]:
        """Seconds of the whole process, and those within the run of the sweep, by its own account."""
        overrides = [word for setting in self.settings for word in ("--set", setting)]
        words = ["sweep", "run", FILE, *overrides, "--out", str(self.out), "--json"]
        printed: list[str] = []
        environment = {"NUMBA_CACHE_DIR": str(self.cache)}
        seconds = self.stopwatch.seconds(lambda: printed.append(run_python(COMMAND, words, self.scratch, environment)))
        shutil.rmtree(self.out)
        run: dict[str, Any] = json.loads(printed[0])
        return seconds, float(run["wall_seconds"])

    def in_this_process(self) -> float:
        """Seconds of the run when everything is compiled and loaded: a new process takes longer by just that."""
        sweep = load_sweep(FILE, self.settings)
        for _ in range(2):
            report = run_sweep(sweep, self.out)
            shutil.rmtree(self.out)
        return report.wall_seconds
