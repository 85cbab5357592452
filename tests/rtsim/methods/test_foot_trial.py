"""Steps of a walk made ready: which are complete, the foot's frame, mirroring, filter, pressure in place."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.bearing import BEARS, NONE, TWO_FEET, UNSEEN
from kernels.plates import EMPTY, LOADED, NOT_MEASURED
from rtsim.errors import ConfigError
from rtsim.files.force_trial import lay_out
from rtsim.files.pressure_trial import PressureTrial
from rtsim.files.trial import MarkerTrial
from rtsim.methods.foot_pressure import chosen_frames, lay, lay_pressure
from rtsim.methods.foot_steps import body_weight, find_steps, usable
from rtsim.methods.foot_trial import check_foot, level_height, low_pass
from rtsim.methods.plate_loads import PlateLoads
from rtsim.methods.smoothing import cutoff_of_each_run
from rtsim.methods.step_marks import beside_of, carried_marks, step_axes
from rtsim.subjects.foot_frame import AXIS_HEIGHT, foot_frame, rigid_pose, rigid_twist
from rtsim.subjects.foot_marks import in_order
from rtsim.subjects.labs import load_lab

Array = NDArray[np.floating]
FLAT = {
    "calcaneus": np.array([0.01, 0.0, 0.035]),
    "metatarsal_1": np.array([0.05, 0.2, 0.04]),
    "metatarsal_3": np.array([0.01, 0.205, 0.045]),
    "metatarsal_5": np.array([-0.04, 0.17, 0.03]),
    "hallux": np.array([0.045, 0.25, 0.025]),
}


def loads(n: int = 100, plates: int = 2) -> PlateLoads:
    """Return plates of which nothing is pressed, at 100 Hz."""
    zero = np.zeros((n, plates, 3))
    return PlateLoads(
        np.arange(n) / 100.0, 0.0, zero.copy(), zero.copy(), zero.copy(), zero[..., 0].copy(),
        np.full((n, plates), EMPTY), np.full((n, plates, 2), NONE), np.zeros((n, plates), np.int64),
        zero.copy(), zero.copy(),
    )  # fmt: skip


def press(some: PlateLoads, plate: int, first: int, last: int, foot: int = 0, force: float = 700.0) -> None:
    """A foot presses a plate from one frame to another."""
    rows = slice(first, last + 1)
    some.force[rows, plate, 1] = force
    some.loaded[rows, plate] = LOADED
    some.share[rows, plate, foot] = BEARS


def lose(some: PlateLoads, plate: int, rows: slice) -> None:
    """Nothing is known of a plate in these frames."""
    some.force[rows, plate] = np.nan
    some.loaded[rows, plate] = NOT_MEASURED
    some.share[rows, plate] = NONE


@pytest.mark.parametrize(
    ("changed", "off", "said"),
    [
        ({"calcaneus": [0.01, 0.0, -0.02]}, 0.003, "the heel's marker is -20 mm above the plate"),
        ({"metatarsal_1": [0.05, 0.03, 0.04]}, 0.003, "in front of the heel; allowed: 80 to 260 mm"),
        ({"metatarsal_5": [-0.15, 0.17, 0.03]}, 0.003, "metatarsals 1 and 5 are 198 mm apart"),
        ({}, 0.02, "calcaneus leaves its place on the foot by 20 mm"),
    ],
)
def test_markers_of_no_foot_are_refused(changed, off, said):
    """Protects from labels that are exchanged, plates at another height, markers that leap or are stuck."""
    frame = foot_frame({**FLAT, **{role: np.array(place) for role, place in changed.items()}}, "a trial")
    with pytest.raises(ConfigError, match=said):
        check_foot(frame, frame.names, np.array([off, 0.0, 0.0, 0.0, 0.0]), "a trial")
    sound = foot_frame(FLAT, "a trial")
    check_foot(sound, sound.names, np.full(5, 0.003), "a trial")


def test_a_plate_that_leans_has_no_step():
    """Protects from a ramp fitted as a level floor: height of a level plate, one sentence for another."""
    flat = np.array([[0.3, 0.1, 0.2], [-0.3, 0.1, 0.2], [-0.3, 0.1, -0.2], [0.3, 0.1, -0.2]])
    ramp = flat + np.outer(flat[:, 0], [0.0, 0.1, 0.0])
    plates = lay_out(np.array([flat, ramp]), np.zeros(2))
    assert level_height(plates, 0, "a trial") == pytest.approx(0.1)
    with pytest.raises(ConfigError, match=r"the plate leans by 5\.7 degrees; allowed: up to 2 degrees"):
        level_height(plates, 1, "a trial")


def test_a_complete_step_is_found():
    """Protects first and last frame, plate and foot of a step."""
    some = loads()
    press(some, 1, 20, 80, foot=1)
    (step,) = find_steps(some, ("a", "b"))
    assert step == (1, 1, 20, 80, "")


@pytest.mark.parametrize(
    ("first", "last", "said"),
    [(60, 99, "the trial ends while a bears 700 N"), (0, 40, "the trial begins while a bears 700 N")],
)
def test_a_cut_step_is_told(first, last, said):
    """Protects against a step that the trial cuts."""
    some = loads()
    press(some, 0, first, last)
    (step,) = find_steps(some, ("a", "b"))
    assert said in step.fault
    assert not usable([step])


def test_a_force_that_has_nearly_gone_is_no_cut():
    """Protects steps whose last newtons fall to the end of a trial."""
    some = loads()
    press(some, 0, 40, 99)
    some.force[95:, 0, 1] = 40.0
    assert usable(find_steps(some, ("a", "b")))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (slice(0, 20), "the forces begin at 0.20 s while a bears 700 N: the step is cut"),
        (slice(81, 100), "the forces end at 0.80 s while a bears 700 N: the step is cut"),
        (slice(81, 84), "the force is not known at 0.81 s while a bears 700 N: the step is cut"),
        (slice(50, 53), "the force on a is not known at 0.50 to 0.52 s"),
    ],
)
def test_a_step_whose_force_is_not_known_is_told(rows, said):
    """Protects from steps that forces cut, which begin or end elsewhere than the markers, and from gaps."""
    some = loads()
    press(some, 0, 20, 80)
    lose(some, 0, rows)
    (step,) = find_steps(some, ("a", "b"))
    assert step.fault == said


def test_all_that_is_wrong_with_a_step_is_told():
    """Protects two feet on a plate from being hidden behind a step that is cut."""
    some = loads()
    press(some, 0, 50, 99)
    some.status[60:80, 0] = TWO_FEET
    (step,) = find_steps(some, ("a", "b"))
    assert step.fault == (
        "the trial ends while a bears 700 N: the step is cut; two feet are on a in 20 of 50 frames"
    )


def test_two_feet_on_a_plate_are_told():
    """Protects against what two feet press together."""
    some = loads()
    press(some, 0, 20, 80)
    some.status[20:60, 0] = TWO_FEET
    (step,) = find_steps(some, ("a", "b"))
    assert step.fault == "two feet are on a in 40 of 61 frames"


def test_a_plate_that_no_foot_bears_is_told():
    """Protects against a foot that is on another plate than its force."""
    some = loads()
    press(some, 0, 20, 80)
    some.share[20:81, 0] = NONE
    (step,) = find_steps(some, ("a", "b"))
    assert "pressed where the foot is not in 61 of 61 frames" in step.fault


def test_a_foot_that_is_not_seen_is_told():
    """Protects from the blame of plates where markers are gone: their frames tell nothing of the foot."""
    some = loads()
    press(some, 0, 20, 80)
    some.share[40:60, 0], some.status[40:60, 0] = NONE, UNSEEN
    (step,) = find_steps(some, ("a", "b"))
    assert step.fault == "a foot is not seen in 20 of 61 frames in which a is pressed"


def test_a_touch_is_no_step():
    """Protects against a contact shorter than any step."""
    some = loads()
    press(some, 0, 20, 30)
    assert find_steps(some, ("a", "b")) == []


def test_weight_is_the_mean_of_a_stride():
    """Protects the scale of the normal force: from the second of four contacts to the fourth."""
    some = loads(300, 4)
    for k in range(4):
        press(some, k, 20 + 60 * k, 20 + 60 * k + 59)
    assert body_weight(some, None, "a trial") == (pytest.approx(700.0), "of 1 whole stride")
    assert body_weight(some, 70.0, "a trial") == (pytest.approx(686.7), "of the mass")
    some.force[:] *= 1e3
    with pytest.raises(ConfigError, match="which nobody weighs; allowed: 20 to 3924 N"):
        body_weight(some, None, "a trial")
    with pytest.raises(ConfigError, match="give --mass"):
        body_weight(loads(), None, "a trial")


def test_a_stride_with_a_gap_tells_no_weight():
    """Protects the weight from frames without a known force, which would count as none."""
    some = loads(400, 5)
    for k in range(5):
        press(some, k, 20 + 60 * k, 20 + 60 * k + 59)
    lose(some, 1, slice(90, 95))
    assert body_weight(some, None, "a trial") == (
        pytest.approx(700.0), "of 1 whole stride, without 1 in which a force is not known"
    )  # fmt: skip
    lose(some, 3, slice(230, 235))
    with pytest.raises(ConfigError, match="none of 2 strides has its forces known throughout; give --mass"):
        body_weight(some, None, "a trial")


def test_the_other_foot_tells_the_side():
    """Protects from exchanged labels of metatarsals 1 and 5, which make a right foot of a left one."""
    swapped = {**FLAT, "metatarsal_1": FLAT["metatarsal_5"], "metatarsal_5": FLAT["metatarsal_1"]}
    _, side, _ = axes_of(swapped, "left")
    assert side == "right"
    axes, side, notes = axes_of(swapped, "left", 0.1)
    assert (side, notes) == ("left", ())
    turned = {name: x[[1, 2, 0]] for name, x in swapped.items()}
    assert in_order(turned, axes[0])[0]["metatarsal_1"] == "metatarsal_5"
    left = np.array([[0.0, 0.0, 0.0], [0.2, 0.0, 0.0]])
    feet = np.stack([left + np.array([0.5, 0.0, 0.12]), left])[None] + np.zeros((9, 1, 1, 1))
    assert beside_of(feet, 1) == pytest.approx(0.12)
    assert beside_of(feet, 0) == pytest.approx(-0.12)
    assert np.isnan(beside_of(np.full_like(feet, np.nan), 0))


def test_a_static_trial_lends_a_mark():
    """Protects --static: a mark that the walk lacks lies where the foot's other markers carry it."""
    lab, turn = load_lab("mcgill"), Rotation.from_euler("yzx", [40.0, -3.0, 5.0], degrees=True)
    names = ("RHEE", "RD1M", "RD5M", "RTOE", "RHLX")
    stood = 0.1 * np.eye(3)[[0, 1, 2, 0, 1]] * [[1.0], [1.2], [0.8], [2.0], [0.3]] + [0.0, 0.02, 0.0]
    static = MarkerTrial(names, np.zeros(1), stood[None], 100.0, "there/static.trc")
    walked = dict(zip(names, turn.apply(stood) + np.array([1.0, 0.3, 0.2]), strict=True))
    mean = {"calcaneus": walked["RHEE"], "metatarsal_5": walked["RD5M"], "RTOE": walked["RTOE"]}
    found, notes = carried_marks(static, lab, "right", mean, -0.001)
    assert found.keys() == {"metatarsal_1", "hallux"}
    np.testing.assert_allclose(found["metatarsal_1"], walked["RD1M"], atol=1e-12)
    np.testing.assert_allclose(found["hallux"], walked["RHLX"], atol=1e-12)
    assert notes == ("metatarsal_1, hallux from static.trc, as the foot's other markers carry it",)
    assert carried_marks(static, lab, "right", {"calcaneus": walked["RHEE"]}, 0.0) == ({}, ())
    assert carried_marks(None, lab, "right", mean, 0.0) == ({}, ())


