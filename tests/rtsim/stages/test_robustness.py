"""Whatever the markers are, a frame becomes a result with a status; nothing raises, bad is flagged."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from streams.codec import FieldLayout, decode, encode
from streams.messages import FieldSpec, Session, Status, new_session_id

N_MARKER = 17
# in the frame of a walker: where a person is, somewhere in the laboratory, absurd, and none
anything = st.one_of(
    st.floats(-3.0, 3.0),
    st.floats(-1e4, 1e4),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([math.nan, 0.0, -0.0, 5e-324, 1e-160, 1e154, -1e155, 1e300, 1.7e308]),
)
# by definition: where nothing is seen; about an angle that is none; where a path leads into a surface
MAY_BE_NAN = {"markers_measured", "marker_residuals", "marker_rms", "moment_arms", "muscle_lengths"}
UNRESTRICTED = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@st.composite
def damaged(draw: st.DrawFn) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """A few frames: which frame of the walker, which markers are damaged, and what stands in their place."""
    return [
        (
            draw(st.integers(0, 99)),
            draw(arrays(np.bool_, N_MARKER, elements=st.booleans())),
            draw(arrays(np.float64, (N_MARKER, 3), elements=anything, fill=st.just(math.nan))),
        )
        for _ in range(draw(st.integers(1, 4)))
    ]


def check(solving, result) -> None:
    """A status, finite values where it says so, and a message that can be sent and read."""
    assert 0 <= int(result.status) <= sum(Status)
    assert result.iterations >= 0
    values = solving.fields.arrays
    bad = {name for name, array in values.items() if not np.isfinite(array).all()}
    if result.status == Status.OK:
        assert bad <= MAY_BE_NAN
        assert math.isfinite(result.residual)
    np.testing.assert_array_equal(np.isnan(values["joint_angles"]), solving.kinematics.unknown)
    assert not bad & {
        "segment_positions",
        "segment_rotations",
        "joint_centres",
        "markers_model",
    }
    for rotation in values["segment_rotations"]:
        np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-9)
    failed = np.isnan(values["muscle_lengths"])
    assert np.isnan(values["moment_arms"][failed]).all()
    if solving.kinematics.admitted:
        assert failed.any() <= (solving.muscles.counters["failed_paths"] > 0)
    read = decode(encode(result.message))
    assert FieldLayout(solving.fields.session).unpack_into(read.data, values) is None


@pytest.mark.parametrize("method", ["minimised", "prescribed"])
@UNRESTRICTED
@given(frames=damaged())
def test_damaged_frames_never_raise(make_solving, make_frame, session, trial, estimator, method, frames):
    """Protects the loop: huge values, gaps of every pattern and zeros, then it recovers within 0.1 s."""
    estimator.switch(method)
    solving = make_solving()
    for step, (index, mask, garbage) in enumerate(frames):
        positions = np.where(mask[:, None], garbage, trial.positions[index])
        check(solving, solving.solve(make_frame(session, positions, step)))
    estimates = [solving.solve(make_frame(session, trial.positions[0], 10 + k)) for k in range(10)]
    assert estimates[-1].status == Status.OK
    assert solving.fields.arrays["marker_rms"][0] < 0.05


@UNRESTRICTED
@given(positions=arrays(np.float64, (N_MARKER, 3), elements=anything))
def test_pure_noise_never_raises(make_solving, make_frame, session, positions):
    """Protects the first frame, which starts from nothing."""
    solving = make_solving()
    check(solving, solving.solve(make_frame(session, positions, 0)))


@st.composite
def sessions(draw: st.DrawFn) -> Session:
    """Descriptors of marker streams that the wire lets through, sensible or not."""
    known = st.sampled_from(["RASI", "rasi", "Ann:RKNE", "LASI", "RTH1", "RHEE"])
    fields = []
    for name in draw(st.lists(st.sampled_from(["positions", "points", "x"]), max_size=3, unique=True)):
        shape = draw(st.lists(st.integers(0, 5), max_size=4))
        if draw(st.booleans()):
            shape = [draw(st.integers(0, 20)), 3]
        n_label = shape[0] if shape and draw(st.booleans()) else 0
        labels = draw(st.lists(known | st.text(max_size=8), min_size=n_label, max_size=n_label))
        fields.append(FieldSpec(name, shape, draw(st.sampled_from(["m", "mm", "cm", "", "M", "ft"])), labels))
    return Session(
        session=new_session_id(),
        stream="markers",
        t_start=0,
        rate=draw(st.floats(0.0, allow_infinity=False)),
        fields=fields,
        meta={"up": draw(st.sampled_from(["Y", "Z", "z", "X", "", 3, True, ["Z"], {"Z": "Z"}]))},
    )


@UNRESTRICTED
@given(described=sessions(), value=anything)
def test_any_descriptor_is_survived(make_solving, make_frame, described, value):
    """Protects the process from the descriptors of strangers: a status, a session that can be sent, words."""
    described = decode(encode(described))
    solving = make_solving(described)
    result = solving.solve(make_frame(described, value, 0))
    check(solving, result)
    assert result.status != Status.OK
    assert decode(encode(solving.fields.session)) == solving.fields.session
    assert all("\n" not in said for said in solving.marker_input.sentences)


@pytest.mark.parametrize("value", [0.0, 1.0, -1e9, 1e200, math.nan], ids=str)
def test_constant_frames_never_raise(make_solving, make_frame, session, value):
    """Protects against dead sources, which send one number for ever; always flagged, as nobody is a point."""
    solving = make_solving()
    for index in range(3):
        result = solving.solve(make_frame(session, value, index))
        check(solving, result)
        assert result.status != Status.OK
