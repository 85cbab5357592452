"""Masses and inertias of OpenSim's bodies."""

from __future__ import annotations

import re

import pytest

from rtsim.errors import ConfigError
from rtsim.files.osim.document import Aloud
from rtsim.files.osim.model import read_osim

from .osim_texts import GROUND, Joint, Model


@pytest.fixture
def read(write):
    """Reader of the text of a model."""

    def read(text):
        return read_osim(write("small.osim", text))

    return read


def test_masses(read):
    """Protects mass properties: order of the inertia, and no inertia where there is no mass."""
    text = Model((Joint("WeldJoint", GROUND, "a"),)).text(40000)
    body = read(text)[0].bodies[0]
    assert body.mass_kg == 2.0
    assert body.mass_centre_mm == pytest.approx((10.0, 20.0, 30.0))
    assert body.inertia_kg_m2 == (0.1, 0.11, 0.12, 0.001, 0.002, 0.003)
    spec, notes = read(text.replace("<mass>2<", "<mass>0<"))
    assert not any(spec.bodies[0].inertia_kg_m2)
    assert any("inertia without mass" in note for note in notes)


def test_inertias_of_3(read):
    """Protects the inertias of a body that states some of them: none is lost, none is invented."""
    text = Model((Joint("WeldJoint", GROUND, "a"),)).text(30000)
    products = "<inertia_xy>0.001</inertia_xy><inertia_xz>0.002</inertia_xz><inertia_yz>0.003</inertia_yz>"
    assert products in text
    assert read(text.replace(products, ""))[0].bodies[0].inertia_kg_m2 == (0.1, 0.11, 0.12, 0.0, 0.0, 0.0)
    part = text.replace("<inertia_xx>0.1</inertia_xx>", "")
    with pytest.raises(ConfigError, match=r"Body a: inertia_xx is missing"):
        read(part)
    assert not any(read(part.replace("<mass>2<", "<mass>0<"))[0].bodies[0].inertia_kg_m2)
    none = re.sub(r"<inertia_..>.*</inertia_..>", "", text)
    spec, notes = read(none)
    assert not any(spec.bodies[0].inertia_kg_m2)
    (note,) = (note for note in notes if "body a: the file states no inertia" in note)
    assert isinstance(note, Aloud)
