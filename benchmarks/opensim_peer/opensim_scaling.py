"""gait2354 scaled to subject01 by its published setup, beside OpenSim's scale tool.

The tool leaves its static pose where the steps of its optimiser have become small in the unit of the
model's lengths. The sum that it minimises is sum w |x - x_measured|^2 / sum w + sum w (q - q_wanted)^2. With
model and markers c times as large and the weights of coordinates c^2 times, it is c^2 times the same
function of the angles: its minimum is the same pose, and the tool comes nearer to it. So the tool is run as
it is, and once more with lengths in millimetres where it takes them for metres.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.bench.figures import BenchFigure
from rtsim.files.markers.trc import read_trc
from rtsim.files.osim.model import read_osim
from rtsim.files.osim.setup_scale import read_scale_setup
from rtsim.methods.kinematics.scaling import coordinate_goals, place, scale
from rtsim.methods.kinematics.static_pose import mean_places
from rtsim.methods.muscles.moment_arms import arms_of
from rtsim.models.measuring import frames_between

Array = NDArray[np.float64]

GENERIC, SETUP, STATIC = "gait2354_simbody.osim", "subject01_Setup_Scale.xml", "subject01_static.trc"
MARKER_SET = "gait2354_Scale_MarkerSet.xml"
FILES = (GENERIC, SETUP, STATIC, MARKER_SET)
SCALED, MOTION = "subject01_scaledOnly.osim", "placed.mot"
COARSE, FINE = 100.0, 1000.0
"""Lengths in centimetres and in millimetres."""
LARGEST, LARGEST_MM = 1e-6, 0.5
TRC_HEAD = 5  # lines of a .trc file before its rows
ROW_HEAD = 2  # columns of a row before its coordinates


class PlacedMarkers(NamedTuple):
    """Result of a run of the tool: position of each marker on its body (3,) [mm], and the static pose by
    coordinates [rad, m].
    """

    places: Mapping[str, Array]
    pose: Mapping[str, float]


class Theirs(NamedTuple):
    """OpenSim's results: scale factors (3,) and masses [kg] of bodies; marker placement by the tool as it
    is, and with lengths in smaller units.
    """

    factors: Mapping[str, Array]
    masses: Mapping[str, float]
    single: PlacedMarkers
    coarse: PlacedMarkers
    fine: PlacedMarkers


def scaling_figures(opensim: Any, folder: Path) -> list[BenchFigure]:
    """Return the largest differences from the tool, and the sums that both minimise; FILES are in the
    folder.
    """
    ours = OwnScaling(folder)
    with TemporaryDirectory() as work:
        theirs = by_tool(opensim, folder, Path(work))
    masses = {body.name: body.mass_kg for body in ours.placed.bodies}
    places = ours.places()
    return [
        BenchFigure("scale.factors", relative(ours.scaled.factors, theirs.factors), "1", LARGEST, "lower"),
        BenchFigure("scale.mass", relative(masses, theirs.masses), "1", LARGEST, "lower"),
        BenchFigure("scale.marker_mm", farthest(places, theirs.fine.places), "mm", LARGEST_MM, "lower"),
        BenchFigure("scale.marker_mm.single_run", farthest(places, theirs.single.places), "mm"),
        BenchFigure("opensim_scale.still_moves_mm", farthest(theirs.coarse.places, theirs.fine.places), "mm"),
        BenchFigure("scale.objective", ours.objective(ours.pose.q), "m^2"),
        BenchFigure("opensim_scale.objective", ours.objective(ours.q_of(theirs.fine.pose)), "m^2"),
        BenchFigure(
            "opensim_scale.objective.single_run", ours.objective(ours.q_of(theirs.single.pose)), "m^2"
        ),
    ]


def relative(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> float:
    """Return the largest relative difference of any number."""
    return max(float(np.abs(np.asarray(ours[name]) / x - 1.0).max()) for name, x in theirs.items())


def farthest(ours: Mapping[str, Array], theirs: Mapping[str, Array]) -> float:
    """Return the largest distance between the two positions of any marker."""
    return max(float(np.linalg.norm(ours[name] - theirs[name])) for name in ours.keys() | theirs.keys())


def by_tool(opensim: Any, folder: Path, work: Path) -> Theirs:
    """Run the tool three times in an empty folder: as its setup says, and with lengths in smaller units."""
    for name in FILES:
        copyfile(folder / name, work / name)
    tool = opensim.ScaleTool(str(work / SETUP))
    single = placed(opensim, tool, work, 1.0)
    generic, scaled = opensim.Model(str(work / GENERIC)), opensim.Model(str(work / SCALED))
    bodies = members(scaled.getBodySet())
    before = {body.getName(): size(body) for body in members(generic.getBodySet())}
    return Theirs(
        {body.getName(): size(body) / before[body.getName()] for body in bodies},
        {body.getName(): body.getMass() for body in bodies},
        single, *(placed(opensim, enlarged(opensim, work, c), work, c) for c in (COARSE, FINE)),
    )  # fmt: skip


def enlarged(opensim: Any, work: Path, c: float) -> Any:
    """Return the tool for the model that it has scaled, and for the trial, with all lengths multiplied by c.

    The tool's start pose is enlarged, too, and weights of coordinates are c^2 times as large.
    """
    model = opensim.Model(str(work / SCALED))
    for coordinate in members(model.updCoordinateSet()):
        if coordinate.getMotionType() == opensim.Coordinate.Translational:
            coordinate.setRangeMin(c * coordinate.getRangeMin())
            coordinate.setRangeMax(c * coordinate.getRangeMax())
            coordinate.setDefaultValue(c * coordinate.getDefaultValue())
    start, trial = f"start_{c:g}.osim", f"static_{c:g}.trc"
    model.printToXML(str(work / start))
    (work / trial).write_text(enlarged_trial((work / STATIC).read_text(), c))
    tool = opensim.ScaleTool(str(work / SETUP))
    tool.getGenericModelMaker().setModelFileName(start)
    tool.getGenericModelMaker().setMarkerSetFileName("Unassigned")
    scaler, order = tool.getModelScaler(), opensim.ArrayStr()
    order.append("manualScale")
    scaler.setScalingOrder(order)
    scaler.setOutputModelFileName(f"large_{c:g}.osim")
    scaler.setOutputScaleFileName("Unassigned")
    scaler.getScaleSet().setSize(0)
    for body in members(model.getBodySet()):
        by = opensim.Scale()
        by.setSegmentName(body.getName())
        by.setScaleFactors(opensim.Vec3(c, c, c))
        by.setApply(True)
        scaler.getScaleSet().cloneAndAppend(by)
    placer = tool.getMarkerPlacer()
    placer.setStaticPoseFileName(trial)
    for task in members(placer.getIKTaskSet()):
        if opensim.IKCoordinateTask.safeDownCast(task) is not None:
            task.setWeight(c * c * task.getWeight())
    return tool


def enlarged_trial(text: str, c: float) -> str:
    """Return a .trc file with all its coordinates multiplied by c."""
    lines = text.splitlines()
    rows = [line.split("\t") for line in lines[TRC_HEAD:]]
    return "\n".join(
        lines[:TRC_HEAD]
        + [
            "\t".join(row[:ROW_HEAD] + [repr(c * float(x)) if x.strip() else x for x in row[ROW_HEAD:]])
            for row in rows
        ]
    )


def placed(opensim: Any, tool: Any, work: Path, c: float) -> PlacedMarkers:
    """Return the markers as a run of the tool places them, with lengths divided by c."""
    out = work / f"placed_{c:g}.osim"
    tool.setPathToSubject(f"{work}/")
    tool.getMarkerPlacer().setOutputModelFileName(out.name)
    tool.getMarkerPlacer().setOutputMotionFileName(MOTION)
    if not tool.run():
        raise RuntimeError("OpenSim's scale tool failed")
    model = opensim.Model(str(out))
    places = {m.getName(): 1e3 / c * triple(m.get_location()) for m in members(model.getMarkerSet())}
    names, values = (work / MOTION).read_text().split("endheader")[1].strip().splitlines()[:2]
    pose = {
        name.split("/")[-2]: float(x)
        for name, x in zip(names.split("\t"), values.split("\t"), strict=True)
        if name.endswith("/value")
    }
    for coordinate in members(model.getCoordinateSet()):
        if coordinate.getMotionType() == opensim.Coordinate.Translational:
            pose[coordinate.getName()] /= c
    return PlacedMarkers(places, pose)


def members(found: Any) -> list[Any]:
    """The members of a set of OpenSim."""
    return [found.get(k) for k in range(found.getSize())]


def size(body: Any) -> Array:
    """Return the scale factors of a body's first mesh, (3,), because the tool's own file of factors has only
    six digits.
    """
    return triple(body.get_attached_geometry(0).get_scale_factors())


def triple(x: Any) -> Array:
    """Convert a vector of OpenSim to an array, (3,)."""
    return np.array([x.get(k) for k in range(3)])


class OwnScaling:
    """The same scaling and placement by rtsim."""

    def __init__(self, folder: Path) -> None:
        setup = read_scale_setup(folder / SETUP)
        assert setup.placer is not None
        only_scaled = setup._replace(placer=None)
        self.scaled = scale(read_osim(folder / GENERIC)[0], only_scaled, None, lambda note: None)
        self.placed, self.pose = place(self.scaled.spec, setup.placer, None, lambda note: None)
        trial = read_trc(folder / STATIC)
        inside = frames_between(trial.times, *setup.placer.times)
        self.measured, _ = mean_places(trial.names, trial.positions[inside])
        self.weights = setup.placer.tasks.markers
        self.arms = arms_of(self.scaled.spec)
        self.goals = coordinate_goals(setup.placer, self.scaled.spec, self.arms, trial, lambda note: None)

    def places(self) -> dict[str, Array]:
        """Return the position of each marker on its body, (3,) [mm]."""
        return {marker.name: np.array(marker.offset_mm) for marker in self.placed.markers}

    def q_of(self, pose: Mapping[str, float]) -> Array:
        """Return the coordinates in the order of the model, (n_q,) [rad, m]."""
        q, coordinates = self.arms.model.q_neutral.copy(), self.arms.model.coordinates
        for name, value in pose.items():
            q[coordinates.q[coordinates.names.index(name)]] = value
        return q

    def objective(self, q: Array) -> float:
        """Return the cost that both minimise at a pose (n_q,) [m^2, rad^2]."""
        bodies, coordinates = self.arms.body_places(q), self.arms.model.coordinates
        square, total = 0.0, 0.0
        for marker in self.scaled.spec.markers:
            weight = self.weights.get(marker.name, 0.0)
            if weight > 0.0 and marker.name in self.measured:
                R, p = bodies[marker.segment]
                error = p + R @ (1e-3 * np.array(marker.offset_mm)) - self.measured[marker.name]
                square, total = square + weight * float(error @ error), total + weight
        drawn = sum(
            weight * (float(q[coordinates.q[coordinates.names.index(name)]]) - value) ** 2
            for name, (value, weight) in self.goals.items()
        )
        return square / total + drawn
