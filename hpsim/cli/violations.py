"""A violation in words, and the commands that show it again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from hpsim.errors import printable

_WITH_CLOSED_FORM = ("thm1", "thm2", "thm3", "partial", "rendezvous")


def in_words(row: dict[str, Any], regimes: Sequence[str]) -> str:
    """A row of the table ``violations``: claim, configuration, and both sides in those ``regimes`` that it is about."""
    inputs = {"S": row["S"], "M": row["M"], "tau": row["tau"], "d": row["d"]}
    if any(row["latency"]):
        inputs["latency"] = row["latency"]
    if row["rho"] is not None:
        inputs["rho"] = row["rho"]
    given = ", ".join(f"{name} = {value}" for name, value in inputs.items())
    values = "; ".join(_sides(row, name) for name in _about(row["claim"], regimes))
    words = f"{row['claim']} fails at configuration {row['config_id']}, {given}{': ' if values else ''}{values}"
    return printable(words)


def _about(claim: str, regimes: Sequence[str]) -> list[str]:
    """Those of the regimes that the claim is about; all where that cannot be told."""
    from hpsim.claims.catalogue import catalogue
    from hpsim.claims.parse import parse
    from hpsim.claims.tree import StatementError
    from hpsim.sweep.file.checks import CHECKS

    if claim in CHECKS:
        used = (*CHECKS[claim], *(("partial",) if claim == "cor5" else ()))  # the sandwich has it in between
    elif claim in catalogue():
        used = catalogue()[claim].parsed.regimes
    else:
        try:
            used = parse(claim, tuple(regimes)).regimes
        except StatementError:  # of a run that another version made
            return list(regimes)
    return [regime for regime in regimes if regime in used]


def _sides(row: dict[str, Any], regime: str) -> str:
    compared = row["claim"] in _WITH_CLOSED_FORM
    closed = row.get(f"closed_{regime}") if compared else None
    return f"T_{regime} = {row[f'T_{regime}']}" + ("" if closed is None else f", closed {closed}")


def config_command(file: str, settings: Sequence[str], config_id: int) -> str:
    """The command that prints one configuration of a sweep."""
    return _sweep_command("config", file, settings, "--id", str(config_id))


def run_command(file: str, settings: Sequence[str], out: str) -> str:
    """The command that runs a sweep, whatever was in the folder before."""
    return _sweep_command("run", file, settings, "--out", out, "--fresh")


def _sweep_command(command: str, file: str, settings: Sequence[str], *options: str) -> str:
    overrides = [word for setting in settings for word in ("--set", setting)]
    return printable(shlex.join(["hpsim", "sweep", command, file, *overrides, *options]))
