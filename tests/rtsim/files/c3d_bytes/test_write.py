"""Results in a C3D file: all of the source, found again by two readers, and the results behind."""

from __future__ import annotations

import random
import struct
import warnings
from pathlib import Path

import ezc3d
import numpy as np
import pytest
from msgspec import structs

from rtsim.errors import ConfigError
from rtsim.files.c3d_bytes.marks import AnalysisValue
from rtsim.files.c3d_bytes.processor import for_processor
from rtsim.files.c3d_bytes.source import open_source
from rtsim.files.c3d_bytes.words import DEC, INTEL, MIPS
from rtsim.files.c3d_bytes.write import check_source, write_c3d
from rtsim.files.gait.events import FILE, OFF, PLATES, STRIKE, GaitEvent, read_events
from rtsim.files.markers.c3d import read_c3d
from rtsim.files.recording import Results
from streams.messages import FieldSpec, Session, new_session_id
from tests.rtsim.files.conftest import c3d_bytes

SHARED = Path(__file__).resolve().parents[4].parent / "shared" / "data"
MOST = 65_000
ANGLES = tuple(
    f"{name}_{side}" for side in "rl" for name in ("hip_flexion", "hip_adduction", "hip_internal_rotation")
)
EVENTS = [
    GaitEvent(0.52, "right", STRIKE, STRIKE, PLATES),
    GaitEvent(61.25, "left", OFF, OFF, PLATES),
    GaitEvent(0.53, "", "", "Jump", FILE),
]
VALUES = [
    AnalysisValue("Cadence", "left", "steps/min", 110.5),
    AnalysisValue("Step Length", "right", "m", 0.61),
]


