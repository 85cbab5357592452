"""Options that several commands share, and the run that they describe."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from rtsim.cli.terminal.lines import tell
from rtsim.cli.terminal.marker_options import EMG_OPTION, PERSON_OPTION, UNNAMED_OPTION
from rtsim.cli.terminal.measure_options import MEASURE_OPTIONS, given_measures, measures_given
from rtsim.cli.terminal.ports import check_ports, offset_option, placed
from rtsim.cli.terminal.types import (
    Address,
    Config,
    MarkerSource,
    MethodName,
    NumberWithin,
    Span,
    checked,
    checked_capture,
)
from rtsim.config.paths import find_config
from rtsim.config.runs.choices import load_run
from rtsim.config.runs.run_schema import LONGEST_S, RunConfig
from rtsim.errors import ConfigError
from rtsim.files.formats import FORCES, MARKERS, listed
from rtsim.files.output import check_folder
from rtsim.live.inputs.sources import MADE_UP, WALKER
from streams.access.security import Security
from streams.addresses import is_stream
from streams.capture.system import is_capture

RECORDING = ".mcap"
BOUND = ("results", "control")
PORTS = ("markers", *BOUND)
OF_NAME = "a .toml file, or the name of one that comes with rtsim"
FILE_OPTIONS = (
    click.option(
        "--units",
        help="True unit of length of files that state a wrong one (markers, static trial, plates; points of "
        "--forces, unless the feet show another unit): m, cm, mm, dm, in, ft. After a comma, the unit of the "
        "plates' moments: Nm, Ncm, Ndm, Nmm, kNm (such as mm,Nm, or ,Nm alone).",
    ),
    click.option(
        "--up",
        help="Axis that points up, for files that state a wrong one: X, Y, Z, -X, -Y, -Z; for --forces, "
        "the axis along which the vertical forces act.",
    ),
)


def static_option(said: str) -> Callable[..., Any]:
    """Return the option --static, which may be given once; said : its help text"""
    return click.option(
        "--static", multiple=True, callback=only_one, type=click.Path(), metavar="FILE", help=said
    )


def only_one(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> str | None:
    """Return the value of an option that may be given once; ConfigError if it is repeated."""
    if len(values) > 1:
        raise ConfigError(
            f"{len(values)} trials are given ({', '.join(values)})", where=parameter.opts[0], allowed="one",
            remedy="choose the one in which the person stands with all anatomical markers",
        )  # fmt: skip
    return values[0] if values else None


SOURCE_OPTION = click.option(
    "--source",
    type=MarkerSource(capture=True),
    metavar="SOURCE",
    help=f"Markers: walker (a built-in simulated gait), a file ({listed(MARKERS)}), tcp://HOST:PORT, or a "
    "capture system as qtm://HOST.",
)
TARE_OPTION = click.option(
    "--tare",
    type=Span(),
    help="Seconds of the recording in which nobody is on the plates: their mean is subtracted from the "
    "forces.",
)
USUAL_FRAMES = "marked"
COLUMNS = ("all", "motion", "kinetics", "kinetics-right", "kinetics-left")
SIDE_OPTION = click.option(
    "--side",
    type=click.Choice(["right", "left", "both"]),
    help="Leg to solve (default: both legs if both have markers).",
)
RUN_OPTIONS = (
    click.option("--config", "--run", "config", type=Config("runs"), metavar="RUN",
                 help=f"Run config: {OF_NAME}."),
    click.option("--set", "choices", multiple=True, metavar="NAME=CHOICE",
                 help="Choose one of the alternatives in the run config's `choices` (repeatable)."),
    SOURCE_OPTION,
    click.option("--subject", type=Config("subjects"), help=f"Subject model: {OF_NAME}."),
    UNNAMED_OPTION,
    static_option("Static trial from which the person is calibrated if --subject is not given."),
    click.option(
        "--lab",
        type=Config("labs"),
        help=f"Marker map: {OF_NAME} (default: the map that fits the names of the markers).",
    ),
    click.option(
        "--forces",
        type=MarkerSource(capture=True),
        metavar="FORCES",
        help=f"Force plates: a file ({listed(FORCES)}; .xml: external loads of OpenSim), "
        "tcp://HOST:PORT, walker (those of the simulated gait), or the capture system of --source.",
    ),
    click.option(
        "--feet",
        metavar="BODIES",
        help="For a model with its own markers: bodies on which the force plates act (default: the feet that "
        "its neutral pose shows).",
    ),
    TARE_OPTION,
    *MEASURE_OPTIONS,
    click.option("--mass", "mass_kg", type=NumberWithin(2.0, 400.0), help="Mass of the person [kg]."),
    SIDE_OPTION,
    click.option("--model", type=Config("models"), help=f"Model: {OF_NAME}."),
    click.option(
        "--method",
        type=MethodName(),
        help="Method that solves the model: zero, minimised, prescribed, hinge, ball, free.",
    ),
    click.option(
        "--ik-setup",
        type=click.Path(),
        metavar="FILE",
        help="Setup file of OpenSim's inverse kinematics tool (.xml): weights of markers and coordinates.",
    ),
    PERSON_OPTION,
    EMG_OPTION,
    *FILE_OPTIONS,
)  # fmt: skip
PRIORITY_OPTION = click.option(
    "--priority", type=click.Choice(["first", "ordinary"]),
    help="first: run before ordinary programs, where permitted; ordinary: share the processors with them "
    "(default: first).",
)  # fmt: skip
LIVE_OPTIONS = (
    click.option("--duration", "duration_s", type=float, help="Stop after this many seconds."),
    click.option(
        "--wait-ms",
        type=NumberWithin(0.0, 1000.0),
        help="Longest time that a frame of markers waits for its force samples [ms] (default: 20).",
    ),
    PRIORITY_OPTION,
    click.option("--results", type=Address(binding=True), help="Address at which results are published."),
    click.option("--control", type=Address(binding=True), help="Address at which commands are received."),
    offset_option(),
)  # fmt: skip


ANYWAY_OPTION = click.option(
    "--anyway", is_flag=True, help="Solve a trial even if it does not fit its subject or static trial."
)


REQUEST_OPTION = click.option(
    "--request",
    is_flag=True,
    hidden=True,
    help="Read all other arguments from one line of standard input (for programs).",
)


def table_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options --frames and --columns, for the contents of tables."""
    function = click.option(
        "--columns",
        type=click.Choice(COLUMNS),
        default=COLUMNS[0],
        show_default=True,
        help="Columns of tables: all, motion, or kinetics (moments and powers of both legs or of one, in the "
        "frames in which they are known). In a .mot file, `all` writes motion, moments and powers.",
    )(function)
    return click.option(
        "--frames",
        type=click.Choice(["marked", "all", "ok"]),
        default=USUAL_FRAMES,
        show_default=True,
        help="Rows of tables: marked (all frames, with a column status), all (without that column), or ok "
        "(values only in frames whose status is ok, the others blank).",
    )(function)


