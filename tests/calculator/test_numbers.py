"""Every number on the page is the one that the library gives, and every decision between ties is the same."""

from __future__ import annotations

import re
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from calculator.browser import Page, address
from calculator.inputs import Question, questions
from hpsim import Pipeline
from hpsim.reference import chain

COUNT = 210
LISTS = {"tau", "d", "utilization", "link_slack", "link_headroom"}
INDICES = {"bottleneck_async", "bottleneck_blocking"}


def place(asked: Question) -> str:
    return address(tau=",".join(asked.tau), d=",".join(asked.d), M=asked.M, rho=asked.rho, T=asked.T)


def value_of(key: str, shown: list[str]) -> Any:
    """What a key's elements on the page say, in Python's types."""
    if key in LISTS:
        return [float(text) for text in shown]
    (text,) = shown
    if key in INDICES:
        return [int(index) for index in re.findall(r"\d+", text)]
    words = {"true": True, "false": False, "null": None}
    return words[text] if text in words else float(text)


def nearest(value: Any) -> Any:
    """The double nearest to an exact number."""
    if isinstance(value, list):
        return [nearest(item) for item in value]
    return value if isinstance(value, bool) else float(value)


def overlap_ratio(pipeline: Pipeline, M: int, T: str) -> float | None:
    """The measured makespan's ratio, or None where it lies outside the model or is 0/0."""
    inside = pipeline.async_(M) <= Fraction(T) <= pipeline.block(M)
    return float(pipeline.overlap_ratio(T, M)) if inside and M > 1 and pipeline.phase() else None


@pytest.fixture(scope="module")
def answered(pages: dict[str, Page]) -> list[tuple[Question, dict[str, Any]]]:
    """Random pipelines with what the English page says about them."""
    asked = questions(Random(20261015), COUNT)
    pages["en"].open()
    return list(zip(asked, pages["en"].visit(map(place, asked)), strict=True))


def test_all_quantities_equal_the_library(answered: list[tuple[Question, dict[str, Any]]]) -> None:
    """On 210 random pipelines every output is the double nearest to the exact value of ``Pipeline.analyze``."""
    phases, ratios = set(), set()
    for question, found in answered:
        assert found["hasResults"], (question, found["faults"])
        M, pipeline = int(Fraction(question.M)), Pipeline(question.tau, question.d)
        expected = pipeline.analyze(M, rho=question.rho)
        assert not any(expected.pop("latency"))
        for key, value in expected.items():
            wanted = value if key in INDICES else nearest(value)
            assert value_of(key, found["values"].get(key, [])) == wanted, (question, key)
        if question.T:
            rho = overlap_ratio(pipeline, M, question.T)
            assert value_of("rho", found["values"]["rho"]) == rho, question
            ratios.add(rho is None)
        phases.add(expected["phase_transition"])
        assert found["senseless"] is None, question
    assert (phases, ratios) == ({True, False}, {True, False})


def test_recurrences_end_at_the_makespans(answered: list[tuple[Question, dict[str, Any]]]) -> None:
    """The timeline's recurrences end where the library's plain-Python recurrences do, which is the makespan."""
    short = [(question, found) for question, found in answered if int(Fraction(question.M)) <= 100]
    assert len(short) > 80
    for question, found in short:
        tau, M = [Fraction(time) for time in question.tau], int(Fraction(question.M))
        d = [Fraction(time) for time in question.d] or [Fraction(0)] * (len(tau) - 1)
        for name, twin in (("async", chain.async_), ("blocking", chain.blocking)):
            assert found["values"][f"end_{name}"] == found["values"]["T_async" if name == "async" else "T_block"]
            assert float(found["values"][f"end_{name}"][0]) == float(twin(tau, d, M)[-1][-1])


