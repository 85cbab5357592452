"""Strides in which frames are missing, as where a trial is played again."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.files.gait.events import OFF, STRIKE
from rtsim.methods.gait.found_events import by_plates
from rtsim.methods.gait.summary import gait_of
from streams.recording.player import REST_S
from tests.rtsim.methods.gait.test_cycles import RATE, STRIDE_S, walk


def test_no_stride_leads_from_the_end_of_a_trial_to_its_next_start() -> None:
    """Protects the means of a trial that was played twice from a stride that nobody has made."""
    once = walk(400, loads=False)
    rest = REST_S + 1.0 / RATE
    times = np.concatenate([once.times, once.times + once.times[-1] + rest])
    fields = {name: np.concatenate([rows, rows]) for name, rows in once.fields.items()}
    twice = once._replace(fields=fields, times=times, status=np.zeros(len(times), np.int64))
    gait = gait_of(twice, "walk.mcap")
    end, start = once.times[-1], once.times[-1] + rest
    assert {cycle.strike < end for cycle in gait.cycles} == {True, False}
    assert not [cycle for cycle in gait.cycles if cycle.strike < start and cycle.end > end]
    assert any("strides left out: frames are missing in them" in note for note in gait.notes)


@pytest.mark.parametrize(("n_lost", "n_event"), [(5, 2), (30, 1)])
def test_a_load_that_came_while_frames_were_missing_has_no_event(n_lost: int, n_event: int) -> None:
    """Protects the times of events: between two frames far apart nobody knows when the foot came down."""
    results = walk(loads=True)
    load = results.fields["foot_forces"]
    load[:, :, 1] = 0.0
    load[100:160, 0, 1] = 500.0
    kept = np.r_[0 : 101 - n_lost, 101:600]
    fields = {name: rows[kept] for name, rows in results.fields.items()}
    cut = results._replace(fields=fields, times=results.times[kept], status=results.status[kept])
    found = by_plates(cut)
    assert [event.kind for event in found][-n_event:] == [STRIKE, OFF][-n_event:]
    assert len(found) == n_event


@pytest.mark.parametrize("n_lost", [1, 5])
def test_a_few_lost_frames_leave_strides_as_they_are(n_lost: int) -> None:
    """Protects strides of a recording in which single frames are missing: they are interpolated."""
    results = walk()
    kept = np.r_[0:300, 300 + n_lost : 600]
    fields = {name: rows[kept] for name, rows in results.fields.items()}
    cut = results._replace(fields=fields, times=results.times[kept], status=results.status[kept])
    gait = gait_of(cut, "walk.mcap")
    assert len(gait.cycles) == len(gait_of(results, "walk.mcap").cycles)
    assert {round(cycle.end - cycle.strike, 1) for cycle in gait.cycles} == {STRIDE_S}
