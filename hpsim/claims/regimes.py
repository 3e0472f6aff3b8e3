"""The regimes that a claim brings along: name to knobs, as in a sweep file.

::

    regimes:
      tight: {overlap: 0, buffers: {integers: [0, 2]}}
      roomy: {like: tight, buffers: +1}

Each is a :class:`~hpsim.sweep.file.knob_regime.KnobRegime`, so that a sweep can take them over as they are. A count
with a distribution is a :class:`~hpsim.sweep.file.knob_regime.Draw`; regimes that are ``like`` another share its draws.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import PlainValidator, ValidationError
from pydantic_core import PydanticCustomError

from hpsim.claims.parse import check_regime_name
from hpsim.claims.tree import StatementError
from hpsim.regime import Regime
from hpsim.sweep.file.distribution import Distribution
from hpsim.sweep.file.fields import refusal, shown
from hpsim.sweep.file.knob_regime import KNOBS, Draw, KnobRegime
from hpsim.sweep.file.regimes import RegimeForm
from hpsim.sweep.file.validation import nearest


def draws_of(regimes: Mapping[str, KnobRegime]) -> tuple[Draw, ...]:
    """The counts that are drawn anew at every point, each once, without what derived regimes add to them."""
    found = {(draw.regime, draw.knob): draw for regime in regimes.values() for draw in regime.draws}
    return tuple(Draw(draw.distribution, *key) for key, draw in found.items())


def regimes_at(regimes: Mapping[str, KnobRegime], draw: Callable[[str, str, Distribution], int]) -> dict[str, Regime]:
    """The regimes of one point; ``draw(regime, knob, distribution)`` gives each count of :func:`draws_of` once.

    Raises
    ------
    RegimeError
        When the values do not make a regime.
    """
    drawn = {(one.regime, one.knob): int(draw(one.regime, one.knob, one.distribution)) for one in draws_of(regimes)}
    return {
        name: regime.regime({one.knob: drawn[one.regime, one.knob] + one.plus for one in regime.draws})
        for name, regime in regimes.items()
    }


def read_regimes(value: object) -> dict[str, KnobRegime]:
    """Name → knobs, each regime perhaps ``like`` one that stands before it."""
    if not isinstance(value, dict):
        raise refusal((), f"found {shown(value)}", "allowed: a mapping, for example {tight: {overlap: 0, buffers: 1}}")
    known: dict[str, KnobRegime] = {}
    for name, knobs in value.items():
        if isinstance(knobs, KnobRegime):
            known[name] = knobs
            continue
        try:
            form = RegimeForm.model_validate({"name": check_regime_name(str(name))} | dict(_mapping(name, knobs)))
            known[name] = form.knobs(known)
        except StatementError as error:
            raise refusal((name,), error.found, f"allowed: {error.allowed}") from None
        except PydanticCustomError as error:
            context = error.context or {}
            raise refusal((name, *context["path"][1:]), context["found"], context["allowed"]) from None
        except ValidationError as error:
            mistake = error.errors(include_url=False)[0]
            context = mistake.get("ctx", {})
            path = (name, *mistake["loc"], *context.get("path", ()))
            if mistake["type"] == "extra_forbidden":
                knob = str(mistake["loc"][-1])
                raise refusal(path, f"unknown knob {shown(knob)}", nearest(knob, (*KNOBS, "like"))) from None
            found = context.get("found", f"found {shown(mistake['input'])}")
            raise refusal(path, found, context.get("allowed", f"allowed: {mistake['msg']}")) from None
    return known


def _mapping(name: object, knobs: object) -> dict[str, Any]:
    if not isinstance(knobs, dict) or "name" in knobs:
        allowed = "allowed: a mapping of knobs, for example {overlap: 0, buffers: 1}"
        raise refusal((0,), f"found {shown(knobs)}", allowed)
    return knobs


Regimes = Annotated[dict[str, KnobRegime], PlainValidator(read_regimes)]
