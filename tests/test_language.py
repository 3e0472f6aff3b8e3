"""Reading statements: what is accepted, what is refused and at which column, and that nothing breaks the reader."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from hpsim.claims import tree
from hpsim.claims.parse import MOST_CHARACTERS, MOST_LEVELS, MOST_PARTS, check_regime_name, is_prose, parse
from hpsim.claims.tree import StatementError

REFUSED = {
    # text: (place, part of what was found, part of what is allowed)
    "": ("statement", "nothing is written", "T_async <= T_blocking"),
    " \n\t ": ("statement", "nothing is written", "a condition"),
    "tau < 3": ("column 1", "a condition on each stage", "all(tau < 3) or any(tau < 3)"),
    "  tau < 3": ("column 3", "a condition on each stage", "all(tau < 3)"),
    "T_async": ("column 1", "a number, not a condition", "a comparison"),
    "tau + d": ("column 1", "a vector, not a condition", "a comparison"),
    "T_asynk <= 3": ("column 1", "unknown name 'T_asynk'", "did you mean T_async?"),
    "1 < taumax": ("column 5", "unknown name 'taumax'", "did you mean tau_max"),
    "1 < m": ("column 5", "unknown name 'm'", "did you mean M?"),
    "1 < z": ("column 5", "unknown name 'z'", "allowed: S, M, rho, tau, d, latency"),
    "1 < A.rx": ("column 5", "unknown name 'A.rx'", "A.T_async"),
    "total(tau) > 1": ("column 1", "unknown function 'total'", "allowed: max, min, sum"),
    "T(asinc) > 1": ("column 3", "unknown regime 'asinc'", "did you mean async?"),
    "T(tighter) > 1": ("column 3", "unknown regime 'tighter'", "did you mean tight?"),
    "T(1) > 1": ("column 3", "no name of a regime", "rendezvous"),
    "slope() > 1": ("column 1", "slope with 0 arguments", "a regime"),
    "slope(async, 2) > 1": ("column 1", "slope with 2 arguments", "a regime"),
    "T(async, 2, 3) > 1": ("column 1", "T with 3 arguments", "a regime"),
    "T_async() > 1": ("column 1", "T_async with 0 arguments", "T_async(M+1)"),
    "T_async(tau) > 1": ("column 9", "found a vector", "a number of micro-batches is a number"),
    "async > 1": ("column 1", "async is a regime", "T(async)"),
    "tight > 1": ("column 1", "tight is a regime", "T(tight)"),
    "max > 1": ("column 1", "max without brackets", "max(tau)"),
    "tau(0) > 1": ("column 1", "tau(…)", "tau[0]"),
    "max() > 1": ("column 1", "max with 0 arguments", "one vector"),
    "max(1) > 1": ("column 5", "found a number", "max takes a vector"),
    "max(tau, d) > 1": ("column 5", "found a vector", "max of several takes a number"),
    "sum(tau, d) > 1": ("column 1", "sum with 2 arguments", "one vector"),
    "all(1 < 2)": ("column 5", "found a condition", "a vector condition"),
    "count(tau) > 1": ("column 7", "found a vector", "a vector condition"),
    "implies(1 > 2)": ("column 1", "implies with 1 argument", "two conditions"),
    "implies(1, 2 > 1)": ("column 9", "found a number", "implies takes a condition"),
    "1 < 2 and 3": ("column 11", "found a number", "and takes a condition"),
    "not 3": ("column 5", "found a number", "not takes a condition"),
    "(1 < 2) + 3 > 1": ("column 2", "found a condition", "a number or a vector"),
    "-(1 < 2) > 1": ("column 3", "found a condition", "a number or a vector"),
    "M[0] > 1": ("column 1", "found a number", "square brackets follow a vector"),
    "tau[0.5] > 1": ("column 5", "an index that is no whole number", "tau[0]"),
    "tau[S] > 1": ("column 5", "an index that is no whole number", "tau[-1]"),
    "tau[0:1] > 1": ("column 6", "the character :", "means nothing"),
    "T_async = 3": ("column 9", "a single =", "=="),
    "T_async <= ": ("column 11", "the statement ends too early", "T_async <= T_blocking"),
    "(T_async <= 3": ("column 1", "a bracket that is never closed", ""),
    ")(": ("column 1", "')' is not expected here", ""),
    "1 2 > 1": ("column 3", "'2' is not expected here", ""),
    "1, 2": ("column 1", "a comma is not part of the language", ""),
    "1 if 2 else 3": ("column 1", "if … else is not part of the language", ""),
    "[1, 2] < 3": ("column 1", "list is not part of the language", ""),
    "sum(x for x in tau) > 1": ("column 4", "generator exp is not part of the language", ""),
    "T_async(M=3) > 1": ("column 1", "a named argument in T_async(…)", "without names"),
    "max(*tau) > 1": ("column 5", "a star before an argument", "one by one"),
    "9**9**9 > 1": ("column 2", "an operator outside the language", "+ - * /"),
    "7 // 2 > 1": ("column 3", "an operator outside the language", "+ - * /"),
    "(7) // 2 > 1": ("column 5", "an operator outside the language", "+ - * /"),
    "tau in d": ("column 5", "an operator outside the language", "< <= > >= == !="),
    "1 is not 2": ("column 3", "an operator outside the language", "< <="),
    "2 ^ 3 > 1": ("column 3", "the character ^", "no powers"),
    "tau.__class__ == 1": ("column 1", "a dot in 'tau.__class__'", "only after A and B"),
    "A.tau.x > 1": ("column 1", "a dot in 'A.tau.x'", "only after A and B"),
    "(1).real > 1": ("column 1", "a dot in '(1).real'", "only after A and B"),
    "A.__class__ == 1": ("column 1", "unknown name 'A.__class__'", "A.tau"),
    "__import__('os')": ("column 12", "the character '", "no text"),
    "exit() > 1": ("column 1", "unknown function 'exit'", ""),
    "(1 > 0)(2)": ("column 1", "a call of something without a name", ""),
    "A.max(A.tau) > 1": ("column 1", "A.max", "prefix on the names inside"),
    "A > 1": ("column 1", "A alone", "A.tau"),
    "A.M > 1": ("column 1", "A.M", "M is shared and written bare"),
    "A.T_async < T_async": ("column 13", "T_async beside names of A and B", "A.T_async or B.T_async"),
    "S < A.S": ("column 1", "S beside names of A and B", "A.S or B.S"),
    "all(A.tau <= B.tau)": ("column 14", "a vector of B with one of A", "same S"),
    "True": ("column 1", "found 'True'", "a decimal number"),
    "1 < ...": ("column 5", "found '...'", "a decimal number"),
    "1 < 0x10": ("column 5", "found '0x10'", "a decimal number"),
    "1 < 2j": ("column 5", "found '2j'", "a decimal number"),
    "1 < 1e400": ("column 5", "beyond the range of float64", ""),
    "1 < 1e-400": ("column 5", "below the range of float64", ""),
    "1 < 1e99999999999": ("column 5", "not a number", ""),
    "1 < " + "9" * 5000: ("column 5", "a number of 5000 digits", "400"),
    "tau\x00 < 1": ("column 4", "the character U+0000", "letters"),
    "τ < 1": ("column 1", "the character τ", "write tau"),
    "M ≤ 1": ("column 3", "the character ≤", "write <="),
    "M < 1 # remark": ("column 7", "the character #", "no remarks"),
    "M < 1; S < 1": ("column 6", "the character ;", ""),
    "(" * 9000: ("column 101", "brackets nested deeper than 100 levels", ""),
    "-" * 9000 + "1 > 0": ("statement", "nested deeper than 100 levels", ""),
    "-" * 300 + "1 > 0": ("column 100", "nested deeper than 100 levels", ""),
    "not " * 2000 + "1 > 0": ("column 401", "nested deeper than 100 levels", ""),
    "1" + " + 1" * 2000 + " > 0": ("", "nested deeper than 100 levels", ""),
    "A" + ".a" * 3000 + " > 0": ("", "", ""),
    " and ".join(["1 < 2"] * 100): ("column 995", "more than 300 names, numbers and operations", "at most 300"),
    f"max({', '.join('M' * 400)}) > 1": ("column 899", "more than 300 names", "or several statements"),
    "T_async(T_async(T_async)) > 0": ("column 9", "makespans within makespans", "T_async(T_free(2))"),
    "T_async(" * 80 + "M" + ")" * 80 + " > 0": ("column 625", "makespans within makespans", "at most one within"),
    "1 > 0 " * 2000: ("statement", "12000 characters", "at most 10000"),
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: ascii(text[:30]))
def test_what_is_refused_and_where(text: str) -> None:
    """A bad statement is one line that says the column, what stands there and what is allowed."""
    place, found, allowed = REFUSED[text]
    with pytest.raises(StatementError) as caught:
        parse(text, ["tight"])
    error = caught.value
    assert error.place == place or not place
    assert found in error.found
    assert allowed in error.allowed
    assert "\n" not in str(error)
    assert len(str(error)) < 400


PROSE = [
    *("blocking is always slower", "is async faster?", "Corollary 5", "?", "阻塞总是更慢", "don't", "tau is d"),
    *("https://example.org", "https://example.org/?a=1&b=2", "{a: 1}", "__import__('os')"),
    *("import os; print(1 < 2)", "def f(x):\n  return x < 1", "T_blocking is always >= T_async", "T_async T_free"),
]
MEANT = [
    *("T_async <= T_blocking", "T = 3", "42", "", "T_async", "1 2 > 1", "M 2 > 1", "max tau > 1", "tau[0:1] > 1"),
    *(
        "τ ≤ σ",
        "tau^2",
        "not T_async",
        "free and blocking",
        "implies(all d <= tau, M > 1)",
        "T(x) y > 1",
        "tau\x00 < 1",
    ),
]


@pytest.mark.parametrize(("text", "prose"), [(text, text in PROSE) for text in (*PROSE, *MEANT)], ids=ascii)
def test_plain_words_are_told_from_statements_with_a_mistake(text: str, prose: bool) -> None:
    """Words without signs between them, addresses and programs; but not what the language nearly is."""
    assert is_prose(text, ["x"]) == prose


def test_every_refusal_is_quick_at_any_depth_of_the_stack() -> None:
    """A reader called deep inside other functions still refuses deep nesting with an error of its own."""

    def deep(levels: int) -> None:
        if levels:
            deep(levels - 1)
        else:
            for text in ("(" * 100 + "1" + ")" * 100 + " > 0", "-" * 90 + "1 > 0"):
                parse(text)

    deep(300)


def test_random_text_is_read_or_refused() -> None:
    """Whatever is put together from the language's own pieces, the reader returns a statement or a StatementError."""
    generator = random.Random(6)
    pieces = [
        *"()[].,+-*/<>=! ",
        "**",
        "==",
        "<=",
        "tau",
        "d",
        "M",
        "A.",
        "B.",
        "max(",
        "T(",
        "async",
        "1",
        "0.5",
        "e9",
    ]
    pieces += ["and", "or", "not", "if", "else", "lambda", "in", "is", "for", "all(", "implies(", "\n", "\t", "_", "\\"]
    messages = []
    read = 0
    for _ in range(20_000):
        text = "".join(generator.choice(pieces) for _ in range(generator.randint(1, 12)))
        try:
            read += parse(text).root.type == "condition"
        except StatementError as error:
            messages.append(str(error))
    assert not [message for message in messages if not message.isprintable()]
    assert read + len(messages) == 20_000


