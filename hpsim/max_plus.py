"""Many micro-batches at once by powers of a max-plus matrix, where nothing repeats soon.

The state after micro-batch m is every moment that a later one may still wait for: ``x_j(m-k)`` for k below the longest
lag of an arc from j. One micro-batch is a product with a matrix A, in max and plus; L of them are A to the power L, by
about log2(L) squarings.

The moments are taken relative to the steady slope ``P/Q`` of the pipeline, ``y_j(m) = Q·x_j(m) - P·m``, so that no
cycle has a weight above 0 and the largest sums stay small. What falls below :data:`_NOTHING` stays there: a path over
it cannot be the longest, as long as the result is far above, which is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

Waits = Sequence[Sequence[tuple[int, int, int]]]  # of each event: source, lag and weight of what it waits for

MOST_STATES = 400
_NOTHING = -(2**61)
_LARGEST = 2**57  # of any sum that counts, so that three of them are still far above _NOTHING


def moment_after(
    waits: Waits,
    row: Callable[[int], Sequence[int]],
    last: int,
    event: int,
    wanted: int,
    slope: Fraction,
) -> int | None:
    """The moment of ``event`` of micro-batch ``wanted``, from those up to micro-batch ``last``.

    Parameters
    ----------
    waits : sequence of sequences of (source, lag, weight)
        What each event waits for, in an order in which each comes after all it waits for within a micro-batch.
    row : callable
        The moments of a micro-batch, one for each event, back to ``last`` minus the longest lag.
    last : int
        The last micro-batch that is known.
    event : int
        Its number.
    wanted : int
        A later micro-batch.
    slope : Fraction
        The largest cycle ratio of the graph, in the unit of the weights.

    Returns
    -------
    int or None
        None where there are too many states, or numbers too large for this.
    """
    import numpy as np

    places = _places(waits, event)
    n = len(places)
    if n > MOST_STATES:
        return None
    P, Q = slope.numerator, slope.denominator
    state = [Q * row(last - back)[source] - P * (last - back) for source, back in places]
    heaviest = max((abs(Q * weight - P * lag) for arcs in waits for _, lag, weight in arcs), default=0)
    if max(map(abs, state)) + 2 * len(waits) * (n + 1) * heaviest > _LARGEST:
        return None
    matrix = _matrix(waits, places, P, Q)
    now = np.array(state, dtype=np.int64)
    digits = _digits(wanted - last)
    for place, digit in enumerate(digits):
        if digit:
            now = np.maximum((matrix + now).max(axis=1), _NOTHING)
        if place < len(digits) - 1:
            matrix = _squared(matrix)
    found = int(now[places[event, 0]]) + P * wanted
    return found // Q if now[places[event, 0]] > -_LARGEST else None


def _places(waits: Waits, event: int) -> dict[tuple[int, int], int]:
    """Which moments are kept: (event, micro-batches back) → index in the state."""
    depth = {event: 1}
    for arcs in waits:
        for source, lag, _ in arcs:
            depth[source] = max(depth.get(source, 0), lag)
    kept = [(source, back) for source in sorted(depth) for back in range(depth[source])]
    return {place: index for index, place in enumerate(kept)}


def _matrix(waits: Waits, places: dict[tuple[int, int], int], P: int, Q: int) -> Array:
    """The matrix of one micro-batch: row of the state after it, column of the state before."""
    import numpy as np

    n = len(places)
    matrix = np.full((n, n), _NOTHING, dtype=np.int64)
    now: list[Array] = []  # of each event, how much later than each moment of the state it is
    for arcs in waits:
        latest = np.full(n, _NOTHING, dtype=np.int64)
        for source, lag, weight in arcs:
            if lag == 0:
                latest = np.maximum(latest, np.maximum(now[source] + Q * weight, _NOTHING))
            else:
                column = places[source, lag - 1]
                latest[column] = max(latest[column], Q * weight - P * lag)
        now.append(latest)
    for (source, back), index in places.items():
        if back:
            matrix[index, places[source, back - 1]] = 0
        else:
            matrix[index] = now[source]
    return matrix


def _squared(matrix: Array) -> Array:
    import numpy as np

    product = np.full_like(matrix, _NOTHING)
    through = np.empty_like(matrix)
    for k in range(len(matrix)):
        np.add(matrix[:, k, None], matrix[k], out=through)
        np.maximum(product, through, out=product)
    return product


def _digits(number: int) -> list[bool]:
    """Binary, the lowest first."""
    return [digit == "1" for digit in reversed(f"{number:b}")]
