"""Marker input: sessions that cannot be meant are named in plain words, counted, and flagged."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.stages.markers.marker_input import SAY_EVERY, MarkerInput
from rtsim.stages.markers.reference_length import body_size, of_subject
from rtsim.subjects.subject import SubjectSegment
from streams.messages import FieldSpec, Session, Status, new_session_id


def declare(names: tuple[str, ...], unit: str = "m", **meta: object) -> Session:
    """A marker session whose descriptor says what it is told, right or wrong."""
    field = FieldSpec("positions", (len(names), 3), unit, names)
    return Session(
        session=new_session_id(), stream="markers", t_start=0, rate=100.0, fields=(field,), meta=meta
    )


def faults(marker_input: MarkerInput) -> dict[str, int]:
    return {name: n for name, n in marker_input.counters.items() if n}


def test_a_sound_session_passes_in_silence(subject, trial):
    """Protects against false alarms."""
    marker_input = MarkerInput(of_subject(subject), declare(trial.names, up="Y"))
    for positions in trial.positions:
        measured, plausible = marker_input.admit({"positions": np.ascontiguousarray(positions)})
        assert plausible
        np.testing.assert_array_equal(measured, positions)
    assert faults(marker_input) == {}
    assert marker_input.sentences == []


@pytest.mark.parametrize(("unit", "size"), [("m", 1.0), ("cm", 100.0), ("mm", 1000.0)])
@pytest.mark.parametrize("up", ["Y", "Z", "z"])
def test_declared_units_and_axes_are_converted(subject, trial, unit, size, up):
    """Protects laboratories that declare what they send: metres, Y up, inside, and not a word."""
    x, y, z = np.moveaxis(size * trial.positions[0], -1, 0)
    sent = np.stack([x, y, z], -1) if up == "Y" else np.stack([x, -z, y], -1)
    marker_input = MarkerInput(of_subject(subject), declare(trial.names, unit, up=up))
    measured, plausible = marker_input.admit({"positions": np.ascontiguousarray(sent)})
    assert plausible
    np.testing.assert_allclose(measured, trial.positions[0], rtol=1e-12)
    assert marker_input.sentences == []


def test_any_order_and_more_markers_than_the_subject_has(subject, trial):
    """Protects against streams in another order, with markers of the other leg between."""
    rng = np.random.default_rng(5)
    names = [*trial.names, *(f"extra{i}" for i in range(4))]
    order = rng.permutation(len(names))
    positions = np.vstack([trial.positions[0], rng.normal(size=(4, 3))])
    marker_input = MarkerInput(of_subject(subject), declare(tuple(names[i] for i in order)))
    measured, plausible = marker_input.admit({"positions": np.ascontiguousarray(positions[order])})
    assert plausible
    np.testing.assert_array_equal(measured, trial.positions[0])
    assert marker_input.sentences == []


def test_names_are_found_whatever_their_spelling(subject, trial):
    """Protects streams with the subject's name in front of every marker, or in other letters."""
    for names in (tuple(f"Ann:{name}" for name in trial.names), tuple(name.lower() for name in trial.names)):
        marker_input = MarkerInput(of_subject(subject), declare(names))
        measured, _ = marker_input.admit({"positions": trial.positions[0].copy()})
        np.testing.assert_array_equal(measured, trial.positions[0])
        assert marker_input.sentences == []


def test_a_label_that_is_sent_twice_is_told(subject, trial):
    """Protects from following an empty marker in silence where another of its label has the data."""
    marker_input = MarkerInput(of_subject(subject), declare((*trial.names, trial.names[0])))
    assert any(f"more than one marker with the label {trial.names[0]}:" in s for s in marker_input.sentences)


def test_millimetres_sent_as_metres(subject, trial, make_solving, make_frame):
    """Protects against the commonest mistake: flagged, counted on every frame, told once with the remedy."""
    session = declare(trial.names)
    solving = make_solving(session)
    for index, positions in enumerate(1000.0 * trial.positions[:5]):
        assert solving.solve(make_frame(session, positions, index)).status == Status.INVALID_INPUT
    assert faults(solving.marker_input) == {"millimetres_as_metres": 5}
    (sentence,) = solving.marker_input.sentences
    assert "millimetres sent as metres?" in sentence
    assert 'Declare unit "mm"' in sentence


def test_metres_declared_as_millimetres(subject, trial, make_solving, make_frame):
    """Protects against the mistake the other way round."""
    session = declare(trial.names, "mm")
    solving = make_solving(session)
    assert solving.solve(make_frame(session, trial.positions[0])).status == Status.INVALID_INPUT
    (sentence,) = solving.marker_input.sentences
    assert 'Declare unit "m"' in sentence


def test_a_fault_that_ends_is_forgotten_by_the_next_frame(trial, make_solving, make_frame):
    """Protects the stream after a single absurd frame: only that frame is flagged."""
    session = declare(trial.names)
    solving = make_solving(session)
    statuses = [
        solving.solve(make_frame(session, factor * trial.positions[i], i)).status
        for i, factor in enumerate([1.0, 1000.0, 1.0])
    ]
    assert statuses == [Status.OK, Status.INVALID_INPUT, Status.OK]


