"""The claims of a sweep: which of them its regimes allow, and what those that are no built-in checks state."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hpsim.claims.catalogue import catalogue, nearest_ids
from hpsim.claims.parse import parse
from hpsim.claims.tree import Statement, StatementError
from hpsim.sweep.file.checks import CHECKS, for_regimes
from hpsim.sweep.file.fields import refusal, shown

MOST_CLAIMS = 1000
MOST_CHARACTERS = 100_000
"""In all claims together; a statement alone may have a tenth of it."""


def in_order(claims: Sequence[str], regimes: Sequence[str]) -> list[str]:
    """The built-in checks among ``claims`` in the order of :data:`CHECKS`, then ids and statements as they stand.

    Raises
    ------
    PydanticCustomError
        For too many claims, a claim that is none, or one that needs a regime beyond ``regimes``.
    """
    if len(claims) > MOST_CLAIMS:
        raise refusal((), f"{len(claims)} claims", f"allowed: at most {MOST_CLAIMS}")
    characters = sum(map(len, claims))
    if characters > MOST_CHARACTERS:
        raise refusal((), f"claims of {characters} characters in all", f"allowed: at most {MOST_CHARACTERS}")
    for index, claim in enumerate(claims):
        needed = CHECKS.get(claim) or statement_of(claim, regimes, index).regimes
        absent = [regime for regime in needed if regime not in regimes]
        if absent:
            found = f"{claim} compares {' and '.join(needed)}, but regimes lacks {' and '.join(absent)}"
            checks = for_regimes(regimes)
            ids = f"{', '.join(checks)}, and " if checks else ""
            raise refusal((index,), found, f"allowed for these regimes: {ids}statements about them")
    return [*(check for check in CHECKS if check in claims), *(claim for claim in claims if claim not in CHECKS)]


def statement_of(text: str, regimes: Sequence[str], index: int = 0) -> Statement:
    """The statement of a claim, by id or as it stands, about one pipeline in regimes of these names.

    Raises
    ------
    PydanticCustomError
        For an unknown id, what is no statement, and a statement about two pipelines; ``index`` is its place in the
        list.
    """
    known = catalogue().get(text)
    if known is None and re.fullmatch(r"[a-z][a-z0-9_-]*", text):
        raise refusal((index,), f"unknown claim {shown(text)}", nearest_ids(text, ["paper", *CHECKS]))
    try:
        statement = parse(text, tuple(regimes)) if known is None else known.parsed
    except StatementError as error:
        hint = error.allowed if error.allowed.startswith(("did you mean", "allowed")) else f"allowed: {error.allowed}"
        raise refusal((index,), f"{error.place}: {error.found}", hint) from None
    if len(statement.pipelines) > 1:
        raise refusal((index,), f"{text} compares two pipelines", "allowed: claims about one pipeline")
    return statement
