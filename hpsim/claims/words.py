"""The words of the statement language, and what is said when one is not known or does not fit."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import NoReturn

from hpsim.claims.tree import GPIPE, StatementError
from hpsim.regime import NAMES as REGIMES

SHARED = ("M", "rho")
VECTORS = ("tau", "d", "latency")
MAKESPANS = tuple(f"T_{name}" for name in (*REGIMES, GPIPE))
SHORTHANDS = ("tau_max", "sigma_max")
OF_A_REGIME = ("T", "slope", "law")
FUNCTIONS = ("max", "min", "sum", "abs", "all", "any", "count", "implies", "iff")
PIPELINES = ("A", "B")
NAMES = ("S", *SHARED, *VECTORS, *SHORTHANDS, *MAKESPANS)
CALLS = (*FUNCTIONS, *OF_A_REGIME, *MAKESPANS)
REGIME_ALIAS = {"async": "_asyn"}
"""``async`` is a word of Python's own, so the parser is shown another of the same length."""

EXAMPLE = "for example T_async <= T_blocking"
FORMS = {
    "max": "one vector, max(tau), or two or more numbers, max(M, S)",
    "min": "one vector, min(tau), or two or more numbers, min(M, S)",
    "sum": "one vector, for example sum(tau)",
    "abs": "one number or vector, for example abs(M - S)",
    "all": "one condition on a vector, for example all(d <= tau)",
    "any": "one condition on a vector, for example any(d > 0)",
    "count": "one condition on a vector, for example count(d > 0)",
    "implies": "two conditions, for example implies(M == 1, T_async == T_blocking)",
    "iff": "two conditions, for example iff(T_async == T_free, sum(d) == 0)",
}


def refuse(column: int | None, found: str, allowed: str) -> NoReturn:
    """Raise a :class:`StatementError` at a column, or about the statement as a whole."""
    raise StatementError("statement" if column is None else f"column {column}", found, allowed) from None


def unknown(column: int, what: str, word: str, known: Iterable[str]) -> NoReturn:
    """Refuse ``word``; near matches first, then everything that is known."""
    names = list(known)
    lower = {name.lower(): name for name in reversed(names)}
    close = difflib.get_close_matches(word[:100].lower(), lower, n=3, cutoff=0.6)
    hint = f"did you mean {' or '.join(lower[name] for name in close)}? " if close else ""
    refuse(column, f"unknown {what} {shortened(word)}", f"{hint}allowed: {', '.join(names)}")


def shortened(word: str) -> str:
    """``word`` in quotes, printable and of moderate length."""
    return ascii(word if len(word) <= 40 else f"{word[:37]}...")