def test_numbers_are_exact() -> None:
    """A decimal stands for itself, not for the nearest binary fraction."""
    root = parse("0.1 < 1e-3 < .5 < 2. < 1_000").root
    assert isinstance(root, tree.Comparison)
    values = [part.value for part in root.operands if isinstance(part, tree.Constant)]
    assert values == [Fraction(1, 10), Fraction(1, 1000), Fraction(1, 2), 2, 1000]


def test_nodes_know_their_place_and_text() -> None:
    """The text of a node is cut out by its columns, line breaks and leading blanks notwithstanding."""
    statement = parse("  implies(M > 1,\n\tT(async, M+1) <= slope(async)*M)  ")
    texts = [statement.source(node) for node in statement.nodes()]
    assert texts[0] == "implies(M > 1,  T(async, M+1) <= slope(async)*M)"
    assert {"M > 1", "T(async, M+1)", "M+1", "slope(async)*M", "slope(async)"} <= set(texts)


def test_what_a_statement_uses() -> None:
    """Regimes, makespans, pipelines and names of a statement are told without evaluating it."""
    statement = parse("T_gpipe >= T(tight, M+1) and sum(tau) < law(async) + T_partial(2)", ["tight"])
    assert statement.regimes == ("tight", "async", "partial")
    assert [(use.regime, use.count is None) for use in statement.makespans] == [
        ("gpipe", True),
        ("tight", False),
        ("partial", False),
    ]
    assert statement.uses == {"M", "tau"}
    assert statement.uses_rho
    assert statement.pipelines == ("",)
    assert not parse("T_async < 3").uses_rho
    assert parse("rho < 3").uses_rho
    assert parse("A.tau[0] < 3").pipelines == ("A", "B")


def test_a_relation_lets_vectors_of_two_pipelines_meet() -> None:
    """Related pipelines have equally many stages, so that arithmetic between their vectors means something."""
    for relation in ("same S", "permutation", "same tau", "same d"):
        root = parse("all(A.tau + B.d <= 3)", relation=relation).root
        assert root.type == "condition"


def test_nesting_up_to_the_limit_is_read() -> None:
    """A statement just within the limits is accepted."""
    assert parse("-" * (MOST_LEVELS - 3) + "1 < 2").root.type == "condition"
    assert parse("T_async(1 + T_free(2)*T_async) > 0").root.type == "condition"
    assert parse(" and ".join(["1 < 2"] * (MOST_PARTS // 3 - 1))).root.type == "condition"
    filler = " " * (MOST_CHARACTERS - 5)
    assert parse("1 <" + filler + " 2").root.type == "condition"


@pytest.mark.parametrize("name", ["", "1x", "_x", "a-b", "if", "not", "x" * 41, "é"])
def test_names_that_no_regime_can_have(name: str) -> None:
    """A regime's name has to be a word of the language, and no word that Python reserves."""
    with pytest.raises(StatementError, match="letters, digits and _"):
        check_regime_name(name)
