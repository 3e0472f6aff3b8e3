"""The state lives in the address: links restore it, typing writes it, back and forward walk through it."""

from __future__ import annotations

from urllib.parse import unquote

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from calculator.browser import Page, address

SHARED = address(tau="0.5,1,1,5", d="0.2,0.1,1/3", M="16", rho="0.25", T="88")


def replace(page: Page, name: str, text: str) -> None:
    """Type a new text into a field, as a person would, and leave the field."""
    page.element(name).send_keys(Keys.CONTROL, "a")
    page.element(name).send_keys(text, Keys.TAB)


def hash_of(page: Page) -> str:
    return unquote(page.script("return location.hash"))


def wait(page: Page, condition: str) -> None:
    WebDriverWait(page.driver, 60, poll_frequency=0.02).until(
        lambda driver: driver.execute_script(f"return {condition}")
    )


def test_a_link_restores_the_state(either: Page) -> None:
    """A page that is opened from a link shows the fields and the result of the one that made it."""
    either.open(SHARED)
    assert either.fields() == {"tau": "0.5, 1, 1, 5", "d": "0.2, 0.1, 1/3", "M": "16", "rho": "0.25", "T": "88"}
    assert either.now()["values"]["T_gpipe"] == ["95"]


def test_without_an_address_there_is_an_example(either: Page) -> None:
    """The bare page is not empty: it shows an example with a phase transition."""
    assert either.fields()["tau"] == "1, 2, 4"
    assert either.now()["values"]["T_block"] == ["46"]


def test_left_out_fields_are_blank(page: Page) -> None:
    """A hand-made link may name only some fields: no transfers, 8 micro-batches, full overlap, nothing measured."""
    page.open("#tau=1,2")
    assert page.fields() == {"tau": "1, 2", "d": "", "M": "8", "rho": "1", "T": ""}


def test_unknown_parts_are_named(page: Page) -> None:
    """A misspelt or repeated part of an address is not passed over in silence; a stray per cent sign is no disaster."""
    page.open("#tau=1,2&m=9&tau=3&M=4%")
    assert page.text("address-note").endswith("m=9, tau=3")
    assert list(page.now()["faults"]) == ["M"]


def test_typing_updates_page_and_address(page: Page) -> None:
    """Results follow the keystrokes without a press of a button, and the address follows too."""
    page.open(SHARED)
    page.element("M").send_keys(Keys.CONTROL, "a")
    page.element("M").send_keys("100")
    wait(page, "location.hash.includes('M=100')")
    assert page.now()["values"]["M"] == ["100"]
    assert hash_of(page) == "#tau=0.5,1,1,5&d=0.2,0.1,1/3&M=100&rho=0.25&T=88"
    assert page.driver.switch_to.active_element.get_attribute("id") == "M"


def test_a_mistake_is_told_when_typing_pauses(page: Page) -> None:
    """On the way from "1,2" to "1,2,4" the field is not marked; after a pause it is, with the cursor still there."""
    page.open(address(tau="1,2", d=""))
    page.element("tau").send_keys(",")
    assert page.now()["faults"] == {}
    wait(page, "document.getElementById('tau').getAttribute('aria-invalid') === 'true'")
    page.element("tau").send_keys("4")
    wait(page, "document.getElementById('tau').getAttribute('aria-invalid') === 'false'")
    assert page.now()["values"]["S"] == ["3"]


def test_back_and_forward(page: Page) -> None:
    """One step back for each edited field, however many keys it took, and forward again."""
    page.open(SHARED)
    replace(page, "M", "32")
    replace(page, "tau", "1, 2, 3, 4")
    assert page.now()["values"]["T_free"] == ["134"]
    page.driver.back()
    wait(page, "document.getElementById('tau').value === '0.5, 1, 1, 5'")
    assert (page.fields()["M"], page.now()["values"]["M"]) == ("32", ["32"])
    page.driver.back()
    wait(page, "document.getElementById('M').value === '16'")
    page.driver.forward()
    page.driver.forward()
    wait(page, "document.getElementById('tau').value === '1, 2, 3, 4'")
    assert page.now()["values"]["T_free"] == ["134"]


def test_examples_are_links(page: Page) -> None:
    """Each example is an ordinary link that fills the fields and gives a result."""
    for example in page.driver.find_elements(By.CSS_SELECTOR, "#examples a"):
        example.click()
        found = page.now()
        assert found["hasResults"]
        assert hash_of(page) == example.get_attribute("href").partition("#")[1] + unquote(
            example.get_attribute("href").partition("#")[2]
        )
    assert found["values"]["phase_transition"] == ["false"]


def test_the_link_is_copied(page: Page) -> None:
    """Of a page that is a file the button copies what stands behind its address, and says what that is good for."""
    page.driver.execute_cdp_cmd(
        "Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    )
    page.open(SHARED)
    replace(page, "M", "7")
    page.element("copy").click()
    wait(page, "document.getElementById('copied').textContent !== ''")
    assert page.text("copied").startswith("Copied as text: this page is a file on this computer")
    copied = page.driver.execute_async_script("navigator.clipboard.readText().then(arguments[0])")
    assert copied == page.script("return location.hash")
    assert "M=7&" in copied


def test_without_a_clipboard_the_link_is_shown(page: Page) -> None:
    """Where the browser lets no page copy, the text stands selected in a field."""
    page.open(SHARED)
    page.script(
        "Object.defineProperty(navigator, 'clipboard', { value: undefined }); document.execCommand = () => false;"
    )
    page.element("copy").click()
    wait(page, "document.getElementById('copied').textContent !== ''")
    assert page.element("link").is_displayed()
    assert page.element("link").get_property("value") == page.script("return location.hash")


def test_the_command_line_gives_the_same(page: Page) -> None:
    """The command shown on the page asks hpsim calc the same question."""
    page.open(SHARED)
    command = page.script("return document.getElementById('command').textContent")
    assert command == "hpsim calc --tau 0.5,1,1,5 --d 0.2,0.1,1/3 --M 16 --rho 0.25 --measured 88"
