"""What is shown follows from the descriptor alone."""

from collections.abc import Callable

import numpy as np
import pytest

from rtsim.monitor.layout import ARM_COLUMN, layout_of
from streams.messages import Curves, FieldSpec, Image, Session, new_session_id

SessionOf = Callable[..., Session]


def angles(*labels: str) -> FieldSpec:
    return FieldSpec(name="joint_angles", shape=(len(labels),), unit="rad", labels=labels)


def test_joint_angles_are_grouped_by_joint(session_of: SessionOf) -> None:
    """Protects the panels: one per joint in the order of the descriptor, with units on the axis."""
    layout = layout_of(session_of())
    titles = [panel.title for panel in layout.panels]
    assert titles == ["Hip", "Knee", "Ankle", "Knee displacement", "Ligaments", "Marker residual"]
    assert layout.panels[0].names == ("flexion", "adduction")
    assert [panel.axis_title for panel in layout.panels[2:]] == [
        "angle (°)",
        "displacement (mm)",
        "lengthening (%)",
        "RMS (mm)",
    ]


@pytest.mark.parametrize(
    ("labels", "titles", "names"),
    [
        (("flexion", "internal_rotation"), ["Joint angles"], ("flexion", "internal rotation")),
        (("knee_flexion", "knee_adduction", "lift"), ["Knee", "Joint angles"], ("flexion", "adduction")),
        (("hip_a", "knee_a"), ["Hip", "Knee"], ("a",)),
    ],
)
def test_angles_that_name_no_joint_stand_together(
    session_of: SessionOf, labels: tuple[str, ...], titles: list[str], names: tuple[str, ...]
) -> None:
    """Protects simulated models: an underscore in a name that stands for itself makes no joint of its own."""
    panels = layout_of(session_of((angles(*labels),))).panels
    assert [panel.title for panel in panels] == titles
    assert panels[0].names == names


def drawn(name: str, unit: str, labels: tuple[str, ...], curves: Curves) -> FieldSpec:
    return FieldSpec(name=name, shape=(len(labels),), unit=unit, labels=labels, curves=curves)


def test_forces_and_displacements_of_a_simulation_are_shown(session_of: SessionOf) -> None:
    """Protects the descriptor: a quantity has the panel that it asks for, in mm, mm/s and N, or none."""
    fields = (
        drawn("joint_displacements", "m", ("shift",), Curves("Displacements", "displacement", 0, 0.004)),
        drawn("joint_displacement_speeds", "m/s", ("shift",), Curves("Velocities", "velocity", 0, 0.01)),
        drawn("contact_normal_forces", "N", ("medial", "lateral"), Curves("Contacts", "normal force", 1)),
        drawn("ligament_forces", "N", ("ACL",), Curves("Ligaments", "tension", 1)),
        FieldSpec(name="ligament_lengths", shape=(1,), unit="m", labels=("ACL",)),
        drawn("friction_forces", "N", ("belt",), Curves("Friction", "force", 7)),
    )
    layout = layout_of(session_of(fields))
    assert [(panel.title, panel.axis_title, panel.column) for panel in layout.panels] == [
        ("Displacements", "displacement (mm)", 0),
        ("Velocities", "velocity (mm/s)", 0),
        ("Contacts", "normal force (N)", 1),
        ("Ligaments", "tension (N)", 1),
        ("Friction", "force (N)", 2),
    ]
    values = np.empty(layout.n_channel)
    data = {spec.name: np.arange(1.0, 1.0 + spec.shape[0]) for spec in fields}
    layout.read(data, values)
    assert values.tolist() == [1000.0, 1000.0, 1.0, 2.0, 1.0, 1.0]


