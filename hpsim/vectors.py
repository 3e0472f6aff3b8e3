"""Lists of numbers and NumPy arrays (last axis: stages or links) handled alike, so that each formula is written once.

A *vector* is a list or tuple of ints, floats or Fractions, or an array of any leading shape. NumPy is imported only
when an array is given. Comparisons that may tie are exact: plain floats are read by their shortest decimal form, float
arrays are compared as the binary numbers they hold.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from fractions import Fraction
from numbers import Integral
from typing import Any

from hpsim.errors import PipelineError
from hpsim.exact import exact

Vector = Any  # S or S-1 numbers, or an array (…, S) or (…, S-1)
Count = Any  # an integer, or an integer array
Value = Any  # a number, or an array of the leading shape

MOST_MICROBATCHES = 10**300  # so that M fits into a float64


def is_array(values: object) -> bool:
    return getattr(values, "ndim", 0) > 0


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
    """``M`` and the vectors (the first over stages, the others over links): lengths checked, all lists or all arrays.

    Raises
    ------
    PipelineError
        When ``M`` is no integer of at least 1, or a vector over links has neither S-1 values nor none.
    """
    count = counted(M)
    names = list(vectors)
    stages = width(vectors[names[0]])
    if stages < 1:
        raise PipelineError(names[0], "no value", "one value for each stage, at least one stage")
    for name in names[1:]:
        if vectors[name] is None or width(vectors[name]) == 0:
            vectors[name] = [0] * (stages - 1)
        elif width(vectors[name]) != stages - 1:
            found = f"{width(vectors[name])} values for {stages} stages"
            raise PipelineError(name, found, f"S-1 = {stages - 1}, one for each link, or none at all")
    if any(is_array(x) for x in (count, *vectors.values())):
        return count, *_as_arrays(count, list(vectors.values()))
    return count, *([x.item() if hasattr(x, "dtype") else x for x in vector] for vector in vectors.values())


def counted(M: Count) -> Count:
    """``M`` as a Python integer, or as an integer array wide enough for sums.

    Raises
    ------
    PipelineError
        When it is no whole number from 1 to 10**300.
    """
    if is_array(M):
        if M.dtype.kind not in "iu" or (M < 1).any():
            raise PipelineError("M", f"an array of {M.dtype}, smallest {M.min()}", "integers of at least 1")
        return M.astype("int64") if M.max(initial=1) < 2**62 else M.astype(object)
    try:
        count = operator.index(M)
    except TypeError:
        count = 0
    if isinstance(M, bool) or not 1 <= count <= MOST_MICROBATCHES:
        found = "a number of very many digits" if abs(count) > MOST_MICROBATCHES else in_short(M)
        raise PipelineError("M", found, "a whole number of micro-batches, at least 1, for example 8")
    return count


def shares(name: str, value: Vector, links: int) -> Vector:
    """``value``: one share for all links, a list with one for each, or an array (…, links) or (…, 1).

    Raises
    ------
    PipelineError
        When one lies outside 0…1, or their number is not that of the links.
    """
    if is_array(value):
        if value.shape[-1] not in (1, links):
            raise PipelineError(name, f"{value.shape[-1]} values for {links} links", f"a last axis of {links} or 1")
    elif isinstance(value, (list, tuple)) and len(value) != links:
        raise PipelineError(name, f"{len(value)} values for {links} links", "one value, or one for each link")
    return share(name, value)


def share(name: str, value: Value) -> Value:
    """``value``, a number or numbers, none outside 0…1.

    Raises
    ------
    PipelineError
        When one lies outside.
    """
    if is_array(value):
        inside = bool(((value >= 0) & (value <= 1)).all())
    else:
        inside = all(0 <= x <= 1 for x in (value if isinstance(value, (list, tuple)) else [value]))
    if not inside:
        raise PipelineError(name, in_short(value), "a share from 0 (blocking) to 1 (fully overlapped)")
    return value


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


def _as_arrays(count: Count, vectors: list[Vector]) -> list[Any]:
    """Floats as float64 or wider; integers as int64, or as Python integers where a makespan might not fit."""
    import numpy as np

    arrays = [np.asarray(vector) for vector in vectors]
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
