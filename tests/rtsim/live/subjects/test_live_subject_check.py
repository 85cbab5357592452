"""A stream that is not its subject's: told after a second, flagged, and forgiven as soon as it fits."""

from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np
import pytest

from rtsim.models.model import build
from rtsim.stages.markers.identity import identity_of
from rtsim.stages.markers.live_subject_check import FIRST_NS, LiveSubjectCheck
from streams.messages import Status, marker_session
from tests.naive.tree import state
from tests.rtsim.models.legs import NEUTRAL, load

WHERE = "tcp://host:1"
LATEST_S = 120.0


class Stream:
    """Frames of the walker at 100 Hz by their own clock, through the stage alone."""

    def __init__(self, subject, trial) -> None:
        self.positions, self.bent = trial.positions, 10.0
        names = ("hip_flexion", "hip_adduction", "hip_internal_rotation")
        model = SimpleNamespace(
            name="m", joint_signs=np.ones((1, 3)), names=SimpleNamespace(joint_angles=names)
        )
        self.outputs = SimpleNamespace(angles=np.zeros((1, 3)))
        estimator = SimpleNamespace(model=model, outputs=self.outputs)
        self.marker_input = SimpleNamespace(measured=np.zeros(trial.positions.shape[1:]))
        self.identity = SimpleNamespace(n_break=0, n_gap=0)
        self.doubts: list[int] = []
        by_joint = SimpleNamespace(doubt=lambda: self.doubts.append(self.n))
        self.kinematics = SimpleNamespace(
            subject=subject,
            marker_input=self.marker_input,
            admitted=True,
            estimator=estimator,
            identity=self.identity,
            by_joint=by_joint,
        )
        self.stage = LiveSubjectCheck(self.kinematics, WHERE)
        self.n = 0

    def play(self, seconds: float, change=lambda x: x) -> list[Status]:
        """Frames for so long, each changed; who looks at them is waited for at the end."""
        found = []
        self.outputs.angles[0, 0] = np.radians(self.bent)
        for _ in range(round(100 * seconds)):
            self.marker_input.measured[:] = change(self.positions[self.n % len(self.positions)].copy())
            found.append(self.stage.run(SimpleNamespace(t_received=10**9 + self.n * 10_000_000)).status)
            assert (self.doubts[-1:] == [self.n]) == bool(found[-1])  # no joint is ok where the frame is not
            self.n += 1
        due = time.monotonic() + LATEST_S
        while self.stage._judged is not None and not self.stage._judged.over:
            assert time.monotonic() < due
            time.sleep(0.01)
        return found

    def told(self) -> list[str]:
        return self.stage.collect()[1]


@pytest.fixture
def stream(subject, trial) -> Stream:
    return Stream(subject, trial)


def larger(x):
    return 1.06 * x


def test_the_subject_is_known_after_a_second_without_a_word(stream):
    """Protects from alarms and from work that goes on for ever: judged once, ok throughout."""
    assert set(stream.play(1.1)) == {Status.OK}
    assert set(stream.play(3.0, larger)) == {Status.OK}  # known: no more is looked at
    assert stream.told() == []
    assert stream.stage.gauges()["subject_misfit_mm"] < 1.0
    assert stream.stage.unsettled == ""


def test_who_is_known_is_judged_anew_after_a_discontinuity(stream):
    """Protects against another person who comes into the volume after the first one is known."""
    stream.play(1.1)
    stream.identity.n_break += 1
    assert set(stream.play(1.05, larger)) == {Status.OK}
    assert set(stream.play(0.5, larger)) == {Status.SUSPECT}


def test_another_person_is_refused_although_the_stream_has_gaps(stream):
    """Protects from another person's bones in a stream that loses frames all the time."""
    found = []
    for _ in range(4):
        found += stream.play(0.9, larger)
        stream.identity.n_gap += 1
    assert set(found[:100]) == {Status.OK}
    assert set(found[200:]) == {Status.SUSPECT}
    assert len(stream.told()) == 1


def test_who_fits_before_a_gap_is_checked_again_after_it(stream):
    """Protects against another person who comes behind a short gap during the check, and whom the subject's
    frames before it would make known."""
    stream.play(0.9)
    stream.identity.n_gap += 1
    assert set(stream.play(0.15, larger)) == {Status.OK}
    stream.play(2.1, larger)
    assert set(stream.play(0.5, larger)) == {Status.SUSPECT}
    stream.identity.n_gap += 1
    stream.play(9.0)
    assert stream.play(0.1)[-1] == Status.OK


def test_who_is_known_is_checked_again_after_a_short_gap(stream):
    """Protects against another person behind a gap of tenths of a second."""
    stream.play(1.1)
    stream.play(0.1)
    stream.identity.n_gap += 1
    assert set(stream.play(1.05, larger)) == {Status.OK}
    assert set(stream.play(0.5, larger)) == {Status.SUSPECT}


