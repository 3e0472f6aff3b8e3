"""Synthetic request logs in every kind of file; nothing here stands for a measurement."""

from __future__ import annotations

import csv
import gzip
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Row = dict[str, Any]

FIELDS = ("id", "host", "model", "duration_s", "queue_wait_s", "total_s")


def requests(random_numbers: random.Random, hosts: dict[str, tuple[float, int]], model: str = "m") -> list[Row]:
    """Good requests: ``hosts`` says host → shortest service time and number; times are whole milliseconds."""
    rows = []
    for host, (shortest, count) in hosts.items():
        for _ in range(count):
            duration = round(shortest * (1 + random_numbers.expovariate(1.0)), 3)
            wait = 0.0 if random_numbers.random() < 0.6 else round(random_numbers.expovariate(2.0), 3)
            row = {"host": host, "model": model, "duration_s": duration, "queue_wait_s": wait}
            rows.append({"id": f"r{len(rows)}-{model}", **row, "total_s": round(duration + wait, 3)})
    random_numbers.shuffle(rows)
    return rows


def write_csv(path: Path, rows: Sequence[Row], *, separator: str = ",", end: str = "\n", mark: str = "") -> Path:
    """CSV; ``mark`` opens the file (a byte order mark), None becomes an empty field."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(mark)
        writer = csv.DictWriter(file, list(rows[0]), delimiter=separator, lineterminator=end)
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_json_lines(path: Path, rows: Sequence[Row]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def write_parquet(path: Path, rows: Sequence[Row]) -> Path:
    pq.write_table(pa.Table.from_pylist(list(rows)), path)
    return path


def gzipped(path: Path) -> Path:
    packed = path.with_name(path.name + ".gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    return packed
