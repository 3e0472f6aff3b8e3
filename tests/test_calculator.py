"""The calculator pages as files: self-contained, complete in both languages, written by ``hpsim calculator``."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
import webbrowser
from html.parser import HTMLParser
from pathlib import Path

import children
import pytest
from click.testing import CliRunner, Result

import hpsim.calculator
from hpsim.calculator.build import LANGUAGES, build, file_name, string_table
from hpsim.cli import cli
from hpsim.errors import HpsimError

PARTS = Path(hpsim.calculator.__file__).parent
TEMPLATE = (PARTS / "template.html").read_text(encoding="utf-8")
SCRIPTS = "\n".join(path.read_text(encoding="utf-8") for path in sorted(PARTS.glob("*.js")))


class Tags(HTMLParser):
    """Every start tag with its attributes, and the text of styles and scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.blocks: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] in ("style", "script") and data.strip():
            self.blocks.append(data)


def calculator(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["calculator", *arguments], catch_exceptions=False)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_page_stands_alone(lang: str) -> None:
    """No address of another machine occurs in it, and no element loads anything."""
    page = build(lang)
    assert not re.search(
        r"https?://|//[a-z]+\.|@import|fetch\(|XMLHttpRequest|WebSocket|importScripts|sendBeacon", page
    )
    for tag, attributes in Tags(page).tags:
        assert not {"src", "srcset", "action", "poster"} & set(attributes), tag
        assert (attributes.get("href") or "#").startswith(("#", "data:")), tag
        assert not [name for name in attributes if name == "style" or name.startswith("on")], tag


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_policy_admits_this_style_and_script_only(lang: str) -> None:
    """Everything is forbidden but the style and the script of the page, which it knows by their digests."""
    parsed = Tags(build(lang))
    (policy,) = [found["content"] for tag, found in parsed.tags if tag == "meta" and "http-equiv" in found]
    style, strings, script = parsed.blocks
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    for kind, block in (("style", style), ("script", script)):
        digest = base64.b64encode(hashlib.sha256(block.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}';" in policy
    assert json.loads(strings) == {key: texts[lang] for key, texts in string_table().items()}


def test_pages_are_the_same_every_time() -> None:
    """Another process builds the same text."""
    script = "import sys; from hpsim.calculator.build import build; sys.stdout.buffer.write(build('zh').encode())"
    ended = children.run([sys.executable, "-c", script], text=False, check=True)
    assert ended.stdout.decode() == build("zh")


def test_both_languages_are_complete() -> None:
    """Every text exists in both languages and fills in the same things; nothing is left to translate."""
    for key, texts in string_table().items():
        assert set(texts) == set(LANGUAGES), key
        assert all(text and isinstance(text, str) for text in texts.values()) or key == "sentence_join"
        english, chinese = (set(re.findall(r"\{\w+\}", texts[lang])) for lang in LANGUAGES)
        assert english == chinese, key
    untranslated = {key for key, texts in string_table().items() if texts["en"] == texts["zh"]}
    assert untranslated <= {"M"}


def test_every_text_is_used_and_every_used_text_exists() -> None:
    """The string table holds what template and scripts ask for, no more and no less."""
    table = set(string_table())
    asked = set(re.findall(r"\{\{(\w+)\}\}", TEMPLATE)) - {"lang", "version", "policy", "style", "script", "strings"}
    asked |= set(re.findall(r"say\(\"(\w+)\"", SCRIPTS))
    asked |= {f"{root}_{form}" for root in re.findall(r"counted\(\"(\w+)\"", SCRIPTS) for form in ("one", "other")}
    assert asked <= table
    quoted = set(re.findall(r"\"(\w+)\"", SCRIPTS))
    assert table - asked <= quoted


def test_there_are_two_languages() -> None:
    """Another one is an error that names those there are."""
    assert build("zh").startswith('<!doctype html>\n<html lang="zh-Hans">')
    with pytest.raises(HpsimError, match="lang: 'fr'; one of en, zh"):
        build("fr")


def test_the_command_writes_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a name the file is called hpsim-calculator, by language; its path is what is printed."""
    monkeypatch.chdir(tmp_path)
    for lang, name in (("en", "hpsim-calculator.html"), ("zh", "hpsim-calculator-zh.html")):
        assert calculator("--lang", lang).stdout == f"{name}\n"
        assert (tmp_path / name).read_text(encoding="utf-8") == build(lang)


def test_the_page_goes_where_it_is_sent(tmp_path: Path) -> None:
    """To a file, into a folder, or to standard output."""
    assert calculator("--out", str(tmp_path / "x.html")).stdout == f"{tmp_path / 'x.html'}\n"
    calculator("--lang", "zh", "--out", str(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == [file_name("zh"), "x.html"]
    assert calculator("--out", "-").stdout == build("en")


def test_open_starts_the_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page just written is opened; where there is no browser, that is said and the page stays."""
    opened: list[str] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(webbrowser, "open", lambda address: bool(opened.append(address)) or len(opened) == 1)
    assert calculator("--open").stderr == ""
    assert opened == [(tmp_path / "hpsim-calculator.html").as_uri()]
    second = calculator("--open")
    assert (second.exit_code, second.stdout) == (0, "hpsim-calculator.html\n")
    assert second.stderr == "no browser could be started; open hpsim-calculator.html yourself\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--out", "missing/x.html"], "--out: missing/x.html cannot be written (No such file or directory)"),
        (["--out", "file/x.html"], "--out: file/x.html cannot be written (Not a directory)"),
        (["--out", "-", "--open"], "--open: the page goes to standard output; a file to open: --out FILE"),
    ],
)
def test_what_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    """A wrong place is one line."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(HpsimError) as caught:
        calculator(*arguments)
    assert str(caught.value).startswith(said)


def test_an_unknown_language_on_the_command_line() -> None:
    """It is refused with the languages there are."""
    result = calculator("--lang", "fr")
    assert result.exit_code == 2
    assert "'en', 'zh'" in result.stderr


def test_the_command_loads_nothing_heavy() -> None:
    """A page is written without numba, NumPy, pandas or pyarrow."""
    script = (
        "import sys; sys.argv = ['hpsim', 'calculator', '--out', '-']\n"
        "from hpsim.cli import main\n"
        "try:\n    main()\nfinally:\n"
        "    print({'numba', 'numpy', 'pandas', 'pyarrow', 'rich'} & set(sys.modules), file=sys.stderr)"
    )
    ended = children.run([sys.executable, "-c", script], check=True)
    assert ended.stderr == "set()\n"


def test_flags_fill_in_the_page(tmp_path: Path) -> None:
    """What calc takes stands in the printed address, exactly and in the unit asked for."""
    page = tmp_path / "x.html"
    given = ("--tau", "500us,1,1/3", "--d", "0.2,0", "--M", "1e2", "--rho", "0.5", "--measured", "1s", "--unit", "ms")
    printed = calculator("--out", str(page), *given).stdout
    assert printed == f"{page.as_uri()}#tau=0.5,1,1/3&d=0.2,0&M=100&rho=0.5&T=1000\n"
    assert calculator("--out", str(page), "--tau", "1,2").stdout.endswith("#tau=1,2&d=0&M=8&rho=1&T=\n")


@pytest.mark.parametrize(
    "given",
    [["--tau", "1,x"], ["--tau", "1,2", "--d", "1,2"], ["--tau", "1", "--M", "0"], ["--tau", "1", "--rho", "2"]],
)
def test_wrong_flags_are_the_errors_of_calc(given: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong flag is the same message as from hpsim calc, and no page is written."""
    monkeypatch.chdir(tmp_path)
    told = []
    for command in ("calc", "calculator"):
        with pytest.raises(HpsimError) as caught:
            CliRunner().invoke(cli, [command, *given], catch_exceptions=False)
        told.append(str(caught.value))
    assert told[0] == told[1]
    assert list(tmp_path.iterdir()) == []


def test_flags_need_stages() -> None:
    """Other fields alone make no pipeline; the message says what to add."""
    with pytest.raises(HpsimError, match="calculator: flags of a pipeline without --tau; for example"):
        calculator("--M", "8")