def test_labels_put_right_behind_a_short_gap_are_forgiven_after_a_second(stream):
    """Protects a sound stream from remaining suspect for up to a minute after a long refusal."""
    for _ in range(10):
        stream.play(1.8, larger)
    assert stream.play(0.1, larger)[-1] == Status.SUSPECT
    stream.identity.n_gap += 1
    assert set(stream.play(1.0)) == {Status.SUSPECT}
    stream.play(0.05)
    assert set(stream.play(0.5)) == {Status.OK}


def test_who_comes_right_in_a_stream_with_many_gaps_is_forgiven(stream):
    """Protects sound streams that lose frames every 0.9 s: no gap delays the check for ever."""
    for _ in range(40):
        stream.play(0.9, larger)
        stream.identity.n_gap += 1
    assert stream.play(0.1)[0] == Status.SUSPECT
    for _ in range(20):
        stream.play(0.9)
        stream.identity.n_gap += 1
    assert set(stream.play(0.9)) == {Status.OK}


def test_an_empty_volume_does_not_delay_the_check(stream):
    """Protects from another person who comes in a minute after the start: refused after a second, too."""
    assert set(stream.play(40.0, lambda x: np.full_like(x, np.nan))) == {Status.OK}
    assert set(stream.play(1.05, larger)) == {Status.OK}
    assert set(stream.play(0.5, larger)) == {Status.SUSPECT}


def test_the_gauge_is_of_nobody_else(stream):
    """Protects the telemetry of a new session from the misfit of the last person."""
    stream.play(1.1)
    stream.play(0.1)
    assert stream.stage.gauges()
    stream.stage.begin(marker_session(["a"], rate=100.0, t_start=0), anew=True)
    assert stream.stage.gauges() == {}


def test_another_size_is_told_flagged_and_forgiven(stream):
    """Protects from another person's bones: suspect from the second second on, until it fits again."""
    assert set(stream.play(1.05, larger)) == {Status.OK}
    assert set(stream.play(0.5, larger)) == {Status.SUSPECT}
    (said,) = stream.told()
    assert said.startswith(f"{WHERE}: the distances between its markers differ from those of the subject")
    assert "7 % larger" in said
    assert "the frames are suspect until the markers fit" in said
    assert stream.stage.unsettled
    assert set(stream.play(1.4)) == {Status.SUSPECT}
    stream.play(0.6)  # judged again meanwhile, of frames of both kinds
    stream.play(5.0)
    assert stream.play(0.1)[-1] == Status.OK
    assert stream.told()[-1] == f"{WHERE}: the markers fit {stream.stage.tracked.title} now."
    assert stream.stage.refused == stream.stage.unsettled == ""


def test_exchanged_labels_are_named(stream, subject):
    """Protects the operator from looking for two names among many."""
    names = list(subject.marker_names)
    a, b = names.index("RKNE"), names.index("RANK")

    def exchanged(x):
        x[[a, b]] = x[[b, a]]
        return x

    stream.play(1.05, exchanged)
    stream.play(0.1, exchanged)
    (said,) = stream.told()
    assert "RKNE" in said
    assert "RANK" in said
    assert "seem exchanged" in said


def test_too_few_markers_say_nothing(stream):
    """Protects from judging by three distances; once there are more it is judged."""

    def few(x):
        x[3:] = np.nan
        return x

    assert set(stream.play(1.5, few)) == {Status.OK}
    assert stream.told() == []
    stream.play(2.2, larger)
    assert stream.play(2.5, larger)[-1] == Status.SUSPECT


def test_bent_legs_are_judged_by_what_skin_cannot_do(stream):
    """Protects squats and chairs, where skin carries markers away: 6 % more is not refused there, 40 % is."""
    stream.bent = 100.0
    assert set(stream.play(3.1, larger)) == {Status.OK}
    assert set(stream.play(1.0, larger)) == {Status.OK}
    assert stream.told() == []
    stream.play(6.1, lambda x: 1.4 * x)
    assert stream.play(0.1, lambda x: 1.4 * x)[-1] == Status.SUSPECT
    stream.bent = 10.0
    stream.play(8.0)
    assert stream.play(0.1)[-1] == Status.OK


def test_another_stream_is_judged_anew(stream):
    """Protects the next person from the verdict on the one before, and the other way round."""
    stream.play(1.2)
    stream.stage.begin(marker_session(["a"], rate=100.0, t_start=0), anew=False)
    assert set(stream.play(1.5, larger)) == {Status.OK}
    stream.stage.begin(marker_session(["a"], rate=100.0, t_start=0), anew=True)
    stream.play(1.05, larger)
    assert stream.play(0.5, larger)[-1] == Status.SUSPECT
    stream.stage.begin(marker_session(["a"], rate=100.0, t_start=0), anew=True)
    assert stream.play(0.5)[-1] == Status.OK
    assert stream.stage.unsettled  # nothing has fitted yet