def test_moments_stand_in_a_column_of_their_own(session_of: SessionOf) -> None:
    """Protects runs with forces: angles, moments of the same joints and the rest, side by side, not one long
    column; moment arms stay apart from them."""
    names = tuple(f"{joint}_flexion_{side}" for side in "rl" for joint in ("hip", "knee", "ankle"))
    fields = (
        drawn("joint_angles", "rad", names, Curves("", "angle", 0, 0.17)),
        drawn("foot_loads", "N", ("right", "left"), Curves("Feet", "vertical force", 1, 100.0)),
        drawn("joint_moments", "N m", names, Curves("", "moment", 2, 10.0)),
        FieldSpec(name="moment_arms", shape=(2, 6), unit="m", labels=("soleus_r", "soleus_l")),
    )
    layout = layout_of(session_of(fields))
    of_moments = [panel for panel in layout.panels if panel.quantity == "moment"]
    assert [panel.title for panel in of_moments] == [
        f"{joint} {side}, moment" for side in ("right", "left") for joint in ("Hip", "Knee", "Ankle")
    ]
    assert {panel.column for panel in of_moments} == {2}
    assert {panel.column for panel in layout.panels} == {0, 1, 2}
    assert {panel.column for panel in layout.arms} == {ARM_COLUMN}


def test_values_are_converted_where_they_are_shown(session_of: SessionOf) -> None:
    """Protects the numbers on the screen: degrees, millimetres and per cent of what came in SI units."""
    fields = (
        angles("hip_flexion"),
        FieldSpec(name="knee_displacements", shape=(1,), unit="m"),
        FieldSpec(name="ligament_lengthening", shape=(1,), unit="1"),
        FieldSpec(name="contact_points", shape=(1, 3), unit="m", labels=("medial",)),
    )
    layout = layout_of(session_of(fields))
    values = np.empty(layout.n_channel)
    data = {
        "joint_angles": np.array([np.pi]),
        "knee_displacements": np.array([0.002]),
        "ligament_lengthening": np.array([0.03]),
        "contact_points": np.array([[0.004, 9.0, 0.005]]),
    }
    layout.read(data, values)
    np.testing.assert_allclose(values, [180.0, 2.0, 3.0, 4.0, 5.0])
    assert layout.contact is not None
    assert layout.contact.first == 3


def test_units_of_the_descriptor_are_believed(session_of: SessionOf) -> None:
    """Protects streams in other units: degrees are not converted a second time."""
    layout = layout_of(session_of((drawn("joint_angles", "deg", ("a",), Curves("", "angle")),)))
    values = np.empty(1)
    layout.read({"joint_angles": np.array([30.0])}, values)
    assert values.tolist() == [30.0]
    assert layout.panels[0].axis_title == "angle (deg)"


@pytest.mark.parametrize(
    ("fields", "titles"),
    [
        ((), []),
        ((FieldSpec(name="muscle_forces", shape=(3,), unit="N"),), ["Muscle forces"]),
        ((FieldSpec(name="muscle_paths", shape=(3, 2), unit="m"),), []),
    ],
)
def test_absent_and_unknown_fields_are_no_error(
    session_of: SessionOf, fields: tuple[FieldSpec, ...], titles: list[str]
) -> None:
    """Protects the window from streams of other estimators: what has one axis is drawn under its name."""
    layout = layout_of(session_of(fields))
    assert [panel.title for panel in layout.panels] == titles
    assert layout.contact is None
    assert layout.follow is None


def test_odd_shapes_are_left_out(session_of: SessionOf) -> None:
    """Protects the window from a field of a known name but another shape."""
    fields = (
        FieldSpec(name="joint_angles", shape=(2, 2), unit="rad"),
        FieldSpec(name="marker_rms", shape=(), unit="m"),
        FieldSpec(name="knee_displacements", shape=(0,), unit="m"),
        FieldSpec(name="contact_points", shape=(2, 2), unit="m"),
    )
    layout = layout_of(session_of(fields))
    assert layout.n_channel == 0


def test_labels_that_are_missing_become_numbers(session_of: SessionOf) -> None:
    """Protects legends of streams without labels."""
    fields = (FieldSpec(name="knee_displacements", shape=(3,), unit="m"),)
    assert layout_of(session_of(fields)).panels[0].names == ("1", "2", "3")


def test_stick_pairs_name_joint_centres(session_of: SessionOf) -> None:
    """Protects the figure: pairs of the descriptor are followed, nonsense among them is dropped."""
    centres = (FieldSpec(name="joint_centres", shape=(3, 3), unit="m", labels=("hip", "knee", "ankle")),)
    given = layout_of(session_of(centres, meta={"stick": [["hip", "ankle"], ["hip", "wing"], "knee", [1]]}))
    assert given.stick.tolist() == [[0, 2]]
    default = layout_of(session_of(centres, meta={"up": "Y"}))
    assert default.stick.tolist() == [[0, 1], [1, 2]]