def test_the_frame_of_a_foot():
    """Protects figure 5.7: Y through the third metatarsal, the first in the X-Y plane, toes 16 mm high."""
    frame = foot_frame(FLAT, "a foot")
    at = dict(zip(frame.names, frame.markers, strict=True))
    np.testing.assert_allclose(at["calcaneus"], 0.0, atol=1e-15)
    np.testing.assert_allclose(at["metatarsal_3"][[0, 2]], 0.0, atol=1e-15)
    assert at["metatarsal_1"][0] > 0.02
    assert at["metatarsal_1"][2] == pytest.approx(0.0, abs=1e-15)
    assert frame.up[2] > 0.95
    height = frame.heel_height + frame.toe_origin @ frame.up
    assert height == pytest.approx(AXIS_HEIGHT)
    assert frame.toe_axes[:, 0] @ frame.up == pytest.approx(0.0, abs=1e-14)
    np.testing.assert_allclose(frame.toe_axes.T @ frame.toe_axes, np.eye(3), atol=1e-14)
    assert np.linalg.det(frame.toe_axes) == pytest.approx(1.0)
    toe = frame.toe_axes.T @ (at["hallux"] - frame.toe_origin)
    assert toe[1] > 0.0
    assert toe[2] == pytest.approx(0.0, abs=1e-14)
    assert frame.notes == ()


