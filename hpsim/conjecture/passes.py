"""The passes of the shrinker: each proposes variants of one example that may be simpler."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import combinations
from math import floor, lcm

from hpsim.conjecture.example import Example, Times
from hpsim.conjecture.question import Question

Pass = Callable[[Example], Iterator[Example]]
Change = Callable[[Fraction], Fraction]
_POWERS = tuple(2**k for k in range(2, 20))
_SCALES = (1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 256, 1024, 4096)


def for_question(question: Question) -> tuple[Pass, ...]:
    """The passes that make sense for a question, the most helpful first."""
    moves: tuple[Pass, ...] = (
        partial(_without_what_cannot_matter, question),
        partial(_fewer_stages, question),
        _fewer_microbatches,
        partial(_whole, question),
        partial(_positive, question),
        partial(_one_smaller, question),
        partial(_all_smaller, question),
        partial(_two_smaller, question),
        partial(_swapped, question),
    )
    return (*moves, _plainer_share) if question.uses_rho else moves


def _without_what_cannot_matter(question: Question, example: Example) -> Iterator[Example]:
    zero = Fraction(0)
    pipelines = tuple(
        Times(
            times.tau,
            times.d if question.uses_d else (zero,) * (times.S - 1),
            times.latency if question.uses_latency else (zero,) * (times.S - 1),
        )
        for times in example.pipelines
    )
    yield replace(example, pipelines=pipelines, rho=example.rho if question.uses_rho else None)
    if not any(any(times.latency) for times in pipelines):
        return
    yield replace(example, pipelines=tuple(replace(t, latency=(zero,) * (t.S - 1)) for t in pipelines))


def _fewer_stages(question: Question, example: Example) -> Iterator[Example]:
    """One stage dropped, or only some first, last or middle ones kept; the link kept is that before or after."""
    if question.only_stages is not None:
        return
    together = len(example.pipelines) == 2 and question.relation is not None
    S = example.pipelines[0].S
    if together:
        for place in range(S):
            for link in _links(place, S):
                yield replace(example, pipelines=tuple(_dropped(t, place, link) for t in example.pipelines))
        if question.relation == "permutation":
            yield from _fewer_permuted(example)
        return
    for index, times in enumerate(example.pipelines):
        for place in range(times.S):
            for link in _links(place, times.S):
                yield example.with_pipeline(index, _dropped(times, place, link))
        for first in range(times.S):
            for end in range(first + 1, times.S + 1):
                kept = Times(times.tau[first:end], times.d[first : end - 1], times.latency[first : end - 1])
                yield example.with_pipeline(index, kept)


def _links(place: int, S: int) -> set[int]:
    return {link for link in (place - 1, place) if 0 <= link < S - 1}


def _dropped(times: Times, place: int, link: int) -> Times:
    tau = times.tau[:place] + times.tau[place + 1 :]
    d, latency = (values[:link] + values[link + 1 :] for values in (times.d, times.latency))
    return Times(tau, d, latency)


def _fewer_permuted(example: Example) -> Iterator[Example]:
    """The same service time dropped from both orders."""
    a, b = example.pipelines
    for place, time in enumerate(a.tau):
        other = b.tau.index(time)
        for link in range(a.S - 1):
            yield replace(example, pipelines=(_dropped(a, place, link), _dropped(b, other, link)))


def _fewer_microbatches(example: Example) -> Iterator[Example]:
    M = example.M
    for fewer in sorted({*range(1, min(M, 33)), M // 2, M - 1, M - 2, M * 3 // 4}):
        if 1 <= fewer < M:
            yield replace(example, M=fewer)


def _whole(question: Question, example: Example) -> Iterator[Example]:
    """Every time a whole number: multiplied by the common denominator, or rounded at some scale."""
    values = [value for times in example.pipelines for value in times.values]
    largest = max(values)
    denominator = lcm(*(value.denominator for value in values))
    yield _each(example, lambda value: value * denominator)
    for scale in (1, *(k / largest for k in (*range(1, 25), 32, 48, 64, 100))):
        for rounding in (round, floor, _up):
            yield _each(example, partial(_rounded, rounding, Fraction(scale)))


def _rounded(rounding: Callable[[Fraction], int | Fraction], scale: Fraction, value: Fraction) -> Fraction:
    return Fraction(rounding(value * scale))


def _lowered(less: int, least: int, value: Fraction) -> Fraction:
    return max(value - less, min(value, Fraction(least)))


def _replaced(old: Fraction, new: Fraction, value: Fraction) -> Fraction:
    return new if value == old else value


def _up(value: Fraction) -> int:
    return -floor(-value)


def _positive(question: Question, example: Example) -> Iterator[Example]:
    """Zero service times raised to 1, or to the smallest other time, at some scales of the rest.

    What is added to a service time is taken from the transfer behind it, or not.
    """
    if all(all(times.tau) for times in example.pipelines):
        return
    least = min(value for times in example.pipelines for value in times.values if value)
    for scale in _SCALES:
        for raised in (Fraction(1), least * scale):
            for taken in (Fraction(0),) if question.copies("d") else (Fraction(0), raised):
                pipelines = tuple(_raised(times, scale, raised, taken) for times in example.pipelines)
                yield replace(example, pipelines=pipelines)


def _raised(times: Times, scale: int, raised: Fraction, taken: Fraction) -> Times:
    tau = tuple(time * scale or raised for time in times.tau)
    d = tuple(
        max(value * scale - (0 if time else taken), Fraction(0))
        for value, time in zip(times.d, times.tau, strict=False)
    )
    return Times(tau, d, tuple(value * scale for value in times.latency))


def _all_smaller(question: Question, example: Example) -> Iterator[Example]:
    """All times divided, or lowered together where they are not 0."""
    values = [value for times in example.pipelines for value in times.values]
    for divisor in {2, 3, 5, 7, *(int(value) for value in values if value.denominator == 1 and value > 1)}:
        yield _each(example, partial(_rounded, Fraction, Fraction(1, divisor)))
        yield _each(example, partial(_rounded, floor, Fraction(1, divisor)))
    for less in (1, 2, 3, *_POWERS):
        if less <= max(values):
            for least in (0, 1):
                yield _each(example, partial(_lowered, less, least))


def _one_smaller(question: Question, example: Example) -> Iterator[Example]:
    """One time (or all times of one value together) replaced by a plainer one."""
    values = sorted({value for times in example.pipelines for value in times.values})
    for place in _places(question, example):
        for plainer in _plainer(_at(example, place), values):
            yield _put(question, example, {place: plainer})
    for value in values:
        for plainer in _plainer(value, values):
            yield _each(example, partial(_replaced, value, plainer))


def _two_smaller(question: Question, example: Example) -> Iterator[Example]:
    """Two times changed at once: both lowered, one lowered for another raised, or both made equal."""
    places = _places(question, example)
    for one, other in combinations(places[:24], 2):
        a, b = _at(example, one), _at(example, other)
        for da, db in ((-1, -1), (-1, 1), (1, -1), (-2, 1), (1, -2), (-2, -1), (-1, -2), (-2, -2)):
            if a + da >= 0 and b + db >= 0:
                yield _put(question, example, {one: a + da, other: b + db})
        for less in _POWERS:
            if less <= min(a, b):
                yield _put(question, example, {one: a - less, other: b - less})
        for part in {a % 1, b % 1, a % 1 - 1, b % 1 - 1} - {0}:
            if a >= part and b >= part:
                yield _put(question, example, {one: a - part, other: b - part})
        yield _put(question, example, {one: Fraction(0), other: Fraction(1)})
        yield _put(question, example, {one: Fraction(1), other: Fraction(0)})
        yield _put(question, example, {one: Fraction(floor(a / 2)), other: Fraction(floor(b / 2))})


def _swapped(question: Question, example: Example) -> Iterator[Example]:
    places = _places(question, example)
    for one, other in combinations(places[:40], 2):
        if _at(example, one) != _at(example, other):
            yield _put(question, example, {one: _at(example, other), other: _at(example, one)})


def _plainer_share(example: Example) -> Iterator[Example]:
    for denominator in range(1, 17):
        for numerator in range(denominator + 1):
            yield replace(example, rho=Fraction(numerator, denominator))


def _plainer(value: Fraction, others: list[Fraction]) -> Iterator[Fraction]:
    """Candidates in the place of a time."""
    yield from (Fraction(k) for k in range(4) if k < value)
    yield from (other for other in others if other < value)
    yield Fraction(floor(value / 2))
    yield from (Fraction(floor(value) - less) for less in (0, 1, 2, 3, *_POWERS) if less <= value)
    yield Fraction(_up(value))
    if value.denominator > 1:
        for bound in range(1, min(value.denominator, 40)):
            yield value.limit_denominator(bound)
            yield Fraction(floor(value * bound), bound)
            yield Fraction(_up(value * bound), bound)


Place = tuple[int, str, int]


def _places(question: Question, example: Example) -> list[Place]:
    """Every time that may change by itself: those that the relation copies follow."""
    found = []
    for index, times in enumerate(example.pipelines):
        for name in ("tau", "d", "latency"):
            if (name == "d" and not question.uses_d) or (name == "latency" and not question.uses_latency):
                continue
            if index == 1 and question.copies(name):
                continue
            found += [(index, name, s) for s in range(len(getattr(times, name)))]
    return found


def _at(example: Example, place: Place) -> Fraction:
    index, name, s = place
    value: Fraction = getattr(example.pipelines[index], name)[s]
    return value


def _put(question: Question, example: Example, changes: dict[Place, Fraction]) -> Example:
    """The example with some times replaced, in both pipelines where the relation copies them."""
    made = example
    for (index, name, s), value in changes.items():
        vector = list(getattr(made.pipelines[index], name))
        old, vector[s] = vector[s], value
        times = replace(made.pipelines[index], **{name: tuple(vector)})
        made = made.with_pipeline(index, times)
        if index == 0 and question.copies(name):
            other = list(getattr(made.pipelines[1], name))
            permuted = name == "tau" and question.relation == "permutation"
            other[other.index(old) if permuted else s] = value
            made = made.with_pipeline(1, replace(made.pipelines[1], **{name: tuple(other)}))
    return made


def _each(example: Example, change: Change) -> Example:
    """The same change of every time, which keeps every relation."""
    pipelines = tuple(
        Times(*(tuple(map(change, values)) for values in (times.tau, times.d, times.latency)))
        for times in example.pipelines
    )
    return replace(example, pipelines=pipelines)
