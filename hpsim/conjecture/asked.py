"""What is asked of a search or a proof: the id of a claim or a statement as text, made a claim."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hpsim.claims.catalogue import Claim, catalogue, claim
from hpsim.conjecture.counterexample import knobs_of
from hpsim.errors import HpsimError
from hpsim.regime import Regime
from hpsim.sweep.file.knob_regime import KnobRegime
from hpsim.vectors import in_short

RELATIONS = ("same S", "permutation", "same tau", "same d")
_REGIMES = 'a mapping of names to knobs or regimes, for example {"tight": {"overlap": 0, "buffers": 1}}'


def asked_claim(
    statement: str | Claim,
    regime: Mapping[str, Regime | Mapping[str, Any]] | None = None,
    relation: str | None = None,
    known: Mapping[str, KnobRegime] | None = None,
) -> Claim:
    """The claim of the catalogue that ``statement`` names, or a claim that says it.

    Parameters
    ----------
    statement : str or Claim
        An id, or a statement in the language; a claim that was read before takes none of the others.
    regime : mapping of str to Regime or mapping, optional
        What the regimes that it names mean: knobs, as in a sweep file, or a :class:`~hpsim.regime.Regime`.
    relation : str, optional
        How pipelines A and B are related, one of :data:`RELATIONS`.
    known : mapping of str to KnobRegime, optional
        Regimes that a statement may name beyond these, and the built-in ones.

    Raises
    ------
    HpsimError
        When one of them makes no sense.
    """
    if isinstance(statement, Claim):
        for place, value in (("regime", regime), ("relation", relation)):
            if value is not None:
                raise HpsimError(place, "given beside a claim, which says it itself", "the statement as text, and this")
        return statement
    if not isinstance(statement, str):
        raise HpsimError("statement", in_short(statement), "a statement as text, or the id of a claim")
    if not isinstance(regime, Mapping | None):
        raise HpsimError("regime", in_short(regime), _REGIMES)
    if relation is not None:
        relation = _relation(relation)
    given: dict[str, Any] = {name: _knobs(knobs) for name, knobs in (regime or {}).items()}
    if statement.strip() not in catalogue():  # whose regimes are its own
        given = {**(known or {}), **given}
    read = claim(statement, given or None, relation)
    if relation is not None and len(read.parsed.pipelines) == 1:
        raise HpsimError("relation", f"{relation!r}, but there is one pipeline only", "names with A. and B.")
    return read


def _knobs(given: Any) -> Any:
    if isinstance(given, Regime):
        return knobs_of(given)
    return dict(given) if isinstance(given, Mapping) else given


def _relation(text: object) -> str:
    words = " ".join(str(text).split())
    known = {relation.lower(): relation for relation in RELATIONS}
    if words.lower() not in known:
        raise HpsimError("relation", f"{words[:40]!r}", f"one of {', '.join(RELATIONS)}")
    return known[words.lower()]
