"""Limits for keypoints in place of markers, beside what a run config states."""

from __future__ import annotations

from msgspec.structs import replace

from rtsim.config.runs.run_schema import MarkerCheck, RunConfig, Uncertainty
from rtsim.methods.keypoint_limits import CHECK, UNCERTAINTY, for_keypoints


def test_a_run_without_limits_of_its_own_has_those_of_keypoints() -> None:
    """Protects from the limits of markers on the skin, by which most keypoints are faulty."""
    run = for_keypoints(RunConfig(name="a"))
    assert (run.uncertainty, run.markers) == (UNCERTAINTY, CHECK)


def test_a_limit_of_a_config_changes_itself_alone() -> None:
    """Protects from one key of a run config that switches off all other limits of keypoints."""
    own = RunConfig(
        name="a", uncertainty=Uncertainty(limit_deg=10.0, foot_mm=30.0), markers=MarkerCheck(fill_s=0.5)
    )
    run = for_keypoints(own)
    assert run.uncertainty == replace(UNCERTAINTY, limit_deg=10.0, foot_mm=30.0)
    assert run.markers == replace(CHECK, fill_s=0.5)
