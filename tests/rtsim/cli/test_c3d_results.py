"""`rtsim analyse` and `export` into a C3D file."""

from __future__ import annotations

import json
from pathlib import Path

import ezc3d
import numpy as np
import pytest

from rtsim.files.gait.events import read_events
from rtsim.files.recording import read_results
from rtsim.files.tables.storage import read_storage

SHARED = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "gait_mcgill"
WALK, STATIC = (SHARED / f"HC002D_{name}.c3d" for name in ("straight", "static"))
PLUG_IN = SHARED.parent / "gait_pycgm"
needs_recordings = pytest.mark.skipif(not SHARED.is_dir(), reason="needs the recordings beside the project")


@needs_recordings
def test_a_walk_with_its_results_is_solved_as_the_walk_itself(here, tmp_path: Path) -> None:
    """Protects the whole way: files, events and values of a run, of its recording, and of a run over them."""
    out, kept, motion = (tmp_path / f"walk.{suffix}" for suffix in ("rtsim.c3d", "mcap", "mot"))
    done = here(
        "analyse",
        WALK,
        "--static",
        STATIC,
        "--forces",
        WALK,
        "--out",
        out,
        "--out",
        kept,
        "--out",
        motion,
        "--json",
    )
    assert done.code == 0, done.err
    told = json.loads(done.out)["gait"]
    assert "from the file" in told["cycles_by"]
    assert len([event for event in told["events"] if event["by"] == "file"]) == 12
    offsets = told["found_less_file_ms"]
    assert max(abs(row["mean"]) for row in offsets.values()) < 60.0
    new = ezc3d.c3d(str(out))["parameters"]
    names = list(zip(new["ANALYSIS"]["NAMES"]["value"], new["ANALYSIS"]["CONTEXTS"]["value"], strict=True))
    at = names.index(("Stride Length", "Left"))
    stated = told["spatio_temporal"]["left"]["Stride Length [m]"]
    assert new["ANALYSIS"]["VALUES"]["value"][at] == pytest.approx(stated, rel=1e-6)
    assert new["EVENT"]["USED"]["value"].tolist() == [12]  # the file has them all
    assert read_events(out).events == read_events(WALK).events
    header = motion.read_text().partition("endheader")[0]
    assert "event: 1.350 s left foot strike (file)" in header
    assert read_storage(motion).data.shape[0] > 100
    again = tmp_path / "again.c3d"
    assert here("export", str(kept), str(again)).code == 0
    assert again.read_bytes() == out.read_bytes()
    second = tmp_path / "second.mcap"
    words = ("--static", str(STATIC), "--forces", str(out), "--out", str(second))
    assert here("analyse", str(out), *words).code == 0
    first, other = read_results(kept), read_results(second)
    for name, values in first.fields.items():
        np.testing.assert_array_equal(other.fields[name], values, name)
    assert first.session.meta["gait_events"] == other.session.meta["gait_events"]


@needs_recordings
def test_what_cannot_be_appended_is_told_before_the_work(here, tmp_path: Path) -> None:
    """Protects recordings, and time: every such mistake is one sentence and a code of 1."""
    there = tmp_path / "there.c3d"
    there.write_bytes(b"")
    for words, said in (
        (("analyse", "walker", "--out", tmp_path / "a.c3d"), "is not a C3D file"),
        (("analyse", WALK, "--static", STATIC, "--out", there), "exists already"),
        (("analyse", WALK, "--static", STATIC, "--out", WALK), "exists already"),
        (("simulate", "kick", "--out", tmp_path / "a.c3d"), "cannot write '.c3d'"),
    ):
        done = here(*(str(word) for word in words))
        assert done.code == 1
        assert said in done.sentence, (words, done.err)
    assert there.read_bytes() == b""


def test_export_asks_for_the_recording_that_was_solved(here, tmp_path: Path) -> None:
    """Protects from results that are put into a recording which they are not of, without a word."""
    kept = tmp_path / "a.mcap"
    assert here("analyse", "walker", "--out", str(kept)).code == 0
    for words, said in (
        ((tmp_path / "b.c3d",), "--into"),
        ((tmp_path / "b.mot", "--into", WALK), "the option applies only to C3D files"),
        ((tmp_path / "b.c3d", "--into", tmp_path / "none.c3d"), "does not exist"),
    ):
        done = here("export", str(kept), *(str(word) for word in words))
        assert done.code == 1
        assert said in done.sentence


@pytest.mark.skipif(not PLUG_IN.is_dir(), reason="needs the recordings beside the project")
def test_conventional_angles_stand_beside_those_of_another_program(here, tmp_path: Path) -> None:
    """Protects order, sign and unit of each number of LHipAngles and its like: those of Nexus in the same
    file are equal, and stay."""
    out = tmp_path / "walk.c3d"
    static = PLUG_IN / "Static_trial.c3d"
    done = here("analyse", str(PLUG_IN / "Movement_trial.c3d"), "--static", str(static), "--out", str(out))
    assert done.code == 0, done.err
    content = ezc3d.c3d(str(out))
    point = content["parameters"]["POINT"]
    labels = [label for name in ("LABELS", "LABELS2") for label in point[name]["value"]]
    data = content["data"]["points"][:3]
    named = [label for label in labels if label.endswith("Angles_cgm")]
    assert len(named) == 10
    for label in named:
        own, theirs = (data[:, labels.index(name)] for name in (label, label.removesuffix("_cgm")))
        assert np.nanmax(np.abs(own - theirs)) < 0.01, label
    assert not np.allclose(
        data[:, labels.index("LHipAngles_ISB")], data[:, labels.index("LHipAngles")], atol=0.5, equal_nan=True
    )
