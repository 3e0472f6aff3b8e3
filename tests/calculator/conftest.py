"""One headless Chromium for all tests of the pages; without one they are skipped, and say so."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from hpsim.calculator.build import LANGUAGES, build, file_name

if TYPE_CHECKING:
    from calculator.browser import Page


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Page]]:
    """The pages by language, in one browser."""
    from calculator.browser import Page, browser

    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or chromedriver is None:
        pytest.skip("the calculator is tested in Chromium: apt-get install chromium chromium-driver")
    folder = tmp_path_factory.mktemp("calculator")
    for lang in LANGUAGES:
        (folder / file_name(lang)).write_text(build(lang), encoding="utf-8")
    with browser(chromium, chromedriver, folder / "profile") as driver:
        yield {lang: Page(driver, folder / file_name(lang)) for lang in LANGUAGES}


@pytest.fixture(params=LANGUAGES)
def either(request: pytest.FixtureRequest, pages: dict[str, Page]) -> Page:
    """The page in each language, on a wide screen."""
    return _fresh(pages[request.param])


@pytest.fixture
def page(pages: dict[str, Page]) -> Page:
    """The English page, on a wide screen."""
    return _fresh(pages["en"])


def _fresh(page: Page) -> Page:
    page.emulate()
    page.resize(1280)
    page.open()
    return page