@pytest.mark.parametrize(("declared", "really"), [("Y", "Z"), ("Z", "Y")])
def test_a_wrong_up_axis_is_told_but_solved(trial, make_solving, make_frame, declared, really):
    """Protects users from a picture that lies on its side; the joint angles do not depend on it."""
    x, y, z = np.moveaxis(trial.positions[0], -1, 0)
    sent = np.stack([x, -z, y], -1) if really == "Z" else trial.positions[0]
    session = declare(trial.names, up=declared)
    solving = make_solving(session)
    assert solving.solve(make_frame(session, sent)).status == Status.OK
    lying = solving.fields.arrays["joint_angles"].copy()
    assert faults(solving.marker_input) == {"wrong_up_axis": 1}
    (sentence,) = solving.marker_input.sentences
    assert f'Declare up = "{really}"' in sentence
    right = declare(trial.names, up="Y")
    upright = make_solving(right)
    upright.solve(make_frame(right, trial.positions[0]))
    np.testing.assert_allclose(lying, upright.fields.arrays["joint_angles"], atol=1e-9)


def test_missing_markers_are_named_and_the_rest_is_solved(subject, trial, make_solving, make_frame):
    """Protects a session without two of the markers: told which, with those that came instead."""
    names = tuple(f"{name}X" if name in ("RTH1", "RSH1") else name for name in trial.names)
    session = declare(names)
    solving = make_solving(session)
    assert Status.INVALID_INPUT not in solving.solve(make_frame(session, trial.positions[0])).status
    assert faults(solving.marker_input) == {"missing_markers": 2}
    (sentence,) = solving.marker_input.sentences
    assert "2 of the subject's 17 markers" in sentence
    assert "RTH1, RSH1" in sentence
    assert "do RTH1X, RSH1X of the stream mean the same markers?" in sentence
    measured = solving.fields.arrays["markers_measured"]
    gaps = [trial.names[m] for m in np.flatnonzero(np.isnan(measured).any(axis=1))]
    assert gaps == ["RTH1", "RSH1"]


NAMES = ("A", "B")
UNUSABLE = {
    "strangers only": (FieldSpec("positions", (2, 3), "m", NAMES),),
    "no labels": (FieldSpec("positions", (17, 3), "m"),),
    "no markers": (FieldSpec("positions", (0, 3), "m"),),
    "another field": (FieldSpec("points", (2, 3), "m", NAMES),),
    "no field": (),
    "no axis": (FieldSpec("positions", (), "m"),),
    "one axis": (FieldSpec("positions", (17,), "m", tuple(f"M{i}" for i in range(17))),),
    "two coordinates": (FieldSpec("positions", (2, 2), "m", ("RASI", "LASI")),),
    "four coordinates": (FieldSpec("positions", (2, 4), "m", ("RASI", "LASI")),),
    "three axes": (FieldSpec("positions", (2, 3, 2), "m", ("RASI", "LASI")),),
    "furlongs": (FieldSpec("positions", (2, 3), "furlong", ("RASI", "LASI")),),
    "no unit": (FieldSpec("positions", (2, 3), "", ("RASI", "LASI")),),
}


@pytest.mark.parametrize("kind", UNUSABLE)
def test_a_session_that_cannot_be_used_is_flagged_and_told(kind, make_solving, make_frame):
    """Protects the process from descriptors of any shape: every frame is flagged, nothing fails."""
    session = Session(
        session=new_session_id(),
        stream="markers",
        t_start=0,
        rate=100.0,
        fields=UNUSABLE[kind],
        meta={"up": 3},
    )
    solving = make_solving(session)
    for index in range(3):
        assert solving.solve(make_frame(session, 1.0, index)).status == Status.INVALID_INPUT
    assert solving.marker_input.sentences
    assert np.isnan(solving.fields.arrays["markers_measured"]).all()


def test_an_unknown_unit_is_told_with_those_allowed(subject, trial):
    """Protects the sender: the sentence says what to declare."""
    marker_input = MarkerInput(of_subject(subject), declare(trial.names, "furlong"))
    assert marker_input.admit({"positions": trial.positions[0].copy()})[1] is False
    assert any("furlong" in said and "m, cm, mm" in said for said in marker_input.sentences)


def test_a_lasting_fault_is_told_now_and_then(subject, trial):
    """Protects the log from a sentence per frame, and late readers from silence."""
    marker_input = MarkerInput(of_subject(subject), declare(trial.names))
    wrong = np.ascontiguousarray(1000.0 * trial.positions[0])
    for _ in range(SAY_EVERY + 1):
        marker_input.admit({"positions": wrong})
    assert len(marker_input.sentences) == 2
    assert marker_input.counters["millimetres_as_metres"] == SAY_EVERY + 1


def test_a_pelvis_or_foot_out_of_sight_says_nothing_about_the_unit(subject, trial):
    """Protects partly occluded frames from being refused."""
    marker_input = MarkerInput(of_subject(subject), declare(trial.names))
    hidden = trial.positions[0].copy()
    hidden[:4] = np.nan
    assert marker_input.admit({"positions": hidden})[1]
    assert marker_input.admit({"positions": np.full_like(hidden, np.nan)})[1]
    assert marker_input.sentences == []


