"""Sources, results and second readers for tests of results in C3D files."""

from __future__ import annotations

import struct
import warnings
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from rtsim.files.c3d_bytes.marks import AnalysisValue
from rtsim.files.c3d_bytes.processor import for_processor
from rtsim.files.c3d_bytes.section import Section
from rtsim.files.c3d_bytes.source import open_source
from rtsim.files.c3d_bytes.words import INTEL
from rtsim.files.c3d_bytes.write import write_c3d
from rtsim.files.gait.events import FILE, OFF, PLATES, STRIKE, GaitEvent
from rtsim.files.recording import Results
from streams.messages import FieldSpec, Session, new_session_id
from tests.rtsim.files.conftest import c3d_bytes

SHARED = Path(__file__).resolve().parents[4].parent / "shared" / "data"
MOST = 65_000
ROTATION = {"ROTATION": {"USED": 2, "DATA_START": 0, "RATIO": 1, "LABELS": ["Pelvis", "Thigh"]}}
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


def with_rotations(path: Path, n_segment: int = 2) -> Path:
    """The file with rotations of segments behind its frames, 16 numbers and a reliability each."""
    data = path.read_bytes()
    data = data.ljust(-(-len(data) // 512) * 512, b"\0")
    section = Section(data[512:], str(path))
    found = open_source(path)
    start = 512 * (section.words.whole(data[16:18]) - 1)
    section.put_number("ROTATION", "DATA_START", len(data) // 512 + 1)
    assert section.number("ROTATION", "USED") == n_segment
    numbers = np.random.default_rng(3).normal(size=found.n_frame * n_segment * 17)
    path.write_bytes(
        data[:512] + section.written().ljust(start - 512, b"\0") + data[start:]
        + section.words.from_floats(numbers)
    )  # fmt: skip
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