def test_nearly_empty_column_is_avoided(session_of: SessionOf) -> None:
    """Protects the looks: a lone residual plot does not fill half the window."""
    rms = FieldSpec(name="marker_rms", shape=(1,), unit="m")
    few = layout_of(session_of((angles("hip_a", "knee_a", "ankle_a"), rms)))
    assert {panel.column for panel in few.panels} == {0}
    assert {panel.column for panel in layout_of(session_of()).panels} == {0, 1}


def test_irregular_stream_has_no_rate(session_of: SessionOf) -> None:
    """Protects the rate display: 0 Hz in the descriptor means irregular, and buffers still have a size."""
    layout = layout_of(session_of(rate=0.0))
    assert np.isnan(layout.rate)
    assert layout.rate_assumed > 0.0


def test_moment_arms_are_shown_about_the_first_angle_of_each_joint(session_of: SessionOf) -> None:
    """Protects the columns: each panel has every muscle's arm about its own angle, in mm."""
    labels = ("hip_flexion", "hip_adduction", "knee_flexion", "knee_adduction")
    muscles = FieldSpec(name="moment_arms", shape=(2, 4), unit="m", labels=("vasti", "gluteus_medius"))
    layout = layout_of(session_of((angles(*labels), muscles)))
    assert [panel.title for panel in layout.arms] == [
        "Muscles about hip flexion",
        "Muscles about knee flexion",
    ]
    assert [panel.names for panel in layout.arms] == [("vasti", "gluteus medius")] * 2
    values = np.empty(layout.n_channel)
    layout.read({"joint_angles": np.zeros(4), "moment_arms": 0.001 * np.arange(8.0).reshape(2, 4)}, values)
    for panel, expected in zip(layout.arms, ([0.0, 4.0], [2.0, 6.0]), strict=True):
        np.testing.assert_allclose(values[panel.first : panel.first + 2], expected)


def test_moment_arms_without_their_angles_are_left_out(session_of: SessionOf) -> None:
    """Protects the meaning of the columns: without as many joint angles there is none."""
    muscles = FieldSpec(name="moment_arms", shape=(1, 3), unit="m", labels=("vasti",))
    assert layout_of(session_of((muscles,))).arms == ()
    assert layout_of(session_of((angles("hip_flexion"), muscles))).arms == ()


def test_notes_go_with_the_details():
    """Protects who looks at the window from not knowing what reader and calibration noticed, or guessed."""
    meta = {"side": "left", "notes": ["walk.trc: the rate was guessed", 7, "x" * 1000]}
    session = Session(session="0" * 16, stream="result", t_start=0, rate=100.0, fields=(), meta=meta)
    details = layout_of(session).meta
    assert details["side"] == "left"
    assert details["note 1"] == "walk.trc: the rate was guessed"
    assert len(details["note 2"]) <= 300
    assert "note 3" not in details


def pictured(shape: tuple[int, ...], name: str = "foot_pressure", **keys: float) -> FieldSpec:
    image = Image("Pressure", **{"across": 9.0, "along": 7.5, **keys})
    labels = ("right", "left") if len(shape) == 3 else ()
    return FieldSpec(name=name, shape=shape, unit="Pa", labels=labels, image=image)


def test_an_image_is_drawn_for_each_side(session_of: SessionOf) -> None:
    """Protects heat images: their cells, the unit on the screen, and the left foot on the left."""
    layout = layout_of(session_of((pictured((2, 39, 16)),)))
    assert layout.picture is not None
    assert layout.picture.shape == (39, 16)
    assert layout.picture.order == [1, 0]
    assert (layout.picture.unit, layout.picture.scale) == ("kPa", 1e-3)
    assert layout.parts["foot_pressure"] == (2, 39, 16)
    assert layout_of(session_of((pictured((5, 4)),))).picture is not None
    assert layout_of(session_of(())).picture is None


