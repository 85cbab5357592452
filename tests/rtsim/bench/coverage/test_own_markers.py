"""Coverage of models with markers of their own: what is drawn, what is told, and how they go together."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.bench.coverage import own_markers
from rtsim.bench.coverage.skin import SIZE_MM
from rtsim.config.paths import find_config
from rtsim.config.runs.run_schema import Uncertainty
from rtsim.models.load import load_model


@pytest.fixture(scope="module")
def ratios() -> dict[str, float]:
    """Root mean squared error over deviation of each case, all coordinates together."""
    found = own_markers.run(find_config("finger", "models"), 6)
    return {
        case: float(np.sqrt(np.mean([f.value**2 for f in found if f.name.startswith(f"ratio.{case}.")])))
        for case in own_markers.CASES
    }


def test_deviations_are_of_the_errors_that_are_told(ratios: dict[str, float]) -> None:
    """Protects calibration without a person: errors are as large as is stated where their kind is told."""
    assert ratios["skin"] == pytest.approx(1.0, abs=0.3)
    assert ratios["alone_told"] == pytest.approx(1.0, abs=0.3)
    assert ratios["alone"] < 0.8 * ratios["alone_told"]


def test_errors_have_the_sizes_that_are_stated() -> None:
    """Protects the meaning of the cases: errors of each body's kind, alone or shared, as large as told."""
    rng = np.random.default_rng(4)
    spec = own_markers.marked(rng, load_model("finger"))
    estimator = own_markers.estimator_of(spec, Uncertainty())
    for alone in (True, False):
        errors = np.array([own_markers.draw_errors(rng, estimator, alone) for _ in range(40)])
        size = float(np.sqrt(np.mean(errors**2)))
        assert size == pytest.approx(1e-3 * own_markers.OTHER_MM, rel=0.15)
        together = np.mean(errors[:, :, :4].mean(axis=2) ** 2) / np.mean(errors[:, :, :4] ** 2)
        assert together == pytest.approx(0.25, abs=0.05) if alone else together > 0.35
    assert Uncertainty().other_mm == own_markers.OTHER_MM
    assert SIZE_MM["thigh"] == Uncertainty().thigh_mm