def test_what_stands_in_for_missing_markers_is_named():
    """Protects the report: the third metatarsal from its neighbours, toes level."""
    without = {name: x for name, x in FLAT.items() if name not in ("metatarsal_3", "hallux")}
    notes = foot_frame(without, "a foot").notes
    assert "the middle between the first and the fifth" in notes[0]
    assert "the toes point level" in notes[1]
    second = {**without, "metatarsal_2": np.array([0.02, 0.21, 0.04])}
    assert "a third of the way from the second to the fifth" in foot_frame(second, "a foot").notes[0]


def test_a_foot_without_its_markers_is_refused():
    """Protects the sentence for a foot that cannot be placed."""
    with pytest.raises(ConfigError, match="lacks its marker metatarsal_1"):
        foot_frame({k: x for k, x in FLAT.items() if k != "metatarsal_1"}, "a foot")
    line = {name: np.array([0.0, 0.05 * k, 0.0]) for k, name in enumerate(FLAT)}
    with pytest.raises(ConfigError, match="lie on one line"):
        foot_frame(line, "a foot")


def test_a_rigid_motion_is_found_again():
    """Protects pose and twist of a body from its markers."""
    rng = np.random.default_rng(2)
    local, R = rng.uniform(-0.1, 0.1, (4, 3)), Rotation.random(6, rng).as_matrix()
    x, v, w = (rng.uniform(-1.0, 1.0, (6, 3)) for _ in range(3))
    seen = x[:, None] + np.einsum("nij,mj->nmi", R, local)
    velocity = v[:, None] + np.cross(w[:, None], seen - x[:, None])
    found_x, found_R = rigid_pose(local, seen)
    np.testing.assert_allclose(found_x, x, atol=1e-12)
    np.testing.assert_allclose(found_R, R, atol=1e-12)
    found_v, found_w = rigid_twist(R, local, velocity)
    np.testing.assert_allclose(found_v, v, atol=1e-10)
    np.testing.assert_allclose(found_w, w, atol=1e-10)


