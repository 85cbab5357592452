"""`rtsim check`: validation of configs."""

from __future__ import annotations

import glob
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rtsim.cli.terminal.format_names import naming_formats
from rtsim.cli.terminal.lines import tell
from rtsim.config.load import read_toml
from rtsim.config.paths import configs_root, find_config
from rtsim.config.reading import is_file
from rtsim.config.runs.measures_schema import PersonMeasures
from rtsim.errors import ConfigError
from rtsim.files.formats import FORCES, MARKERS, PRESSURE, has_format, suffixes
from rtsim.live.inputs.sources import FILES, MADE_UP, NATURAL
from streams.addresses import is_stream

if TYPE_CHECKING:
    from rtsim.config.models.model_schema import ModelSpec
    from rtsim.config.runs.hil_schema import HilSpec
    from rtsim.config.runs.run_schema import RunConfig
    from rtsim.subjects.subject import Subject

RECORDINGS = (*suffixes(MARKERS), NATURAL)
READ_BY = {
    **dict.fromkeys(suffixes(FORCES), "force plates are read by `rtsim analyse --forces`"),
    **dict.fromkeys(RECORDINGS, "recordings are read by `rtsim analyse`"),
    **dict.fromkeys(
        (".mot", ".sto"), "such files are read by `rtsim analyse --forces` and `rtsim simulate --motion`"
    ),
    ".csv": "this format is written for other programs, and no command of rtsim reads it",
    ".xml": "setups of OpenSim's tools are read together with a model: `--ik-setup`, `rtsim scale --setup`",
    **dict.fromkeys((".obj", ".stl", ".vtp"), "this file is checked together with the config that names it"),
}
"""Suffix of files that are not configs -> the command that reads them, for an error message."""
MEASURES = PersonMeasures.__struct_fields__
# keys that only one kind of config has; methods are a table in a model, a list in a run
KINDS = {
    **dict.fromkeys(("segments", "hip_regression", "ligament_mean_mm"), "subject"),
    **dict.fromkeys(("right", "left"), "lab"),
    **dict.fromkeys(MEASURES, "measures"),
    **dict.fromkeys(("female", "male"), "inertia"),
    **dict.fromkeys(("generators", "joints", "fits", "base", "velocity_blends_to"), "generators"),
    **dict.fromkeys(("actuator", "safe_state"), "device"),
    **dict.fromkeys(("exchange", "limits"), "hil"),
    **dict.fromkeys(("analyse", "simulate", "fit", "design"), "study"),
    **dict.fromkeys(
        ("bodies", "elements", "rolls", "couplers", "surfaces", "muscles", "angles", "ligaments", "springs",
         "contacts", "frictions", "loads", "simulation", "gravity_m_s2", "flexion", "both_sides_of",
         "adds_to"),
        "model",
    ),
}  # fmt: skip
WHOSE = {"model", "source", "subject", "static"}
"""Keys by which a run config names the model or the person."""
FOLDERS = {
    "models": "model", "subjects": "subject", "labs": "lab", "inertia": "inertia", "devices": "device",
    "hil": "hil", "generators": "generators",
}  # fmt: skip


@click.command("check")
@naming_formats
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--ik-setup",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Show which markers and coordinates this setup of OpenSim's inverse kinematics tool (.xml) fits "
    "on the one model in PATHS.",
)
def command(paths: tuple[Path, ...], ik_setup: Path | None) -> None:
    """Check configs (PATHS, or names of configs that come with rtsim; without PATHS, all of those): models,
    marker maps, inertias, torque generators, runs and subjects, which are recognised by their content; and
    pressure files (PRESSURE_FILES), recognised by their suffix.
    """
    named = [found for path in paths for found in (shipped(path) or [path])]
    chosen = tuple(named if paths else sorted(configs_root().glob("*/*.toml")))
    faults = 0
    for path in chosen:
        try:
            for text in check_config(path):
                tell(f"{path}: {text}", err=False)
        except ConfigError as error:
            faults += 1
            text = str(error)  # what a config names may be at fault in another file
            tell(text if str(path) in text else f"{path}: {text}")
    if faults:
        raise ConfigError(f"{faults} of {len(chosen)} configs contain mistakes", where="check")
    if ik_setup is not None:
        if len(paths) != 1:
            raise ConfigError(
                "the setup can be shown for one model only",
                where="--ik-setup",
                remedy="give one PATH, the file of a model",
            )
        for text in asked_of(paths[0], ik_setup):
            tell(f"{ik_setup}: {text}", err=False)


