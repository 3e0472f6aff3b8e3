"""Text → checked statement. Python's own parser reads the text; nothing of it is ever run.

The text is guarded first, so that nothing in it can hang or crash the parser: its length, its characters, the depth of
its brackets. Then :mod:`hpsim.claims.check` turns the syntax tree into a statement's tree or refuses it.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable
from itertools import pairwise
from typing import NoReturn

from hpsim.claims.check import Checker
from hpsim.claims.tree import Statement, StatementError
from hpsim.claims.words import CALLS, EXAMPLE, NAMES, PIPELINES, REGIME_ALIAS, refuse
from hpsim.regime import NAMES as REGIMES

MOST_CHARACTERS = 10_000
MOST_LEVELS = 100
MOST_PARTS = 300
"""Names, numbers and operations: a search takes time in proportion, and the longest claim of the catalogue has 27."""

_CHARACTERS = re.compile(r"[A-Za-z0-9_ .,()\[\]+\-*/<>=!]")
_HINTS = {
    "≤": "write <=",
    "≥": "write >=",
    "≠": "write !=",
    "·": "write *",
    "×": "write *",
    "−": "write -",
    "τ": "write tau",
    "σ": "write tau + d",
    "ρ": "write rho",
    "&": "write and",
    "|": "write or",
    "^": "there are no powers; write a product",
    "%": "there are no remainders",
    "'": "there is no text in a statement",
    '"': "there is no text in a statement",
    "{": "there are no sets in a statement",
    ":": f"it means nothing in a statement; write a condition, {EXAMPLE}",
    "#": "a statement holds no remarks",
}
_SIGNS = set("<>=+*/^%&|≤≥≠·×−τσρ")
"""What a text that was meant as a statement is likely to have, and one in plain words is not."""
_LOGIC = {"and", "or", "not"}
_REGIME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,39}")
_RESERVED = {"and", "or", "not", "if", "else", "is", "in", "for", "lambda", "await", "yield", "True", "False", "None"}


def parse(text: str, regimes: Iterable[str] = (), relation: str | None = None) -> Statement:
    """Read a statement and check it.

    Parameters
    ----------
    text : str
        For example ``T_blocking <= T_async + (M-1)*max(d)``. Line breaks and tabs count as spaces.
    regimes : iterable of str
        Names of regimes beyond the built-in ones.
    relation : str, optional
        How pipelines A and B are related; any relation gives them the same number of stages, so that their vectors can
        be combined.

    Raises
    ------
    StatementError
        At ``column N``, counted from 1, or about the ``statement`` as a whole.
    """
    if not isinstance(text, str):
        refuse(None, f"found {type(text).__name__}", f"text, {EXAMPLE}")
    line = re.sub(r"[\t\r\n\f\v]", " ", text)
    _guard(line)
    line = line.rstrip()
    start = len(line) - len(line.lstrip())
    checker = Checker(line, start, tuple(regimes), relation is not None, MOST_LEVELS, MOST_PARTS)
    root = checker.condition(_syntax_tree(line, start))
    return Statement(line, root, ("A", "B") if checker.prefixed else ("",))


def is_prose(text: str, regimes: Iterable[str] = ()) -> bool:
    """Whether a text that is no statement was hardly meant as one: plain words, a web address, a program.

    Words that follow one another without a sign in between are prose, and with signs elsewhere still are where the
    language knows neither; so is what has characters outside the language and no sign.
    """
    tokens = re.findall(r"\w+|[^\w\s]", text[:MOST_CHARACTERS])
    known = {*NAMES, *CALLS, *PIPELINES, *REGIMES, *regimes}
    signs = not _SIGNS.isdisjoint(tokens) and "://" not in text
    for pair in pairwise(tokens):
        if not all(re.match(r"\w", token) for token in pair) or not _LOGIC.isdisjoint(pair):
            continue
        if not signs or (known.isdisjoint(pair) and not pair[0][0].isdigit()):
            return True
    return not signs and any(not _CHARACTERS.fullmatch(character) for token in tokens for character in token)


def check_regime_name(name: str) -> str:
    """``name``, if a statement can use it as the name of a regime.

    Raises
    ------
    StatementError
        Otherwise.
    """
    if not _REGIME.fullmatch(name) or name in _RESERVED:
        raise StatementError("regime", f"the name {name[:40]!a}", "letters, digits and _, for example tight")
    return name


def _guard(line: str) -> None:
    if not line.strip():
        refuse(None, "nothing is written", f"a condition, {EXAMPLE}")
    if len(line) > MOST_CHARACTERS:
        refuse(None, f"{len(line)} characters", f"at most {MOST_CHARACTERS}")
    depth = 0
    for column, character in enumerate(line, 1):
        if not _CHARACTERS.fullmatch(character):
            hint = _HINTS.get(character, f"letters, digits and _ . , ( ) [ ] + - * / < > = !, {EXAMPLE}")
            refuse(column, f"the character {_shown(character)}", hint)
        depth += (character in "([") - (character in ")]")
        if depth > MOST_LEVELS:
            refuse(column, f"brackets nested deeper than {MOST_LEVELS} levels", "a flatter statement")
    number = re.search(r"[0-9.]{401,}", line)
    if number:
        refuse(number.start() + 1, f"a number of {len(number[0])} digits", "at most 400 digits")


def _syntax_tree(line: str, start: int) -> ast.expr:
    readable = line[start:]
    for word, alias in REGIME_ALIAS.items():
        readable = re.sub(rf"(?<![A-Za-z0-9_]){word}(?![A-Za-z0-9_])", alias, readable)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's remarks on style, such as a missing space
            return ast.parse(readable, mode="eval").body
    except SyntaxError as error:
        _refuse_syntax(line, start, error)
    except (RecursionError, MemoryError):
        refuse(None, f"nested deeper than {MOST_LEVELS} levels", "a flatter statement")
    except ValueError as error:
        refuse(None, " ".join(str(error).split())[:80], f"a condition, {EXAMPLE}")


def _refuse_syntax(line: str, start: int, error: SyntaxError) -> NoReturn:
    single = re.search(r"(?<![<>=!])=(?!=)", line)
    if single:
        refuse(single.start() + 1, "a single =", "== for equality, for example T_async == T_blocking")
    column = min(error.offset + start, len(line) + 1) if error.offset else len(line) + 1
    if column > len(line) or "EOF" in str(error.msg) or "never closed" in str(error.msg):
        unclosed = "never closed" in str(error.msg)
        refuse(column, "a bracket that is never closed" if unclosed else "the statement ends too early", EXAMPLE)
    word = re.match(r"[A-Za-z0-9_.]+|[<>=!*/]+|.", line[column - 1 :])
    refuse(column, f"{ascii(word[0] if word else '')[:42]} is not expected here", f"a condition, {EXAMPLE}")


def _shown(character: str) -> str:
    return character if character.isprintable() else f"U+{ord(character):04X}"