@pytest.mark.parametrize("rate", [100.0, 128.0, 150.0, 200.0])
def test_the_filter_is_that_of_the_thesis(rate):
    """Protects pass 5 Hz, stop 20 Hz: there and back a tenth is left at the stop, 0.7 or more passes."""
    spec = low_pass(rate)
    corner = np.tan(np.pi * cutoff_of_each_run(spec, rate) / rate)

    def gain(f: float) -> float:
        return 1.0 / (1.0 + (np.tan(np.pi * f / rate) / corner) ** (2 * spec.order))

    assert gain(20.0) == pytest.approx(0.1)
    assert gain(5.0) > np.sqrt(0.5)


def axes_of(
    mean: dict[str, Array], labelled: str, beside: float = np.nan
) -> tuple[Array, str, tuple[str, ...]]:
    """Return the axes of a step whose positions are given with Z up."""
    turned = {name: x[[1, 2, 0]] for name, x in mean.items()}  # X right, Y forward, Z up to x forward, y up
    return step_axes(turned, labelled, "a step", beside)


def test_a_right_foot_is_a_mirrored_left_one():
    """Protects that both feet read alike, and that exchanged labels are seen and told."""
    left, side, notes = axes_of(FLAT, "left")
    assert side == "left"
    assert notes == ()
    assert np.linalg.det(left) == pytest.approx(1.0)
    mirrored = {name: x * [-1.0, 1.0, 1.0] for name, x in FLAT.items()}
    right, side, notes = axes_of(mirrored, "left")
    assert side == "right"
    assert "taken as a right one" in notes[0]
    assert np.linalg.det(right) == pytest.approx(-1.0)
    for name, x in FLAT.items():
        np.testing.assert_allclose(left @ x[[1, 2, 0]], right @ mirrored[name][[1, 2, 0]], atol=1e-14)