def test_markers_at_the_origin_are_not_seen(subject, trial):
    """Protects against systems that write 0, 0, 0 for a gap."""
    marker_input = MarkerInput(of_subject(subject), declare(trial.names))
    gap = trial.positions[0].copy()
    gap[3] = 0.0
    measured, plausible = marker_input.admit({"positions": gap})
    assert plausible
    assert np.isnan(measured[3]).all()


def test_the_yardstick_is_the_leg(subject):
    """Protects the size check: thigh, shank and foot, without the pelvis."""
    assert body_size(subject) == pytest.approx(0.4201 + 0.4253 + 0.1360)


def test_a_subject_in_another_order_than_the_model_is_refused(spec, subject):
    """Protects against marker positions that would silently belong to other markers."""
    turned = dict(reversed(subject.segments.items()))
    more = {"toes": subject.segments["foot"], **subject.segments}
    for segments in (turned, more):
        with pytest.raises(ConfigError, match="pelvis, thigh, shank, foot"):
            MultibodyEstimator(spec, msgspec.structs.replace(subject, segments=segments), "zero")


@pytest.mark.parametrize(
    ("factor", "told"),
    [
        (1000.0, "millimetres sent as metres"), (100.0, "centimetres sent as metres"),
        (39.4, "inches sent as metres"), (10.0, "millimetres declared as cm"),
        (1e-3, "metres declared as mm"), (1e-2, "metres declared as cm"), (1 / 25.4, "inches declared as mm"),
        (0.1, "centimetres declared as mm"), (0.0, "metres declared as mm"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("crouch", [0.85, 1.0])
def test_the_unit_that_was_mistaken_is_named(subject, factor, told, crouch):
    """Protects who sends inches or centimetres from the remedy for metres."""
    marker_input = MarkerInput(of_subject(subject), declare(subject.marker_names))
    n_first = len(next(iter(subject.segments.values())).markers_mm)
    positions = np.full((len(subject.marker_names), 3), np.nan)
    positions[:n_first] = [0.1, 0.3 + crouch * factor * body_size(subject), -0.2]
    positions[-1] = [0.1, 0.3, -0.2]
    assert not marker_input.admit({"positions": positions})[1]
    assert any(told in sentence for sentence in marker_input.sentences)


@pytest.mark.parametrize(
    ("times", "plausible"), [(1.01 / 5.0, True), (0.99 / 5.0, False), (4.99, True), (5.01, False)]
)
def test_sizes_that_a_person_can_have(subject, times, plausible):
    """Protects the unit's check: from a fifth to five times the leg, from just below to just above."""
    marker_input = MarkerInput(of_subject(subject), declare(subject.marker_names))
    n_first = len(next(iter(subject.segments.values())).markers_mm)
    positions = np.full((len(subject.marker_names), 3), np.nan)
    positions[:n_first] = [0.1, 0.3 + times * body_size(subject), -0.2]
    positions[-1] = [0.1, 0.3, -0.2]
    assert marker_input.admit({"positions": positions})[1] is plausible
    assert bool(marker_input.counters["millimetres_as_metres"]) is not plausible


@pytest.mark.parametrize(
    ("rise", "sideways", "told"),
    [
        (0.55, 0.83, False), (0.45, 0.89, True), (0.45, -0.89, True), (0.0, 0.75, False), (0.0, 0.85, True),
        (-0.75, 0.0, False), (-0.85, 0.0, True), (-1.0, 0.0, True),
    ],
)  # fmt: skip
def test_when_the_up_axis_is_doubted(subject, rise, sideways, told):
    """Protects who crouches or lies: doubted are one along the other axis, and one head down."""
    marker_input = MarkerInput(of_subject(subject), declare(subject.marker_names))
    n_first = len(next(iter(subject.segments.values())).markers_mm)
    positions = np.full((len(subject.marker_names), 3), np.nan)
    forward = np.sqrt(max(0.0, 1.0 - rise**2 - sideways**2))
    # of a child's size and of a tall person's: what counts is the direction
    for size in (0.6, 1.4):
        positions[-1] = [0.1, 0.3, -0.2]
        positions[:n_first] = positions[-1] + size * np.array([forward, rise, sideways])
        assert marker_input.admit({"positions": positions})[1]
    assert marker_input.counters["wrong_up_axis"] == (2 if told else 0)


def test_a_trunk_is_no_part_of_the_yardstick(subject):
    """Protects the check of units and axes: it is the leg's, whatever is carried above."""
    markers = {"A": (0.0, 0.0, 0.0), "B": (0.0, 0.0, 100.0), "C": (0.0, 100.0, 0.0)}
    trunk = SubjectSegment(450.0, 90.0, 90.0, 90.0, markers)
    more = of_subject(msgspec.structs.replace(subject, segments={**subject.segments, "trunk": trunk}))
    alone = of_subject(subject)
    assert more.size == alone.size
    np.testing.assert_array_equal(more.group, [*alone.group, 0, 0, 0])
