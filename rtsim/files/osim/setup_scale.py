"""Setup files of OpenSim's scale tool."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from rtsim.files.osim.document import Node, read_part
from rtsim.files.osim.tasks import IkTasks, file_of, read_tasks, time_range

TOOL = "ScaleTool"
MEASURED, BY_HAND = "measurements", "manualScale"
Factors = tuple[float, float, float]


class Measurement(NamedTuple):
    """Pairs of markers whose distances on a person, divided by those in the model, give the scale factors of
    some bodies along some of their axes.
    """

    name: str
    pairs: tuple[tuple[str, str], ...]
    bodies: tuple[tuple[str, str], ...]  # body and its axes, as "XYZ"


class Scaler(NamedTuple):
    """Settings for scaling a model: how the scale factors of bodies are determined, in which order, and
    how masses are scaled.
    """

    order: tuple[str, ...]  # "measurements", "manualScale"; factors of later steps replace earlier ones
    measurements: tuple[Measurement, ...]
    by_hand: tuple[tuple[str, Factors], ...]  # body and its factors
    marker_file: Path | None
    times: tuple[float, float]  # [s]
    keep_mass_shares: bool


class Placer(NamedTuple):
    """Settings for placing the markers of the scaled model: its pose is fitted to a static trial, then its
    markers are moved to the measured ones.
    """

    tasks: IkTasks
    marker_file: Path | None
    coordinate_file: Path | None
    times: tuple[float, float]  # [s]
    most_movement: float  # largest movement of a marker in `times` [unit of the file]; below 0 = any


class ScaleSetup(NamedTuple):
    """A complete setup of scaling. Files are relative to its folder; None = not stated, or the step is
    disabled.
    """

    mass_kg: float | None
    model_file: Path | None
    marker_set_file: Path | None
    scaler: Scaler | None
    placer: Placer | None
    notes: tuple[str, ...]


def read_scale_setup(path: str | Path) -> ScaleSetup:
    """Read the setup in an .xml file; ConfigError with file, element and remedy for what cannot be read."""
    tool = read_part(Path(path), TOOL, "give the setup file of a scale tool (.xml)")
    mass = tool.number("mass", -1.0)
    maker, scaler, placer = (tool.child(tag) for tag in ("GenericModelMaker", "ModelScaler", "MarkerPlacer"))
    return ScaleSetup(
        mass_kg=mass if mass > 0.0 else None,
        model_file=file_of(maker, "model_file") if maker else None,
        marker_set_file=file_of(maker, "marker_set_file") if maker else None,
        scaler=read_scaler(scaler) if scaler and scaler.flag("apply", True) else None,
        placer=read_placer(placer) if placer and placer.flag("apply", True) else None,
        notes=tuple(tool.document.notes),
    )


def read_scaler(node: Node) -> Scaler:
    order = tuple(node.text("scaling_order").split())
    for word in order:
        if word not in (MEASURED, BY_HAND):
            node.fail(f"unknown scaling_order {word!r}", allowed=f"{MEASURED}, {BY_HAND}")
    return Scaler(
        order=order,
        measurements=tuple(
            read_measurement(measurement)
            for measurement in node.members("MeasurementSet")
            if measurement.flag("apply", True)
        ),
        by_hand=tuple(read_factors(scale) for scale in node.members("ScaleSet") if scale.flag("apply", True)),
        marker_file=file_of(node, "marker_file"),
        times=time_range(node),
        keep_mass_shares=node.flag("preserve_mass_distribution"),
    )


def read_measurement(node: Node) -> Measurement:
    pairs = []
    for pair in node.members("MarkerPairSet"):
        names = pair.text("markers").split()
        if len(names) != 2 or names[0] == names[1]:
            pair.fail(
                f"this pair consists of the markers {' '.join(names) or 'none'}",
                allowed="two different names",
            )
        pairs.append((names[0], names[1]))
    bodies = []
    for body in node.members("BodyScaleSet"):
        axes = "".join(body.text("axes").split()).upper()
        if not axes or set(axes) - set("XYZ"):
            body.fail(f"axes {axes or 'none'}", allowed="some of X Y Z")
        bodies.append((body.name, axes))
    return Measurement(node.name, tuple(pairs), tuple(bodies))


def read_factors(node: Node) -> tuple[str, Factors]:
    x, y, z = node.vector("scales", default=None).tolist()
    if not min(x, y, z) > 0.0:
        node.fail(f"scales {x:g} {y:g} {z:g}", allowed="three numbers above 0")
    return node.text("segment"), (x, y, z)


def read_placer(node: Node) -> Placer:
    return Placer(
        read_tasks(node),
        file_of(node, "marker_file"),
        file_of(node, "coordinate_file"),
        time_range(node),
        node.number("max_marker_movement", -1.0),
    )
