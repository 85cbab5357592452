"""Gait norms in rtsim's own file format (TOML): mean and deviation of angles at 101 points of the cycle."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.config.load import parse_toml
from rtsim.config.reading import read_bounded
from rtsim.errors import ConfigError
from rtsim.files.norms.variables import CONVENTIONS, NAMES
from rtsim.files.output import write_text
from rtsim.files.toml_text import entry

FloatArray = NDArray[np.float64]
N_POINT = 101
MOST_BYTES = 5_000_000
LARGEST_DEG = 360.0
MOST = 10**9
"""Largest number of persons or strides of norms."""
KEYS = ("name", "convention", "source", "licence", "n_person", "n_stride", "curves")


class NormCurve(NamedTuple):
    """Mean and standard deviation (101,) of an angle over the cycle [deg]."""

    mean: FloatArray
    deviation: FloatArray


class NormSet(NamedTuple):
    """Norms of one convention of angles.

    convention : isb (joint coordinate systems of the ISB) or cgm (conventional gait model)
    source, licence : origin of the norms, and permitted use
    n_person, n_stride : number of persons and strides, 0 = not known
    curves : name of a variable -> its norm
    """

    name: str
    convention: str
    curves: Mapping[str, NormCurve]
    source: str = ""
    licence: str = ""
    n_person: int = 0
    n_stride: int = 0

    @property
    def words(self) -> str:
        """Text on the origin of the norms, printed below a page that shows them."""
        n = f", {self.n_person} persons" if self.n_person > 1 else ""
        rest = "; ".join(x for x in (self.source, self.licence) if x)
        return f"{self.name}{n} ({CONVENTIONS[self.convention]}){': ' + rest if rest else ''}"


def write_norms(path: Path, norms: NormSet) -> None:
    """Write norms to a file with all digits; ConfigError where the file cannot be written."""
    lines = [entry(key, getattr(norms, key)) for key in KEYS if key != "curves"]
    for name, curve in norms.curves.items():
        lines += [
            "", f"[curves.{name}]  # 0 to 100 % of the cycle [deg]",
            entry("mean", curve.mean.tolist()), entry("deviation", curve.deviation.tolist()),
        ]  # fmt: skip
    write_text(path, "\n".join(lines) + "\n")


def read_norms(path: Path) -> NormSet:
    """Read norms from a file that rtsim wrote; ConfigError for any other file."""
    data = read_bounded(path, MOST_BYTES, "files of norms have only a few kB")
    try:
        table = parse_toml(data.decode("utf-8-sig"), str(path))
    except (UnicodeDecodeError, ConfigError) as error:
        why = error.what if isinstance(error, ConfigError) else str(error)
        raise ConfigError(
            f"this is not a file of norms ({why})", where=str(path),
            remedy="make one by `rtsim norms make`, or from .gcd and csv by `rtsim norms read`",
        ) from None  # fmt: skip
    return norms_of(table, str(path))


def norms_of(table: Mapping[str, Any], where: str) -> NormSet:
    """Return the norms in the parsed content `table` of a norm file; ConfigError naming `where` for invalid
    content.
    """
    unknown = next((key for key in table if key not in KEYS), None)
    if unknown is not None:
        raise ConfigError(f"unknown key {unknown!r}", where=where, allowed=", ".join(KEYS))
    convention = table.get("convention")
    if not isinstance(convention, str) or convention not in CONVENTIONS:
        raise ConfigError(
            f"convention {convention!r}", where=where, allowed=", ".join(CONVENTIONS),
            remedy="state the convention by which the angles of the norms are computed",
        )  # fmt: skip
    texts = {key: table.get(key, "") for key in ("name", "source", "licence")}
    numbers = {key: table.get(key, 0) for key in ("n_person", "n_stride")}
    for key, value in (*texts.items(), *numbers.items()):
        kind = str if key in texts else int
        if not isinstance(value, kind) or isinstance(value, bool) or not is_count_or_text(value):
            raise ConfigError(
                f"{key} = {value!r}", where=where, allowed="a text" if kind is str else "a count"
            )
    curves = table.get("curves")
    if not isinstance(curves, dict) or not curves:
        raise ConfigError("no curves", where=where, remedy="add tables [curves.NAME] with mean and deviation")
    return NormSet(
        name=texts["name"] or Path(where).stem, convention=str(convention),
        curves={name: _curve(name, row, where) for name, row in curves.items()},
        source=texts["source"], licence=texts["licence"], **numbers,
    )  # fmt: skip


def is_count_or_text(value: Any) -> bool:
    """Return whether a value of a norm file is a text, or a plausible number of persons or strides."""
    return isinstance(value, str) or 0 <= value <= MOST


def _curve(name: str, row: Any, where: str) -> NormCurve:
    if name not in NAMES:
        raise ConfigError(f"unknown curve {name!r}", where=where, allowed=", ".join(NAMES))
    found = {}
    for key in ("mean", "deviation"):
        numbers = row.get(key) if isinstance(row, dict) else None
        sound = isinstance(numbers, list) and len(numbers) == N_POINT
        if not sound or not all(_is_number(x) for x in numbers or ()):
            raise ConfigError(
                f"{name}: {key} is not {N_POINT} numbers up to {LARGEST_DEG:g} degrees",
                where=where, remedy="give one number for each percent of the gait cycle, from 0 to 100",
            )  # fmt: skip
        found[key] = np.array(numbers, np.float64)
    if (found["deviation"] < 0.0).any():
        raise ConfigError(f"{name}: a standard deviation is negative", where=where, allowed="0 or more")
    return NormCurve(**found)


def _is_number(x: Any) -> bool:
    return (
        isinstance(x, (int, float)) and not isinstance(x, bool) and math.isfinite(x) and abs(x) <= LARGEST_DEG
    )


def check_convention(norms: NormSet, convention: str, where: str) -> None:
    """Raise ConfigError if norms have another convention of angles (isb or cgm) than the angles to be
    compared with them; where : file of the norms, for the error
    """
    if norms.convention != convention:
        raise ConfigError(
            f"the norms follow {CONVENTIONS[norms.convention]}, but the angles follow "
            f"{CONVENTIONS[convention]}; angles of different conventions must not be compared",
            where=where,
            remedy=f"give norms of convention {convention}, or report with --angles {norms.convention}",
        )