def test_frames_that_are_no_person_are_not_judged(stream):
    """Protects from judging what the marker input has refused."""
    stream.kinematics.admitted = False
    assert set(stream.play(2.0, larger)) == {Status.OK}
    assert stream.told() == []


def to_and_fro(positions, k):
    """Markers of frame k of a trial that is played forwards and backwards, without a leap where it turns."""
    at = 0.5 * (len(positions) - 2) * (1.0 - np.cos(2.0 * np.pi * k / 300.0))
    i = int(at)
    return positions[i] + (at - i) * (positions[i + 1] - positions[i])


@pytest.mark.parametrize(("rate", "n_lost"), [(100, 7), (100, 0), (30, 1), (15, 1), (15, 0), (10, 0)])
def test_another_person_is_refused_at_any_rate_and_with_lost_frames(stream, estimator, rate, n_lost):
    """Protects from another person's bones at 15 Hz, and where frames are lost every 0.9 s: by the gaps
    that are found in such streams."""
    identity = stream.kinematics.identity = identity_of(estimator.model)
    every, last, found = round(0.9 * rate), 0, []
    for k in range(8 * rate):
        if k % every < n_lost:
            continue
        markers = larger(to_and_fro(stream.positions, k * 100.0 / rate))
        stream.marker_input.measured[:] = markers
        assert not identity.look(markers, (k - last) / rate)
        stream.n, last = k, k
        found.append(stream.stage.run(SimpleNamespace(t_received=10**9 + k * 10**9 // rate)).status)
        while stream.stage._judged is not None and not stream.stage._judged.over:
            time.sleep(0.001)
    assert set(found[: rate - 2 * n_lost]) == {Status.OK}
    assert set(found[2 * rate :]) == {Status.SUSPECT}


def test_it_is_told_over_real_sockets(start, estimator, subject, make_session, trial):
    """Protects subscribers: status and sentence of a stream that is another person's, while frames go on."""
    run = start(beyond=lambda kinematics: [LiveSubjectCheck(kinematics, WHERE)])
    session = make_session(rate=100.0)
    run.source.begin(session)
    due, k = time.monotonic(), 0
    while not any(frame.status & Status.SUSPECT for frame in run.seen):
        assert k < 100 * LATEST_S
        run.source.send(larger(to_and_fro(trial.positions, k)))
        due, k = due + 0.01, k + 1
        time.sleep(max(0.0, due - time.monotonic()))
        run.read(max(0, k - 20))
    run.source.end()
    run.read(k)
    run.loop.stop()
    seen = run.finish()
    suspect = np.array([bool(frame.status & Status.SUSPECT) for frame in seen[:k]])
    first = int(np.argmax(suspect))
    assert seen[first].t_received - seen[0].t_received >= FIRST_NS - 100_000_000
    assert suspect[first:].all()
    assert "the frames are suspect until the markers fit" in run.text
    assert run.final.counters["suspect"] == suspect.sum()
    assert run.final.gauges["subject_misfit_mm"] > 10.0


@pytest.mark.parametrize(
    "change", [[1.0, 1.0, 1.0], [1.25, 1.25, 1.25], [1.0, 1.0, -1.0]], ids=["own", "larger", "mirrored"]
)
def test_a_model_with_its_own_markers_is_compared_as_well(tmp_path, change):
    """Protects who follows a model instead of a person: a stream of another size or handedness is suspect."""
    model = build(load(tmp_path))
    at, places = state(model.tree, NEUTRAL), zip(model.markers.body, model.markers.position, strict=True)
    measured = change * np.array([at.point(int(body), place) for body, place in places])
    estimator = SimpleNamespace(model=model, outputs=None)
    marker_input = SimpleNamespace(measured=measured)
    identity, by_joint = SimpleNamespace(n_break=0, n_gap=0), SimpleNamespace(doubt=lambda: None)
    kinematics = SimpleNamespace(
        subject=None,
        marker_input=marker_input,
        admitted=True,
        estimator=estimator,
        identity=identity,
        by_joint=by_joint,
    )
    stage = LiveSubjectCheck(kinematics, WHERE)
    for n in range(150):
        status = stage.run(SimpleNamespace(t_received=10**9 + n * 10_000_000)).status
        while stage._judged is not None and not stage._judged.over:
            time.sleep(0.001)
    own = change == [1.0, 1.0, 1.0]
    assert status == (Status.OK if own else Status.SUSPECT)
    assert ("the model legs" in stage.unsettled) == (not own)
