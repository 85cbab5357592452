"""Proposed maps of public recordings whose markers were renamed, held against the maps that are shipped."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rtsim.config.runs.lab_schema import LabMap
from rtsim.files.markers.markers import read_markers
from rtsim.files.markers.trial import MarkerTrial
from rtsim.subjects.lab_proposal.proposal import propose
from rtsim.subjects.lab_proposal.proposed_roles import BY_PLACE, CERTAIN
from rtsim.subjects.markers.labs import lab_of

STATICS = (
    ("gait_lenhart/static1.trc", "gait_lenhart/overground_17.trc"),
    ("gait_mcgill/HC002D_static.c3d", "gait_mcgill/HC002D_straight.c3d"),
    ("gait_mcgill/HC030A_static.c3d", "gait_mcgill/HC030A_straight.c3d"),
    ("gait_pycgm/Static_trial.c3d", "gait_pycgm/Movement_trial.c3d"),
    ("gait_opensim/gait2392/subject01_static.trc", "gait_opensim/gait2392/subject01_walk1.trc"),
    ("squat_opencap/static1.trc", "squat_opencap/walking1.trc"),
    ("stoop_lift/VUA2UHEI/3D/neu_t169_f250f350.c3d", ""),
)
SACRAL = {"S2": ("sacrum", "")}
"""Markers of maps that use the PSIS and follow the second sacral vertebra beside them, on the sacrum."""


def truth(lab: LabMap) -> dict[str, tuple[str, str]]:
    """Marker -> role and side of a shipped map."""
    found = dict(SACRAL)
    for side in ("right", "left"):
        for role, name in getattr(lab, side).named.items():
            if not role.endswith("_opposite"):
                found[name] = (role, "" if role == "sacrum" else side)
    return found


def renamed(trial: MarkerTrial, names: dict[str, str]) -> MarkerTrial:
    return trial._replace(names=tuple(names[name] for name in trial.names))


@pytest.mark.parametrize("static", [static for static, _ in STATICS])
def test_without_names_nothing_wrong_is_clear(shared: Path, static: str) -> None:
    """Protects names that say nothing: no role is certain, and none that is clear by its place is wrong."""
    trial = read_markers(shared / "data" / static)
    expected = truth(lab_of("", trial.names))
    order = np.random.default_rng(4).permutation(len(trial.names))
    names = {name: f"Q{k:02d}z" for name, k in zip(trial.names, order.tolist(), strict=True)}
    back = {new: old for old, new in names.items()}
    roles = propose(renamed(trial, names), "ours").roles
    assert CERTAIN not in {role.certainty for role in roles}
    wrong = {
        back[r.marker]: r.role
        for r in roles
        if r.certainty == BY_PLACE and expected.get(back[r.marker]) != (r.role, r.side)
    }
    assert wrong == {}
    right = [r for r in roles if expected.get(back[r.marker]) == (r.role, r.side)]
    assert len(right) >= 0.85 * len(roles)


@pytest.mark.parametrize(("static", "movement"), STATICS)
def test_other_spellings_give_the_shipped_map(shared: Path, static: str, movement: str) -> None:
    """Protects equal angles: with sides behind the names, roles and followed markers are those of the map."""
    trial = read_markers(shared / "data" / static)
    moving = read_markers(shared / "data" / movement) if movement else None
    both = {*trial.names, *(moving.names if moving else ())}
    plain = {name: name.replace(".", "").replace("_", "") for name in both}
    names = {old: f"{n[1:]}_{n[0].upper()}" if n[0] in "RLrl" else n for old, n in plain.items()}
    shipped = lab_of("", trial.names)
    found = propose(renamed(trial, names), "ours", renamed(moving, names) if moving else None)
    assert found.proposed.lab is not None
    marked = {name for name in trial.names if np.isfinite(trial.positions[:, trial.names.index(name)]).any()}
    for side in ("right", "left"):
        expected, table = getattr(shipped, side), getattr(found.proposed.lab, side)
        own = {role: names[name] for role, name in expected.named.items() if name in marked}
        assert {role: name for role, name in table.named.items() if role in own} == own
        assert set(table.named) - set(own) <= {"sacrum"}  # S2, which stands beside both PSIS
        for segment in expected.tracking.__struct_fields__:
            followed = {names[name] for name in getattr(expected.tracking, segment) if name in marked}
            assert followed <= set(getattr(table.tracking, segment)), segment
