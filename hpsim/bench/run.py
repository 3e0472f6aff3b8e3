"""The whole benchmark."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from hpsim.bench.adder import adder_limit
from hpsim.bench.figures import Report, Section
from hpsim.bench.kernel import beside_adders, beside_chain, beside_numpy, beside_python
from hpsim.bench.machine import machine
from hpsim.bench.points import points
from hpsim.bench.search import random_search
from hpsim.bench.sizes import FULL, QUICK, Size
from hpsim.bench.start import start
from hpsim.bench.stopwatch import Stopwatch
from hpsim.bench.violations import violations
from hpsim.errors import HpsimError


def bench(
    quick: bool = False, stopwatch: Stopwatch | None = None, on_step: Callable[[str], None] | None = None
) -> Report:
    """Measure on this machine what hpsim claims about its speed; a few minutes.

    Parameters
    ----------
    quick : bool
        Tiny sizes, to see that everything runs.
    stopwatch : Stopwatch, optional
        What measures time.
    on_step : callable, optional
        Told in words what is measured next.

    Raises
    ------
    HpsimError
        When a process of the benchmark fails, or temporary files cannot be written.
    """
    size = QUICK if quick else FULL
    stopwatch = stopwatch or Stopwatch()
    told = on_step or (lambda step: None)
    try:
        with tempfile.TemporaryDirectory(prefix="hpsim-bench-") as folder:
            return Report(machine(), quick, _sections(size, stopwatch, Path(folder), told))
    except OSError as error:
        raise HpsimError(
            "temporary files", str(error), "room and permission for them; TMPDIR names a folder"
        ) from error


def _sections(size: Size, stopwatch: Stopwatch, scratch: Path, told: Callable[[str], None]) -> list[Section]:
    told("adders")
    return [
        adder_limit(size, stopwatch),
        beside_adders(size, stopwatch, told),
        beside_numpy(size, stopwatch, told),
        beside_python(size, stopwatch, told),
        beside_chain(size, stopwatch, told),
        violations(size, stopwatch, scratch, told),
        points(size, stopwatch, scratch, told),
        random_search(size, stopwatch, scratch, told),
        start(size, stopwatch, scratch, told),
    ]
