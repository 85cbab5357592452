"""Marker sets of OpenSim models, and coordinates that stay in a range or where they are."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.files.osim.model import read_osim

from .osim_texts import GROUND, Coordinate, Joint, Model

PIN = Joint(
    "PinJoint", GROUND, "a", (Coordinate("p", 0.1),), in_child=("0 0.1 0.02", "0 0 1.5707963267948966")
)
CONSTANT = "<prescribed_function><Constant><value>0.25</value></Constant></prescribed_function>"


def markers(*texts: str) -> str:
    return f"<MarkerSet><objects>{''.join(texts)}</objects></MarkerSet>"


def marker(name: str, frame: str, more: str = "") -> str:
    return (
        f"<Marker name='{name}'><socket_parent_frame>{frame}</socket_parent_frame>"
        f"<location>0.1 0.2 0.3</location>{more}</Marker>"
    )


@pytest.fixture
def read(write):
    def read(model, version=40600):
        return read_osim(write("small.osim", model.text(version)))

    return read


def test_markers_are_read(read):
    """Protects fits of any model: markers on bodies and their frames; one on ground is named and left out."""
    spec, notes = read(
        Model(
            (PIN,),
            more=markers(
                marker("on body", "/bodyset/a"),
                marker("on frame", "/jointset/a_joint/a_offset", "<fixed>true</fixed>"),
                marker("wall", "/ground"),
            ),
        )
    )
    first, second = spec.markers
    assert (first.name, first.segment, first.fixed, first.weight) == ("on body", "a", False, 1.0)
    assert first.offset_mm == pytest.approx([100.0, 200.0, 300.0])
    assert second.fixed
    np.testing.assert_allclose(
        second.offset_mm, [-200.0, 200.0, 320.0], atol=1e-9
    )  # turned about z, then moved
    assert any("marker wall" in note and "ground" in note for note in notes)


def test_markers_of_3(read):
    """Protects the older layout, in which a marker names its body."""
    text = "<Marker name='m'><body> a </body><location>0 0 1</location><fixed> true </fixed></Marker>"
    (found,) = read(Model((PIN,), more=markers(text)), 30000)[0].markers
    assert (found.segment, found.offset_mm, found.fixed) == ("a", (0.0, 0.0, 1000.0), True)


@pytest.mark.parametrize(
    ("texts", "what"),
    [
        ((marker("m", "/bodyset/a"), marker("m", "/bodyset/a")), "a second marker of this name"),
        ((marker("", "/bodyset/a"),), "a marker has no name"),
        ((marker("m", "/bodyset/x"),), "unknown frame '/bodyset/x'"),
        (
            ("<Marker name='m'><socket_parent_frame>/bodyset/a</socket_parent_frame></Marker>",),
            "location needs 3",
        ),
    ],
)
def test_markers_that_cannot_be(read, texts, what):
    """Protects from a marker in a wrong place: each fault is named."""
    with pytest.raises(ConfigError, match=what):
        read(Model((PIN,), more=markers(*texts)))


def test_clamped_coordinates(read):
    """Protects ranges: clamped is kept where there is a range to clamp to, and named where there is none."""
    joints = (
        Joint("PinJoint", GROUND, "a", (Coordinate("p", more="<clamped>true</clamped>"),)),
        Joint("PinJoint", "a", "b", (Coordinate("q", range="-inf inf", more="<clamped>true</clamped>"),)),
        Joint("PinJoint", "b", "c", (Coordinate("r"),)),
    )
    spec, notes = read(Model(joints))
    assert [body.coordinates[0].clamped for body in spec.bodies] == [True, False, False]
    assert any("coordinate q: the coordinate is clamped but has no finite range" in note for note in notes)


def test_prescribed_by_a_constant_is_held(read):
    """Protects coordinates that a model holds by a constant function; other motions in time are named."""
    joints = (
        Joint("PinJoint", GROUND, "a", (Coordinate("p", more=f"<prescribed>true</prescribed>{CONSTANT}"),)),
        Joint("PinJoint", "a", "b", (Coordinate("q", more=CONSTANT),)),
        Joint("PinJoint", "b", "c", (Coordinate("r", more="<prescribed>true</prescribed>"),)),
    )
    spec, notes = read(Model(joints))
    (coupler,) = spec.couplers
    assert (coupler.coordinate, coupler.constant) == ("p", 0.25)
    assert any("coordinate r: the prescribed motion over time was" in note for note in notes)
