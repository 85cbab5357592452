"""`rtsim moment-arms`: lengths and moment arms of a model's muscles."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rtsim.cli.terminal.lines import tell
from rtsim.cli.terminal.plotting import draw_panels, paper_for, plot_options
from rtsim.cli.terminal.types import Config, check_new
from rtsim.errors import ConfigError

if TYPE_CHECKING:
    from rtsim.methods.muscles.moment_arms import MomentArms, SweepPoint
    from rtsim.monitor.figures.paper import Paper

WAYS = ("force", "partial-velocity", "velocity", "differences")
NEAR = 1e-9
"""Largest difference from a given value at which an angle or displacement has it [rad, m]."""
MOST_ROUNDS = 50
"""How often all given angles are set, one after the other, until all have their values."""


@click.command("moment-arms")
@click.argument("model", type=Config("models"))
@click.option("--muscle", "muscles", multiple=True, metavar="NAME", help="Only this muscle (repeatable).")
@click.option(
    "--angle",
    "angles",
    multiple=True,
    metavar="NAME",
    help="Only moment arms about this joint angle (repeatable).",
)
@click.option(
    "--sweep", is_flag=True, help="Vary the one --angle over its range, or from --from LOW to --to HIGH."
)
@click.option("--from", "low", type=float, help="Value at which the sweep starts [deg, mm].")
@click.option("--to", "high", type=float, help="Value at which the sweep ends [deg, mm].")
@click.option(
    "--steps",
    type=click.IntRange(2, 100_000),
    default=37,
    show_default=True,
    help="Number of values in the sweep.",
)
@click.option(
    "--at",
    "places",
    multiple=True,
    metavar="COORDINATE=VALUE",
    help="Set a coordinate to this value [deg, mm] (repeatable).",
)
@click.option(
    "--method",
    "way",
    type=click.Choice([*WAYS, "all"]),
    default="force",
    show_default=True,
    help="How moment arms are computed; all: by every method, with the differences between the methods.",
)
@click.option(
    "--moving-points",
    type=click.Choice(["work", "opensim"]),
    default="work",
    show_default=True,
    help="work: virtual work, with the forces on moving path points; opensim: without the work of moving "
    "points, as OpenSim computed in 2010.",
)
@click.option(
    "--subject",
    type=Config("subjects"),
    help="Subject for a model that needs a person's anatomy, such as lower_limb: a .toml file, or the name "
    "of one that comes with rtsim.",
)
@plot_options
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON, in metres and radians.")
def command(
    model: str,
    muscles: tuple[str, ...],
    angles: tuple[str, ...],
    sweep: bool,
    low: float | None,
    high: float | None,
    steps: int,
    places: tuple[str, ...],
    way: str,
    moving_points: str,
    subject: str | None,
    plot: Path | None,
    plot_size: str | None,
    plot_dpi: int | None,
    as_json: bool,
) -> None:
    """Compute moment arms of the muscles of MODEL about its angles. MODEL is a .toml or .osim file, or the
    name of a model that comes with rtsim.

    A moment arm is positive if the muscle's tension increases the angle: r = -dl/dtheta.
    """
    from rtsim.cli.terminal.compiling import compile_first
    from rtsim.cli.terminal.console import LastingConsole
    from rtsim.config.paths import find_config
    from rtsim.methods.muscles.moment_arms import MomentArms, index_of
    from rtsim.models.load import load_model
    from rtsim.models.model import build
    from rtsim.models.roles import roles_of
    from rtsim.report.arms import arms_along, arms_at
    from rtsim.subjects.subject import load_subject

    sweep = sweep or low is not None or high is not None
    if plot and not sweep:
        raise ConfigError("--plot needs a sweep", where="moment-arms", remedy="add --sweep and --angle")
    paper = paper_for(plot, plot_size, plot_dpi)
    spec = load_model(model, note=lambda text: tell(f"note: {text}"))
    person = load_subject(find_config(subject, "subjects")) if subject else None
    built = build(spec, person)
    if not built.names.muscles:
        raise ConfigError(
            "the model has no muscles", where=f"model {built.name}", remedy="add [[muscles]] to its file"
        )
    rows = [index_of(built.names.muscles, name, "muscle", built.name) for name in muscles]
    rows = rows or list(range(len(built.names.muscles)))
    chosen, start = list(angles) or list(built.names.angles), given_at(places)
    for name in (*chosen, *start):
        index_of(built.names.angles, name, "angle", built.name)
    if sweep and len(angles) != 1:
        raise ConfigError(
            "a sweep can move one angle only", where="--angle", allowed=", ".join(built.names.angles)
        )
    compile_first(LastingConsole(stderr=True), ("moment-arms",))
    arms = MomentArms(built, roles_of(spec, subject=person), moving_point_work=moving_points == "work")
    q = start_of(arms, arms.assembled(), start)
    for name in angles:
        arms.coupling(q, name)  # an angle that was asked for by name must exist here
    ways = ways_of(arms) if way == "all" else (way,)
    if not sweep:
        click.echo(arms_at(arms, q, rows, chosen, ways, as_json))
        refuse_if_all_failed(arms, rows, [arms.failures(q)])
        return
    values = values_of(arms, angles[0], low, high, steps)
    swept = {one: list(arms.sweep(angles[0], values, q, one)) for one in ways}
    click.echo(arms_along(arms, angles[0], rows, swept, as_json))
    tell_moved(arms, angles[0], start, swept[ways[0]])
    if paper:
        draw(arms, angles[0], rows, swept[ways[0]], paper)
    refuse_if_all_failed(arms, rows, [point.failed for point in swept[ways[0]]])


def ways_of(arms: MomentArms) -> tuple[str, ...]:
    """Return the names of all methods by which moment arms of the model can be computed; report why one is
    left out.
    """
    rolls = arms.model.names.rolls
    if not rolls:
        return WAYS
    tell(
        f"note: moment arms were not checked by differences of muscle length: {rolls[0]} rolls "
        "without slipping, which constrains velocities, not positions"
    )
    return WAYS[:-1]


def refuse_if_all_failed(arms: MomentArms, rows: list[int], failed: list[dict[str, str]]) -> None:
    """Raise ModelError if none of the requested muscle paths exists in any pose.

    rows : indices of the muscles
    failed : for each pose, name of a muscle -> why its path does not exist
    """
    names = [arms.model.names.muscles[m] for m in rows]
    if all(name in there for there in failed for name in names):
        raise arms.error(names[0], failed[0][names[0]])


def start_of(arms: MomentArms, q: Any, places: dict[str, float]) -> Any:
    """Return coordinates near q that satisfy the constraints and in which all given angles have their values;
    ConfigError if they cannot have them together, as where constraints couple them.

    places : angle -> value [deg, mm]
    """
    goals = {name: plausible(arms, name, value, "--at") for name, value in places.items()}
    missed = ""
    for _ in range(MOST_ROUNDS):
        for name, value in goals.items():  # which may move the angles before it
            q = arms.assembled(q, name, value)
        off = (name for name, value in goals.items() if abs(arms.value_of(q, name) - value) > NEAR)
        if not (missed := next(off, "")):
            return q
    held = " and ".join(f"{name} = {arms.told(name, value)}" for name, value in goals.items())
    found = arms.told(missed, arms.value_of(q, missed))
    raise ConfigError(
        f"no pose was found with {held} together: {missed} becomes {found}",
        where="--at", remedy="leave one of them out, or give values that the constraints of the model allow",
    )  # fmt: skip


def tell_moved(arms: MomentArms, angle: str, places: dict[str, float], points: list[SweepPoint]) -> None:
    """Print a note for each angle given by --at that does not keep its value in a sweep over another angle,
    to which constraints couple it.

    places : angle -> value [deg, mm]
    """
    for name in places:
        values = [round(arms.value_of(point.q, name), 9) for point in points]
        if name != angle and max(values) - min(values) > NEAR:
            tell(
                f"note: {name} of --at does not keep its value in this sweep, because the constraints couple "
                f"it to {angle}: it is {arms.told(name, min(values))} to {arms.told(name, max(values))}"
            )


def given_at(places: tuple[str, ...]) -> dict[str, float]:
    """Parse the words ANGLE=VALUE of the command line, by which the user fixes values of angles; return angle
    -> value [deg, mm].
    """
    given: dict[str, float] = {}
    for place in places:
        name, equals, text = place.partition("=")
        if not equals:
            raise ConfigError(
                f"no value is given for {place!r}",
                where="--at",
                allowed="COORDINATE=VALUE",
                remedy="add the value",
            )
        check_new(name, given, "--at")
        try:
            given[name] = float(text)
        except ValueError:
            raise ConfigError(
                f"{text!r} is no number", where="--at", allowed="COORDINATE=VALUE", remedy="correct the value"
            ) from None
    return given


def values_of(arms: MomentArms, angle: str, low: float | None, high: float | None, steps: int) -> Any:
    """Return the values of an angle (or displacement) at which moment arms are computed in a sweep, (n,)
    [rad, m].

    low, high : first and last value [deg, mm]; None = end of the coordinate's range
    steps : number of values
    """
    import numpy as np

    ends = []
    for value, limit, option in zip((low, high), arms.range_of(angle), ("--from", "--to"), strict=True):
        if value is None and not np.isfinite(limit):
            raise ConfigError(
                f"{angle} has no range in the model",
                where="--sweep",
                remedy="give the range with --from LOW and --to HIGH",
            )
        ends.append(limit if value is None else plausible(arms, angle, value, option))
    if ends[0] == ends[1]:
        raise ConfigError(
            f"both ends of the sweep are {arms.told(angle, ends[0])}",
            where="--from and --to",
            allowed="two values that differ",
            remedy="sweep one of these angles, or ask for one pose with --at",
        )
    return np.linspace(ends[0], ends[1], steps)


def plausible(arms: MomentArms, angle: str, value: float, where: str) -> float:
    """Convert a value of an angle (or displacement) from the command line [deg, mm] to rad or m; ConfigError
    for an impossible one; where : name of the option.
    """
    from rtsim.config.bounds import UNITS

    unit = "deg" if arms.is_rotation(angle) else "mm"
    most = UNITS[unit][1]
    if not abs(value) <= most:  # nor NaN
        raise ConfigError(
            f"{angle} = {value:g} {unit} is out of range",
            where=where,
            allowed=f"{-most:g} to {most:g} {unit}",
            remedy="correct the value",
        )
    return arms.si(angle, value)


def draw(arms: MomentArms, angle: str, rows: list[int], points: list[SweepPoint], paper: Paper) -> None:
    """Draw the moment arms of muscles over a sweep of one angle as a figure.

    rows : indices of the muscles
    points : moment arms at successive values of the angle
    """
    import numpy as np

    from rtsim.files.tables.panels import FigureContent, FigurePanel
    from rtsim.report.arms import scale_of

    scale = scale_of(arms, angle)
    said, unit = angle.replace("_", " "), "deg" if arms.is_rotation(angle) else "mm"
    x = np.array([arms.shown(angle, point.value) for point in points])
    names = [arms.model.names.muscles[m].replace("_", " ") for m in rows]
    curves = {
        name: np.array([scale.factor * point.arms[m] for point in points])
        for name, m in zip(names, rows, strict=True)
    }
    panel = FigurePanel("moment arm", scale.unit, f"{said} [{unit}]", x, curves)
    about = "angle" if arms.is_rotation(angle) else "displacement"
    title = f"{arms.model.name}: moment arms about the {about} {said}"
    draw_panels(paper, title, FigureContent([panel], []))
