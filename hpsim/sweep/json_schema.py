"""The JSON Schema of a sweep file, for editors: made from the model, so that the two cannot part."""

from __future__ import annotations

import re
from typing import Any

from hpsim.sweep.file.combinations import SOURCES
from hpsim.sweep.spec import Sweep


def sweep_json_schema() -> dict[str, Any]:
    """A JSON Schema (draft 2020-12) that accepts every valid sweep file and rejects structural mistakes."""
    schema: dict[str, Any] = _in_plain_words(_without_nulls(Sweep.model_json_schema()))
    properties = schema["properties"]
    for key, single in (("regimes", "items"), ("microbatches", "items")):
        properties[key] = _one_or_list(properties[key], properties[key][single])
    claims = properties["claims"]
    properties["claims"] = _one_or_list(claims, claims["items"])
    properties["pipelines"] = _one_or_list(properties["pipelines"], {"type": "string"})
    stages = schema["$defs"]["Grid"]["properties"]["stages"]
    schema["$defs"]["Grid"]["properties"]["stages"] = _one_or_list(stages, stages["items"])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "hpsim sweep",
        "description": "A sweep of pipelines for `hpsim sweep run`.",
        "oneOf": [{"required": [source]} for source in SOURCES],
    }


def _one_or_list(several: dict[str, Any], one: dict[str, Any]) -> dict[str, Any]:
    """A list, or its single value without the brackets; the description stays in front."""
    inner = {key: value for key, value in several.items() if key not in ("description", "title", "default")}
    return {"description": several["description"], "anyOf": [one, inner]}


def _without_nulls(schema: Any) -> Any:
    """``schema`` without the null alternatives of optional keys, which a file leaves out instead."""
    if isinstance(schema, list):
        return [_without_nulls(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if key != "title" or not isinstance(value, str)}
    if kept.get("default", ...) is None:
        del kept["default"]
    options = kept.get("anyOf")
    if isinstance(options, list) and {"type": "null"} in options:
        left = [option for option in options if option != {"type": "null"}]
        kept["anyOf"] = left
        if len(left) == 1:
            del kept["anyOf"]
            kept = left[0] | kept
    return {key: _without_nulls(value) for key, value in kept.items()}


def _in_plain_words(schema: Any) -> Any:
    """``schema`` with the first paragraph of each description, without the markup of docstrings."""
    if isinstance(schema, list):
        return [_in_plain_words(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    words = {key: _in_plain_words(value) for key, value in schema.items()}
    if isinstance(words.get("description"), str):
        first = " ".join(words["description"].split("\n\n")[0].split())
        words["description"] = re.sub(r":\w+:`~?([^`]*)`", r"`\1`", first).replace("``", "`")
    return words