def check_of_use(option: str, fits: bool, what: str, remedy: str = "leave it out") -> None:
    """Raise ConfigError for an option without effect; fits : whether it has an effect; what : purpose of the
    option
    """
    if not fits:
        raise ConfigError(f"the option applies only to {what}", where=option, remedy=remedy)


def run_of_options(**entries: Any) -> RunConfig:
    """Return a run that options alone describe; ConfigError for a value that a run config rejects."""
    try:
        return RunConfig(**entries)
    except ValueError as error:  # a schema's sentence
        raise ConfigError(str(error), where="the options", remedy="correct the value") from None


def results_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option --out, for files with the results."""
    return click.option(
        "--out",
        "outputs",
        multiple=True,
        type=click.Path(path_type=Path),
        help="Write the results to this .mot, .sto, .csv or .mcap file (repeatable); .c3d: a copy of a C3D "
        "recording, with the results added.",
    )(function)


def file_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options --units and --up, which override the unit and the vertical axis that files state."""
    for option in reversed(FILE_OPTIONS):
        function = option(function)
    return function


def run_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that describe a live run."""
    for option in reversed((*RUN_OPTIONS, *LIVE_OPTIONS)):
        function = option(function)
    return function


def method_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options on the person and the solution method, but not on the destination of results."""
    for option in reversed(RUN_OPTIONS):
        if option is not SOURCE_OPTION:
            function = option(function)
    return function


def make_run(config: str | None = None, choices: Sequence[str] = (), **options: Any) -> RunConfig:
    """Return the run that a run config (None = none) describes, changed by the options of the command line;
    `choices` (NAME=CHOICE) selects among the alternatives that the config itself defines.
    """
    from rtsim.live.forces import pressed_as_loads_say

    check_of_use(
        "--set", bool(config) or not choices, "run configs with choices", "add --config RUN, or leave it out"
    )
    run = load_run(find_config(config, "runs"), choices) if config else RunConfig(name="live")
    run = without_walkers_plate(run, options.get("source") or run.source)
    check_addresses(run, config or "")
    wait_ms, feet = options.pop("wait_ms", None), options.pop("feet", None) or ""
    tare = options.pop("tare", None)
    options |= asked_of_plates(run, feet, wait_ms, tare)
    options["measured"] = measures_given(options, run.measured)
    given_ports = {k: options.pop(k, None) for k in PORTS}
    usual = msgspec.structs.asdict(run.ports)
    ports = placed(given_ports, usual, options.pop("port_offset", 0))
    given = {k: v for k, v in options.items() if v is not None and k in RunConfig.__struct_fields__}
    if not 0.0 <= given.get("duration_s", 0.0) <= LONGEST_S:
        raise ConfigError(
            f"{given['duration_s']}", where="--duration", allowed=f"0 (until the end) to {LONGEST_S:g} s"
        )
    try:
        run = msgspec.structs.replace(run, **given, ports=msgspec.structs.replace(run.ports, **ports))
    except ValueError as error:  # a schema's sentence
        raise ConfigError(str(error), where="the options", remedy="correct the value") from None
    run = pressed_as_loads_say(run)
    check_measures_given(run)
    asked = {"--feet": feet, "--wait-ms": wait_ms, "--mass": options.get("mass_kg"), "--tare": tare}
    check_plates_given(run, asked)
    if run.methods and run.method and run.method not in run.methods:
        run = msgspec.structs.replace(run, methods=(run.method, *run.methods))
    return run


