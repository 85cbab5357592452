"""The stage of rates: what its descriptor says of coordinates, speeds and accelerations."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from rtsim.config.runs.rate_schema import ButterworthSpec, SavitzkyGolaySpec
from rtsim.quantity import Fields
from rtsim.stages.rates import FilteredMotion
from streams.codec import decode, encode
from streams.messages import marker_session
from tests.rtsim.models.small_models import MIXED, built


def test_the_descriptor_tells_the_unit_of_each_coordinate() -> None:
    """Protects bridges and readers, who convert angles to degrees: which of the numbers are angles."""
    kinematics: Any = SimpleNamespace(estimator=SimpleNamespace(model=built(MIXED), deviations=None))
    motion = FilteredMotion(kinematics, ButterworthSpec())
    motion.begin(marker_session(["A"], rate=100.0, t_start=0), anew=True)
    session = Fields(motion.quantities(), 100.0, 0, motion.meta()).session
    assert decode(encode(session)) == session
    units = {spec.name: dict(zip(spec.labels, spec.units, strict=True)) for spec in session.fields}
    assert units["coordinates"] | {"knee": "rad", "pelvis_x": "m", "pelvis_qw": "1"} == units["coordinates"]
    speeds, accelerations = units["coordinate_speeds"], units["coordinate_accelerations"]
    assert (speeds["knee"], speeds["pelvis_x"], speeds["pelvis_turn_x"]) == ("rad/s", "m/s", "rad/s")
    assert (accelerations["knee"], accelerations["pelvis_x"]) == ("rad/s^2", "m/s^2")


def test_no_delay_is_told_of_a_filter_that_could_not_be_made() -> None:
    """Protects readers from the delay of the settings, which no result has at a rate too low for them."""
    kinematics: Any = SimpleNamespace(estimator=SimpleNamespace(model=built(MIXED), deviations=None))
    motion = FilteredMotion(kinematics, SavitzkyGolaySpec(window_s=0.1, order=3, delay_s=0.05))
    motion.begin(marker_session(["A"], rate=10.0, t_start=0), anew=True)
    assert motion.sentences
    assert motion.meta()["rates"]["kind"] == "savitzky_golay"
    assert "delay_s" not in motion.meta()["rates"]
    motion.begin(marker_session(["A"], rate=100.0, t_start=0), anew=True)
    assert len(motion.meta()["rates"]["delay_s"]) == 3
