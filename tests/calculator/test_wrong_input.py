"""Wrong input is marked at its field, in words; nothing is calculated from it, and nothing senseless is shown."""

from __future__ import annotations

import re
from random import Random

import pytest
from click.testing import CliRunner

from calculator.browser import FIELDS, Page, address
from hpsim.cli import cli
from hpsim.errors import HpsimError

RIGHT = {"tau": "1,2,4", "d": "1,3", "M": "8", "rho": "1", "T": ""}

# what differs from RIGHT, the one field to mark, and a part of what it says
CASES = [
    ({"tau": ""}, "tau", "No value. Give one service time for each stage"),
    ({"tau": "1,,4"}, "tau", "tau[1] is empty"),
    ({"tau": "1,2,"}, "tau", "tau[2] is empty"),
    ({"tau": "1,two,4"}, "tau", "tau[1]: “two” is not a number"),
    ({"tau": "1,2;3,4"}, "tau", "tau[1]: “2;3” is not a number"),
    ({"tau": "1,1/0,4"}, "tau", "tau[1]: “1/0” is not a number"),
    ({"tau": "1,1/2/3,4"}, "tau", "tau[1]: “1/2/3” is not a number"),
    ({"tau": "1,0x10,4"}, "tau", "tau[1]: “0x10” is not a number"),
    ({"tau": "1,.,4"}, "tau", "tau[1]: “.” is not a number"),
    ({"tau": "1,½,4"}, "tau", "tau[1]: “½” is not a number"),
    ({"tau": "1,NaN,4"}, "tau", "tau[1]: “NaN” is not a finite number"),
    ({"tau": "1,-inf,4"}, "tau", "tau[1]: “-inf” is not a finite number"),
    ({"tau": "1,-2,4"}, "tau", "tau[1]: -2 is negative"),
    ({"tau": "0,0.0,0/7"}, "tau", "Every service time is 0"),
    ({"tau": "1,1e309,4"}, "tau", "tau[1]: 1e309 is beyond the range of float64"),
    ({"tau": "1,1e-400,4"}, "tau", "tau[1]: 1e-400 is below the range of float64"),
    ({"tau": "1,2," + "4" * 1001}, "tau", "tau[2]: a text of 1001 characters is too long"),
    ({"tau": "1e300,1e308,1e308"}, "tau", "too long, too short or too unequal"),
    ({"tau": "1e-309,0,0", "d": ""}, "tau", "too long, too short or too unequal"),
    ({"d": "1"}, "d", "The number of transfer times is 1, for 3 stages. Give S−1 = 2"),
    ({"d": "1,2,3"}, "d", "The number of transfer times is 3, for 3 stages"),
    ({"d": "1,-0.5"}, "d", "d[1]: -0.5 is negative"),
    ({"d": "1,x"}, "d", "d[1]: “x” is not a number"),
    ({"M": ""}, "M", "M is empty"),
    ({"M": "0"}, "M", "0 is no number of micro-batches"),
    ({"M": "-8"}, "M", "-8 is no number of micro-batches"),
    ({"M": "2.5"}, "M", "2.5 is no number of micro-batches. Give a whole number"),
    ({"M": "8 16"}, "M", "M is one number"),
    ({"M": "1e301"}, "M", "1e301 is no number of micro-batches"),
    ({"M": "eight"}, "M", "“eight” is not a number"),
    ({"M": "1e300", "tau": "1e10,1,1"}, "M", "a makespan beyond float64"),
    ({"rho": ""}, "rho", "rho is empty"),
    ({"rho": "1.01"}, "rho", "1.01 is no share"),
    ({"rho": "-1/3"}, "rho", "-1/3 is no share"),
    ({"rho": "50%"}, "rho", "“50%” is not a number"),
    ({"T": "-1"}, "T", "T: -1 is negative"),
    ({"T": "long"}, "T", "T: “long” is not a number"),
    ({"T": "1,5"}, "T", "T is one number"),
]


