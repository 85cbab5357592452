"""What of flagged frames is as good as that of frames without a flag."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from rtsim.files.recording import Results
from rtsim.files.tables.panels import panels_of_results
from rtsim.files.tables.sound import flags_by_joint
from rtsim.files.tables.storage import Table, fullest_part
from rtsim.files.tables.tables import chosen, csv_table, is_motion, picked, table_of
from streams.messages import Curves, FieldSpec, Session, Status, new_session_id

JOINTS = ("hip_r", "hip_l", "trunk")
ANGLES = ("hip_flexion_r", "hip_flexion_l", "trunk_flexion")
OF = tuple((joint,) for joint in JOINTS)
SUSPECT, UNCERTAIN, LATE = int(Status.SUSPECT), int(Status.UNCERTAIN), int(Status.LATE)
N = 10


def results(status: dict[int, int], joints: dict[int, tuple[int, int, int]], tells: bool = True) -> Results:
    """Ten frames whose flags are these, of the frame and of its joints; tells : whether they say of which."""
    of = {"joints": OF} if tells else {}
    specs = [
        FieldSpec("joint_angles", (3,), "rad", ANGLES, curves=Curves(), **of),
        FieldSpec("joint_angles_deviation", (3,), "rad", ANGLES, of="joint_angles", role="deviation"),
        FieldSpec("joint_angles_mask", (3,), "1", ANGLES, of="joint_angles", role="mask"),
        FieldSpec("joint_moments", (1,), "N m", ANGLES[:1], joints=(JOINTS[:2],) if tells else ()),
        FieldSpec("muscle_lengths", (1,), "m", ("psoas",)),
        FieldSpec("marker_fault", (1,), "1", ("RASI",)),
        *([FieldSpec("joint_status", (3,), "1", JOINTS)] if tells else []),
    ]  # fmt: skip
    fields = {spec.name: np.full((N, *spec.shape), 0.5) for spec in specs}
    bits = np.zeros((N, 3))
    for k, own in joints.items():
        bits[k] = own
    if tells:
        fields["joint_status"] = bits
    flags = np.array([status.get(k, 0) for k in range(N)], np.int64)
    session = Session(session=new_session_id(), stream="result", t_start=0, rate=100.0, fields=tuple(specs))
    return Results(session, fields, np.arange(N) / 100.0, flags)


def test_joints_that_are_ok_are_kept_in_flagged_frames() -> None:
    """Protects sound legs from a weak trunk: what a flag regards is blank, all else stays as it is."""
    found, told = chosen(
        results({2: UNCERTAIN, 5: SUSPECT}, {2: (0, 0, UNCERTAIN), 5: (SUSPECT, 0, 0)}), "ok"
    )
    assert len(found.times) == N
    expected = np.zeros((N, 3), bool)
    expected[2, 2] = expected[5, 0] = True
    for name in ("joint_angles", "joint_angles_deviation"):
        np.testing.assert_array_equal(np.isnan(found.fields[name]), expected)
    assert (found.fields["joint_angles"][~expected] == 0.5).all()
    np.testing.assert_array_equal(np.isnan(found.fields["joint_moments"][:, 0]), expected[:, :2].any(axis=1))
    np.testing.assert_array_equal(np.isnan(found.fields["muscle_lengths"][:, 0]), expected.any(axis=1))
    assert not np.isnan(found.fields["marker_fault"]).any()
    assert not np.isnan(found.fields["joint_angles_mask"]).any()
    assert "hip_r in 1" in told[0]
    assert "trunk in 1" in told[0]


@pytest.mark.parametrize("bit", [Status.STALE, Status.INVALID_INPUT, Status.SUSPECT, Status.NOT_CONVERGED])
def test_what_no_joint_explains_is_of_the_whole_frame(bit: Status) -> None:
    """Protects from flags that others than the joints give, and from unknown ones: the frame is left out, as
    is one in which no joint is ok; one that is merely late, or had no forces, is not."""
    everything = (SUSPECT,) * 3
    found, told = chosen(
        results({1: int(bit), 2: 256, 3: SUSPECT, 4: LATE, 5: int(Status.DEGRADED)}, {3: everything}), "ok"
    )
    assert (100 * found.times).round().astype(int).tolist() == [0, 4, 5, 6, 7, 8, 9]
    assert not np.isnan(found.fields["joint_angles"]).any()
    assert np.isnan(found.fields["muscle_lengths"][:, 0]).tolist() == [False, False, True] + [False] * 4
    assert "3 frames of 10 left out, because these frames are flagged" in told


def test_where_no_joint_is_told_frames_are_taken_whole() -> None:
    """Protects old recordings and simulations: --frames ok keeps what it always did."""
    found, told = chosen(results({2: UNCERTAIN, 4: LATE}, {}, tells=False), "ok")
    assert len(found.times) == N - 2
    assert not any(np.isnan(values).any() for values in found.fields.values())
    assert told == ("2 frames of 10 left out, because these frames are flagged",)
    for frames in ("marked", "all"):
        assert chosen(results({2: UNCERTAIN}, {2: (0, 0, UNCERTAIN)}), frames)[1] == ()


def test_tables_have_gaps_where_their_format_can() -> None:
    """Protects legs in .mot of a trial whose trunk is weak throughout: the trunk goes, not the frames."""
    flags = dict.fromkeys(range(N), UNCERTAIN)
    few, _ = chosen(results(flags, dict.fromkeys(range(N), (0, 0, UNCERTAIN))), "ok")
    table = table_of(few, picked(few, is_motion, "a"), "a", "ok")
    assert table.data.shape == (N, 4)
    assert np.isnan(table.data[:, 3]).all()
    assert np.isfinite(table.data[:, :3]).all()
    row = next(csv.reader([",".join(csv_table(few, "ok").columns)]))
    assert "joint_status.trunk [1]" in row


def test_figures_shade_what_flags_regard() -> None:
    """Protects the reader of a figure: a leg's panel is not shaded for the trunk; all are where results do
    not tell of which joint a flag is; none for a late frame."""
    flags = {2: UNCERTAIN, 4: LATE}
    panels = panels_of_results(results(flags, {2: (0, 0, UNCERTAIN)})).panels
    shaded = {
        panel.title: np.flatnonzero(panel.flagged).tolist() for panel in panels if panel.flagged is not None
    }
    assert shaded == {"Hip flexion": [], "Trunk flexion": [2]}
    panels = panels_of_results(results(flags, {}, tells=False)).panels
    assert {tuple(np.flatnonzero(one.flagged)) for one in panels if one.flagged is not None} == {(2,)}


def test_frames_are_counted_by_joint() -> None:
    """Protects the summary: how often each joint is flagged, not of late frames."""
    found = results({2: SUSPECT, 3: SUSPECT}, {2: (SUSPECT, 0, 0), 3: (SUSPECT, 0, LATE)})
    assert flags_by_joint(found) == {"hip_r": 2}
    assert flags_by_joint(results({2: SUSPECT}, {}, tells=False)) == {}


def test_a_joint_with_gaps_costs_no_rows_that_the_others_fill() -> None:
    """Protects legs in formats without gaps: the columns go that cost more values than they hold; where the
    gaps are in all of them, the rows go."""
    data = np.arange(40.0).reshape(10, 4)
    table = Table(("time", "knee", "hip", "trunk"), data.copy(), True, "a")
    assert fullest_part(table) == (table, [])
    table.data[:3, 3] = np.nan
    part, told = fullest_part(table)
    assert part.columns == ("time", "knee", "hip")
    np.testing.assert_array_equal(part.data, data[:, :3])
    assert "trunk" in told[0]
    table.data[:, 3] = data[:, 3]
    table.data[:2, 1:] = np.nan
    assert fullest_part(table)[0].columns == table.columns
