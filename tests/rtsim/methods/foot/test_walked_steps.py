"""Steps of recorded walks: which are complete, what is put right, what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.files.markers.markers import read_markers
from rtsim.methods.foot.walked_steps import check_sides, walked_steps


@pytest.fixture
def gait(shared: Path) -> Path:
    """The walks over seven plates."""
    return shared / "data" / "gait_bmc"


def test_steps_of_a_real_walk(gait):
    """Protects what is found in walk1: three complete steps, one cut by its end, sides exchanged."""
    walk = walked_steps(gait / "walk1.trc")
    assert [(name, step.side) for name, step in walk.steps.items()] == [
        ("plate_6", "right"), ("plate_5", "left"), ("plate_3", "right")
    ]  # fmt: skip
    assert walk.left_out == (
        "plate_4: the trial ends while plate_4 bears 422 N, so the footstep is incomplete",
    )
    for step in walk.steps.values():
        assert any("used as a" in note for note in step.notes)
        assert 700.0 < step.weight < 800.0
        assert abs(step.force[:, 2].max() / step.weight - 1.1) < 0.1
        # anterior of the heel all along, and under the foot
        bears = step.force[:, 2] > 100.0
        assert step.centre[bears, 1].min() > 0.0
        assert step.centre[bears, 1].max() < 0.3
        slopes = np.gradient(step.position, step.times, axis=0)
        np.testing.assert_allclose(slopes[5:-5], step.velocity[5:-5], atol=0.06)


def test_forces_are_read_with_the_units_and_the_axis_of_the_command(gait, monkeypatch):
    """Protects moments in N m of a file that states no unit, and plates from axes other than the markers'."""
    asked = {}

    def noted(path, up=None, units=None, markers=None):
        asked.update(up=up, units=units)
        raise ConfigError("enough", where=str(path))

    monkeypatch.setattr("rtsim.methods.foot.walked_steps.read_forces", noted)
    with pytest.raises(ConfigError, match="enough"):
        walked_steps(gait / "walk1.trc", up="Y", units="mm,Nm")
    assert asked == {"up": "Y", "units": "mm,Nm"}


def test_a_gap_of_one_marker_costs_its_step_alone(gait, tmp_path):
    """Protects the other steps of a trial: one frame without a heel leaves out that step, and says why."""
    path = tmp_path / "walk1.trc"
    lines = (gait / "walk1.trc").read_text().splitlines()
    heel = lines[3].split("\t").index("R.Heel")
    row = next(k for k, line in enumerate(lines) if line.startswith("201\t"))
    cells = lines[row].split("\t")
    cells[heel : heel + 3] = ["", "", ""]
    path.write_text("\n".join([*lines[:row], "\t".join(cells), *lines[row + 1 :]]) + "\n")
    walk = walked_steps(path, gait / "walk1.forces")
    assert list(walk.steps) == ["plate_6", "plate_3"]
    assert "plate_5: calcaneus of the right foot is not visible throughout the footstep" in walk.left_out


def test_exchanged_labels_of_a_real_foot_are_put_right(gait):
    """Protects walk2's left foot, whose metatarsals 1 and 2 are exchanged: it mirrors the right one."""
    walk = walked_steps(gait / "walk2.trc")
    left, right = walk.steps["plate_5"].frame, walk.steps["plate_6"].frame
    assert any("labels of two metatarsal markers are swapped" in note for note in walk.steps["plate_5"].notes)
    np.testing.assert_allclose(left.toe_origin, right.toe_origin, atol=0.006)


def test_exchanged_first_and_fifth_metatarsals_are_put_right(gait, tmp_path):
    """Protects a foot from becoming the other one by its labels: the leg beside it tells which it is."""
    path = tmp_path / "walk2.trc"
    lines = (gait / "walk2.trc").read_text().splitlines()
    names = {"R.MT1": "R.MT5", "R.MT5": "R.MT1"}
    lines[3] = "\t".join(names.get(name, name) for name in lines[3].split("\t"))
    path.write_text("\n".join(lines) + "\n")
    plain = walked_steps(gait / "walk2.trc").steps
    steps = walked_steps(path, gait / "walk2.forces").steps
    assert [step.side for step in steps.values()] == ["right", "left", "right"]
    assert any("metatarsal_1 is labelled metatarsal_5" in note for note in steps["plate_6"].notes)
    np.testing.assert_allclose(steps["plate_6"].centre, plain["plate_6"].centre, atol=1e-12)


