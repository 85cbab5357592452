"""Number formats of the three kinds of processor: Intel, DEC (VAX) and MIPS (big-endian)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError

FloatArray = NDArray[np.float64]
INTEL, DEC, MIPS = 84, 85, 86
"""Codes of the types of processor, as in the fourth byte of the parameter section."""
DEC_FACTOR = 4.0
"""Factor from a DEC number to the IEEE number with the same bits: its exponent is biased by 128, and its
fraction begins behind the binary point.
"""
LEAST_DEC, LARGEST_DEC = 2.0**-127, 8.5e37
"""Range of DEC numbers: a smaller number is written as 0; a larger one cannot be written."""


class Words:
    """The number format of one kind of processor.

    code : code of the processor
    integer : NumPy type of a 16-bit integer
    """

    def __init__(self, code: int, where: str = "") -> None:
        if code not in (INTEL, DEC, MIPS):
            raise ConfigError(
                f"processor type {code}", where=where, allowed=f"{INTEL} (Intel), {DEC} (DEC), {MIPS} (MIPS)",
                remedy="export the trial again",
            )  # fmt: skip
        self.code = code
        self.integer = np.dtype(">i2" if code == MIPS else "<i2")
        self.unsigned = np.dtype(">u2" if code == MIPS else "<u2")
        self._float = np.dtype(">f4" if code == MIPS else "<f4")

    def integers(self, raw: bytes) -> NDArray[np.int64]:
        """Return signed 16-bit integers from their bytes."""
        return np.frombuffer(raw, self.integer).astype(np.int64)

    def whole(self, raw: bytes) -> int:
        """Return an unsigned 16-bit integer, 0 to 65 535, from its bytes."""
        return int(np.frombuffer(raw, self.unsigned, 1)[0])

    @np.errstate(invalid="ignore")  # a NaN that signals
    def floats(self, raw: bytes | NDArray[np.uint8]) -> FloatArray:
        """Return 32-bit real numbers from their bytes."""
        if self.code != DEC:
            return np.frombuffer(raw, self._float).astype(np.float64)
        halves = np.frombuffer(raw, "<u2").reshape(-1, 2)
        exponent = halves[:, 0] & 0x7F80
        values = np.ascontiguousarray(halves[:, ::-1]).view("<f4")[:, 0].astype(np.float64) / DEC_FACTOR
        return np.where(exponent == 0, 0.0, values)

    def from_integers(self, values: Any) -> bytes:
        """Return integers of 16 bits, signed or not, as bytes."""
        return (np.asarray(values, np.int64).reshape(-1) % 65_536).astype(self.unsigned).tobytes()

    def from_floats(self, values: Any) -> bytes:
        """Return numbers as real numbers of 32 bits, in bytes; ConfigError for numbers that the DEC format
        cannot represent.
        """
        numbers = np.asarray(values, np.float64).reshape(-1)
        if self.code != DEC:
            return numbers.astype(self._float).tobytes()
        if not bool((np.abs(numbers) <= LARGEST_DEC).all()):
            raise ConfigError(f"a number is larger than {LARGEST_DEC}, the largest that a DEC file can hold")
        scaled = np.where(np.abs(numbers) < LEAST_DEC, 0.0, numbers * DEC_FACTOR)
        halves = np.ascontiguousarray(scaled.astype("<f4")).view("<u2").reshape(-1, 2)
        return np.ascontiguousarray(halves[:, ::-1]).tobytes()