def source_file(
    folder: Path, *, n_point: int = 3, n_frame: int = 12, scale: float = -0.1, code: int = INTEL,
    n_channel: int = 2, first: int = 50, more: dict[str, dict[str, object]] | None = None,
) -> Path:  # fmt: skip
    """A Z-up file [mm] with gaps, analog channels, header events, and events in its parameters."""
    points = np.full((n_frame, n_point, 3), 500.0)
    points[..., 2] = np.linspace(1000.0, 50.0, n_point)
    points[..., 0] += 0.5 * (np.arange(n_frame) % 1000)[:, None]
    missing = np.zeros((n_frame, n_point), bool)
    missing[3, 1:] = True
    points[missing] = 0.0
    names = ["RASI", "RKNE", "RHEE", *(f"P{k}" for k in range(n_point - 3))]
    point = {
        "UNITS": ["mm"], "RATE": 100.0, "USED": n_point, "SCALE": scale, "X_SCREEN": ["+X"],
        "Y_SCREEN": ["+Z"], "FRAMES": min(n_frame, 65_535) - 65_536 * (n_frame > 32_767),
        "LABELS": names[:255], "DESCRIPTIONS": ["of this point"] * min(n_point, 255),
    }  # fmt: skip
    if names[255:]:
        point["LABELS2"] = names[255:]
    last = first + n_frame
    ends = {
        "ACTUAL_START_FIELD": (first + 1, 0),
        "ACTUAL_END_FIELD": (last % 65_536 - 65_536 * (last % 65_536 > 32_767), last // 65_536),
    }
    analog = {
        "USED": n_channel, "RATE": 200.0, "SCALE": np.array([0.5, 2.0]), "OFFSET": (0, 5), "GEN_SCALE": 1.0,
        "LABELS": ["Fx", "Fy"], "DESCRIPTIONS": ["a", "b"],
    }  # fmt: skip
    parameters: dict[str, dict[str, object]] = {
        "POINT": point,
        "ANALOG": analog,
        "TRIAL": ends,
        **(more or {}),
    }
    samples = (np.arange(n_frame * 2 * n_channel) % 3000).reshape(n_frame, 2, n_channel)
    parts = [slice(k, k + MOST) for k in range(0, n_frame, MOST)]  # so many the builder's header counts
    pieces = [
        c3d_bytes(points[at], missing[at], 100.0, first if k == 0 else 0, parameters, "<", samples[at], scale)
        for k, at in enumerate(parts)
    ]
    (start,) = struct.unpack_from("<H", pieces[0], 16)
    data = bytearray(pieces[0] + b"".join(piece[512 * (start - 1) :] for piece in pieces[1:]))
    if last > 65_535:
        struct.pack_into("<H", data, 8, 65_535)
    struct.pack_into("<2H", data, 298, 12_345, 1)  # one header event, labels of four letters
    struct.pack_into("<f", data, 304, 0.55)
    data[396:400] = b"RTO "
    path = folder / f"source{code}.c3d"
    path.write_bytes(for_processor(bytes(data), code, "x") if code != INTEL else bytes(data))
    return path


def results_of(times: np.ndarray) -> Results:
    """Angles, moments and centres of a run; the third frame did not converge."""
    n = len(times)
    fields = (
        FieldSpec("joint_angles", (6,), "rad", ANGLES),
        FieldSpec("joint_moments", (6,), "N m", ANGLES),
        FieldSpec("joint_powers", (2, 2), "W", ("hip_r", "hip_l")),
        FieldSpec("joint_centres", (2, 3), "m", ("hip_r", "hip_l"), frame="ground"),
    )
    wave = np.sin(np.arange(n) / 7.0)[:, None]
    values = {
        "joint_angles": wave * np.linspace(0.1, 1.5, 6),
        "joint_moments": wave * np.linspace(-80.0, 90.0, 6),
        "joint_powers": np.stack([wave * [10.0, 20.0], wave * [1.0, 2.0]], axis=2),
        "joint_centres": np.broadcast_to([[0.1, 0.9, -0.2], [0.3, 0.8, 0.2]], (n, 2, 3)).copy(),
    }
    session = Session(
        session=new_session_id(), stream="result", t_start=0, rate=100.0, fields=fields,
        meta={"up": "Y", "side": "both"},
    )  # fmt: skip
    status = np.zeros(n, np.int64)
    if n > 2:
        status[2] = 1 << 4
    return Results(session, values, times, status)


def written(
    folder: Path, source: Path, events=EVENTS, values=VALUES
) -> tuple[Path, Results, tuple[str, ...]]:
    """Results over the whole of a file, written into a copy of it."""
    found = open_source(source)
    results = results_of((found.first + np.arange(found.n_frame)) / found.rate)
    out = folder / "out.rtsim.c3d"
    return out, results, write_c3d(out, results, found, events, values)


def with_conventional(results: Results) -> Results:
    """The same with angles and centres of the conventional gait model, as the run's stage names them."""
    names = [f"cgm_{name}_{side}" for side in "rl" for name in ("foot_pitch", "foot_inversion", "foot_turn")]
    fields = (
        *results.session.fields,
        FieldSpec("cgm_foot_angles", (6,), "rad", tuple(names)),
        FieldSpec("cgm_joint_centres", (2, 3), "m", ("knee_r", "knee_l"), frame="ground"),
    )
    n = len(results.times)
    more = {
        "cgm_foot_angles": np.tile(np.linspace(0.1, 0.6, 6), (n, 1)),
        "cgm_joint_centres": np.tile([[0.1, 0.5, 0.0], [0.2, 0.4, 0.0]], (n, 1, 1)),
    }
    session = structs.replace(results.session, fields=fields)
    return results._replace(session=session, fields={**results.fields, **more})


def labels_of(content) -> list[str]:
    """All labels of points."""
    point = content["parameters"]["POINT"]
    names = ["LABELS", *(f"LABELS{k}" for k in range(2, 9))]
    return [label for name in names if name in point for label in point[name]["value"]]


def by_second_reader(path: Path) -> tuple[object, np.ndarray, np.ndarray]:
    """What py-c3d reads: itself, points (n, n_point, 5) and analog samples."""
    c3d = pytest.importorskip("c3d")
    with warnings.catch_warnings(), path.open("rb") as file:
        warnings.simplefilter("ignore")
        reader = c3d.Reader(file)
        frames = list(reader.read_frames())
    return reader, np.stack([f[1] for f in frames]), np.stack([f[2] for f in frames])


def same_parameters(old, new) -> set[str]:
    """Names of the parameters that are others than they were, or are gone."""
    changed = set()
    for group, members in old["parameters"].items():
        for name, value in members.items():
            if name == "__METADATA__":
                continue
            there = new["parameters"].get(group, {}).get(name, {})
            if "value" not in value:
                continue
            if not np.array_equal(np.asarray(value["value"]), np.asarray(there.get("value"))) or (
                value["type"] != there["type"]
            ):
                changed.add(f"{group}:{name}")
    return changed


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
    assert ("POINT:SCALE" in changed) == (scale > 0.0) == any("16 bits" in note for note in notes)
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
    assert any("announced 400 frames" in note for note in notes)


def test_events_of_the_file_stay_and_others_follow(tmp_path: Path) -> None:
    """Protects the events that somebody set in a file."""
    event = {"USED": 1, "CONTEXTS": ["Left"], "LABELS": ["Foot Strike"], "TIMES": np.array([[0.0], [0.51]]),
             "DESCRIPTIONS": ["by hand"], "ICON_IDS": (1,)}  # fmt: skip
    source = source_file(tmp_path, more={"EVENT": event, "SUBJECTS": {"NAMES": ["Anna"], "USED": 1}})
    out, _, _ = written(tmp_path, source)
    new = ezc3d.c3d(str(out))["parameters"]["EVENT"]
    assert new["USED"]["value"].tolist() == [4]
    assert new["LABELS"]["value"] == ["Foot Strike", "Foot Strike", "Foot Off", "Jump"]
    assert new["DESCRIPTIONS"]["value"][:2] == ["by hand", "found by rtsim from plates"]
    assert new["SUBJECTS"]["value"] == ["", "Anna", "Anna", "Anna"]
    np.testing.assert_allclose(new["TIMES"]["value"][1], [0.51, 0.52, 1.25, 0.53], rtol=1e-6)
    assert [e.by for e in read_events(out).events] == [FILE] * 5


def test_values_that_are_there_are_not_doubled(tmp_path: Path) -> None:
    """Protects the spatio-temporal values of another program."""
    analysis = {"USED": 1, "NAMES": ["Cadence"], "CONTEXTS": ["Left"], "UNITS": ["steps/min"],
                "VALUES": np.array([99.0])}  # fmt: skip
    out, _, notes = written(tmp_path, source_file(tmp_path, more={"ANALYSIS": analysis}))
    new = ezc3d.c3d(str(out))["parameters"]["ANALYSIS"]
    assert new["NAMES"]["value"] == ["Cadence", "Step Length"]
    np.testing.assert_allclose(new["VALUES"]["value"], [99.0, 0.61], rtol=1e-6)
    assert any("left as they are" in note for note in notes)


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
    with pytest.raises(ConfigError, match="never written over"):
        check_source(source, source, "--out")
    link = tmp_path / "link.c3d"
    link.symlink_to(source)
    with pytest.raises(ConfigError, match="never written over"):
        check_source(source, link, "--out")
    with pytest.raises(ConfigError, match="is none"):
        check_source("walker", tmp_path / "out.c3d", "--out")
    with pytest.raises(ConfigError, match="not there"):
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
    assert sum("none was added" in note for note in notes) == 2


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
        with pytest.raises(ConfigError, match="not of"):
            write_c3d(tmp_path / "wrong.c3d", wrong, open_source(source.path))
    assert not (tmp_path / "wrong.c3d").exists()