def test_feet_of_one_side_are_refused():
    """Protects from two feet of one side, and from a foot that changes its side between steps."""
    check_sides([("right", "left"), ("left", "right"), ("right", "left")], "a walk")
    for wrong in ([("right", "right"), ("left", "right")], [("right", "right"), ("right", "left")]):
        with pytest.raises(ConfigError, match="disagree on which foot is the left and which the right"):
            check_sides(wrong, "a walk")


def test_steps_that_the_forces_cut_are_told(shared):
    """Protects from a first step that had begun before the forces did."""
    walk = walked_steps(shared / "data" / "squat_opencap" / "walking1.trc", mass=76.0)
    assert list(walk.steps) == ["ground_force_2"]
    assert (
        "forces begin at 0.01 s while ground_force_1 bears 223 N, so the footstep is incomplete"
        in walk.left_out[0]
    )


def test_a_static_trial_makes_a_walk_usable(shared):
    """Protects walks whose first metatarsal only the static trial has; without one it is asked for."""
    folder = shared / "data" / "gait_mcgill"
    static = read_markers(folder / "HC030A_static.c3d")
    steps = walked_steps(folder / "HC030A_straight.c3d", mass=40.0, static=static).steps
    assert [step.side for step in steps.values()] == ["right", "left"]
    for step in steps.values():
        assert "hallux" in step.frame.names
        assert any("metatarsal_1 taken from HC030A_static.c3d" in note for note in step.notes)
    right, left = (step.frame for step in steps.values())
    np.testing.assert_allclose(left.toe_origin, right.toe_origin, atol=0.008)
    with pytest.raises(ConfigError, match=r"metatarsal_1 of the right foot.*give --static"):
        walked_steps(folder / "HC030A_straight.c3d", mass=40.0)


def rewritten(gait: Path, tmp_path: Path, change) -> Path:
    """Return walk1 with other forces beside it; change : of the seven columns of a plate."""
    path = tmp_path / "walk1.trc"
    path.write_bytes((gait / "walk1.trc").read_bytes())
    lines = (gait / "walk1.forces").read_text().splitlines()
    head = next(k for k, line in enumerate(lines) if line.startswith("#Sample"))
    rows = [line.split() for line in lines[head + 1 :] if line.strip()]
    table = np.array(rows, float)
    columns = table[:, 1:].reshape(len(table), 7, 7)
    table[:, 1:] = np.array(change(columns)).reshape(len(table), 49)
    body = ["\t".join(f"{value:.3f}" for value in row) for row in table.tolist()]
    (tmp_path / "walk1.forces").write_text("\n".join([*lines[: head + 1], *body]) + "\n")
    return path


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c[..., [0, 2, 1, 3, 4, 5, 6]], "Z looks like the vertical"),
        (lambda c: c[..., [0, 1, 2, 5, 4, 3, 6]], "under a foot|no foot is"),
        (lambda c: np.concatenate([c[..., :3], 1e-3 * c[..., 3:6], c[..., 6:]], axis=2), "a foot"),
        (
            lambda c: c[:, [0, 1, 3, 2, 5, 4, 6]] * [1, 1, 1, 0, 0, 0, 1] + c * [0, 0, 0, 1, 1, 1, 0],
            "a foot|foot is",
        ),
    ],
)
def test_wrong_plates_are_told(gait, tmp_path, change, said):
    """Protects against swapped axes and places, metres as millimetres, and feet on the wrong plate."""
    with pytest.raises(ConfigError, match=said):
        walked_steps(rewritten(gait, tmp_path, change))


def test_a_walk_without_plates_is_refused(gait):
    """Protects the sentence for a trial of markers alone."""
    with pytest.raises(ConfigError, match=r"the trial has no force plates.*give --forces"):
        walked_steps(gait / "walk.trc")
