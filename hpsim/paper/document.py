"""A document as data: headings, paragraphs, tables and figures, written as Markdown and as one HTML file."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files


@dataclass(frozen=True)
class Heading:
    """Of level 1, the title, or 2."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """Plain text; nothing in it is markup."""

    text: str


@dataclass(frozen=True)
class Table:
    """Rows of plain text below their columns; ``numeric`` holds the indices of the columns that are aligned right."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: frozenset[int] = field(default_factory=frozenset)


@dataclass(frozen=True)
class Picture:
    """A figure by its file name without ending, with what it shows in words."""

    name: str
    caption: str


Block = Heading | Paragraph | Table | Picture


def markdown(blocks: Sequence[Block], folder: str) -> str:
    """The document as GitHub's Markdown; pictures are PNG files in ``folder`` beside it."""
    return "\n\n".join(_markdown(block, folder) for block in blocks) + "\n"


def page(blocks: Sequence[Block], image: Callable[[str], bytes]) -> str:
    """The document as one HTML file that loads nothing.

    ``image`` gives the SVG of a picture's name, and with ``-dark`` behind the name the one for dark screens; both are
    inlined.
    """
    title = next(block.text for block in blocks if isinstance(block, Heading))
    sections = [block.text for block in blocks if isinstance(block, Heading) and block.level > 1]
    links = "".join(f'<li><a href="#{_anchor(text)}">{html.escape(text)}</a></li>' for text in sections)
    body = "\n".join(_html(block, image) for block in blocks if block != Heading(title, 1))
    style = files("hpsim.paper").joinpath("report.css").read_text(encoding="utf-8")
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{html.escape(title)}</title>\n'
        f"<style>\n{style}</style>\n</head>\n<body>\n<main>\n<h1>{html.escape(title)}</h1>\n"
        f'<nav aria-label="Sections"><ul>{links}</ul></nav>\n{body}\n</main>\n</body>\n</html>\n'
    )


def _markdown(block: Block, folder: str) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {_escaped(text)}"
        case Paragraph(text):
            return _escaped(text)
        case Table(columns, rows, numeric):
            rule = ["---:" if k in numeric else "---" for k in range(len(columns))]
            lines = [map(_escaped, columns), rule, *(map(_escaped, row) for row in rows)]
            return "\n".join(f"| {' | '.join(line)} |" for line in lines)
        case Picture(name, caption):
            return f"![{_escaped(caption)}]({folder}/{name}.png)\n\n{_escaped(caption)}"


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_|<>~#])", r"\\\1", text)


def _html(block: Block, image: Callable[[str], bytes]) -> str:
    match block:
        case Heading(text, level):
            return f'<h{level} id="{_anchor(text)}">{html.escape(text)}</h{level}>'
        case Paragraph(text):
            return f"<p>{html.escape(text)}</p>"
        case Table():
            return _html_table(block)
        case Picture(name, caption):
            words = html.escape(caption)
            light, dark = (
                f"data:image/svg+xml;base64,{base64.b64encode(image(name + form)).decode('ascii')}"
                for form in ("", "-dark")
            )
            return (
                f'<figure><picture><source media="screen and (prefers-color-scheme: dark)" srcset="{dark}">'
                f'<img alt="{words}" src="{light}"></picture><figcaption>{words}</figcaption></figure>'
            )


def _html_table(table: Table) -> str:
    def cells(tag: str, row: Sequence[str]) -> str:
        marks = [' class="number"' if k in table.numeric else "" for k in range(len(row))]
        return "".join(f"<{tag}{mark}>{html.escape(cell)}</{tag}>" for mark, cell in zip(marks, row, strict=True))

    rows = "\n".join(f"<tr>{cells('td', row)}</tr>" for row in table.rows)
    # a scrolling box takes the focus, so that it can be scrolled with the keys
    head = f"<thead><tr>{cells('th', table.columns)}</tr></thead>"
    return f'<div class="table" tabindex="0"><table>{head}\n<tbody>\n{rows}\n</tbody></table></div>'


def _anchor(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
