"""`rtsim fit knee`: from files to a model that is checked and used, and what it refuses."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rtsim.config.load import load_toml
from rtsim.config.models.model_schema import ModelSpec
from rtsim.methods.knee.knee_geometry import COMPARTMENTS, LIGAMENTS, knee_geometry_of
from rtsim.methods.knee.knee_mechanism import moved_along
from rtsim.methods.knee.knee_poses import displacements_of
from rtsim.methods.knee.made_up_anatomy import anatomy_of
from rtsim.models.load import load_model

NAMES = (
    "time",
    "knee_flexion",
    "knee_adduction",
    "knee_internal_rotation",
    "lateral",
    "anterior",
    "proximal",
)


@pytest.fixture(scope="module")
def geometry():
    return knee_geometry_of(load_model("lower_limb"))


@pytest.fixture(scope="module")
def columns(geometry):
    """Flexion and others [deg], displacements [m] of the mechanism's motion."""
    poses = moved_along(geometry, np.radians(np.linspace(0.0, 90.0, 31)))
    angles = np.degrees(poses.angles) * [-1.0, 1.0, 1.0]
    return np.hstack([0.1 * np.arange(31.0)[:, None], angles, displacements_of(poses)])


def motion_file(path, columns, names=NAMES):
    """A storage file."""
    rows = "\n".join("\t".join(f"{x:.15g}" for x in row) for row in columns)
    head = f"knee\nversion=1\nnRows={len(columns)}\nnColumns={len(names)}\ninDegrees=yes\nendheader\n"
    path.write_text(head + "\t".join(names) + "\n" + rows + "\n", encoding="utf-8")
    return path


def points_file(path, anatomy):
    """Points in mm."""
    lines = ['name = "knee"', 'source = "made up"']
    for key, areas in (
        ("condyles_mm", anatomy.condyles), ("plateaus_mm", anatomy.plateaus),
        ("origins_mm", anatomy.origins), ("insertions_mm", anatomy.insertions),
    ):  # fmt: skip
        lines.append(f"[{key}]")
        lines += [f"{name} = {(1e3 * points).tolist()}" for name, points in areas.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_knee_is_identified_and_used(here, tmp_path, columns, geometry):
    """Protects the whole way: motion and points to a model that `rtsim check` accepts, with table 1 in it."""
    motion = motion_file(tmp_path / "passive.mot", columns)
    points = points_file(tmp_path / "points.toml", anatomy_of(geometry, np.random.default_rng(3), 0.0))
    out = tmp_path / "my_knee.toml"
    done = here("fit", "knee", str(motion), "--anatomy", str(points), "--out", str(out))
    assert done.code == 0, done.err
    assert "ACL origin" in done.out
    assert here("check", str(out)).code == 0
    spec = load_toml(out, ModelSpec)
    found = knee_geometry_of(spec)
    np.testing.assert_allclose(found.origins[:3], geometry.origins[:3], atol=1e-6)
    np.testing.assert_allclose(found.condyles, geometry.condyles, atol=1e-6)
    assert spec.name == "my_knee"
    assert "passive.mot and points.toml" in spec.source
    assert [len(one.length.polynomial) for one in spec.ligaments if one.name in LIGAMENTS] == [7] * 4
    again = here("fit", "knee", str(motion), "--out", str(out))
    assert again.code == 1
    assert "exists already" in again.err


def test_json_without_an_anatomy(here, tmp_path, columns, geometry):
    """Protects programs, and motions alone: the model's own knee is adjusted, and this one already fits."""
    motion = motion_file(tmp_path / "both.sto", columns, (NAMES[0], *(f"{name}_l" for name in NAMES[1:])))
    done = here("fit", "knee", str(motion), "--side", "left", "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["adjusted"]["lengths"] == pytest.approx(geometry.lengths.tolist(), abs=1e-6)
    assert found["motion_misfit"]["displacement"] < 1e-6
    assert found["surface_misfits"] == {}
    assert set(found["mean_lengths"]) == set(LIGAMENTS)
    assert len(COMPARTMENTS) == 2


def changed(columns, column, value):
    """Columns of which one is another."""
    other = columns.copy()
    other[:, column] = value
    return other


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        (lambda c: c[:4], (), ("MOTION: 4 poses are too few to fit a knee", "20 or more")),
        (lambda c: changed(c, 1, 10.0), (), ("MOTION: the knee bends by only 0.0 degrees in the motion",)),
        (lambda c: changed(c, 4, 5.0), (), ("5 m from the femur", "displacements in metres")),
        (lambda c: changed(c, 2, 400.0), (), ("an angle is 400 degrees",)),
        (lambda c: changed(c, 3, np.nan), (), ("no row of the file has all angles",)),
        (lambda c: c, ("--bound-mm", "0"), ("--bound-mm: 0 mm", "a value above 0, up to 50 mm")),
        (lambda c: c, ("--bound-deg", "nan"), ("--bound-deg", "a value above 0, up to 45 degrees")),
        (lambda c: c, ("--out", "knee.txt"), ("--out: knee.txt cannot be the name of a model file", ".toml")),
        (lambda c: c, ("--force",), ("--force: the option applies only together with --out",)),
        (lambda c: c, ("--anatomy", "nowhere.toml"), ("nowhere.toml",)),
        (lambda c: c, ("--model", "finger"), ("model finger", "the model has no medial")),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(here, tmp_path, columns, change, options, words):
    """Protects users from tracebacks and from knees out of nonsense."""
    motion = motion_file(tmp_path / "passive.mot", change(columns))
    done = here("fit", "knee", str(motion), *options)
    assert done.code == 1
    assert "Traceback" not in done.err
    for word in words:
        assert word in done.err


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("walk.txt", "", ("cannot be read as a knee motion", ".mot, .sto, .csv")),
        ("nowhere.mot", None, ("nowhere.mot",)),
        ("hip.csv", "time [s],hip_flexion [deg]\n0,1\n1,2\n", ("the file has no column knee_flexion",)),
    ],
)
def test_a_file_without_a_knee_is_told(here, tmp_path, name, text, words):
    """Protects users: what the file lacks, and how to make one."""
    path = tmp_path / name
    if text is not None:
        path.write_text(text, encoding="utf-8")
    done = here("fit", "knee", str(path))
    assert done.code == 1
    for word in words:
        assert word in done.err


def test_points_that_cannot_be_meant_are_told(here, tmp_path, columns, geometry):
    """Protects points in other units, and ones with a ligament that is not there."""
    motion = motion_file(tmp_path / "passive.mot", columns)
    anatomy = anatomy_of(geometry, np.random.default_rng(3), 0.0)
    path = points_file(tmp_path / "points.toml", anatomy)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("ACL = [[", "ACL = [[9000.0, 0.0, 0.0], [", 1), encoding="utf-8")
    far = here("fit", "knee", str(motion), "--anatomy", str(path))
    assert far.code == 1
    assert "origins_mm.ACL: a point is farther than 500 mm from the knee" in far.err
    path.write_text(text.replace("LCL = ", "PFL = ", 1), encoding="utf-8")
    other = here("fit", "knee", str(motion), "--anatomy", str(path))
    assert other.code == 1
    assert "PFL" in other.err
