"""Records of arrays are made by the shapes that stand beside their fields."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np
import pytest

from kernels.algebra.allocation import Floats, Integers, allocate

N_ROW = 3


class Inside(NamedTuple):
    """A record that another one holds."""

    number: Annotated[np.ndarray, Integers("n", fill=-1)]


class Whole(NamedTuple):
    """One of each: constants, sums of sizes, another first value, a record, what has no shape."""

    matrix: Annotated[np.ndarray, Floats("n + 2 * m", N_ROW)]
    unknown: Annotated[np.ndarray, Floats(1, fill=math.nan)]
    inside: Inside
    name: str


def test_arrays_have_the_shapes_types_and_first_values_beside_their_fields() -> None:
    """Protects working spaces: each array is what its line in the record says, records inside likewise."""
    made = allocate(Whole, n=2, m=4, name="here")
    assert (made.matrix.shape, made.matrix.dtype, made.matrix.any()) == ((10, 3), np.float64, False)
    assert made.matrix.flags.c_contiguous
    assert math.isnan(made.unknown[0])
    assert made.inside.number.dtype == np.int64
    assert made.inside.number.tolist() == [-1, -1]
    assert made.name == "here"


def test_every_array_is_its_own() -> None:
    """Protects results: no two records and no two fields share memory."""
    first, second = (allocate(Whole, n=1, m=1, name="") for _ in range(2))
    assert not np.shares_memory(first.matrix, second.matrix)


def test_a_field_can_be_given() -> None:
    """Protects working spaces that start from something: what is given stands there as it is."""
    given = np.ones(5)
    assert allocate(Whole, n=1, m=1, name="", unknown=given).unknown is given


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"n": 1, "name": ""}, r"Whole\.matrix has the size n \+ 2 \* m, and name 'm' is not defined"),
        ({"n": 1, "m": 1}, r"Whole\.name declares no array shape: pass its value"),
        ({"n": 1, "m": 1, "name": "", "n_row": 3}, r"neither a field nor an array size named n_row"),
    ],
)
def test_what_is_missing_or_not_used_is_named(sizes: dict[str, object], words: str) -> None:
    """Protects authors: a size that was forgotten or misspelt is told, and nothing is made."""
    with pytest.raises(TypeError, match=words):
        allocate(Whole, **sizes)


def test_a_size_that_is_no_number_is_refused() -> None:
    """Protects working spaces from a negative size."""
    with pytest.raises(ValueError, match="negative"):
        allocate(Inside, n=-1)
