"""Which fields of a replay are compared number by number with those of the recorded run."""

from __future__ import annotations

from msgspec.structs import replace

from rtsim.live.exact.replayed_results import common_layout
from streams.messages import FieldSpec, Session

SPEC = FieldSpec(
    "coordinates", (2,), "rad, m", ("knee", "pelvis_x"), units=("rad", "m"), meaning="joint coordinates"
)


def described(spec: FieldSpec) -> Session:
    """Return a descriptor of results with this field and one more."""
    fields = (spec, FieldSpec("marker_rms", (1,), "m"))
    return Session(session="0123456789abcdef", stream="result", t_start=0, rate=1.0, fields=fields)


def test_what_an_older_build_did_not_describe_is_compared() -> None:
    """Protects replays of older recordings: descriptions that came later do not take out the numbers."""
    for older in (replace(SPEC, units=()), replace(SPEC, meaning=""), SPEC):
        layout = common_layout(described(SPEC), described(older))
        assert layout is not None
        assert list(layout.specs) == ["coordinates", "marker_rms"]


def test_other_numbers_are_not_compared() -> None:
    """Protects the comparison: entries of another name, unit or number are no differences of results."""
    changes = ({"name": "positions"}, {"unit": "deg, m"}, {"labels": ("hip", "pelvis_x")})
    others = [replace(SPEC, **change) for change in changes]
    others.append(FieldSpec("coordinates", (3,), "rad, m", ("knee", "pelvis_x", "pelvis_y")))
    for other in others:
        layout = common_layout(described(SPEC), described(other))
        assert layout is not None
        assert list(layout.specs) == ["marker_rms"]
    assert common_layout(replace(described(SPEC), fields=(SPEC,)), described(others[0])) is None
