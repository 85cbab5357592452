"""Which cycles of a run are averaged: one rule for `analyse`, `report` and what is written into C3D files."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.files.gait.events import FILE, STRIKE, GaitEvent
from rtsim.methods.gait.cycles import GaitCycle, moving, spatio_temporal
from rtsim.methods.gait.summary import as_figures, gait_of, in_sentences, recorded_with
from rtsim.report.clinical.session import trial_of
from tests.rtsim.methods.gait.test_cycles import walk


def test_events_of_somebody_who_stands_make_no_stride() -> None:
    """Protects a static trial with events in it from a cycle: the foot stays where it is."""
    results = walk()
    fields = {name: np.repeat(x[:1], len(x), axis=0) for name, x in results.fields.items()}
    fields["segment_positions"] = fields["segment_positions"] + 0.01 * np.sin(results.times)[:, None, None]
    still = results._replace(fields=fields)
    told = tuple(GaitEvent(t, "right", STRIKE, "Foot Strike", FILE) for t in (1.0, 2.0))
    recorded = recorded_with(still, gait_of(still, "gone.c3d")._replace(told=told))
    gait = gait_of(recorded, "gone.c3d")
    assert [(e.time, e.side, e.by) for e in gait.used] == [(1.0, "right", FILE), (2.0, "right", FILE)]
    assert gait.cycles == ()
    assert gait.values == {}
    assert any("1 of 1 strides between the events left out" in note for note in gait.notes)
    assert (
        "no two strikes of the same foot, which would make a stride (foot strikes: right 2, left 0)"
        in in_sentences(gait)[-1]
    )


def test_strides_on_a_belt_and_unknown_feet_are_kept() -> None:
    """Protects strides that come back to where they began, and those whose feet no result shows."""
    cycles = [GaitCycle("right", 1.3, 2.4)]
    results = walk()
    assert moving(results, cycles) == (cycles, "")
    belt = results.fields["segment_positions"] - results.fields["segment_positions"][:, :1]
    assert moving(results._replace(fields={**results.fields, "segment_positions": belt}), cycles)[0] == cycles
    bare = results._replace(fields={}, session=type(results.session)(**{
        name: () if name == "fields" else getattr(results.session, name)
        for name in results.session.__struct_fields__
    }))  # fmt: skip
    assert moving(bare, cycles) == (cycles, "")


def test_turns_are_left_out_of_steps_everywhere() -> None:
    """Protects step lengths of `analyse` from strides in which the person turns, as the report's are."""
    results = walk()
    axes = results.fields["segment_rotations"].copy()
    angle = 0.8 * np.clip(results.times - 3.0, 0.0, 0.6)
    turn = np.zeros((len(angle), 3, 3))
    turn[:, 0, 0], turn[:, 0, 2], turn[:, 2, 0], turn[:, 2, 2], turn[:, 1, 1] = (
        np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle), 1.0,
    )  # fmt: skip
    axes[:, 0] = turn @ axes[:, 0]
    results = results._replace(fields={**results.fields, "segment_rotations": axes})
    gait = gait_of(results, "walker")
    assert 0 < len(gait.straight) < len(gait.cycles)
    assert gait.values == spatio_temporal(gait.straight, results)
    assert trial_of(results, "walk.c3d").cycles == gait.straight
    assert sum(cycle["averaged"] for cycle in as_figures(gait)["cycles"]) == len(gait.straight)
    assert sum("strides left out, because the pelvis turns" in note for note in gait.notes) == 1
    n = sum(cycle.side == "right" for cycle in gait.straight)
    assert any(f"right leg: {n} cycle" in line for line in in_sentences(gait))


@pytest.mark.parametrize("lift", [0.05, 0.2])
def test_steps_on_the_spot_are_strides_where_the_foot_is_lifted(lift: float) -> None:
    """Protects stepping on the spot, whose feet go up alone."""
    results = walk()
    places = np.repeat(results.fields["segment_positions"][:1], len(results.times), axis=0)
    places[:, 1, 1] += lift * np.maximum(0.0, np.sin(2.0 * np.pi * results.times / 1.1))
    spot = results._replace(fields={**results.fields, "segment_positions": places})
    kept, said = moving(spot, [GaitCycle("right", 1.0, 2.1)])
    assert bool(kept) == (lift > 0.1)
    assert bool(said) == (lift < 0.1)
