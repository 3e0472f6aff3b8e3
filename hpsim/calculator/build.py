"""Template, style, scripts and string table → one HTML page that loads nothing and reaches no network."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from functools import cache
from importlib.resources import files

import yaml

from hpsim import __version__
from hpsim.errors import HpsimError

LANGUAGES = ("en", "zh")

_TAGS = {"en": "en", "zh": "zh-Hans"}
_PARTS = files("hpsim.calculator")
_SCRIPTS = (  # in the order in which they build on each other
    "exact.js",
    "fields.js",
    "model.js",
    "words.js",
    "svg.js",
    "makespan_picture.js",
    "timeline_picture.js",
    "results.js",
    "page.js",
)


def build(lang: str = "en") -> str:
    """The page in one language, the same text every time.

    A content security policy in the page admits only the style and the script that stand in it, by their digests.

    Raises
    ------
    HpsimError
        When there is no such language.
    """
    if lang not in LANGUAGES:
        raise HpsimError("lang", repr(lang), f"one of {', '.join(LANGUAGES)}")
    words = {key: by_language[lang] for key, by_language in string_table().items()}
    style, script = _part("style.css"), "(() => {\n'use strict';\n" + "\n".join(map(_part, _SCRIPTS)) + "})();\n"
    values = {key: html.escape(text) for key, text in words.items()} | {
        "lang": _TAGS[lang],
        "version": __version__,
        "policy": _policy(script, style),
        "style": style,
        "script": script,
        "strings": json.dumps(words, ensure_ascii=False, indent=0).replace("<", "\\u003c"),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: values[found[1]], _part("template.html"))


def file_name(lang: str) -> str:
    """What the page is called when nobody chooses a name."""
    return "hpsim-calculator.html" if lang == "en" else f"hpsim-calculator-{lang}.html"


@cache
def string_table() -> dict[str, dict[str, str]]:
    """Key → language → text; ``{name}`` in a text is filled in by the page."""
    table: dict[str, dict[str, str]] = yaml.safe_load(_part("strings.yaml"))
    return table


def _policy(script: str, style: str) -> str:
    return (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _part(name: str) -> str:
    return (_PARTS / name).read_text(encoding="utf-8")