def shipped(path: Path) -> list[Path]:
    """Return the paths of all shipped configs with this name, of any kind; empty if `path` leads to a file of
    the user.
    """
    if path.suffix or len(path.parts) != 1 or path.exists():
        return []
    return sorted(configs_root().glob(f"*/{glob.escape(path.name)}.toml"))


def asked_of(path: Path, ik_setup: Path) -> list[str]:
    """Return notes on what an inverse kinematics setup requires of a model; ConfigError if the model cannot
    provide it.
    """
    from rtsim.files.markers.trial import count_of
    from rtsim.files.osim.setup_ik import read_ik_setup
    from rtsim.models.following import following_of
    from rtsim.models.load import load_model

    spec = load_model(str(path))
    found = following_of(spec, read_ik_setup(ik_setup), str(ik_setup))
    fitted = ", ".join(f"{name} {weight:g}" for name, weight in found.markers.items())
    drawn = ", ".join(f"{one.name} {one.weight:g}" for one in found.coordinates)
    left_out = [marker.name for marker in spec.markers if marker.name not in found.markers]
    return [
        f"{count_of(len(found.markers), 'marker')} are fitted, in the order of their weights: {fitted}",
        *(
            [f"coordinates that are pulled towards a target value, in the order of their weights: {drawn}"]
            if drawn
            else []
        ),
        *([f"markers of the model that are not fitted: {', '.join(left_out)}"] if left_out else []),
        *(f"note: {note}" for note in found.notes),
    ]


def check_config(path: Path) -> list[str]:
    """Check a config; return its kind and notes; ConfigError if it is invalid."""
    from rtsim.config.load import load_toml
    from rtsim.config.runs.choices import choices_in, load_run
    from rtsim.config.runs.device_schema import DeviceSpec
    from rtsim.config.runs.hil_schema import HilSpec
    from rtsim.config.runs.inertia_schema import InertiaTable
    from rtsim.files.pressure.pressure import read_pressure, told
    from rtsim.models.load import OPENSIM, load_model
    from rtsim.report.model import feet_told, size_of, understood
    from rtsim.subjects.calibration.person_measures import AskedMeasures, all_measures
    from rtsim.subjects.markers.labs import load_lab
    from rtsim.subjects.subject import load_subject

    if has_format(path, PRESSURE):
        return told(read_pressure(path))
    foreign = path.suffix.lower() == OPENSIM
    if path.suffix.lower() in READ_BY and is_file(path):  # also an empty one, which is no bad run
        raise no_config(path)
    try:
        kind = "model" if foreign else kind_of(path)
    except ConfigError as error:
        if path.suffix.lower() in ("", ".toml") or not is_file(path):
            raise
        raise no_config(path) from error
    if kind == "model":
        notes: list[str] = []
        spec = load_model(str(path), notes.append)
        check_model(spec, notes.append)
        return [
            f"model {spec.name}: {size_of(spec)}, methods {', '.join(spec.methods)}",
            *(understood(spec) if foreign else ()),  # not written in the words that follow
            *feet_told(spec),
            *(f"note: {note}" for note in notes),
        ]
    if kind == "subject":
        subject = load_subject(path)
        check_subject(subject)
        return [
            f"subject {subject.name}: {len(subject.segments)} segments, {len(subject.marker_names)} markers"
        ]
    if kind == "measures":
        all_measures(AskedMeasures(str(path)))
        return ["file of measured body dimensions of a person"]
    if kind == "lab":
        return [f"lab {load_lab(str(path)).name}"]
    if kind == "inertia":
        return [f"inertia {load_toml(path, InertiaTable).name}"]
    if kind == "generators":
        return [check_generators(path)]
    if kind == "device":
        return [f"device {load_toml(path, DeviceSpec).name}"]
    if kind == "study":
        return check_study(path)
    if kind == "hil":
        return [check_hil(load_toml(path, HilSpec), path)]
    run = load_run(path)
    lines = [f"run {run.name}", *check_run(run, path)]
    for name, tables in choices_in(read_toml(path), path).items():
        for choice in tables:
            check_run(load_run(path, [f"{name}={choice}"]), path)
        lines.append(f"note: alternatives that this run offers: --set {name}={'|'.join(tables)}")
    return lines


