"""Constraint elements in model files: keys that would do nothing are refused."""

import pytest

from rtsim.config.models.model_names import check_element
from rtsim.config.models.model_tables import Element
from rtsim.config.models.place_schema import Place


@pytest.mark.parametrize("kind", ["point", "point_on_line"])
def test_a_point_holds_no_distance(kind: str) -> None:
    """Protects from a distance that is written, and never held."""
    ends = {"a": Place(segment="arm"), "b": Place(segment="ground")}
    element = Element(name="rail", kind=kind, direction=(1.0, 0.0, 0.0), target_mm=30.0, **ends)
    with pytest.raises(ValueError, match=f"rail.target_mm: a {kind} holds no distance"):
        check_element(element, ["arm"])
