"""The bench's jaw on surfaces of a folder: put into the model's frame, under the fossae."""

from __future__ import annotations

import numpy as np

from rtsim.bench.contacts.jaw_cartilage import FILES, GROWN_MM, of_cartilage, there
from rtsim.files.surfaces.surfaces import obj_text, read_surface
from rtsim.models.jaw.jaw_surfaces import condyle, fossa
from rtsim.models.load import load_model

TO_SCAN = np.array([[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
"""Forwards, up, right into left, backwards, up."""


def test_surfaces_of_a_scan_come_into_the_models_frame(tmp_path) -> None:
    """Protects what is measured: condyles where they were in the model, each under its fossa, files read."""
    assert not there(tmp_path)
    made = {"left_condyle": condyle("left"), "right_condyle": condyle("right"), "left_fossa": fossa("left")}
    for name, surface in made.items():
        x = 1e3 * surface.vertices @ TO_SCAN.T + [3.0, -7.0, 11.0]
        (tmp_path / FILES[name]).write_text(obj_text(surface._replace(vertices=x)))
    assert there(tmp_path)
    (tmp_path / "into").mkdir()
    spec = of_cartilage(load_model("mandible"), tmp_path, tmp_path / "into")
    for contact, side in zip(spec.contacts, ("right", "left"), strict=True):
        assert contact.name == side
        assert contact.a.grown_mm == GROWN_MM
        below, above = (
            read_surface(tmp_path / "into" / f"{side}_{p}.obj", "m") for p in ("condyle", "fossa")
        )
        centre = below.vertices.max(axis=0) + below.vertices.min(axis=0)
        assert abs(0.5 * abs(centre[2]) - 0.05) < 5e-4
        assert above.vertices[:, 1].max() > below.vertices[:, 1].max()
