"""Units of forces and moments as files spell them, such as "N" or "Nmm", and their factors to N and N m."""

from __future__ import annotations

from rtsim.errors import ConfigError
from rtsim.files.units import length_unit, metres_per_unit
from rtsim.units import NEWTON_METRES, plain_unit

NEWTONS = {"n": 1.0, "newton": 1.0, "newtons": 1.0, "kn": 1e3, "lbf": 4.4482216152605}


def newtons_per_unit(text: str) -> float | None:
    """Return newtons per unit of force; None where the text is no unit of force."""
    return NEWTONS.get(plain_unit(text))


def newton_metres_per_unit(text: str) -> float | None:
    """Return newton metres per unit of moment; None where the text is no unit of moment."""
    return NEWTON_METRES.get(plain_unit(text))


def moment_unit(units: str | None, where: str = "--units") -> str:
    """Return the unit of moments from an option like `mm,Nm`, where it follows the unit of length; "" if
    none is given; ConfigError naming `where` for an unknown unit.
    """
    asked = (units or "").partition(",")[2].strip()
    if asked and newton_metres_per_unit(asked) is None:
        raise ConfigError(
            f"{asked!r} is not a unit of moments", where=where, allowed="Nm, Ncm, Ndm, Nmm, kNm"
        )
    return asked


def check_units(units: str, where: str) -> None:
    """Raise ConfigError naming `where` for an invalid unit of length, or of moments after a comma."""
    length = length_unit(units)
    if length or not moment_unit(units, where):
        metres_per_unit(length, where)