def test_a_foot_that_is_neither_right_nor_left_is_refused():
    """Protects the sentence for metatarsals that do not lie beside each other."""
    bad = {**FLAT, "metatarsal_5": FLAT["metatarsal_1"] - [0.0, 0.05, 0.0]}
    with pytest.raises(ConfigError, match="a right from a left foot"):
        axes_of(bad, "left")


def test_exchanged_metatarsals_are_put_in_order():
    """Protects against labels of neighbouring metatarsals that are exchanged."""
    mean = {**FLAT, "metatarsal_1": FLAT["metatarsal_3"], "metatarsal_3": FLAT["metatarsal_1"]}
    found, notes = in_order(mean, np.array([1.0, 0.0, 0.0]))
    assert found["metatarsal_1"] == "metatarsal_3"
    assert found["calcaneus"] == "calcaneus"
    assert "metatarsal_1 is labelled metatarsal_3" in notes[0]
    assert in_order(FLAT, np.array([1.0, 0.0, 0.0]))[1] == ()


def pressure() -> tuple[PressureTrial, Array, Array, Array]:
    """Return a mat over which a spot moves, and times, force and centre of pressure of a plate beneath it."""
    times = np.arange(80) / 100.0
    normal = 600.0 + 200.0 * np.sin(8.0 * times)
    rows, columns = np.meshgrid(np.arange(40), np.arange(16), indexing="ij")
    spot = 5.0 + 35.0 * times
    felt = np.exp(
        -0.1 * ((rows - spot[:, None, None]) ** 2 + (columns - 6.0 - 3.0 * times[:, None, None]) ** 2)
    )
    trial = PressureTrial(times, 100.0, np.array([0.008, 0.008]), 1e5 * felt, np.zeros(2), False, "a mat")
    turn, shift = np.array([[0.8, -0.6], [0.6, 0.8]]), np.array([0.3, -0.2])
    centre = trial.centre[:, ::-1] @ turn.T + shift
    return trial, times, normal, centre


def test_pressure_is_scaled_and_laid_by_the_plate():
    """Protects figure 5.8: frames sum to the plate's force, the mat lies under its centre or is warned of."""
    trial, times, normal, centre = pressure()
    found = lay_pressure(trial, times, normal, centre)
    assert len(found.frames) == 15
    np.testing.assert_allclose(found.pressure.sum(axis=1) * found.area, normal[found.frames])
    path = found.pressure @ found.cells / found.pressure.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(path, centre[found.frames], atol=1e-9)
    assert "scaled" in found.notes[0]
    assert "0.0 mm off" in found.notes[1]
    assert len(found.notes) == 2
    other = lay_pressure(trial, times, normal, centre + 0.1 * np.sin(40.0 * times)[:, None])
    assert "check the pressure: more than 15 mm off" in other.notes[2]
    plain = lay_pressure(trial, times, normal, centre, scaled=False, placed=False)
    assert plain.notes == ()
    np.testing.assert_allclose(plain.pressure, trial.pressure[plain.frames].reshape(15, -1))


def test_pressure_that_does_not_cover_the_step_is_refused():
    """Protects against a clock that is another one, and against pictures of peaks."""
    trial, times, normal, centre = pressure()
    with pytest.raises(ConfigError, match="the pressure lasts from 5"):
        lay_pressure(trial, times, normal, centre, delay=5.0)
    with pytest.raises(ConfigError, match="picture of peaks"):
        lay_pressure(trial._replace(peak=True), times, normal, centre)


def test_a_mirrored_mat_is_laid_as_well():
    """Protects steps of right feet, whose mats are mirrored with them."""
    rng = np.random.default_rng(5)
    path = rng.uniform(-0.1, 0.1, (9, 2))
    goal = path * [-1.0, 1.0] + [0.2, 0.1]
    turn, shift, off = lay(path, goal, np.ones(9))
    np.testing.assert_allclose(path @ turn.T + shift, goal, atol=1e-12)
    assert off < 1e-12
    assert np.linalg.det(turn) == pytest.approx(-1.0)


def test_chosen_frames_are_inside_the_contact():
    """Protects the fifteen frames: even, without the first and the last."""
    found = chosen_frames(97)
    assert len(found) == 15
    assert found[0] == 6
    assert found[-1] == 90