@pytest.mark.parametrize(
    "spec",
    [
        pictured((4,)),
        pictured((9, 3, 3)),
        pictured((2, 1000, 1000)),
        pictured((2, 0, 4)),
        pictured((2, 4, 4), across=0.0),
        pictured((2, 3, 3), "segment_rotations"),
    ],
)
def test_what_is_no_image_is_not_drawn(session_of: SessionOf, spec: FieldSpec) -> None:
    """Protects from a sender that wants an image of anything."""
    assert layout_of(session_of((spec,))).picture is None


def test_a_field_is_read_at_once_into_all_its_panels() -> None:
    """Protects the time that every frame takes: one access to each field, whatever panels it is drawn in."""
    labels = ("hip_flexion", "hip_adduction", "knee_flexion", "knee_adduction")
    angles = FieldSpec(name="angles", shape=(4,), unit="rad", labels=labels, curves=Curves("", "angle"))
    spread = FieldSpec(name="spread", shape=(4,), unit="rad", labels=labels, of="angles", role="deviation")
    session = Session(
        session=new_session_id(), stream="result", t_start=0, rate=100.0, fields=(angles, spread), meta={}
    )
    layout = layout_of(session)
    assert [channel.field for channel in layout.channels] == ["angles", "spread"]
    values = np.full(layout.n_channel, np.nan)
    data = {"angles": np.radians([1.0, 2.0, 3.0, 4.0]), "spread": np.radians([0.1, 0.2, 0.3, 0.4])}
    assert layout.read(data, values) == 0
    read = {panel.title: values[panel.first : panel.first + len(panel.names)] for panel in layout.panels}
    np.testing.assert_allclose(read["Hip"], [1.0, 2.0], atol=1e-12)
    np.testing.assert_allclose(read["Knee"], [3.0, 4.0], atol=1e-12)
    knee = next(panel for panel in layout.panels if panel.title == "Knee")
    assert knee.deviation is not None
    np.testing.assert_allclose(values[knee.deviation : knee.deviation + 2], [0.3, 0.4], atol=1e-12)


def test_names_do_not_repeat_the_title(session_of: SessionOf) -> None:
    """Protects narrow panels: under the title Pelvis stand tilt and rotation, unless a name has no more."""
    curves = Curves("Pelvis", "angle", 0)
    for labels, names in (
        (("pelvis_anterior_tilt", "pelvis_rotation"), ("anterior tilt", "rotation")),
        (("pelvis_rotation", "trunk_rotation"), ("pelvis rotation", "trunk rotation")),
        (("pelvis", "pelvis_rotation"), ("pelvis", "pelvis rotation")),
    ):
        (panel,) = layout_of(session_of((drawn("pelvis_angles", "rad", labels, curves),))).panels
        assert panel.names == names


@pytest.mark.parametrize(("zero", "shown"), [((0.0, 0.213), [4.0, 32.0]), ((0.0,), [4.0, 245.0])])
def test_displacements_are_shown_from_the_neutral_pose(zero: tuple[float, ...], shown: list[float]) -> None:
    """Protects from a distance of origins taken for a joint that gapes; zeros that do not fit are none."""
    labels = ("shift", "distraction")
    curves = Curves("Displacements", "displacement", 0, 0.004, zero=zero)
    moved = drawn("joint_displacements", "m", labels, curves)
    spread = FieldSpec(
        name="spread", shape=(2,), unit="m", labels=labels, of="joint_displacements", role="deviation"
    )
    other = drawn("ligament_forces", "N", ("ACL",), Curves("Ligaments", "tension", 1))
    session = Session(
        session=new_session_id(), stream="result", t_start=0, rate=100.0, fields=(moved, spread, other),
        meta={},
    )  # fmt: skip
    layout = layout_of(session)
    values = np.full(layout.n_channel, np.nan)
    data = {"joint_displacements": [0.004, 0.245], "spread": [0.001, 0.002], "ligament_forces": [28.0]}
    assert layout.read({name: np.array(row) for name, row in data.items()}, values) == 0
    np.testing.assert_allclose(values, [*shown, 1.0, 2.0, 28.0], atol=1e-9)
    said = "Displacements from neutral" if len(zero) == 2 else "Displacements"
    assert [panel.title for panel in layout.panels] == [said, "Ligaments"]
