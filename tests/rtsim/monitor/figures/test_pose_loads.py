"""Pictures of poses with what acts in them: muscles at their points, the device's joint."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyqtgraph")

from rtsim.cli.main import main
from rtsim.files.recording import Results, read_results
from rtsim.monitor.figures.pose_loads import DEVICE, MUSCLE, PoseLoads, muscle_lines
from streams.messages import FieldSpec, Session


def analysed(path: Path, *words: object) -> Results:
    """Results of a recording, kept in a file."""
    with pytest.raises(SystemExit) as done:
        main(["analyse", *map(str, words), "--out", str(path)])
    assert not done.value.code
    return read_results(path)


def check_lengths(results: Results) -> None:
    """Lines of muscles are as long as the muscles where nothing lies between their points, never longer."""
    loads, (names,) = PoseLoads(results), [
        spec.labels for spec in results.session.fields if spec.name == "muscle_lengths"
    ]  # fmt: skip
    assert [line.name for line in loads.muscles] == list(names)
    n_equal = 0
    for k in (0, len(results.times) // 2):
        for line in loads.muscles:
            drawn = np.linalg.norm(np.diff(loads.line_at(line, k), axis=0), axis=1).sum()
            length = results.fields["muscle_lengths"][k][names.index(line.name)]
            assert drawn < length + 1e-9
            n_equal += abs(drawn - length) < 1e-9
    assert n_equal > len(names)


def test_muscles_are_where_their_lengths_say(tmp_path: Path) -> None:
    """Protects drawn muscles of both legs: they are as long as published, surfaces aside."""
    check_lengths(analysed(tmp_path / "a.mcap", "walker", "--side", "both"))


def test_muscles_of_a_lone_left_leg_are_on_its_side(tmp_path: Path, shared: Path) -> None:
    """Protects the left leg, which is solved as a right one: its muscles are turned back, too."""
    folder = shared / "data" / "gait_mcgill"
    walk, static = folder / "HC002D_straight.c3d", folder / "HC002D_static.c3d"
    check_lengths(analysed(tmp_path / "a.mcap", walk, "--static", static, "--side", "left"))


def pose(**meta: object) -> Results:
    """One frame of a thigh turned by a quarter about Z."""
    specs = (
        FieldSpec("segment_positions", (1, 3), "m", ("thigh",)),
        FieldSpec("segment_rotations", (1, 3, 3), "1", ("thigh",)),
    )
    turned = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    fields = {
        "segment_positions": np.array([[[0.1, 0.9, 0.0]]]), "segment_rotations": turned[None, None],
    }  # fmt: skip
    session = Session(session="s", stream="result", t_start=0, rate=100.0, fields=specs, meta=meta)
    return Results(session, fields, np.zeros(1), np.zeros(1, np.int64))


def test_points_and_signs() -> None:
    """Protects muscles and the device: at the places that the descriptor states, and in the key."""
    loads = PoseLoads(pose(
        muscle_points={"vasti": [["thigh", 0.2, 0.0, 0.0], ["", 0.0, 0.5, 0.0]]},
        device={"coordinate": "knee", "place": ["thigh", 0.0, 0.4, 0.0]},
    ))  # fmt: skip
    assert loads.signs() == (MUSCLE, DEVICE)
    np.testing.assert_allclose(loads.line_at(loads.muscles[0], 0), [[0.1, 1.1, 0.0], [0.0, 0.5, 0.0]])
    assert loads.device is not None
    np.testing.assert_allclose(loads.line_at(loads.device, 0), [[-0.3, 0.9, 0.0]])
    np.testing.assert_allclose(loads.points(0), [[0.1, 1.1, 0.0], [0.0, 0.5, 0.0]])
    assert PoseLoads(pose()).signs() == ()


@pytest.mark.parametrize(
    "rows",
    [None, 3, "vasti", {"vasti": 3}, {"vasti": [["shank", 0.0, 0.0, 0.0]] * 2},
     {"vasti": [["thigh", 0.0]] * 2},
     {"vasti": [["thigh", "x", 0.0, 0.0]] * 2}, {"vasti": [["thigh", math.inf, 0.0, 0.0]] * 2},
     {"vasti": [["thigh", 0.0, 0.0, 0.0]]}, {"vasti": [[["thigh"], 0.0, 0.0, 0.0]] * 2}],
)  # fmt: skip
def test_odd_descriptors_have_no_muscles(rows: object) -> None:
    """Protects pictures of recordings from elsewhere: what is no muscle is left out, and nothing raises."""
    assert muscle_lines(rows, ("thigh",)) == []
    assert PoseLoads(pose(muscle_points=rows, device=rows)).device is None
