"""What the check of force plates says of real recordings, sound and spoilt on purpose."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.files.forces.forces import read_forces
from rtsim.files.markers.markers import read_markers
from rtsim.methods.plates.plate_loads import plate_loads
from rtsim.subjects.feet.foot_lines import foot_lines
from rtsim.subjects.markers.labs import find_lab
from tests.rtsim.methods.plates.test_plate_check import Stand, names_of

# markers, forces, what there is to say
RECORDINGS = {
    "bmc 1": ("gait_bmc/walk1.trc", "gait_bmc/walk1.forces", []),
    "bmc 2": ("gait_bmc/walk2.trc", "gait_bmc/walk2.forces", [("two_feet", 3)]),
    "lenhart": ("gait_lenhart/overground_17.trc", "gait_lenhart/overground_17_grf.mot", []),
    "opensim": (
        "gait_opensim/gait2354/subject01_walk1.trc", "gait_opensim/gait2354/subject01_walk1_grf.mot", [],
    ),
    **{
        f"opencap {name}": (f"squat_opencap/{name}.trc", f"squat_opencap/{name}_grf.mot", [])
        for name in ("static1", "squats1", "walking1")
    },
    **{
        f"mcgill {name}": (f"gait_mcgill/{name}.c3d", f"gait_mcgill/{name}.c3d", said)
        for name, said in (
            ("HC002D_static", [("two_feet", 0)]), ("HC002D_straight", []),
            ("HC030A_static", [("two_feet", 0)]), ("HC030A_straight", []), ("HC030A_turn", []),
        )
    },
}  # fmt: skip


def recorded(shared, markers: str, forces: str):
    folder = shared / "data"
    if not ((folder / markers).is_file() and (folder / forces).is_file()):
        pytest.skip(f"{markers} is not there")
    trial, plates = read_markers(folder / markers), read_forces(folder / forces)
    feet = foot_lines(trial, find_lab(trial.names))
    loads = plate_loads(plates, trial.times, feet)
    return Stand(plates.plates, loads.force, loads.moment, trial.times, feet), plates.names, trial.subject


@pytest.mark.parametrize("name", sorted(RECORDINGS))
def test_recordings(name, shared):
    """Real recordings: nothing to say but what is so; the weight of who stands is right within 5 %."""
    markers, forces, said = RECORDINGS[name]
    stand, names, subject = recorded(shared, markers, forces)
    assert names_of(stand.check(names, subject.get("Bodymass"))) == said


def test_real_plates_that_are_swapped_or_turned(shared):
    """A real walk with its plates exchanged, or one turned by 180 degrees: both are named."""
    stand, names, _ = recorded(shared, *["gait_mcgill/HC030A_straight.c3d"] * 2)
    first, second = stand.placed(0, *stand.local(1)), stand.placed(1, *stand.local(0))
    both = {name: np.stack([first[name][:, 0], second[name][:, 1]], axis=1) for name in ("force", "moment")}
    assert names_of(stand.check(names, None, **both)) == [("swapped", 0), ("swapped", 1)]
    half = np.array([-1.0, -1.0, 1.0])
    force, moment = stand.local(1)
    assert ("turned", 1) in names_of(stand.check(names, None, **stand.placed(1, force * half, moment * half)))
