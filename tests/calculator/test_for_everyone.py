"""Keyboard, screen reader, phone, light and dark, paper; and no network at all."""

from __future__ import annotations

import json
import re

import pytest
from selenium.webdriver.common.keys import Keys

from calculator.browser import OVERLAPS, Page, address

TWELVE = address(
    tau="0.9,1.13,2.90,2.62,1/3,0.05,1.7,2.9,0.4,1.25,2.2,0.75",
    d="0.2,0.1,0.3,0.5,0.01,1.2,0.75,0.001,2.75,0.4,0.6",
    M="24",
    rho="0.5",
    T="95.5",
)
PLACES = [
    "",
    TWELVE,
    address(tau="123456.789,1e-7,3e12", d="1e9,0", M="123456789", T="1e20"),
    address(tau="1", M="1"),
    address(tau="5,0,5", M="16"),
    address(tau=",".join(["1.5", "2"] * 30), M="5"),
    address(tau="1e300,1e299", d="1e300", M="1e7"),
    address(tau="1,2", d="", M="1e300"),
]
ERRORS = address(tau="1,x", d="1,2,3", M="0", rho="2", T="-1")


def test_everything_has_a_name(either: Page) -> None:
    """Fields, button, links, pictures and regions have names, fields have their hints, and the landmarks are there."""
    met = either.accessible()
    roles = [role for role, _, _ in met]
    for role in ("textbox", "button", "link", "image", "region", "table", "navigation"):
        assert role in roles
        assert all(name for found, name, _ in met if found == role), role
    assert {"banner", "main", "contentinfo", "status", "heading", "rowheader", "columnheader"} <= set(roles)
    assert roles.count("textbox") == 5
    assert roles.count("image") == 3
    assert sum(1 for role, _, description in met if role == "textbox" and description) >= 4


def test_a_mistake_is_part_of_the_field(page: Page) -> None:
    """A screen reader that comes to a wrong field hears what is wrong with it."""
    page.open(address(tau="1,x", d="-1", M="0", rho="2", T="long"))
    heard = [description for role, _, description in page.accessible() if role == "textbox"]
    parts = ("“x” is not a number", "-1 is negative", "0 is no number", "2 is no share", "“long” is not a number")
    assert [part in said for part, said in zip(parts, heard, strict=True)] == [True] * 5


def test_pictures_in_words_and_as_tables(page: Page) -> None:
    """Each picture has a sentence with its numbers, and a table with all that is drawn."""
    page.open(address(tau="1,2,4", d="1,3", M="3", T="20"))
    words = {name: page.element(name).get_attribute("aria-label") for name in ("makespans", "timeline-blocking")}
    assert "blocking from 11 to 56" in words["makespans"]
    assert "A measured makespan of 20 is marked at M = 3." in words["makespans"]
    assert words["timeline-blocking"].endswith("the last is complete at 21.")
    tables = "return [...document.getElementById(arguments[0]).rows].map((r) => [...r.cells].map((c) => c.textContent))"
    lines = page.script(tables, "makespans-data")
    assert lines[0] == ["M", "without communication", "async", "blocking", "GPipe formula"]
    assert ["3", "15", "19", "21", "20"] in lines
    timeline = page.script(tables, "blocking-data")
    assert timeline[1] == ["0", "0\u2009–\u20091, held to 2", "2\u2009–\u20094, held to 7", "7\u2009–\u200911"]
    assert timeline[-1][-1].endswith("\u200921")