def no_config(path: Path) -> ConfigError:
    """Return the error for a file that is no config, which names the command that reads it."""
    from rtsim.models.load import OPENSIM

    return ConfigError(
        f"a {path.suffix} file that is not a config", where=str(path),
        allowed=", ".join((".toml", OPENSIM, *suffixes(PRESSURE))),
        remedy=READ_BY.get(path.suffix.lower(), "give a config"),
    )  # fmt: skip


def check_generators(path: Path) -> str:
    """Build the torque generators of a set, which detects impossible values, and return a description of the
    set. If the set states which joints have generators, only these generators are built, otherwise all.
    """
    from rtsim.models.generator_sets import generators_of, load_set
    from rtsim.models.packing.torque_generators import pack_curves, pack_generators

    found = load_set(str(path))
    if found.joints:
        pack_generators(generators_of(str(path)))
    else:
        pack_curves([*found.generators.values()])
    return f"generators {found.name}: {len(found.generators)} torque generators, {len(found.joints)} joints"


def check_study(path: Path) -> list[str]:
    """Read a parameter study; return a description and notes on parameter values that a config would reject;
    ConfigError for an impossible study.
    """
    from rtsim.files.markers.trial import count_of
    from rtsim.studies.checks import refused_values
    from rtsim.studies.plan import read_plan

    plan = read_plan(path)
    names = ", ".join(one.name for one in plan.spec.parameters)
    return [
        f"study {plan.spec.name}: {count_of(len(plan.cases), 'case')}, design {plan.spec.design.kind} over "
        f"{names}",
        *(f"note: {note}" for note in refused_values(plan)),
    ]


def check_hil(spec: HilSpec, path: Path) -> str:
    """Check that model, coordinate and device of a hardware-in-the-loop config fit, and that the loop is
    stable; return a description of the config.
    """
    from msgspec.structs import asdict

    from rtsim.cli.terminal.ports import check_twins
    from rtsim.cli.terminal.types import checked
    from rtsim.live.hardware.device_loop import fields_of
    from rtsim.live.hardware.limb_parts import parts_of
    from rtsim.live.hardware.wearable_run import run_of
    from rtsim.tuning.costs import places_of
    from rtsim.tuning.problem import parameters_of

    for key, address in asdict(spec.ports).items():
        checked(address, f"{path}: ports.{key}", binding=True)
    check_twins(asdict(spec.ports))
    if spec.markers is not None:
        run_of(spec)
        return (
            f"hardware-in-the-loop run {spec.name}: {spec.device} on {spec.coordinate} of a person, "
            f"markers from the run config {spec.markers.run}"
        )
    parts_of(spec)
    if spec.tuning is not None:
        parameters_of(spec)
        places_of(spec.tuning, fields_of(spec))
    return (
        f"hardware-in-the-loop run {spec.name}: {spec.device} on {spec.coordinate} of {spec.model}, "
        f"{spec.exchange.rate_hz:g} Hz"
    )


def check_subject(subject: Subject) -> None:
    """Build the lower limb of a subject model, which detects impossible segments, landmarks and angles."""
    from rtsim.models.load import ONE_LEG, load_model, model_for
    from rtsim.models.model import build

    build(load_model(model_for(ONE_LEG, subject.side)), subject)


def check_sources(run: RunConfig, path: Path) -> None:
    """Raise ConfigError if the source or the static trial of a run is neither a recording nor a stream."""
    for key, file in (("source", run.source), ("static", run.static)):
        if file and not (is_stream(file) or file in MADE_UP or Path(file).suffix.lower() in RECORDINGS):
            raise ConfigError(
                f"{file!r} cannot be used as a source",
                where=f"{path}: {key}",
                allowed=f"{', '.join(MADE_UP)}, {FILES}, or tcp://HOST:PORT",
                remedy="correct the value",
            )


