"""The stage of the gait's phase: on the walker's markers, on both legs, without a pelvis, and its table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.files.forces.force_trial import THRESHOLD
from rtsim.live.inputs.recorded import KeptResults, RecordingInput
from rtsim.live.loop import Loop
from rtsim.live.result_session import ResultSession
from rtsim.methods.gait_phase import HEEL_STRIKE, TOE_OFF
from rtsim.methods.plates.force_feed import ForceFeed
from rtsim.models.load import load_model
from rtsim.stages.building.find import make_stages
from rtsim.stages.gait_phase import MEANINGS, marked_events
from rtsim.subjects.made_up.walker import CYCLE_S, walk
from rtsim.subjects.made_up.walker_forces import MASS_KG, walker_forces
from streams.messages import marker_session
from tests.rtsim.models import legs

RUN = RunConfig(name="test", method="zero", stages=("kinematics", "gait_phase"))
DOCS = Path(__file__).resolve().parents[3] / "docs" / "gait_phase.md"


@pytest.fixture(scope="module")
def walked(spec, subject):
    """Five seconds of the walker."""
    return walk(spec, subject, 5.0)


def told(stages, trial, make_frame, hide=()):
    """Return what the stage says after every frame, by name: (n, 2)."""
    session = marker_session(trial.names, rate=trial.rate, t_start=0)
    course = ResultSession(stages, session, {})
    found = {name: [] for name in MEANINGS}
    positions = trial.positions.copy()
    for name in hide:
        positions[:, trial.names.index(name)] = np.nan
    for k, row in enumerate(positions):
        frame = make_frame(session, row, k)
        data = course.message(frame, course.run(frame), k, 0).data
        for name, rows in found.items():
            rows.append(np.frombuffer(data[name]))
    return {name: np.array(rows) for name, rows in found.items()}


def test_the_walker_is_followed_by_his_markers(spec, subject, walked, make_frame):
    """Protects the whole way from markers: phase, events and time of the stride of the leg there is."""
    found = told(make_stages(RUN, spec, subject), walked, make_frame)
    own = walked.times / CYCLE_S
    off = (found["gait_phase"][:, 0] - own + 0.5) % 1.0 - 0.5
    assert np.abs(off[own >= 3.0]).max() <= 0.03
    assert found["gait_phase_confidence"][own >= 3.2, 0].min() > 0.9
    assert found["stride_times"][-1, 0] == pytest.approx(CYCLE_S, rel=0.02)
    assert found["heel_strikes"][-1, 0] == 4
    assert all(np.isnan(rows[:, 1]).all() for rows in found.values())  # he has no left leg


def test_a_pelvis_that_is_not_seen_has_nothing_before_it(spec, subject, walked, make_frame):
    """Protects from a phase that is made up: without markers of the pelvis none is told, and that is said."""
    stages = make_stages(RUN, spec, subject)
    pelvis = [name for name in subject.segments["pelvis"].markers_mm if name in walked.names]
    keep = [k for k, name in enumerate(walked.names) if name not in pelvis]
    bare = walked._replace(
        names=tuple(walked.names[k] for k in keep),
        times=walked.times[:50],
        positions=walked.positions[:50][:, keep],
    )
    found = told(stages, bare, make_frame)
    assert np.isnan(found["gait_phase"]).all()
    assert any("gait phase is not known" in said for said in stages[1].collect()[1])


def on_plates(spec, subject, trial, forces):
    """Results of a walk over plates, with the gait phase."""
    run, feed, kept = (
        RunConfig(name="test", method="zero", stages=("kinematics", "plates", "gait_phase")),
        ForceFeed(),
        KeptResults(),
    )
    stages = make_stages(run, spec, subject, feed, MASS_KG)
    Loop(RecordingInput(trial, forces=forces, feed=feed), stages, kept).run()
    return kept.results()


def test_plates_tell_strikes(spec, subject, walked):
    """Protects the use of plates: the phase is nought where the foot's plate begins to bear."""
    fields = on_plates(spec, subject, walked, walker_forces(walked)).fields
    begins = 1 + np.flatnonzero(np.diff((fields["foot_loads"][:, 0] > THRESHOLD).astype(int)) == 1)
    phase = fields["gait_phase"][begins, 0]
    off = (phase[np.isfinite(phase)] + 0.5) % 1.0 - 0.5
    assert len(off) == 3
    assert np.abs(off[1:]).max() < 0.002


@pytest.mark.parametrize("lasts", [0.15, 0.25])
def test_a_strike_while_frames_are_missing_is_none_at_their_end(spec, subject, walked, lasts):
    """Protects who wears a device from a phase that begins when frames come again: the plate bore before."""
    strike = 3.0 * CYCLE_S
    kept = (walked.times < strike - 0.03) | (walked.times > strike + lasts)
    cut = walked._replace(times=walked.times[kept], positions=walked.positions[kept])
    whole, results = (on_plates(spec, subject, trial, walker_forces(walked)) for trial in (walked, cut))
    own, phase = results.times / CYCLE_S, results.fields["gait_phase"][:, 0]
    off = (phase - own + 0.5) % 1.0 - 0.5
    assert np.abs(off[results.times > strike + lasts]).max() <= 0.03
    assert results.fields["heel_strikes"][-1, 0] == whole.fields["heel_strikes"][-1, 0]


