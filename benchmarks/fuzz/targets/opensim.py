"""Targets for files of OpenSim: models read alone, models built as in `rtsim check`, setups and marker
sets.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.fuzz.seeds import recordings
from benchmarks.fuzz.target import FuzzTarget, require
from benchmarks.fuzz.targets.markers import check_notes
from rtsim.cli.commands.check import check_config
from rtsim.errors import RtsimError
from rtsim.files.osim.external_loads import read_external_loads
from rtsim.files.osim.markers import read_marker_set
from rtsim.files.osim.model import read_osim
from rtsim.files.osim.scaled import scaled_text
from rtsim.files.osim.setup_ik import read_ik_setup
from rtsim.files.osim.setup_scale import read_scale_setup

LONGEST = 1 << 16
MARKER_SET = "<MarkerSet name='m'><objects>{}</objects></MarkerSet>"
MARKER = (
    "<Marker name='{}'><socket_parent_frame>/bodyset/{}</socket_parent_frame><location>0.01 {} 0</location>"
    "<fixed>false</fixed></Marker>"
)


def document(inside: str, version: int = 40000) -> bytes:
    head = '<?xml version="1.0" encoding="UTF-8"?>'
    return f'{head}<OpenSimDocument Version="{version}">{inside}</OpenSimDocument>'.encode()


def offset_frame(name: str, body: str, place: str) -> str:
    return (
        f'<PhysicalOffsetFrame name="{name}"><socket_parent>{body}</socket_parent>'
        f"<translation>{place}</translation><orientation>0.1 0 0.2</orientation></PhysicalOffsetFrame>"
    )


def pin(child: str, parent: str, parent_path: str) -> str:
    """Return a hinge between two bodies, with a coordinate."""
    frames = offset_frame(f"{parent}_o", parent_path, "0 -0.2 0") + offset_frame(
        f"{child}_o", f"/bodyset/{child}", "0 0.2 0"
    )
    return (
        f'<PinJoint name="{child}_j"><socket_parent_frame>{parent}_o</socket_parent_frame>'
        f"<socket_child_frame>{child}_o</socket_child_frame><coordinates>"
        f'<Coordinate name="{child}_q"><default_value>0.1</default_value><range>-2 2</range></Coordinate>'
        f"</coordinates><frames>{frames}</frames></PinJoint>"
    )


def body(name: str, wraps: str = "") -> str:
    return (
        f'<Body name="{name}"><mass>2</mass><mass_center>0 -0.1 0</mass_center>'
        "<inertia>0.1 0.11 0.12 0.001 0 0</inertia>"
        f"<WrapObjectSet><objects>{wraps}</objects></WrapObjectSet></Body>"
    )


def muscle() -> str:
    points = "".join(
        f'<PathPoint name="p{k}"><socket_parent_frame>/bodyset/{where}</socket_parent_frame>'
        f"<location>{place}</location></PathPoint>"
        for k, (where, place) in enumerate((("thigh", "0.03 -0.05 0"), ("shank", "0.03 -0.05 0.01")))
    )
    wrap = '<PathWrap name="w"><wrap_object>ball</wrap_object><range>-1 -1</range></PathWrap>'
    return (
        f'<Thelen2003Muscle name="m"><GeometryPath name="path"><PathPointSet><objects>{points}</objects>'
        f"</PathPointSet><PathWrapSet><objects>{wrap}</objects></PathWrapSet></GeometryPath>"
        "<max_isometric_force>500</max_isometric_force><optimal_fiber_length>0.1</optimal_fiber_length>"
        "<tendon_slack_length>0.2</tendon_slack_length><pennation_angle_at_optimal>0.1</pennation_angle_at_optimal>"
        "</Thelen2003Muscle>"
    )


def leg() -> bytes:
    """Return a model of two bodies, two hinges, a muscle over a ball, a coupler and four markers."""
    ball = '<WrapSphere name="ball"><translation>0 -0.2 0</translation><radius>0.02</radius></WrapSphere>'
    coupler = (
        '<CoordinateCouplerConstraint name="c"><coupled_coordinates_function><LinearFunction>'
        "<coefficients>0.5 0</coefficients></LinearFunction></coupled_coordinates_function>"
        "<independent_coordinate_names>thigh_q</independent_coordinate_names>"
        "<dependent_coordinate_name>shank_q</dependent_coordinate_name></CoordinateCouplerConstraint>"
    )
    markers = "".join(
        MARKER.format(f"M{k}", where, 0.05 * k) for k, where in enumerate(("thigh", "shank") * 2)
    )
    joints = pin("thigh", "ground", "/ground") + pin("shank", "thigh", "/bodyset/thigh")
    return document(
        '<Model name="leg"><Ground name="ground"/><gravity>0 -9.80665 0</gravity>'
        f"<BodySet><objects>{body('thigh', ball)}{body('shank')}</objects></BodySet>"
        f"<JointSet><objects>{joints}</objects></JointSet>"
        f"<ConstraintSet><objects>{coupler}</objects></ConstraintSet>"
        f"<ForceSet><objects>{muscle()}</objects></ForceSet>{MARKER_SET.format(markers)}</Model>"
    )


def osim_seeds() -> list[bytes]:
    return [leg(), *recordings(".osim", LONGEST, whole=True)]


def feed_osim(path: Path) -> None:
    """Read a model and check that it is the same after writing it with equal sizes and reading it again."""
    spec, notes = read_osim(path)
    check_notes(notes)
    text = scaled_text(path, {}, spec, {})
    again = path.with_name("again.osim")
    again.write_text(text, encoding="utf-8")
    found, _ = read_osim(again)
    require([b.name for b in found.bodies] == [b.name for b in spec.bodies], "bodies change in a file")


def feed_check(path: Path) -> None:
    """Do everything that `rtsim check` does with a config: read it, build every method, report."""
    told = check_config(path)
    require(bool(told) and all(told), "a correct config gives no message")
    require(all(len(text) < 1 << 20 for text in told), "a message of more than a million characters")


def setup_seeds() -> list[bytes]:
    tasks = (
        "<IKTaskSet><objects><IKMarkerTask name='M0'><apply>true</apply><weight>5</weight></IKMarkerTask>"
        "<IKCoordinateTask name='thigh_q'><apply>true</apply><weight>5</weight>"
        "<value_type>manual_value</value_type><value>0.25</value></IKCoordinateTask></objects></IKTaskSet>"
    )
    files = (
        "<model_file>m.osim</model_file><marker_file>walk.trc</marker_file><time_range>0.4 1.6</time_range>"
    )
    weight = "<constraint_weight>Inf</constraint_weight>"
    tool = f"<InverseKinematicsTool name='t'>{files}{weight}{tasks}</InverseKinematicsTool>"
    pair = (
        "<MarkerPairSet><objects><MarkerPair><markers>M0 M1</markers></MarkerPair></objects></MarkerPairSet>"
    )
    size = "<BodyScale name='thigh'><axes>X Y Z</axes></BodyScale>"
    sizes = f"<BodyScaleSet><objects>{size}</objects></BodyScaleSet>"
    measured = f"<Measurement name='thigh'><apply>true</apply>{pair}{sizes}</Measurement>"
    by_hand = "<Scale><scales>1 2 3</scales><segment>shank</segment><apply>true</apply></Scale>"
    scale = (
        "<ScaleTool name='s'><mass>70</mass>"
        "<GenericModelMaker><model_file>m.osim</model_file></GenericModelMaker>"
        "<ModelScaler><apply>true</apply><scaling_order>measurements manualScale</scaling_order>"
        f"<MeasurementSet><objects>{measured}</objects></MeasurementSet>"
        f"<ScaleSet><objects>{by_hand}</objects></ScaleSet>"
        "<marker_file>s.trc</marker_file><time_range>1 2</time_range></ModelScaler>"
        f"<MarkerPlacer><apply>true</apply>{tasks}"
        "<marker_file>s.trc</marker_file><time_range>1 2</time_range></MarkerPlacer></ScaleTool>"
    )
    markers = MARKER_SET.format(MARKER.format("M0", "thigh", 0.1))
    return [document(tool), document(scale), document(markers)]


def feed_setup(path: Path) -> None:
    """Feed every reader of setups; if all reject the input, the error of the last one counts."""
    fault: RtsimError | None = None
    n_read = 0
    for read in (
        read_ik_setup,
        read_scale_setup,
        read_external_loads,
        lambda p: read_marker_set(p, ("thigh", "shank")),
    ):
        try:
            read(path)
            n_read += 1
        except RtsimError as error:
            fault = error
    require(n_read <= 1, "a file is of several kinds")
    if not n_read and fault is not None:
        raise fault


TARGETS = (
    FuzzTarget("osim", feed_osim, osim_seeds, form="markup", suffix=".osim", longest=LONGEST, weight=2.0),
    FuzzTarget("osim_check", feed_check, osim_seeds, form="markup", suffix=".osim", longest=LONGEST,
               seconds=20.0, megabytes=512.0, weight=2.0),
    FuzzTarget("osim_setup", feed_setup, setup_seeds, form="markup", suffix=".xml"),
)  # fmt: skip
