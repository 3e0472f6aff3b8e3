"""A violation in words, and the commands that show it again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any


def in_words(row: dict[str, Any], regimes: Sequence[str]) -> str:
    """A row of the table ``violations``: claim, configuration, and both sides in every regime."""
    inputs = {"S": row["S"], "M": row["M"], "tau": row["tau"], "d": row["d"]}
    if any(row["latency"]):
        inputs["latency"] = row["latency"]
    if row["rho"] is not None:
        inputs["rho"] = row["rho"]
    given = ", ".join(f"{name} = {value}" for name, value in inputs.items())
    values = "; ".join(_sides(row, name) for name in regimes)
    return f"{row['claim']} fails at configuration {row['config_id']}, {given}: {values}"


def _sides(row: dict[str, Any], regime: str) -> str:
    closed = row.get(f"closed_{regime}")
    return f"T_{regime} = {row[f'T_{regime}']}" + ("" if closed is None else f", closed {closed}")


def config_command(file: str, settings: Sequence[str], config_id: int) -> str:
    """The command that prints one configuration of a sweep."""
    return _sweep_command("config", file, settings, "--id", str(config_id))


def run_command(file: str, settings: Sequence[str], out: str) -> str:
    """The command that runs a sweep, whatever was in the folder before."""
    return _sweep_command("run", file, settings, "--out", out, "--fresh")


def _sweep_command(command: str, file: str, settings: Sequence[str], *options: str) -> str:
    overrides = [word for setting in settings for word in ("--set", setting)]
    return shlex.join(["hpsim", "sweep", command, file, *overrides, *options])
