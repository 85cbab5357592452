"""Command-line options for a person's measures, such as leg length, for marker sets that need them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click
import msgspec

from rtsim.cli.terminal.types import option_of
from rtsim.config.runs.measures_schema import PersonMeasures
from rtsim.errors import ConfigError


class BothLegs(click.ParamType):
    """A type of option values: one number for both legs, or RIGHT,LEFT."""

    name = "MM[,MM]"

    def convert(
        self, value: str | tuple[float, ...], parameter: click.Parameter | None, context: click.Context | None
    ) -> tuple[float, ...]:
        if isinstance(value, tuple):
            return value
        try:
            numbers = tuple(float(part) for part in value.split(","))
        except ValueError:
            numbers = ()
        if len(numbers) not in (1, 2):
            raise ConfigError(
                f"{value!r}",
                where=option_of(parameter),
                allowed="a length in mm, or RIGHT,LEFT in mm, such as 104,102",
            )
        return numbers if len(numbers) == 2 else numbers * 2


MEASURE_OPTIONS = (
    click.option(
        "--measures",
        type=click.Path(),
        metavar="FILE",
        help="Measures of the person that the recording does not store: .toml, or .vsk and .mp of Vicon.",
    ),
    click.option(
        "--knee-width",
        "knee_width_mm",
        type=BothLegs(),
        help="Width of the knee between the epicondyles [mm].",
    ),
    click.option(
        "--ankle-width",
        "ankle_width_mm",
        type=BothLegs(),
        help="Width of the ankle between the malleoli [mm].",
    ),
    click.option(
        "--leg-length",
        "leg_length_mm",
        type=BothLegs(),
        help="Length of the leg from the ASIS to the medial malleolus [mm].",
    ),
    click.option(
        "--marker-diameter",
        "marker_diameter_mm",
        type=float,
        metavar="MM",
        help="Diameter of the marker spheres.",
    ),
    click.option(
        "--marker-standoff",
        "marker_standoff_mm",
        type=float,
        metavar="MM",
        help="Distance from the skin to the middle of a pelvis marker, base plate included, for hip centre "
        "regressions that were made from medical images (default: 0).",
    ),
    click.option(
        "--hip",
        metavar="NAME",
        help="Hip centre regression: harrington2007 (default), harrington2007_full, hara2016, davis1991 "
        "(that of Plug-in Gait), sangeux2015, sangeux2015_leg, bell1990, bell1989.",
    ),
)
NAMES = (
    "knee_width_mm",
    "ankle_width_mm",
    "leg_length_mm",
    "marker_diameter_mm",
    "marker_standoff_mm",
    "hip",
)
SPELT = {name: f"--{name.removesuffix('_mm').replace('_', '-')}" for name in NAMES}


def measure_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for a person's measures."""
    for option in reversed(MEASURE_OPTIONS):
        function = option(function)
    return function


def measures_given(options: Mapping[str, Any], usual: PersonMeasures) -> PersonMeasures:
    """Return the measures from these options, with the default for the others; ConfigError for a value out
    of bounds.
    """
    given = {name: options[name] for name in NAMES if options.get(name) is not None}
    try:
        return msgspec.structs.replace(usual, **given)
    except ValueError as error:
        raise ConfigError(str(error), where="the options", remedy="correct the value") from None


def given_measures(path: str, given: PersonMeasures) -> list[str]:
    """Return the names of the options whose measures differ from the defaults; path : the file given by
    --measures
    """
    usual = PersonMeasures()
    changed = [option for name, option in SPELT.items() if getattr(given, name) != getattr(usual, name)]
    return [*(["--measures"] if path else []), *changed]