def test_blocks_stand_where_the_recurrence_puts_them(page: Page, rng: Random) -> None:
    """Each service in the picture begins and ends at the place of its times, in both regimes on one scale."""
    for question in [q for q in questions(rng, 60) if int(Fraction(q.M)) <= 16][:12]:
        page.visit([place(question)])
        tau, M = [Fraction(time) for time in question.tau], int(Fraction(question.M))
        d = [Fraction(time) for time in question.d] or [Fraction(0)] * (len(tau) - 1)
        held = [time + extra for time, extra in zip(tau, [*d, Fraction(0)], strict=True)]
        end = chain.blocking(tau, d, M)[-1][-1]
        for name, released, occupied in (
            ("async", chain.async_(tau, d, M), tau),
            ("blocking", chain.blocking(tau, d, M), held),
        ):
            blocks, (left, right) = drawn_blocks(page, f"timeline-{name}")
            assert len(blocks) == M * len(tau)
            for index, (x, width) in enumerate(blocks):
                m, s = divmod(index, len(tau))
                start = float((released[m][s] - occupied[s]) / end)
                assert abs(x - (left + start * (right - left))) < 0.02
                assert abs(width - float(tau[s] / end) * (right - left)) < 0.02


def drawn_blocks(page: Page, name: str) -> tuple[list[tuple[float, float]], tuple[float, float]]:
    """Left edge and width of each service in the order drawn, and the ends of the time axis."""
    blocks = page.script(
        "return [...document.querySelectorAll(`#${arguments[0]} .service`)]"
        ".map((block) => [Number(block.getAttribute('x')), Number(block.getAttribute('width'))])",
        name,
    )
    axis = page.script(
        "const axis = document.querySelector(`#${arguments[0]} .axis`);"
        "return [Number(axis.getAttribute('x1')), Number(axis.getAttribute('x2'))]",
        name,
    )
    return blocks, tuple(axis)


def test_both_languages_say_the_same(pages: dict[str, Page], answered: list[tuple[Question, dict[str, Any]]]) -> None:
    """The Chinese page gives the values of the English one."""
    some = answered[:40]
    pages["zh"].open()
    found = pages["zh"].visit(place(question) for question, _ in some)
    assert [answer["values"] for answer in found] == [answer["values"] for _, answer in some]
    assert [answer["senseless"] for answer in found] == [None] * len(some)


def test_numbers_of_the_paper(page: Page) -> None:
    """Table 1 of the paper, as a reader sees it on the page."""
    table = {
        "1,1,1,1": ("0.0 %", "0.0 %"),
        "0.8,1,1,1.2": ("+20.0 %", "+6.5 %"),
        "0.5,1,1,2": ("+77.8 %", "+18.9 %"),
        "0.5,1,1,5": ("+166.7 %", "+29.4 %"),
        "0.1,0.2,0.3,5": ("+257.1 %", "+35.5 %"),
    }
    cell = "return document.querySelector('[data-key=gpipe_overestimate]').textContent.replace(/\\u00a0/g, ' ')"
    for tau, errors in table.items():
        for M, error in zip(("1", "8"), errors, strict=True):
            page.visit([address(tau=tau, M=M)])
            assert page.script(cell) == error


def test_an_exact_tie_is_no_phase_transition(page: Page) -> None:
    """0.1 + 0.2 against 0.3: in binary the sum is larger, as written it is equal."""
    tie, beyond = page.visit([address(tau="0.1,0.3", d="0.2"), address(tau="0.1,0.3", d="0.2000000000000000000001")])
    assert tie["values"]["phase_transition"] == ["false"]
    assert tie["values"]["bottleneck_blocking"] == ["[0,1]"]
    assert tie["values"]["link_headroom"] == ["0"]
    assert beyond["values"]["phase_transition"] == ["true"]
    assert beyond["values"]["bottleneck_blocking"] == ["[0]"]


def test_extreme_but_lawful_numbers(page: Page) -> None:
    """Very long and very short times, subnormal results and 10^300 micro-batches are answered as by the library."""
    cases = [
        (["1e300", "3e299"], ["7e299"], 1000),
        (["6e-309", "1e-310"], ["5e-309"], 3),
        (["1e-300", "1/3"], ["1e-7"], 10**300),
        (["1" + "0" * 200 + "1/3" + "0" * 200, "2"], [], 7),
    ]
    places = [address(tau=",".join(tau), d=",".join(d), M=str(M)) for tau, d, M in cases]
    for (tau, d, M), found in zip(cases, page.visit(places), strict=True):
        assert found["faults"] == {}
        expected = Pipeline(tau, d).analyze(M)
        for key in ("T_async", "T_block", "T_gpipe", "homogeneity_bias", "crossover_batches", "graham_lower_bound"):
            assert value_of(key, found["values"][key]) == float(expected[key]), (tau, key)
        assert found["senseless"] is None
