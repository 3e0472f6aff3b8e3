"""The numbers of the paper, one by one, each with ours and a verdict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from hpsim.paper.evidence import Evidence
from hpsim.paper.quantities import QUANTITIES
from hpsim.paper.verdict import AGREE, CONTRADICTION, DISAGREE, Unavailable, read

COLUMNS = ("section", "what", "paper", "ours", "verdict", "note")


@dataclass(frozen=True)
class Row:
    """One number.

    Attributes
    ----------
    section : str
        Where it stands.
    what : str
    paper, ours : str
        As printed there, and as computed here with up to two more decimals; empty where it could not be.
    verdict : str
        ``agree``, ``disagree``, ``the paper contradicts itself``, or why there is none.
    note : str
    """

    section: str
    what: str
    paper: str
    ours: str
    verdict: str
    note: str


def rows(evidence: Evidence) -> Iterator[Row]:
    """Every number of the paper, in its order."""
    for entry in entries():
        yield _row(evidence, **entry)


@cache
def entries() -> tuple[dict[str, Any], ...]:
    """``numbers.yaml``."""
    import yaml

    text = files("hpsim.paper").joinpath("numbers.yaml").read_text(encoding="utf-8")
    given = {"with": "given"}  # a word that Python keeps for itself
    return tuple({given.get(key, key): value for key, value in entry.items()} for entry in yaml.safe_load(text))


def _row(
    evidence: Evidence,
    section: str,
    what: str,
    paper: str,
    ours: str,
    given: dict[str, Any] | None = None,
    from_paper: bool = False,
    note: str = "",
) -> Row:
    number = read(paper)
    note = note.strip()
    try:
        value = QUANTITIES[ours](evidence, **(given or {}))
    except Unavailable as reason:
        return Row(section, what, paper, "", reason.verdict, "; ".join(filter(None, (note, reason.note))))
    if number.holds(value):
        verdict = AGREE
    else:
        verdict = CONTRADICTION if from_paper else DISAGREE
    return Row(section, what, paper, number.show(value), verdict, note)
