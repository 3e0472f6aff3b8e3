"""Pydantic's findings as one clear error: where it stands in the file, what was found, what is allowed."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from hpsim.errors import SweepFileError
from hpsim.sweep.file.document import Document, KeyPath
from hpsim.sweep.file.fields import counted, shown

MOST_NAMES = 30
Model = TypeVar("Model", bound=BaseModel)


def validated(model: type[Model], document: Document) -> Model:
    """``document`` as a ``model``.

    Raises
    ------
    SweepFileError
        For the first mistake in the file.
    """
    try:
        return model.model_validate(document.data)
    except ValidationError as error:
        raise _first(model, document, error.errors(include_url=False)) from None


def nearest(word: str, known: Iterable[str]) -> str:
    """What is allowed instead of ``word``: the nearest of ``known``, and all of them, or the first where many."""
    names = list(known)
    close = difflib.get_close_matches(word[:100].lower(), names, n=1, cutoff=0.6)
    hint = f"did you mean {close[0]!r}? " if close else ""
    others = f" and {len(names) - MOST_NAMES} others" if len(names) > MOST_NAMES else ""
    return f"{hint}allowed: {', '.join(names[:MOST_NAMES])}{others}"


def _first(model: type[BaseModel], document: Document, mistakes: list[ErrorDetails]) -> SweepFileError:
    paths = [_path(document.data, mistake) for mistake in mistakes]
    path, mistake = min(zip(paths, mistakes, strict=True), key=lambda pair: document.order(pair[0]))
    found, allowed = _words(model, path, mistake)
    return SweepFileError(document.place(path), found, allowed)


def _path(data: Any, mistake: ErrorDetails) -> KeyPath:
    """The key path of a mistake as written: a bare number is validated as ``constant``, which nobody wrote."""
    steps = [*mistake["loc"], *mistake.get("ctx", {}).get("path", ())]
    path: list[str | int] = []
    for number, step in enumerate(steps):
        last = number == len(steps) - 1
        if isinstance(data, dict) and (step in data or (last and isinstance(step, str))):
            data = data.get(step)
        elif isinstance(data, list) and isinstance(step, int) and step < len(data):
            data = data[step]
        else:
            continue
        path.append(step)
    return tuple(path)


def _words(model: type[BaseModel], path: KeyPath, mistake: ErrorDetails) -> tuple[str, str]:
    """What was found, and what is allowed."""
    kind, context, value = mistake["type"], mistake.get("ctx", {}), mistake["input"]
    found = f"found {shown(value)}"
    match kind:
        case "refused":
            return context["found"], context["allowed"]
        case "extra_forbidden":
            key = str(path[-1])
            return f"unknown key {key[:60]!r}", nearest(key, _keys(_json_schema(model), path[:-1]))
        case "missing":
            return "this key is missing", "it is required here"
        case "literal_error":
            return found, nearest(
                value if isinstance(value, str) else shown(value), re.findall(r"'([^']*)'", context["expected"])
            )
        case "string_type":
            return found, "allowed: text (a number in quotes is text)"
        case "string_unicode":
            return found, "allowed: text of whole characters, which a file can hold"
        case "string_too_short" | "string_too_long":
            return found, "allowed: a text that is neither empty nor endless"
        case "list_type":
            return found, "allowed: a list, for example [1, 2]"
        case "too_short":
            return found, f"allowed: at least {counted(context['min_length'], 'value')}"
        case "too_long":
            return found, f"allowed: at most {counted(context['max_length'], 'value')}"
        case "model_type" | "dict_type":
            return found, "allowed: a mapping of keys"
    return found, f"allowed: {mistake['msg']}"


@cache
def _json_schema(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema()


def _keys(schema: Mapping[str, Any], path: KeyPath) -> list[str]:
    """The keys that a JSON Schema allows in the mapping at ``path``."""
    places = _alternatives(schema, schema)
    for step in path:
        below = [
            place["items"] if isinstance(step, int) else place["properties"][step]
            for place in places
            if ("items" in place if isinstance(step, int) else step in place.get("properties", {}))
        ]
        places = [choice for place in below for choice in _alternatives(schema, place)]
    return list(dict.fromkeys(key for place in places for key in place.get("properties", {})))


def _alternatives(root: Mapping[str, Any], schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """``schema`` with its reference followed and its alternatives spread out."""
    if "$ref" in schema:
        return _alternatives(root, root["$defs"][schema["$ref"].rsplit("/", 1)[-1]])
    if "anyOf" in schema:
        return [choice for option in schema["anyOf"] for choice in _alternatives(root, option)]
    return [schema]
