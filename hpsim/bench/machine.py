"""What the figures of a benchmark depend on, apart from the code."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hpsim import __version__
from hpsim.kernels import adder
from hpsim.processors import available_cpus


def machine() -> dict[str, Any]:
    """Processor, operating system, and the versions of everything that decides about speed."""
    return {
        "processor": _processor(),
        "cpus": os.cpu_count(),
        "cpus_used": available_cpus(),
        "system": f"{platform.system()} {platform.machine()}",
        "hpsim": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in ("numba", "numpy", "pyarrow")},
        "compiled": hasattr(adder.add_chains, "signatures"),  # a plain function when the JIT is switched off
    }


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()
