"""Stand-ins for sweep and chunk, so that runs are tested apart from what they compute; also a script."""

from __future__ import annotations

import hashlib
import json
import random
import sys
import time
import types
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hpsim.sweep import columns
from hpsim.sweep.totals import Totals

MICROBATCHES = [1, 2, 2**40]


@dataclass(frozen=True)
class FakeSweep:
    """The part of a sweep that store, executors and run look at."""

    name: str = "fake"
    seed: int = 1
    configs: int = 50
    chunk: int = 4
    record: str = "points"
    regimes: list[str] = field(default_factory=lambda: ["async", "partial"])

    @property
    def regime_names(self) -> list[str]:
        return self.regimes

    arithmetic: str = "exact"
    stages: dict[str, Any] = field(default_factory=lambda: {"uniform": [2, 4]})
    violating: tuple[int, ...] = ()
    unit: str | None = "ms"

    @property
    def microbatches(self) -> list[int]:
        return MICROBATCHES

    @property
    def n_chunks(self) -> int:
        return -(-self.configs // self.chunk)

    @property
    def n_points(self) -> int:
        return self.configs * len(MICROBATCHES)

    def chunk_range(self, index: int) -> range:
        return range(index * self.chunk, min((index + 1) * self.chunk, self.configs))

    def resolved(self) -> dict[str, Any]:
        return json.loads(json.dumps(asdict(self)))

    def rounding(self) -> list[str]:
        return []

    @property
    def sha256(self) -> str:
        return hashlib.sha256(json.dumps(self.resolved(), sort_keys=True).encode()).hexdigest()


def fake_chunk(sweep: FakeSweep, index: int) -> types.SimpleNamespace:
    """Rows that depend on the sweep's seed and the configuration only."""
    import pyarrow

    rows: dict[str, list[dict[str, Any]]] = {"configs": [], "points": [], "violations": []}
    for config_id in sweep.chunk_range(index):
        row = _row(sweep, config_id)
        rows["configs"].append(row)
        for M in MICROBATCHES:
            rows["points"].append({**row, "M": M})
        if config_id in sweep.violating:
            rows["violations"].append({**row, "M": 2, "claim": "thm2"})
    kept = {name: found for name, found in rows.items() if found and (name == "violations" or sweep.record == "points")}
    tables = {
        name: pyarrow.Table.from_pylist(found, schema=columns.schema(name, sweep.regimes))
        for name, found in kept.items()
    }
    n = len(rows["configs"])
    error = 2.0**-index
    totals = Totals(n, n * len(MICROBATCHES), 100 * n, len(rows["violations"]), dict.fromkeys(sweep.regimes, error))
    return types.SimpleNamespace(tables=tables, totals=totals)


def _row(sweep: FakeSweep, config_id: int) -> dict[str, Any]:
    numbers = random.Random(f"{sweep.seed} {config_id}")
    S = numbers.randint(2, 4)
    row: dict[str, Any] = {"config_id": config_id, "S": S, "rho": 0.25, "scale": 1, "phase": S == 3}
    row |= {"tau": [numbers.random() for _ in range(S)], "d": [numbers.random() for _ in range(S - 1)]}
    row["latency"] = [0.0] * (S - 1)
    for name in ("tau_max", "tau_sum", "d_sum", "sigma_max", "bias", "T_gpipe"):
        row[name] = numbers.random()
    for name in sweep.regimes:
        row |= {f"T_{name}": 2.5, f"closed_{name}": 2.0, f"rel_err_{name}": 0.25}
    return row


def content(folder: Path) -> dict[str, bytes]:
    """Every file of a run folder but ``run.json``, which has the wall time."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "run.json")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def use_fakes(sweep: FakeSweep, run_chunk: Callable[[FakeSweep, int], Any], modules: dict[str, Any]) -> None:
    """Put the stand-ins into ``modules``, meant for ``sys.modules``, from where ``hpsim sweep run`` imports."""
    spec = {"load_sweep": lambda file, settings: sweep, "sweep_of": lambda given, settings: given}
    for name, member in (("chunk", {"run_chunk": run_chunk}), ("spec", spec)):
        module = types.ModuleType(f"hpsim.sweep.{name}")
        vars(module).update(member)
        modules[module.__name__] = module


def main() -> None:
    """``fake_runs.py SWEEP_JSON SECONDS_PER_CHUNK ARGUMENTS``: ``hpsim sweep run fake ARGUMENTS`` on the stand-ins.

    With slow chunks, each start is a line on stderr.
    """
    from hpsim.cli.sweep_run import run
    from hpsim.errors import HpsimError

    def run_chunk(sweep: FakeSweep, index: int) -> types.SimpleNamespace:
        if seconds := float(sys.argv[2]):
            print("a chunk starts", file=sys.stderr, flush=True)
            time.sleep(seconds)
        return fake_chunk(sweep, index)

    use_fakes(FakeSweep(**json.loads(sys.argv[1])), run_chunk, sys.modules)
    try:
        run(["fake.yaml", *sys.argv[3:]], prog_name="hpsim sweep run")
    except HpsimError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
