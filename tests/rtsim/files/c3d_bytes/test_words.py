"""Numbers of Intel, DEC and MIPS processors."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.files.c3d_bytes.words import DEC, INTEL, MIPS, Words

NUMBERS = [0.0, 1.0, -1.0, 0.1, -118.625, 3.0e30, 1.0e-30]


@pytest.mark.parametrize("code", [INTEL, DEC, MIPS])
def test_numbers_come_back(code: int) -> None:
    """Protects both ways of every processor, to the last of 24 bits."""
    words = Words(code)
    raw = words.from_floats(NUMBERS)
    np.testing.assert_array_equal(words.floats(raw), np.float32(NUMBERS).astype(np.float64))
    assert words.integers(words.from_integers([-32_768, -1, 0, 40_000])).tolist() == [-32_768, -1, 0, -25_536]
    assert words.whole(words.from_integers([40_000])) == 40_000


def test_dec_numbers_have_the_bits_of_the_vax() -> None:
    """Protects against a round trip that is wrong both ways: 1.0 and -118.625 of the VAX-11 handbook's format
    (sign, exponent from 128, fraction from 1/2, halves exchanged)."""
    assert Words(DEC).from_floats([1.0]) == bytes([0x80, 0x40, 0, 0])
    assert Words(DEC).from_floats([-118.625]) == bytes([0xED, 0xC3, 0x00, 0x40])
    assert Words(DEC).from_floats([0.0]) == bytes(4)


def test_what_no_dec_number_is_is_refused() -> None:
    """Protects from a number that would come out as another."""
    for number in (1e38, np.inf, np.nan):
        with pytest.raises(ConfigError, match="DEC"):
            Words(DEC).from_floats([number])


def test_an_unknown_processor_is_named() -> None:
    """Protects the sentence about a damaged byte."""
    with pytest.raises(ConfigError, match="processor type 7"):
        Words(7, "a.c3d")