def test_a_clock_that_goes_back_begins_anew(spec, subject, walked, make_frame):
    """Protects from a recording that is played again: what was before is another walk."""
    stages = make_stages(RUN, spec, subject)
    session = marker_session(walked.names, rate=walked.rate, t_start=0)
    course = ResultSession(stages, session, {})
    for k in (*range(300), 0, 1):
        course.run(make_frame(session, walked.positions[k], k))
    assert stages[1].stride(0).n_strike == 0
    assert stages[1].stride(1) is None


def test_a_stream_that_stalls_keeps_the_counts_of_strikes(spec, subject, walked, make_frame):
    """Protects what is told as so far: after a stall the phase is found anew, and the counts go on."""
    stages = make_stages(RUN, spec, subject)
    session = marker_session(walked.names, rate=walked.rate, t_start=0)
    course, counts = ResultSession(stages, session, {}), []
    for k in range(400):
        frame = make_frame(session, walked.positions[k], k)
        frame.t_arrived = round(1e9 * (10.0 + 0.01 * k + (0.5 if k >= 300 else 0.0)))
        course.run(frame)
        counts.append((stages[1].stride(0).n_strike, stages[1].stride(0).n_off))
    assert min(counts[299]) >= 1
    assert (np.diff(counts, axis=0) >= 0).all()


def test_feet_that_nothing_tells_apart_are_refused_with_the_reason(tmp_path):
    """Protects a wearer from a gait of the other leg, and models from a stage that only computes nothing."""
    path = tmp_path / "flat.toml"
    path.write_text(legs.sideless_text(), encoding="utf-8")
    run = RunConfig(name="test", stages=RUN.stages, model=str(path))
    with pytest.raises(ConfigError, match=r"tell which foot is the right one.*with _r and _l"):
        make_stages(run, load_model(run.model), None)


def test_its_table_is_in_the_documents():
    """Protects readers of docs/gait_phase.md: name, unit and meaning of every field."""
    text = DOCS.read_text(encoding="utf-8")
    for name, (unit, _, meaning) in MEANINGS.items():
        assert f"| `{name}` | {unit} | {meaning} |" in text


def test_strikes_that_a_file_marks_are_taken_as_they_come(spec, subject, walked, make_frame):
    """Protects a C3D file with events: its strikes set the phase, none counts twice, it is told."""
    late = 0.04
    own = told(make_stages(RUN, spec, subject), walked, make_frame)
    stages = make_stages(RUN, spec, subject)
    stages[1].marked = [(float(k * CYCLE_S + late), 0, HEEL_STRIKE) for k in range(1, 5)]
    found = told(stages, walked, make_frame)
    assert found["heel_strikes"][-1, 0] == own["heel_strikes"][-1, 0]
    steady = walked.times > 3.5 * CYCLE_S
    off = (found["gait_phase"] - own["gait_phase"] + 0.5)[steady, 0] % 1.0 - 0.5
    assert off.mean() == pytest.approx(-late / CYCLE_S, abs=0.015)
    assert any("4 foot strikes marked in the file" in said for said in stages[1].collect()[1])


def test_strikes_of_files_without_events(tmp_path):
    """Protects other sources: a stream, a TRC file and a damaged C3D file mark nothing."""
    (tmp_path / "a.c3d").write_bytes(b"nothing")
    for source in ("tcp://127.0.0.1:1", "walk.trc", "nowhere.c3d", str(tmp_path / "a.c3d")):
        assert marked_events(source, "") == []


def test_strikes_of_a_recording(shared):
    """Protects times and sides as the laboratory marked them."""
    path = shared / "data" / "gait_mcgill" / "HC002D_straight.c3d"
    if not path.is_file():
        pytest.skip("the recording is not there")
    events = marked_events(str(path), "")
    strikes = [(round(time, 2), side) for time, side, kind in events if kind == HEEL_STRIKE]
    assert strikes[:3] == [(1.35, 1), (1.83, 0), (2.27, 1)]
    assert {kind for _, _, kind in events} == {HEEL_STRIKE, TOE_OFF}


def test_foot_offs_that_a_file_marks_are_taken_and_none_counts_twice(spec, subject, walked, make_frame):
    """Protects a C3D file with foot offs: each counts once, beside that of the foot itself."""
    own = told(make_stages(RUN, spec, subject), walked, make_frame)
    counted = own["toe_offs"][:, 0]
    at = walked.times[np.flatnonzero(np.diff(counted) > 0.0) + 1]
    stages = make_stages(RUN, spec, subject)
    stages[1].marked = [(float(time) - 0.05, 0, TOE_OFF) for time in at]
    found = told(stages, walked, make_frame)
    assert found["toe_offs"][-1, 0] == counted[-1]
    first = [int(np.flatnonzero(x > 0.0)[0]) for x in (counted, found["toe_offs"][:, 0])]
    assert first[1] < first[0]  # as the file has it, not as late as the foot shows
    assert any(f"{len(at)} foot offs marked in the file" in said for said in stages[1].collect()[1])