def without_walkers_plate(run: RunConfig, source: str) -> RunConfig:
    """Return the run for a `source` that may differ from that of its config. If the walker is replaced, its
    synthetic force plate and its mass are removed from the run, too.
    """
    if run.forces != WALKER or run.source != WALKER or source == WALKER:
        return run
    return msgspec.structs.replace(run, forces="", mass_kg=0.0)


def asked_of_plates(
    run: RunConfig, feet: str, wait_ms: float | None, tare: tuple[float, float] | None
) -> dict[str, Any]:
    """Return the run settings for the options on force plates: feet (names of bodies, separated by commas),
    longest wait for force samples [ms], and time span for taring [s].
    """
    asked: dict[str, Any] = {}
    plates: dict[str, Any] = {k: v for k, v in (("wait_ms", wait_ms), ("tare", tare)) if v is not None}
    if feet:
        plates["feet"] = tuple(name.strip() for name in feet.split(","))
    if plates:
        asked["plates"] = msgspec.structs.replace(run.plates, **plates)
    return asked


def check_plates_given(run: RunConfig, given: dict[str, object]) -> None:
    """Raise ConfigError for an option that only has an effect with force plates, if the run has none."""
    from rtsim.live.forces import may_have_forces
    from rtsim.live.subjects.person_mass import weighs

    asked = [option for option, value in given.items() if value and not (option == "--mass" and weighs(run))]
    option = next(iter(asked), "")
    if option and not may_have_forces(run):
        raise ConfigError(
            "the option applies only to a run with force plates, and this run has none",
            where=option,
            remedy=f"give --forces, or leave {option} out",
        )


def check_measures_given(run: RunConfig) -> None:
    """Raise ConfigError for given measures of a person, such as leg lengths, if the run calibrates nobody."""
    for option in given_measures(run.measures, run.measured)[:1]:
        check_of_use(
            option, not run.subject, "a calibration of the person, but --subject is calibrated already"
        )
        check_of_use(option, run.source not in MADE_UP, f"a calibration, but {run.source} is synthetic")


def check_addresses(run: RunConfig, config: str) -> None:
    """Raise ConfigError for an invalid address in a run config."""
    for key, address in msgspec.structs.asdict(run.ports).items():
        checked(address, f"{config}: ports.{key}", binding=True)
    if is_capture(run.source):
        checked_capture(run.source, f"{config}: source")
    elif is_stream(run.source):
        checked(run.source, f"{config}: source")


def check_bound(run: RunConfig, security: Security | None = None, player: bool = False) -> None:
    """Raise ConfigError before slow work for an address of the run that cannot be bound now; player : whether
    the run has a player, which also binds an address.
    """
    named = {f"--{key}": getattr(run.ports, key) for key in BOUND}
    check_ports({"ports.markers": run.ports.markers, **named} if player else named, security)


def tell_notes(run: RunConfig) -> None:
    """Report the notes on the model, and requests of an inverse kinematics setup that are not supported."""
    from rtsim.files.markers.trial import count_of
    from rtsim.files.osim.document import Aloud
    from rtsim.live.subjects.feet import told_feet
    from rtsim.methods.kinematics.choice import followed_by
    from rtsim.models.load import load_model

    notes: list[str] = []
    spec = load_model(run.model, notes.append)
    if notes:
        tell(f"{run.model}: {count_of(len(notes), 'note')}; `rtsim check {run.model}` prints them")
    for note in notes:
        if isinstance(note, Aloud):
            tell(f"{run.model}: {note}")
    for note in told_feet(run, spec):
        tell(f"{run.model}: {note}")
    if run.ik_setup:  # refused before where no model brings markers
        for note in followed_by(run, spec).notes:
            tell(f"{run.ik_setup}: {note}")


def check_recording(path: Path, option: str) -> None:
    """Raise ConfigError before a run if no recording could be written to `path`."""
    if path.suffix.lower() != RECORDING:
        raise ConfigError(
            f"{path} cannot be a recording",
            where=option,
            allowed=f"a new file whose name ends in {RECORDING}",
        )
    if path.exists():
        raise ConfigError(
            f"{path} exists already", where=option, remedy="choose another name or remove it first"
        )
    check_folder(path, option)
