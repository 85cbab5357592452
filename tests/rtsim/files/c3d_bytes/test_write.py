"""Results in a C3D file: all of the source, found again by two readers, and the results behind."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import ezc3d
import numpy as np
import pytest
from msgspec import structs

from rtsim.errors import ConfigError
from rtsim.files.c3d_bytes.source import open_source
from rtsim.files.c3d_bytes.words import DEC, INTEL, MIPS
from rtsim.files.c3d_bytes.write import check_source, write_c3d
from rtsim.files.gait.events import OFF, STRIKE, read_events
from rtsim.files.markers.c3d import read_c3d
from streams.messages import FieldSpec
from tests.rtsim.files.c3d_bytes.results import (
    EVENTS,
    SHARED,
    by_second_reader,
    labels_of,
    results_of,
    same_parameters,
    source_file,
    with_conventional,
    written,
)


@pytest.mark.parametrize("code", [INTEL, DEC])
@pytest.mark.parametrize("scale", [-0.1, 0.1])
def test_both_readers_find_the_source_and_the_results(tmp_path: Path, code: int, scale: float) -> None:
    """Protects data, parameters, angles and events of a written file, in both kinds of storage."""
    source = source_file(tmp_path, code=code, scale=scale)
    out, results, notes = written(tmp_path, source)
    old, new = ezc3d.c3d(str(source)), ezc3d.c3d(str(out))
    np.testing.assert_allclose(new["data"]["points"][:, :3], old["data"]["points"], rtol=1e-6)
    np.testing.assert_array_equal(new["data"]["analogs"], old["data"]["analogs"])
    np.testing.assert_array_equal(
        new["data"]["meta_points"]["residuals"][:, :3], old["data"]["meta_points"]["residuals"]
    )
    changed = same_parameters(old, new)
    assert changed <= {"POINT:USED", "POINT:LABELS", "POINT:DESCRIPTIONS", "POINT:DATA_START", "POINT:SCALE"}
    assert ("POINT:SCALE" in changed) == (scale > 0.0) == any("16-bit" in note for note in notes)
    labels = labels_of(new)
    angles = new["data"]["points"][:3, labels.index("LHipAngles_ISB")].T
    told = np.degrees(results.fields["joint_angles"][:, 3:])
    told[2] = np.nan  # did not converge
    np.testing.assert_allclose(angles, told, rtol=1e-6)
    centre = new["data"]["points"][:3, labels.index("RHJC")].T
    np.testing.assert_allclose(centre[0], [100.0, 200.0, 900.0], rtol=1e-6)
    reader, points, samples = by_second_reader(out)
    np.testing.assert_allclose(points[..., :3], np.nan_to_num(new["data"]["points"][:3].transpose(2, 1, 0)))
    assert (points[3, 1, 3], points[2, labels.index("LHipAngles_ISB"), 3]) == (-1.0, -1.0)
    np.testing.assert_allclose(samples.transpose(1, 0, 2).reshape(2, -1), new["data"]["analogs"][0])
    assert [t.strip() for t in reader.get("EVENT:CONTEXTS").string_array] == ["Right", "Left", "General"]
    assert [t.strip() for t in reader.get("EVENT:LABELS").string_array] == ["Foot Strike", "Foot Off", "Jump"]
    assert [t.strip() for t in reader.get("ANALYSIS:NAMES").string_array] == ["Cadence", "Step Length"]
    np.testing.assert_allclose(reader.get("ANALYSIS:VALUES").float_array, [110.5, 0.61], rtol=1e-6)
    times = new["parameters"]["EVENT"]["TIMES"]["value"]
    np.testing.assert_allclose(times, [[0.0, 1.0, 0.0], [0.52, 1.25, 0.53]], rtol=1e-6)


def test_units_and_kinds_are_told(tmp_path: Path) -> None:
    """Protects what readers scale by: angles are no millimetres, moments are N mm, powers stand in z."""
    out, results, _ = written(tmp_path, source_file(tmp_path))
    new = ezc3d.c3d(str(out))
    point = {name: value["value"] for name, value in new["parameters"]["POINT"].items() if "value" in value}
    assert {name: point[name] for name in point if name.endswith("_UNITS")} == {
        "ANGLE_UNITS": ["deg"], "MOMENT_UNITS": ["Nmm"], "FORCE_UNITS": ["N"], "POWER_UNITS": ["W"],
        "MODELED_MARKER_UNITS": ["mm"],
    }  # fmt: skip
    assert point["ANGLES"] == ["RHipAngles_ISB", "LHipAngles_ISB"]
    assert point["MOMENTS"] == ["RHipMoment_ISB", "LHipMoment_ISB"]
    assert point["POWERS"] == ["RHipPower_rtsim", "LHipPower_rtsim"]
    assert dict(zip(point["TYPE_GROUPS"][::2], point["TYPE_GROUPS"][1::2], strict=True))["ANGLES"] == "ANGLE"
    labels, data = labels_of(new), new["data"]["points"][:3]
    n = results.fields["joint_moments"][7]
    np.testing.assert_allclose(data[:, labels.index("RHipMoment_ISB"), 7], 1e3 * n[:3], rtol=1e-6)
    power = results.fields["joint_powers"][7, 0].sum()
    np.testing.assert_allclose(data[:, labels.index("RHipPower_rtsim"), 7], [0.0, 0.0, power], rtol=1e-6)


def test_a_big_endian_source_stays_one(tmp_path: Path) -> None:
    """Protects files of MIPS machines, which one of the two readers knows, and ours."""
    source = source_file(tmp_path, code=MIPS)
    out, results, _ = written(tmp_path, source)
    intel = ezc3d.c3d(str(source_file(tmp_path)))
    reader, points, samples = by_second_reader(out)
    assert reader.proc_type == "MIPS"
    np.testing.assert_allclose(
        points[:, :3, :3], np.nan_to_num(intel["data"]["points"][:3].transpose(2, 1, 0))
    )
    np.testing.assert_allclose(samples.transpose(1, 0, 2).reshape(2, -1), intel["data"]["analogs"][0])
    labels = [label.strip() for label in reader.point_labels]
    told = np.degrees(results.fields["joint_angles"][5, :3])
    np.testing.assert_allclose(points[5, labels.index("RHipAngles_ISB"), :3], told, rtol=1e-6)
    assert read_c3d(out).names == read_c3d(source).names
    assert [event.kind for event in read_events(out).events] == [STRIKE, "", OFF, OFF]


def test_bytes_that_nobody_touches_are_the_same(tmp_path: Path) -> None:
    """Protects the records of parameters, the header's events and the words of points and samples."""
    more = {"OWN": {"NOTE": ["abc"], "REAL": 0.1}, "PROCESSING": {"LKneeWidth": 101.0}}
    source = source_file(tmp_path, more=more)
    out, _, _ = written(tmp_path, source)
    old, new = open_source(source), open_source(out)
    bodies = {(r.group, r.key): r.body for r in new.section.records}
    changed = {r.key for r in old.section.records if bodies[r.group, r.key] != r.body}
    assert changed == {"USED", "LABELS", "DESCRIPTIONS"} | ({"DATA_START"} & changed)
    assert new.data[20:512] == old.data[20:512]
    n = old.layout.n_point

    def parts(found) -> tuple[np.ndarray, np.ndarray]:
        (start,) = struct.unpack_from("<H", found.data, 16)
        words = np.frombuffer(found.data, "<u4", offset=512 * (start - 1))
        rows = words[: found.n_frame * (found.layout.n_byte // 4)].reshape(found.n_frame, -1)
        return rows[:, : 4 * n], rows[:, 4 * found.layout.n_point :]

    for before, after in zip(parts(old), parts(new), strict=True):
        np.testing.assert_array_equal(before, after)


def test_more_points_than_one_list_holds(tmp_path: Path) -> None:
    """Protects labels beyond 255, which go on in LABELS2 and LABELS3."""
    source = source_file(tmp_path, n_point=250)
    out, _, _ = written(tmp_path, source)
    new = ezc3d.c3d(str(out))
    labels = labels_of(new)
    assert len(labels) == new["header"]["points"]["size"] > 255
    assert len(new["parameters"]["POINT"]["LABELS"]["value"]) == 255
    assert labels[249:252] == ["P246", "RHipAngles_ISB", "LHipAngles_ISB"]
    assert by_second_reader(out)[1].shape[1] == len(labels)


def test_more_frames_than_16_bits_count(tmp_path: Path) -> None:
    """Protects the end of a long trial: all of its frames, and the results of the last one."""
    n_frame = 66_000
    source = source_file(tmp_path, n_frame=n_frame, first=0)
    out, results, _ = written(tmp_path, source)
    trial = read_c3d(out, virtual=True)
    assert trial.positions.shape[0] == n_frame
    np.testing.assert_allclose(trial.positions[-1, trial.names.index("RHJC")], [0.1, 0.9, -0.2], rtol=1e-6)
    _, points, _ = by_second_reader(out)
    assert len(points) == n_frame
    told = np.degrees(results.fields["joint_angles"][-1, :3])
    np.testing.assert_allclose(points[-1, 3, :3], told, rtol=1e-6)


def test_labels_that_are_there_stay_and_ours_get_others(tmp_path: Path) -> None:
    """Protects the outputs of another program from being taken for ours, and ours from theirs."""
    source = source_file(tmp_path, n_point=5)
    data = source.read_bytes().replace(b"P0  P1  ", b"RHJCLHJC")
    source.write_bytes(data)
    out, _, notes = written(tmp_path, source)
    assert {"RHJC", "LHJC", "RHJC_rtsim", "LHJC_rtsim"} <= set(labels_of(ezc3d.c3d(str(out))))
    assert any("RHJC as RHJC_rtsim" in note for note in notes)
    again = tmp_path / "again.c3d"
    found = open_source(out)
    write_c3d(again, results_of((found.first + np.arange(found.n_frame)) / found.rate), found)
    assert "RHJC_rtsim2" in labels_of(ezc3d.c3d(str(again)))
    assert read_c3d(again).names == read_c3d(source).names  # none of it becomes a marker


def test_conventional_angles_have_the_names_of_plug_in_gait(tmp_path: Path) -> None:
    """Protects who looks for LFootProgressAngles: there are the conventional ones, and ours are apart."""
    source = open_source(source_file(tmp_path))
    results = with_conventional(results_of(0.5 + np.arange(12) / 100.0))
    out = tmp_path / "out.c3d"
    assert write_c3d(out, results, source) == ()
    new = ezc3d.c3d(str(out))
    labels, data = labels_of(new), new["data"]["points"][:3, :, 0]
    left = data[:, labels.index("LFootProgressAngles")]
    np.testing.assert_allclose(left, np.degrees([0.4, 0.5, 0.6]), rtol=1e-6)
    np.testing.assert_allclose(data[:, labels.index("LKJC")], [200.0, 0.0, 400.0], atol=1e-4)
    assert {"RHJC_rtsim", "LHipAngles_ISB", "RKJC"} <= set(labels)
    assert not {"LHipAngles", "RHJC"} & set(labels)


def test_results_of_one_of_two_persons_have_his_name(tmp_path: Path) -> None:
    """Protects from angles that could be anybody's where labels name persons."""
    source = source_file(tmp_path, n_point=9, more={"SUBJECTS": {"USED": 2, "NAMES": ["Bo", "Al"]}})
    data = source.read_bytes()
    for old, new in (("RASI", "B:RA"), ("RKNE", "B:RK"), ("P0  ", "A:RA"), ("P1  ", "A:RK")):
        data = data.replace(old.encode(), new.encode())
    source.write_bytes(data)
    found = open_source(source)
    results = results_of(0.5 + np.arange(12) / 100.0)
    session = structs.replace(results.session, meta={**results.session.meta, "person": "b"})
    out = tmp_path / "out.c3d"
    write_c3d(out, results._replace(session=session), found, EVENTS)
    new = ezc3d.c3d(str(out))
    assert "B:RHipAngles_ISB" in labels_of(new)
    assert new["parameters"]["POINT"]["ANGLES"]["value"] == ["B:RHipAngles_ISB", "B:LHipAngles_ISB"]
    assert new["parameters"]["EVENT"]["SUBJECTS"]["value"] == ["B"] * 3
    assert read_c3d(out, person="B").names == read_c3d(source, person="B").names


def test_results_of_some_frames_stand_at_theirs(tmp_path: Path) -> None:
    """Protects the place of results that begin later, end sooner, or lie outside the file."""
    source = open_source(source_file(tmp_path))
    times = np.array([0.53, 0.55, 0.56, 9.0, np.nan])
    out = tmp_path / "out.c3d"
    notes = write_c3d(out, results_of(times), source)
    new = ezc3d.c3d(str(out))
    angles = new["data"]["points"][:3, labels_of(new).index("RHipAngles_ISB")].T
    assert np.flatnonzero(np.isfinite(angles[:, 0])).tolist() == [3, 5]  # the third did not converge
    assert any("2 times" in note for note in notes)


def test_a_file_that_ends_before_its_last_frame_says_so_no_more(tmp_path: Path) -> None:
    """Protects from a header that announces frames which the new file would fill with results."""
    source = source_file(tmp_path, n_frame=400)
    data = source.read_bytes()
    source.write_bytes(data[: len(data) - 100 * 64])
    out, _, notes = written(tmp_path, source)
    new = ezc3d.c3d(str(out))
    assert new["data"]["points"].shape[2] == 300
    assert any("header stated 400 frames" in note for note in notes)


@pytest.mark.parametrize("unit", ["furlong", "N/kg"])
def test_units_that_are_not_known_are_not_written_in(tmp_path: Path, unit: str) -> None:
    """Protects from moments that stand under a unit which is not theirs."""
    source = source_file(tmp_path, more={})
    found = open_source(source)
    found.section.put_texts("POINT", "MOMENT_UNITS", [unit])
    out = tmp_path / "out.c3d"
    notes = write_c3d(out, results_of(0.5 + np.arange(12) / 100.0), found)
    assert not any("Moment" in label for label in labels_of(ezc3d.c3d(str(out))))
    assert any("MOMENT_UNITS" in note for note in notes)


def test_the_source_is_never_written_over(tmp_path: Path) -> None:
    """Protects a recording from its own results; other sources are told."""
    source = source_file(tmp_path)
    with pytest.raises(ConfigError, match="never overwritten"):
        check_source(source, source, "--out")
    link = tmp_path / "link.c3d"
    link.symlink_to(source)
    with pytest.raises(ConfigError, match="never overwritten"):
        check_source(source, link, "--out")
    with pytest.raises(ConfigError, match="is not a C3D file"):
        check_source("walker", tmp_path / "out.c3d", "--out")
    with pytest.raises(ConfigError, match="does not exist"):
        check_source(tmp_path / "gone.c3d", tmp_path / "out.c3d", "--out")


def test_damaged_sources_give_no_file_that_cannot_be_read(tmp_path: Path) -> None:
    """Protects from a file that no reader opens: a damaged source is refused, or what comes of it is read."""
    sound = source_file(tmp_path).read_bytes()
    dice = random.Random(7)
    n_written = 0
    for k in range(60):
        damaged = bytearray(sound if k % 3 else sound[: dice.randrange(600, len(sound))])
        for _ in range(dice.randrange(1, 4)):
            damaged[dice.randrange(2, min(len(damaged), 2200))] = dice.randrange(256)
        source, out = tmp_path / "damaged.c3d", tmp_path / f"out{k}.c3d"
        source.write_bytes(damaged)
        try:
            found = open_source(source)
            write_c3d(out, results_of((found.first + np.arange(found.n_frame)) / found.rate), found)
        except ConfigError:
            assert not out.exists()
            continue
        n_written += 1
        content = ezc3d.c3d(str(out))
        assert content["data"]["points"].shape[1] > found.layout.n_point
    assert n_written > 5


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the recordings beside the project")
@pytest.mark.parametrize(
    "name",
    ["gait_mcgill/HC030A_turn", "gait_pycgm/Movement_trial", "format_edge_cases/c3d_gaps/test_walking",
     "stoop_lift/VUA2UHEI/3D/neu_t169_f250f350"],
)  # fmt: skip
def test_recordings_are_whole_in_what_is_written(tmp_path: Path, name: str) -> None:
    """Protects data and parameters of real files, some with results of Nexus, for both readers."""
    source = SHARED / f"{name}.c3d"
    out, results, _ = written(tmp_path, source, EVENTS[:1])
    old, new = ezc3d.c3d(str(source)), ezc3d.c3d(str(out))
    n = old["data"]["points"].shape[1]
    np.testing.assert_array_equal(new["data"]["points"][:, :n], old["data"]["points"])
    np.testing.assert_array_equal(new["data"]["analogs"], old["data"]["analogs"])
    residuals = [c["data"]["meta_points"]["residuals"][:, :n] for c in (old, new)]
    np.testing.assert_array_equal(*residuals)
    lists = {"LABELS", "LABELS2", "DESCRIPTIONS", "DESCRIPTIONS2", "USED", "DATA_START", "TYPE_GROUPS"}
    kinds = {"ANGLES", "MOMENTS", "POWERS", "FORCES", "SCALARS", "MODELED_MARKERS"}
    changed = same_parameters(old, new)
    assert all(x.startswith(("EVENT:", "ANALYSIS:")) or x.partition(":")[2] in lists | kinds for x in changed)
    labels = labels_of(new)
    told = np.degrees(results.fields["joint_angles"][7, :3])
    np.testing.assert_allclose(new["data"]["points"][:3, labels.index("RHipAngles_ISB"), 7], told, rtol=1e-6)
    _, points, _ = by_second_reader(out)
    np.testing.assert_array_equal(
        points[..., :3], np.nan_to_num(new["data"]["points"][:3].transpose(2, 1, 0))
    )
    assert read_c3d(out).names == read_c3d(source).names
    np.testing.assert_array_equal(read_c3d(out).positions, read_c3d(source).positions)


def test_letters_of_other_alphabets_keep_their_bytes(tmp_path: Path) -> None:
    """Protects labels and descriptions in Latin-1 from being written in other bytes."""
    source = source_file(tmp_path)
    source.write_bytes(source.read_bytes().replace(b"of this point", b"Oberfl\xe4che   "))
    out, _, _ = written(tmp_path, source)
    section = open_source(out).section
    assert section.raw_texts("POINT", "DESCRIPTIONS")[0].rstrip() == b"Oberfl\xe4che"
    assert ezc3d.c3d(str(out))["parameters"]["POINT"]["LABELS"]["value"][:3] == ["RASI", "RKNE", "RHEE"]


def test_lists_that_do_not_fit_each_other_are_left_alone(tmp_path: Path) -> None:
    """Protects events and values of a file whose counts do not go with its lists."""
    more = {
        "EVENT": {"USED": 3, "LABELS": ["a", "b", "c"], "TIMES": np.array([[0.0], [0.5]])},
        "ANALYSIS": {"USED": 2, "NAMES": ["x", "y"], "VALUES": np.array([1.0])},
    }
    source = source_file(tmp_path, more=more)
    out, _, notes = written(tmp_path, source)
    old, new = (ezc3d.c3d(str(path))["parameters"] for path in (source, out))
    for group, name in (("EVENT", "LABELS"), ("ANALYSIS", "NAMES")):
        assert new[group][name]["value"] == old[group][name]["value"]
    assert sum("was added" in note for note in notes) == 2


def test_results_of_another_recording_are_refused(tmp_path: Path) -> None:
    """Protects a file from results of another walk, or of another time with the same frames."""
    source = open_source(source_file(tmp_path))
    results = results_of(0.5 + np.arange(12) / 100.0)
    fields = (
        *results.session.fields,
        FieldSpec("markers_measured", (2, 3), "m", ("RKNE", "RASI"), frame="ground"),
    )
    session = structs.replace(results.session, fields=fields)
    places = 1e-3 * np.array([[500.0, 525.0, -500.0], [500.0, 1000.0, -500.0]]) + np.zeros((12, 1, 1))
    places[..., 0] += 0.5e-3 * np.arange(12)[:, None]
    right = results._replace(session=session, fields={**results.fields, "markers_measured": places})
    assert write_c3d(tmp_path / "right.c3d", right, source) == ()
    moved = right._replace(fields={**right.fields, "markers_measured": places + 0.01})
    for wrong in (moved, right._replace(times=right.times + 7.0)):
        with pytest.raises(ConfigError, match="not computed from"):
            write_c3d(tmp_path / "wrong.c3d", wrong, open_source(source.path))
    assert not (tmp_path / "wrong.c3d").exists()