def check_run(run: RunConfig, path: Path) -> list[str]:
    """Check that everything that the run names exists and that the source is valid, except recordings, which
    may be added later.

    Existing recordings are read and compared with the person; return notes on that.
    """
    import msgspec

    from rtsim.cli.terminal.options import check_addresses
    from rtsim.cli.terminal.ports import check_twins
    from rtsim.files.forces.force_units import check_units
    from rtsim.files.markers.axes import parse_up
    from rtsim.live.checks import check_measured, check_side
    from rtsim.live.inputs.sources import brings_markers
    from rtsim.live.subjects.subject_check import notes_before
    from rtsim.models.load import load_model
    from rtsim.stages.building.declaration import OWN_MARKERS
    from rtsim.stages.building.find import check_named, find_stages
    from rtsim.stages.building.run_checks import check_run
    from rtsim.subjects.calibration.person_measures import AskedMeasures, all_measures
    from rtsim.subjects.markers.labs import load_lab
    from rtsim.subjects.subject import load_subject

    check_sources(run, path)
    check_addresses(run, str(path))
    check_twins(msgspec.structs.asdict(run.ports))
    if run.units:
        check_units(run.units, f"{path}: units")
    if run.up:
        parse_up(run.up, f"{path}: up")
    spec = load_model(run.model)
    check_side(run, spec)
    check_measured(run, spec)
    methods = spec.methods
    unknown = next((name for name in (run.method, *run.methods) if name and name not in methods), None)
    if unknown is not None:
        raise ConfigError(
            f"unknown method {unknown!r}", where=f"{path}: method", allowed=", ".join(methods),
            remedy="correct the value",
        )  # fmt: skip
    check_named(run.stages)
    stages = find_stages(run.stages).values()
    of_model = brings_markers(run, spec)
    # of another model, which the command line may name, is nothing known
    told = []
    of_either = any(stage.tables and OWN_MARKERS not in stage.inputs for stage in stages)
    says_whose = bool(WHOSE & read_toml(path).keys())
    if run.recruitment is not None and not says_whose and not of_either:
        told.append(
            "[recruitment] could not be compared with a model: the file names neither a model nor a person"
        )
    elif of_model or of_either or run.recruitment is not None or run.options or (run.stages and says_whose):
        check_run(run, spec, of_model=of_model, forces=True)
    if run.subject:
        load_subject(find_config(run.subject, "subjects"))
    if run.lab:
        load_lab(run.lab)
    if run.measures:
        all_measures(AskedMeasures(run.measures, run.measured))
    files = [
        file for file in (run.source, run.static) if file and file not in MADE_UP and not is_stream(file)
    ]
    if is_stream(run.source) or run.source in MADE_UP or not all(map(is_file, files)):
        return [f"note: {note}" for note in told]
    return [f"note: {note}" for note in (*told, *notes_before(run))]


def check_model(spec: ModelSpec, note: Callable[[str], None] = lambda text: None) -> None:
    """Build a model for each of its solution methods, which detects missing landmarks, missing joints, and
    constraints or soft elements without the length that they should keep.

    A model that needs a person's anatomy is built with the shipped subject.

    note : function called with each note on the model
    """
    from rtsim.config.models.model_checks import check_inertias
    from rtsim.models.model import build_each
    from rtsim.models.roles import roles_of
    from rtsim.subjects.both_sides import stand_in

    check_inertias(spec, note)
    subject = stand_in(spec)
    build_each(spec, subject, spec.methods)
    for method in spec.methods:
        roles_of(spec, method, subject)


def kind_of(path: Path) -> str:
    """Return the kind of a config (model, subject, lab, inertia, device, hil or run), by the keys in the
    file, or else by its folder.
    """
    data = read_toml(path)
    found = next((kind for key, kind in KINDS.items() if key in data), "")
    if not found and isinstance(data.get("methods"), dict):
        return "model"
    return found or FOLDERS.get(path.absolute().parent.name, "run")