def test_keyboard_alone(page: Page) -> None:
    """Tab reaches every control in the order of the page, each shows that it has the focus; Enter works."""
    page.script("document.activeElement.blur()")
    reached = []
    for _ in range(15):
        page.driver.switch_to.active_element.send_keys(Keys.TAB)
        element = page.driver.switch_to.active_element
        reached.append(element.get_attribute("id") or element.tag_name)
        assert page.script("return getComputedStyle(arguments[0]).outlineStyle", element) != "none"
    assert reached[:11] == ["skip", "tau", "d", "M", "rho", "T", "copy", "a", "a", "a", "a"]
    assert "summary" in reached[11:]
    before = page.script("return location.hash")
    page.element("skip").send_keys(Keys.ENTER)
    assert page.driver.switch_to.active_element.get_attribute("id") == "summary"
    assert page.script("return location.hash") == before


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_no_label_is_cut_or_covered(either: Page, width: int) -> None:
    """At any width no text in a picture leaves it or lies on another, and the page never scrolls sideways."""
    either.resize(width)
    for place in PLACES:
        assert either.visit([place])[0]["faults"] == {}
        assert either.script(OVERLAPS) == [], place
        assert either.script("return document.documentElement.scrollWidth <= innerWidth"), place
    assert either.visit([ERRORS])[0]["faults"] != {}
    assert either.script("return document.documentElement.scrollWidth <= innerWidth")


def luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    """The ratio of the Web Content Accessibility Guidelines, 1 to 21."""
    bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_can_be_read(page: Page, scheme: str) -> None:
    """In both schemes text has a contrast of at least 4.5 to its ground, and lines and borders of at least 3."""
    page.emulate(prefers_color_scheme=scheme)
    page.open(ERRORS)
    assert_contrast(
        page, 4.5, "color", ["h1", "header p", "label", ".hint", ".fault", "#summary", "a", "button", "footer p"]
    )
    assert_contrast(page, 3, "borderTopColor", ["#M", "#d"])
    page.open()
    assert_contrast(page, 4.5, "color", ["caption", ".symbol", ".values td", "summary", "thead th"])
    assert_contrast(page, 4.5, "fill", ["svg .tick", "svg .title"])
    lines = [f"svg .line.{name}" for name in ("free", "async", "blocking", "gpipe")]
    assert_contrast(page, 3, "stroke", [*lines, ".service.async", ".service.blocking", ".flight.async"])
    bright = luminance(page.script("return getComputedStyle(document.body).backgroundColor")) > 0.5
    assert bright == (scheme == "light")


def assert_contrast(page: Page, least: float, attribute: str, selectors: list[str]) -> None:
    for selector in selectors:
        colour, ground = page.script(
            "const style = getComputedStyle(document.querySelector(arguments[0]));"
            "return [style[arguments[1]], getComputedStyle(document.body).backgroundColor]",
            selector,
            attribute,
        )
        assert contrast(colour, ground) >= least, (selector, colour, ground)


def test_reduced_motion(page: Page) -> None:
    """Nothing moves for those who asked for that."""
    page.emulate(prefers_reduced_motion="reduce")
    moving = "[...document.querySelectorAll('*')].some((e) => parseFloat(getComputedStyle(e).transitionDuration) > 0)"
    assert page.script(f"return {moving}") is False


def test_paper(page: Page) -> None:
    """Printed, the page is dark on light whatever the screen, without what cannot be used on paper."""
    page.emulate(media="print", prefers_color_scheme="dark")
    page.open(TWELVE)
    assert luminance(page.script("return getComputedStyle(document.body).backgroundColor")) > 0.9
    for name in ("copy", "examples", "tau-hint"):
        assert not page.element(name).is_displayed()
    assert page.element("makespans").is_displayed()
    assert page.printed().startswith(b"%PDF")


def test_no_network(either: Page) -> None:
    """From loading to the last keystroke the browser asks for the file itself and for nothing else."""
    either.driver.get_log("performance")
    either.open(TWELVE)
    either.element("M").send_keys("0")
    either.visit(PLACES[1:])
    events = [json.loads(entry["message"])["message"] for entry in either.driver.get_log("performance")]
    asked = {
        event["params"]["request"]["url"].partition("#")[0]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    }
    assert asked <= {either.file.as_uri(), "about:blank", "data:,"}
    assert either.script("return performance.getEntriesByType('resource').length") == 0


def test_the_browser_has_no_complaints(either: Page) -> None:
    """No error in a script, and nothing that the page's own security policy had to refuse."""
    either.driver.get_log("browser")
    either.open(TWELVE)
    either.visit([*PLACES, ERRORS])
    assert either.driver.get_log("browser") == []