def test_the_field_says_what_is_wrong(page: Page) -> None:
    """Each mistake marks its own field and no other, and hides the results until it is mended."""
    places = [address(**RIGHT | wrong) for wrong, _, _ in CASES]
    for (wrong, field, said), found in zip(CASES, page.visit(places), strict=True):
        assert list(found["faults"]) == [field], (wrong, found["faults"])
        assert said in found["faults"][field], wrong
        assert not found["hasResults"]
        assert found["senseless"] is None, wrong
    assert page.visit([address(**RIGHT)])[0]["hasResults"]


def test_mistakes_are_told_in_chinese_too(pages: dict[str, Page]) -> None:
    """The Chinese page marks the same fields, in Chinese and without a gap in a sentence."""
    page = pages["zh"]
    page.open()
    places = [address(**RIGHT | wrong) for wrong, _, _ in CASES]
    for (wrong, field, _), found in zip(CASES, page.visit(places), strict=True):
        assert list(found["faults"]) == [field], wrong
        assert re.search("[\u4e00-\u9fff]", found["faults"][field])
        assert found["senseless"] is None, wrong


def test_several_mistakes_at_once(page: Page) -> None:
    """Every wrong field is marked, not only the first."""
    (found,) = page.visit([address(tau="x", d="-1", M="0", rho="2", T="y")])
    assert set(found["faults"]) == set(FIELDS)
    assert page.text("summary") == "No results: correct what is marked. Fields to correct: 5."


def test_the_page_accepts_what_the_command_line_accepts(page: Page, rng: Random) -> None:
    """On 200 texts of digits, signs, points and powers, hpsim calc and the page agree on what is a number."""
    pieces = ["0", "1", "9", "12", ".", "/", "e", "E", "+", "-", ",", "x", "1/3", "1e3", "0.5", "e-2"]
    texts = sorted({"".join(rng.choice(pieces) for _ in range(rng.randrange(1, 6))) for _ in range(200)})
    accepted = {text: found["hasResults"] for text, found in zip(texts, page.visit(places_of(texts)), strict=True)}
    expected = {text: calc_accepts(text) for text in texts}
    assert accepted == expected
    assert 15 < sum(accepted.values()) < len(texts) - 100


def places_of(texts: list[str]) -> list[str]:
    return [address(tau=text, d="", M="8", rho="1", T="") for text in texts]


def calc_accepts(text: str) -> bool:
    result = CliRunner().invoke(cli, ["calc", f"--tau={text}", "--json"])
    assert result.exception is None or isinstance(result.exception, HpsimError)
    return result.exception is None


@pytest.mark.parametrize(
    ("typed", "plain"),
    [
        ("１．１３，２．９０，２．６２", "1.13,2.90,2.62"),
        ("１。５、２、１／３", "1.5,2,1/3"),
        ("  1.13   2.90\n2.62\t", "1.13,2.90,2.62"),
        ("[1.13, 2.90, 2.62]", "1.13,2.90,2.62"),
        ("１ｅ－３　２　３", "1e-3,2,3"),
        ("1⁄3, 2∕3, ＋１", "1/3,2/3,1"),
        ("（1，2，4）", "1,2,4"),
    ],
)
def test_what_input_methods_type(page: Page, typed: str, plain: str) -> None:
    """Full-width digits and punctuation, Chinese commas, white space and brackets mean what they look like."""
    wide, narrow = page.visit(
        [address(tau=typed, d="", M="８", rho="１／２"), address(tau=plain, d="", M="8", rho="1/2")]
    )
    assert wide["faults"] == {}
    assert wide["values"] == narrow["values"]


def test_hostile_addresses_stay_text(page: Page) -> None:
    """Markup in an address is shown as the text it is; it becomes no element."""
    page.open(address(tau="<img src=x onerror=alert(1)>,<b>2</b>", M="</script><script>alert(2)</script>"))
    found = page.now()
    assert set(found["faults"]) == {"tau", "M"}
    assert page.script("return document.querySelectorAll('main img, main b, main script').length") == 0
