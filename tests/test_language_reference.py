"""The reference page of the statement language: each of its examples comes out as the page says."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from hpsim.claims import exact_algebra, words
from hpsim.claims.catalogue import language_reference
from hpsim.claims.parse import parse
from hpsim.claims.systems import ExactPipeline
from hpsim.claims.tree import StatementError
from hpsim.regime import Regime

PAGE = language_reference()
EXAMPLES = [
    (line.split("→")[0].strip(), line.split("→")[1].strip())
    for block in re.findall(r"```\n(.*?)```", PAGE, re.DOTALL)
    for line in block.splitlines()
]
REGIMES = {"tight": Regime(overlap=0, buffers=1), "short": Regime(window=2, feedback=1)}
RHO = Fraction(1, 2)
A = ExactPipeline([1, 2, 4], [1, 3], [0, 1], REGIMES, RHO)
B = ExactPipeline([2, 1, 4], [1, 3], [0, 1], REGIMES, RHO)


@pytest.mark.parametrize(("text", "outcome"), EXAMPLES)
def test_every_example_comes_out_as_written(text: str, outcome: str) -> None:
    """The page's statements hold, fail, are undefined or are refused at the page's point as it claims."""
    assert decided(text) == outcome


def decided(text: str) -> str:
    """What comes out for ``text``, in the page's words."""
    try:
        statement = parse(text, REGIMES, "permutation")
    except StatementError as error:
        return str(error)
    systems = {"A": A, "B": B} if statement.pipelines == ("A", "B") else {"": A}
    return {True: "holds", False: "fails", None: "undefined"}[exact_algebra.holds(statement, systems, 3, RHO)]


def test_the_page_names_every_word_of_the_language() -> None:
    """No name, function or regime is missing from the page."""
    for word in (*words.NAMES, *words.CALLS, *words.REGIMES):
        assert re.search(rf"`[^`\n]*\b{word}\b[^`\n]*`", PAGE), word
