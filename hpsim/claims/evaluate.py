"""One evaluation of a statement's tree, over whatever algebra is given.

An *algebra* knows numbers, conditions and domains; all three are opaque here. A *domain* says where something is
defined; the plain ``True`` and ``False`` are domains of every algebra and are never handed to its methods. A *system*
is a pipeline in terms of the algebra's numbers. Vectors are lists of numbers, one for each stage, so that an algebra
has scalar operations only.

Every operation is total: ``divide`` by zero may return anything, because the quotient's domain excludes it. Logic is
three-valued and reads from left to right: ``a and b`` is defined where ``a`` is, and ``b`` is or ``a`` fails.

:mod:`hpsim.claims.exact_algebra` is the plainest example of an algebra.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from typing import Any, NamedTuple, Protocol

from hpsim.claims import tree
from hpsim.claims.tree import GPIPE, Node, Statement

Number = Any
Condition = Any
Domain = Any


class Term(NamedTuple):
    """A number or a condition, and the domain where it is defined."""

    value: Any
    domain: Domain = True


class Algebra(Protocol):
    """What an algebra supplies; none of these may fail, whatever the values."""

    def constant(self, value: Fraction) -> Number:
        """A number of the text, exactly as written."""

    def negative(self, a: Number) -> Number:
        """``-a``."""

    def absolute(self, a: Number) -> Number:
        """``abs(a)``."""

    def add(self, a: Number, b: Number) -> Number:
        """``a + b``."""

    def subtract(self, a: Number, b: Number) -> Number:
        """``a - b``."""

    def multiply(self, a: Number, b: Number) -> Number:
        """``a * b``."""

    def divide(self, a: Number, b: Number) -> Number:
        """``a / b`` where ``b`` is not 0, and any number elsewhere."""

    def largest(self, numbers: Sequence[Number]) -> Number:
        """The largest of one or more numbers."""

    def smallest(self, numbers: Sequence[Number]) -> Number:
        """The smallest of one or more numbers."""

    def indicator(self, a: Condition) -> Number:
        """1 where ``a`` holds, 0 elsewhere."""

    def compare(self, operation: str, a: Number, b: Number) -> Condition:
        """``a < b`` and the like; the operation is one of ``< <= > >= == !=``."""

    def both(self, a: Condition, b: Condition) -> Condition:
        """``a and b``."""

    def either(self, a: Condition, b: Condition) -> Condition:
        """``a or b``."""

    def opposite(self, a: Condition) -> Condition:
        """``not a``."""

    def nonzero(self, a: Number) -> Domain:
        """Where ``a`` is not 0."""

    def countable(self, a: Number) -> Domain:
        """Where ``a`` is a number of micro-batches: whole and at least 1."""

    def where(self, a: Condition) -> Domain:
        """Where ``a`` holds."""

    def meet(self, a: Domain, b: Domain) -> Domain:
        """Where both hold."""

    def join(self, a: Domain, b: Domain) -> Domain:
        """Where at least one holds."""


class System(Protocol):
    """A pipeline in terms of an algebra's numbers.

    Attributes
    ----------
    S : int
        Number of stages.
    tau, d, latency : sequences of S numbers
        The last entries of ``d`` and ``latency`` are 0.
    """

    @property
    def S(self) -> int: ...

    @property
    def tau(self) -> Sequence[Number]: ...

    @property
    def d(self) -> Sequence[Number]: ...

    @property
    def latency(self) -> Sequence[Number]: ...

    def makespan(self, regime: str, count: Number) -> Term:
        """The makespan of ``count`` micro-batches, and where this system can tell it.

        Called with any number; what is returned where ``count`` is not a whole number of at least 1 does not matter.
        """

    def slope(self, regime: str) -> Number:
        """Time per micro-batch in the long run, from the largest cycle ratio."""

    def law(self, regime: str) -> Number:
        """The same in closed form."""


def evaluate(
    statement: Statement, systems: Mapping[str, System], M: Number, rho: Number | None, algebra: Algebra
) -> Term:
    """The statement's condition, and the domain where it is defined.

    ``systems`` holds a system for each of ``statement.pipelines``: the key ``""``, or ``"A"`` and ``"B"``. ``M`` and
    ``rho`` are numbers of the algebra, ``M`` whole and at least 1; ``rho`` may be None where the statement does not use
    it.
    """
    term: Term = Evaluation(systems, M, rho, algebra).value(statement.root)
    return term


class Evaluation:
    """The values of nodes at given systems; arguments as for :func:`evaluate`."""

    def __init__(self, systems: Mapping[str, System], M: Number, rho: Number | None, algebra: Algebra) -> None:
        self.systems = systems
        self.shared = {"M": M, "rho": rho}
        self.algebra = algebra

    def value(self, node: Node) -> Any:
        """A :class:`Term`, or for vectors and vector conditions a list of them, one for each stage."""
        algebra = self.algebra
        match node:
            case tree.Constant(value=value):
                return Term(algebra.constant(value))
            case tree.Shared(name=name):
                return Term(self.shared[name])
            case tree.Stages(pipeline=pipeline):
                return Term(algebra.constant(Fraction(self.systems[pipeline].S)))
            case tree.Times(name=name, pipeline=pipeline):
                return [Term(time) for time in getattr(self.systems[pipeline], name)]
            case tree.Makespan():
                return self._makespan(node)
            case tree.Steady(kind=kind, pipeline=pipeline, regime=regime):
                return Term(getattr(self.systems[pipeline], kind)(regime))
            case tree.Unary(operation=operation, operand=operand):
                function = algebra.negative if operation == "-" else algebra.absolute
                return _each(lambda a: Term(function(a.value), a.domain), self.value(operand))
            case tree.Binary(operation=operation, left=left, right=right):
                arithmetic = {"+": self._add, "-": self._subtract, "*": self._multiply, "/": self._divide}
                return _each(arithmetic[operation], self.value(left), self.value(right))
            case tree.Extreme(operation=operation, operands=operands):
                return self._extreme(operation, [self.value(operand) for operand in operands])
            case tree.Reduction(operation=operation, operand=operand):
                terms = self.value(operand)
                return reduce(self._add, terms) if operation == "sum" else self._extreme(operation, terms)
            case tree.Entry(operand=operand, index=index):
                terms = self.value(operand)
                return terms[index] if -len(terms) <= index < len(terms) else Term(terms[0].value, False)
            case tree.Count(operand=operand):
                ones = [Term(algebra.indicator(term.value), term.domain) for term in self.value(operand)]
                return reduce(self._add, ones)
            case tree.Comparison(operations=operations, operands=operands):
                values = [self.value(operand) for operand in operands]
                pairs = zip(operations, values, values[1:], strict=False)
                return reduce(self._and, (_each(self._compare(sign), a, b) for sign, a, b in pairs))
            case tree.Logic(operation=operation, operands=operands):
                return self._logic(operation, [self.value(operand) for operand in operands])
            case tree.Quantifier(operation=operation, operand=operand):
                return reduce(self._and if operation == "all" else self._or, self.value(operand))
        raise AssertionError(f"no such node: {node!r}")

    def _makespan(self, node: tree.Makespan) -> Term:
        algebra, system = self.algebra, self.systems[node.pipeline]
        count = Term(self.shared["M"])
        if node.count is not None:
            count = self.value(node.count)
            count = Term(count.value, self.meet(count.domain, algebra.countable(count.value)))
        if node.regime != GPIPE:
            makespan = system.makespan(node.regime, count.value)
            return Term(makespan.value, self.meet(count.domain, makespan.domain))
        passes = algebra.add(algebra.constant(Fraction(system.S - 1)), count.value)
        return Term(algebra.multiply(passes, algebra.largest(system.tau)), count.domain)

    def _add(self, a: Term, b: Term) -> Term:
        return Term(self.algebra.add(a.value, b.value), self.meet(a.domain, b.domain))

    def _subtract(self, a: Term, b: Term) -> Term:
        return Term(self.algebra.subtract(a.value, b.value), self.meet(a.domain, b.domain))

    def _multiply(self, a: Term, b: Term) -> Term:
        return Term(self.algebra.multiply(a.value, b.value), self.meet(a.domain, b.domain))

    def _divide(self, a: Term, b: Term) -> Term:
        domain = self.meet(self.meet(a.domain, b.domain), self.algebra.nonzero(b.value))
        return Term(self.algebra.divide(a.value, b.value), domain)

    def _extreme(self, operation: str, terms: Sequence[Term]) -> Term:
        function = self.algebra.largest if operation == "max" else self.algebra.smallest
        return Term(function([term.value for term in terms]), reduce(self.meet, (term.domain for term in terms)))

    def _compare(self, operation: str) -> Callable[[Term, Term], Term]:
        return lambda a, b: Term(self.algebra.compare(operation, a.value, b.value), self.meet(a.domain, b.domain))

    def _logic(self, operation: str, operands: list[Any]) -> Any:
        if operation == "not":
            return self._not(operands[0])
        if operation == "and":
            return reduce(self._and, operands)
        if operation == "or":
            return reduce(self._or, operands)
        if operation == "implies":
            return self._or(self._not(operands[0]), operands[1])
        return _each(self._iff, *operands)

    def _not(self, a: Any) -> Any:
        return _each(lambda one: Term(self.algebra.opposite(one.value), one.domain), a)

    def _and(self, a: Any, b: Any) -> Any:
        return _each(self._and_one, a, b)

    def _or(self, a: Any, b: Any) -> Any:
        return _each(self._or_one, a, b)

    def _and_one(self, a: Term, b: Term) -> Term:
        domain = b.domain
        if domain is not True:
            domain = self.join(domain, self.algebra.where(self.algebra.opposite(a.value)))
        return Term(self.algebra.both(a.value, b.value), self.meet(a.domain, domain))

    def _or_one(self, a: Term, b: Term) -> Term:
        domain = b.domain
        if domain is not True:
            domain = self.join(domain, self.algebra.where(a.value))
        return Term(self.algebra.either(a.value, b.value), self.meet(a.domain, domain))

    def _iff(self, a: Term, b: Term) -> Term:
        algebra = self.algebra
        there = algebra.either(algebra.opposite(a.value), b.value)
        back = algebra.either(algebra.opposite(b.value), a.value)
        return Term(algebra.both(there, back), self.meet(a.domain, b.domain))

    def meet(self, a: Domain, b: Domain) -> Domain:
        """Where both domains hold; the plain booleans are settled here."""
        if a is False or b is False:
            return False
        if a is True:
            return b
        return a if b is True else self.algebra.meet(a, b)

    def join(self, a: Domain, b: Domain) -> Domain:
        """Where at least one domain holds; the plain booleans are settled here."""
        if a is True or b is True:
            return True
        if a is False:
            return b
        return a if b is False else self.algebra.join(a, b)


def _each(function: Callable[..., Term], *operands: Any) -> Any:
    """``function`` of terms; where some operands are vectors, stage by stage, with terms standing for every stage."""
    lengths = {len(operand) for operand in operands if isinstance(operand, list)}
    if not lengths:
        return function(*operands)
    length = lengths.pop()
    rows = [operand if isinstance(operand, list) else [operand] * length for operand in operands]
    return [function(*row) for row in zip(*rows, strict=True)]
