"""The built pages in a headless Chromium: what a user puts in, and what then stands on the page."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import children
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

FIELDS = ("tau", "d", "M", "rho", "T")

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-ipc-flooding-protection",  # a test changes the address more often than a person would
)

# What stands on the page: is there a result, the values by key, the faults by field, and what no page should show.
COLLECT = """
const collect = () => {
  const values = {};
  for (const element of document.querySelectorAll("#results data")) {
    (values[element.dataset.key] ??= []).push(element.value);
  }
  const faults = {};
  for (const name of ["tau", "d", "M", "rho", "T"]) {
    const described = document.getElementById(name).getAttribute("aria-describedby").split(" ");
    const text = document.getElementById(`${name}-fault`).textContent;
    const marked = document.getElementById(name).getAttribute("aria-invalid") === "true";
    if (marked !== (text !== "") || !described.includes(`${name}-fault`)) throw new Error(`${name}: mark and text`);
    if (marked) faults[name] = text;
  }
  const hasResults = !document.getElementById("results").hidden;
  const senseless = /NaN(?!”)|Infinity|undefined(?!:)|\\[object|[{}]/.exec(document.querySelector("main").innerHTML);
  return { hasResults, values: hasResults ? values : {}, faults, senseless: senseless && senseless[0] };
};
"""

VISIT_ALL = (
    COLLECT
    + """
const [addresses, done] = arguments;
(async () => {
  const found = [];
  for (const address of addresses) {
    if (location.hash !== address) {
      await new Promise((resolve) => {
        addEventListener("hashchange", resolve, { once: true });
        location.hash = address;
      });
    }
    found.push(collect());
  }
  done(found);
})();
"""
)

OVERLAPS = """
const found = [];
for (const svg of document.querySelectorAll("svg[role=img]")) {
  const frame = svg.getBoundingClientRect();
  const boxes = [...svg.querySelectorAll("text")].map((text) => [text, text.getBoundingClientRect()]);
  for (const [text, box] of boxes) {
    const inside = box.left >= frame.left - 0.5 && box.right <= frame.right + 0.5
      && box.top >= frame.top - 0.5 && box.bottom <= frame.bottom + 0.5;
    if (!inside) found.push(`${svg.id}: ${text.textContent} is cut off`);
  }
  boxes.forEach(([text, a], index) => {
    for (const [other, b] of boxes.slice(index + 1)) {
      if (a.left < b.right && b.left < a.right && a.top + 3 < b.bottom - 3 && b.top + 3 < a.bottom - 3) {
        found.push(`${svg.id}: ${text.textContent} covers ${other.textContent}`);
      }
    }
  });
}
return found;
"""


@contextmanager
def browser(chromium: str, chromedriver: str, profile: Path) -> Iterator[webdriver.Chrome]:
    """A fresh browser with a profile of its own, for the block."""
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = Service(chromedriver, popen_kw={"start_new_session": True})
    with children.signals_as_in_a_terminal():
        driver = webdriver.Chrome(options=options, service=service)
    with children.adopted(service.process):
        driver.set_script_timeout(60)
        yield driver
        driver.quit()


def address(**fields: str) -> str:
    """The part of the address that holds the fields."""
    return "#" + "&".join(f"{name}={quote(text, safe='')}" for name, text in fields.items())


class Page:
    """One calculator page in the browser."""

    def __init__(self, driver: webdriver.Chrome, file: Path) -> None:
        self.driver = driver
        self.file = file

    def open(self, place: str = "") -> None:
        """Load the page anew, at a place."""
        self.driver.get("about:blank")
        self.driver.get(self.file.as_uri() + place)

    def visit(self, places: Iterable[str]) -> list[dict[str, Any]]:
        """What stands on the page at each of these places, one after the other and without loading it again."""
        found: list[dict[str, Any]] = self.driver.execute_async_script(VISIT_ALL, list(places))
        return found

    def now(self) -> dict[str, Any]:
        """What stands on the page now."""
        found: dict[str, Any] = self.driver.execute_script(COLLECT + "return collect();")
        return found

    def element(self, name: str) -> WebElement:
        return self.driver.find_element(By.ID, name)

    def text(self, name: str) -> str:
        return self.element(name).text

    def fields(self) -> dict[str, str]:
        return {name: str(self.element(name).get_property("value")) for name in FIELDS}

    def script(self, body: str, *arguments: object) -> Any:
        return self.driver.execute_script(body, *arguments)

    def resize(self, width: int) -> None:
        """A screen of this width in CSS pixels; below 500 a phone's."""
        screen = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        # two frames later the pictures are drawn at the new width
        self.driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")

    def emulate(self, media: str = "", **features: str) -> None:
        """Another medium, or preferences such as ``prefers_color_scheme="dark"``."""
        wished = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": wished})

    def accessible(self) -> list[tuple[str, str, str]]:
        """Role, name and description of everything that a screen reader meets."""
        tree = self.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})
        nodes = [node for node in tree["nodes"] if not node["ignored"]]
        return [tuple(node.get(key, {}).get("value", "") for key in ("role", "name", "description")) for node in nodes]

    def printed(self) -> bytes:
        """The page as a PDF."""
        return base64.b64decode(self.driver.execute_cdp_cmd("Page.printToPDF", {})["data"])
