"""Lists of numbers and NumPy arrays (last axis: stages or links) handled alike, so that each formula is written once.

A *vector* is a list or tuple of ints, floats or Fractions, or an array of any leading shape. NumPy is imported only
when an array is given. Comparisons that may tie are exact: plain floats are read by their shortest decimal form, float
arrays are compared as the binary numbers they hold.

What a user gives goes through :func:`plain`, :func:`listed` and :func:`operands`, which refuse what is no number.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from fractions import Fraction
from numbers import Integral
from typing import Any

from hpsim.errors import HpsimError, PipelineError
from hpsim.exact import Number, exact, number

Vector = Any  # S or S-1 numbers, or an array (…, S) or (…, S-1)
Count = Any  # an integer, or an integer array
Value = Any  # a number, or an array of the leading shape

MOST_MICROBATCHES = 10**300  # so that M fits into a float64
A_TIME = "a time of at least 0, such as 1.13 or 1/3"
A_SHARE = "a share from 0 (blocking) to 1 (fully overlapped)"
NUMBERS = "a list, tuple or array of numbers"


def is_array(values: object) -> bool:
    return getattr(values, "ndim", 0) > 0


def plain(name: str, values: Any, allowed: str = NUMBERS, error: type[HpsimError] = PipelineError) -> Any:
    """``values``; an array in whatever wrapping (pandas, a tensor, anything with ``__array__``) as a plain one.

    An array without axes becomes the scalar in it.

    Raises
    ------
    HpsimError
        As ``error``, for an array that would lose its mask, one of another kind than numbers, objects and text, and
        for a matrix that does not tell its numbers, as sparse ones do not.
    """
    if isinstance(values, (list, tuple, int, float, str)):
        return values
    if not hasattr(values, "__array__"):
        if is_array(values):
            raise error(name, f"a {type(values).__name__}", allowed)
        return values
    import numpy as np

    if isinstance(values, np.ma.MaskedArray):
        raise error(name, "a masked array, whose mask would be lost", f"{allowed}, such as its filled(0)")
    try:
        array = np.asarray(values)
    except Exception as fault:  # a tensor that lives elsewhere, for instance
        found = f"a {type(values).__name__} that gives no array: {in_short(str(fault))}"
        raise error(name, found, allowed) from None
    if array.dtype.kind not in "iufOUS":
        raise error(name, f"{'an array' if array.ndim else 'a value'} of {array.dtype}", allowed)
    return array if array.ndim else array[()]


def listed(name: str, values: Any) -> Vector:
    """``values`` as a list or tuple, or as an array: whatever has an order and can be gone through.

    Raises
    ------
    PipelineError
        When there are none because it is something else; also as :func:`plain`.
    """
    found = plain(name, values)
    if isinstance(found, (list, tuple)) or is_array(found):
        return found
    if isinstance(found, (str, bytes, Mapping, AbstractSet)) or not isinstance(found, Iterable):
        raise PipelineError(name, f"{in_short(values)} is no list of numbers", NUMBERS)
    return list(found)


def number_at(place: str, value: object, allowed: str, error: type[HpsimError] = PipelineError) -> Number:
    """``value`` as :func:`hpsim.exact.number` reads it.

    Raises
    ------
    HpsimError
        As ``error``, when it is no number.
    """
    try:
        return number(value)
    except ValueError as fault:
        raise error(place, str(fault), allowed) from None


def time_at(place: str, value: object) -> Number:
    """``value`` as a time.

    Raises
    ------
    PipelineError
        When it is no number, not finite, or negative.
    """
    time = number_at(place, value, A_TIME)
    if time < 0:
        raise PipelineError(place, f"{in_short(value)} is negative", A_TIME)
    return time


def times_at(name: str, values: Any) -> Value:
    """``values`` as a time, or as an array of times, its dtype kept.

    Raises
    ------
    PipelineError
        Naming the first value that is none.
    """
    values = plain(name, values)
    if not is_array(values):
        return time_at(name, values)
    if values.dtype.kind == "f" and values.size and not (values.min() >= 0 and values.max() < math.inf):  # NaN neither
        _refuse_first(name, values, (values >= 0) & (values < math.inf))
    if values.dtype.kind == "i" and values.size and values.min() < 0:
        _refuse_first(name, values, values >= 0)
    return values if values.dtype.kind in "iuf" else _of_objects(name, values, time_at)


def _refuse_first(name: str, values: Any, right: Any) -> None:
    """Name the first of ``values`` that is not ``right``."""
    place = tuple(int(k) for k in next(zip(*(~right).nonzero(), strict=True)))
    time_at(_entry(name, place), values[place].item())


def _of_objects(name: str, values: Any, read: Any) -> Any:
    """An array of objects, each read by ``read(place, value)``."""
    import numpy as np

    found = np.empty(values.shape, dtype=object)
    for place in np.ndindex(values.shape):
        found[place] = read(_entry(name, place), values[place])
    return found


def _entry(name: str, place: tuple[int, ...]) -> str:
    return name + "".join(f"[{k}]" for k in place)


def as_array(values: Vector) -> Vector:
    import numpy as np

    return np.asarray(values)


def width(values: Vector) -> int:
    """Length of the last axis."""
    return int(values.shape[-1]) if is_array(values) else len(values)


def largest(values: Vector) -> Value:
    return values.max(axis=-1) if is_array(values) else max(values)


def total(values: Vector) -> Value:
    return values.sum(axis=-1) if is_array(values) else sum(values)


def each(values: Value) -> Value:
    """A value per leading index, ready to meet the last axis."""
    return values[..., None] if is_array(values) else values


def hold(tau: Vector, held: Vector) -> Vector:
    """``tau`` with ``held`` (S-1) added to every stage but the last."""
    if not is_array(tau):
        return [*(time + extra for time, extra in zip(tau, held, strict=False)), tau[-1]]
    import numpy as np

    head = tau[..., :-1] + held
    return np.concatenate([head, np.broadcast_to(tau[..., -1:], (*head.shape[:-1], 1))], axis=-1)


def longest_hold(tau: Vector, d: Vector, overlap: Vector) -> Value:
    """For arrays: the largest of ``tau[s] + (1-overlap[s])·d[s]``, without building them all."""
    import numpy as np

    if not is_array(overlap) and overlap == 1:
        return tau.max(axis=-1)
    if isinstance(overlap, (list, tuple)):
        overlap = np.asarray(overlap, dtype=d.dtype if d.dtype.kind == "f" else object)
    last = tau[..., -1]
    held = d if not is_array(overlap) and overlap == 0 else scaled(1 - overlap, d)
    return np.maximum((tau[..., :-1] + held).max(axis=-1), last) if tau.shape[-1] > 1 else last


def operands(M: Count, **vectors: Vector) -> tuple[Any, ...]:
    """``M`` and the vectors of times (the first over stages, the others over links): checked, all lists or all arrays.

    Raises
    ------
    PipelineError
        When ``M`` is no integer of at least 1, a vector over links has neither S-1 values nor none, a value is no time,
        or leading shapes do not fit together.
    """
    count = counted(M)
    given = {name: [] if vector is None else listed(name, vector) for name, vector in vectors.items()}
    first, *others = given
    stages = width(given[first])
    if stages < 1:
        raise PipelineError(first, "no value", "one value for each stage, at least one stage")
    for name in others:
        if width(given[name]) == 0:
            given[name] = [0] * (stages - 1)
        elif width(given[name]) != stages - 1:
            found = f"{width(given[name])} values for {stages} stages"
            raise PipelineError(name, found, f"S-1 = {stages - 1}, one for each link, or none at all")
    times = {
        name: times_at(name, vector) if is_array(vector) else _list_of_times(name, vector)
        for name, vector in given.items()
    }
    if any(is_array(x) for x in (count, *times.values())):
        return count, *_as_arrays(count, times)
    return count, *times.values()


def _list_of_times(name: str, values: Iterable[object]) -> list[Any]:
    return [x if _is_time(x) else time_at(f"{name}[{s}]", x) for s, x in enumerate(values)]


def _is_time(value: Any) -> bool:
    """Whether ``value`` is a time of one of the three kinds that are common and have to be quick."""
    kind = type(value)
    if kind is float:
        return bool(0 <= value < math.inf)
    return (kind is int or kind is Fraction) and bool(value.numerator >= 0)


def counted(M: Count, name: str = "M", of: str = "micro-batches") -> Count:
    """``M`` as a Python integer, or as an integer array wide enough for sums.

    Raises
    ------
    PipelineError
        When it is no whole number from 1 to 10**300.
    """
    allowed = "integers of at least 1" if is_array(M) else f"a whole number of {of}, at least 1, for example 8"
    M = plain(name, M, allowed)
    if is_array(M):
        whole = M.dtype.kind in "iu"
        least = M.min(initial=1) if whole else min(map(_whole, M.flat), default=1)
        if least < 1:
            raise PipelineError(name, f"an array of {M.dtype}{f', smallest {least}' if whole else ''}", allowed)
        return M.astype("int64") if M.max(initial=1) < 2**62 else M.astype(object)
    count = _whole(M)
    if not 1 <= count <= MOST_MICROBATCHES:
        found = "a number of very many digits" if abs(count) > MOST_MICROBATCHES else in_short(M)
        raise PipelineError(name, found, allowed)
    return count


def _whole(value: Any) -> int:
    """``value`` where it is a whole number, else 0."""
    try:
        return 0 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return 0


def shares(name: str, value: Vector, links: int) -> Vector:
    """``value``: one share for all links, a list with one for each, or an array (…, links) or (…, 1).

    Raises
    ------
    PipelineError
        When one lies outside 0…1, or their number is not that of the links.
    """
    value = plain(name, value, A_SHARE)
    if is_array(value):
        if value.shape[-1] not in (1, links):
            raise PipelineError(name, f"{value.shape[-1]} values for {links} links", f"a last axis of {links} or 1")
        return share(name, value)
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        return share(name, value)
    entries = listed(name, value)
    if len(entries) != links:
        raise PipelineError(name, f"{len(entries)} values for {links} links", "one value, or one for each link")
    return [_share_at(f"{name}[{s}]", entry) for s, entry in enumerate(entries)]


def share(name: str, value: Value) -> Value:
    """``value``, a number or an array of numbers, none outside 0…1.

    Raises
    ------
    PipelineError
        When one lies outside.
    """
    value = plain(name, value, A_SHARE)
    if not is_array(value):
        return _share_at(name, value)
    if value.dtype.kind not in "iuf":
        return _of_objects(name, value, _share_at)
    if not ((value >= 0) & (value <= 1)).all():
        raise PipelineError(name, in_short(value), A_SHARE)
    return value


def _share_at(place: str, value: object) -> Number:
    found = number_at(place, value, A_SHARE)
    if not 0 <= found <= 1:
        raise PipelineError(place, in_short(value), A_SHARE)
    return found


def line(fill: Value, slope: Value, count: Count) -> Value:
    """``fill + (count - 1)·slope``."""
    return fill + times(count - 1, slope)


def scaled(factor: Value, value: Value) -> Value:
    """``factor·value``, where a Fraction met by an array of floats becomes a float and not an array of objects."""
    if isinstance(factor, Fraction) and is_array(value) and value.dtype.kind == "f":
        return float(factor) * value
    return factor * value


def times(count: Count, value: Value) -> Value:
    """``count·value``, where an integer beyond int64 met by an array of floats becomes a float."""
    if not is_array(count) and is_array(value) and value.dtype.kind == "f":
        return float(count) * value
    return count * value


def headroom(tau: Vector, d: Vector) -> Vector:
    """``tau_max - (tau[s] + d[s])`` of each link, with the exact sign: Fractions from lists, an array from arrays."""
    if is_array(tau):
        return _headroom_of_arrays(tau, d)
    stages = [exact(time) for time in tau]
    bottleneck = max(stages)
    return [bottleneck - time - exact(transfer) for time, transfer in zip(stages, d, strict=False)]


def _headroom_of_arrays(tau: Vector, d: Vector) -> Vector:
    """The sum is split into its rounded value and its error (TwoSum, Knuth), so that no tie is lost in rounding."""
    head = tau[..., :-1]
    rounded = head + d
    part = rounded - head
    error = (head - (rounded - part)) + (d - part)
    return (each(tau.max(axis=-1)) - rounded) - error


def same_kind(values: Iterable[Fraction], *vectors: Vector) -> list[Value]:
    """``values`` as the numbers they came from: floats when one of those was, ints when all were, else Fractions."""
    numbers = [x for vector in vectors for x in vector]
    if any(isinstance(x, float) for x in numbers):
        return [float(value) for value in values]
    return [int(value) for value in values] if all(isinstance(x, Integral) for x in numbers) else list(values)


def in_short(value: object) -> str:
    """``value`` on one line of moderate length, for a message."""
    line = " ".join((str(value) if isinstance(value, Fraction) else repr(value)).split())
    return line if len(line) <= 60 else f"{line[:57]}..."


def _as_arrays(count: Count, vectors: Mapping[str, Vector]) -> list[Any]:
    """Floats as float64 or wider; integers as int64, or as Python integers where a makespan might not fit."""
    import numpy as np

    arrays = [np.asarray(vector) for vector in vectors.values()]
    leading = {"M": np.shape(count)} | {name: a.shape[:-1] for name, a in zip(vectors, arrays, strict=True)}
    try:
        np.broadcast_shapes(*leading.values())
    except ValueError:
        told = {name: shape for name, shape in leading.items() if shape}
        found = f"leading shapes {', '.join(map(str, told.values()))}"
        raise PipelineError(", ".join(told), found, "shapes that fit together, as NumPy broadcasts them") from None
    floats = [array.dtype for array in arrays if array.dtype.kind == "f" and array.shape[-1]]
    if floats:
        kind = np.result_type(np.float64, *floats)
    elif any(array.dtype.kind == "O" for array in arrays) or _bound(count, arrays) >= 2**62:
        kind = np.dtype(object)
    else:
        kind = np.dtype(np.int64)
    return [array.astype(kind, copy=False) for array in arrays]


def _bound(count: Count, arrays: list[Any]) -> int:
    """No makespan of these integer arrays is larger than this."""
    most = int(count.max(initial=1)) if is_array(count) else count
    biggest = sum(max(int(array.max(initial=0)), -int(array.min(initial=0))) for array in arrays)
    return int((most + arrays[0].shape[-1]) * biggest)
