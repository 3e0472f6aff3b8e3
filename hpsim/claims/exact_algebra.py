"""Statements on Fractions: the algebra that has the last word."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from hpsim.claims import tree
from hpsim.claims.evaluate import Evaluation, System, Term, evaluate
from hpsim.claims.tree import Node, Statement, StatementError

COMPARE = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


class ExactAlgebra:
    """Numbers are Fractions; conditions and domains are booleans."""

    def constant(self, value: Fraction) -> Fraction:
        return value

    def negative(self, a: Fraction) -> Fraction:
        return -a

    def absolute(self, a: Fraction) -> Fraction:
        return abs(a)

    def add(self, a: Fraction, b: Fraction) -> Fraction:
        return a + b

    def subtract(self, a: Fraction, b: Fraction) -> Fraction:
        return a - b

    def multiply(self, a: Fraction, b: Fraction) -> Fraction:
        return a * b

    def divide(self, a: Fraction, b: Fraction) -> Fraction:
        return a / b if b else Fraction(0)

    def largest(self, numbers: Sequence[Fraction]) -> Fraction:
        return max(numbers)

    def smallest(self, numbers: Sequence[Fraction]) -> Fraction:
        return min(numbers)

    def indicator(self, a: bool) -> Fraction:
        return Fraction(a)

    def compare(self, operation: str, a: Fraction, b: Fraction) -> bool:
        return bool(COMPARE[operation](a, b))

    def both(self, a: bool, b: bool) -> bool:
        return a and b

    def either(self, a: bool, b: bool) -> bool:
        return a or b

    def opposite(self, a: bool) -> bool:
        return not a

    def nonzero(self, a: Fraction) -> bool:
        return a != 0

    def countable(self, a: Fraction) -> bool:
        return a >= 1 and a.denominator == 1

    def where(self, a: bool) -> bool:
        return a

    def meet(self, a: bool, b: bool) -> bool:
        return a and b

    def join(self, a: bool, b: bool) -> bool:
        return a or b


EXACT = ExactAlgebra()


@dataclass(frozen=True)
class Side:
    """An operand of the comparison that decides a statement: its text, and its value (a list for a vector).

    The value is None where it is undefined.
    """

    text: str
    value: Fraction | list[Fraction] | None


@dataclass(frozen=True)
class Decision:
    """Whether a statement holds at a point.

    Attributes
    ----------
    holds : bool or None
        None where the statement is undefined: the point counts neither way.
    sides : tuple of Side
        The operands of the comparison that decides, in the order of the text.
    operations : tuple of str
        What stands between them.
    """

    holds: bool | None
    sides: tuple[Side, ...]
    operations: tuple[str, ...]


def holds(statement: Statement, systems: Mapping[str, System], M: int, rho: Fraction | None = None) -> bool | None:
    """Whether the statement holds at this point; None where it is undefined.

    Raises
    ------
    StatementError
        When the statement needs ``rho`` and there is none.
    """
    _check_rho(statement, rho)
    term = evaluate(statement, systems, Fraction(M), rho, EXACT)
    return bool(term.value) if term.domain else None


def decide(statement: Statement, systems: Mapping[str, System], M: int, rho: Fraction | None = None) -> Decision:
    """As :func:`holds`, with both sides of the comparison that decides: of the first conjunct that fails, or of the
    conclusion of an implication, …
    """
    _check_rho(statement, rho)
    evaluation = Evaluation(systems, Fraction(M), rho, EXACT)
    term = evaluation.value(statement.root)
    node = _deciding(statement.root, evaluation)
    sides: tuple[Side, ...] = ()
    operations: tuple[str, ...] = ()
    if isinstance(node, tree.Comparison):
        sides = tuple(Side(statement.source(part), _shown(evaluation.value(part))) for part in node.operands)
        operations = node.operations
    return Decision(bool(term.value) if term.domain else None, sides, operations)


def _check_rho(statement: Statement, rho: Fraction | None) -> None:
    if rho is None and statement.uses_rho:
        raise StatementError("rho", "missing", "the statement needs the overlapped share, for example rho = 1/2")


def _deciding(node: Node, evaluation: Evaluation) -> Node:
    """The comparison on which the truth of ``node`` turns, as far as there is one."""
    if isinstance(node, tree.Quantifier):
        return _deciding(node.operand, evaluation)
    if not isinstance(node, tree.Logic) or node.type != "condition":
        return node
    if node.operation in ("and", "or"):
        wanted = node.operation == "or"
        for part in node.operands:
            term: Term = evaluation.value(part)
            if not term.domain or bool(term.value) is wanted:
                return _deciding(part, evaluation)
    return _deciding(node.operands[-1], evaluation)


def _shown(value: Term | list[Term]) -> Fraction | list[Fraction] | None:
    if isinstance(value, list):
        return [term.value for term in value] if all(term.domain for term in value) else None
    return value.value if value.domain else None
