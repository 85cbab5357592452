"""What the descriptor of results takes from that of their input."""

from __future__ import annotations

import pytest

from rtsim.live.result_session import ResultSession
from streams.messages import marker_session, time_rate


@pytest.mark.parametrize(("speed", "told"), [(2.0, 2.0), (0.5, 0.5), (1.0, None), (-1.0, None), ("2", None)])
def test_results_tell_how_fast_their_recording_is_played(speed: object, told: float | None) -> None:
    """Protects readers of results: the rate is that of the stream, and their times go on faster."""
    session = marker_session(("RHEE",), rate=200.0, t_start=0, meta={"speed": speed})
    results = ResultSession([], session, {}).fields.session
    assert results.meta.get("speed") == told
    assert results.rate == 200.0
    assert time_rate(results) == 200.0 / (told or 1.0)
