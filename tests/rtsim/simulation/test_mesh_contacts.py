"""Models with surfaces of triangles: beside smooth ones, energy, files, faults in one sentence."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner

from kernels.contact.elements import NORMAL
from rtsim.bench.mechanics.mesh_runs import energy_growth, run
from rtsim.cli.main import cli
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.paths import find_config
from rtsim.errors import ConfigError
from rtsim.models.load import load_model
from rtsim.models.model import build

BALL = load_model("mesh_ball")
FLOOR, SMOOTH = BALL.contacts[0].b, load_model("impact").contacts[0]


def with_contact(spec: ModelSpec, **keys) -> ModelSpec:
    """The model with other keys in its first contact."""
    contacts = (msgspec.structs.replace(spec.contacts[0], **keys), *spec.contacts[1:])
    return msgspec.structs.replace(spec, contacts=contacts)


@pytest.mark.own_kernels
def test_a_ball_of_triangles_rebounds_as_the_smooth_one() -> None:
    """Protects the geometry in the step: peak force within 2 %, no energy beyond the step's own error."""
    smooth = with_contact(
        BALL,
        surface_a=None,
        surface_b=None,
        ellipsoid=type(SMOOTH.a)(segment="ball", radius_mm=30.0),
        plane=type(SMOOTH.b)(segment="ground", normal=(0.0, 1.0, 0.0)),
    )
    found, wanted = run(BALL), run(smooth)
    assert found.normal.max() == pytest.approx(wanted.normal.max(), rel=0.02)
    assert energy_growth(BALL, found) < found.error


@pytest.mark.own_kernels
def test_damping_takes_energy_and_never_pulls() -> None:
    """Protects the pressure law over meshes."""
    damped = run(with_contact(BALL, damping=1.0))
    assert damped.trace.contact[:, 0, NORMAL].min() >= 0.0
    assert energy_growth(BALL, damped) < -0.1


@pytest.mark.own_kernels
def test_a_knee_of_triangles_bends_as_the_smooth_one() -> None:
    """Protects two contacts with memory of their own, beside ligaments."""
    found, smooth = run(load_model("mesh_knee")), run(load_model("knee"))
    assert np.degrees(np.abs(found.trace.q[:270, 0] - smooth.trace.q[:270, 0])).max() < 0.1
    assert found.normal.max() == pytest.approx(smooth.normal.max(), rel=0.05)


@pytest.mark.parametrize(("keys", "sentence"), [
    ({"young_modulus_MPa": 5.0, "thickness_mm": 2.0}, "give either stiffness or young_modulus_MPa"),
    ({"stiffness": None, "young_modulus_MPa": 5.0}, "add thickness_mm"),
    ({"thickness_mm": 2.0}, "add young_modulus_MPa"),
    ({"law": "power"}, "surfaces made of triangles always press by the overlapping volume; remove law"),
    ({"rolling": True, "damping": 1.0}, "can have rolling resistance or spinning friction"),
    ({"surface_b": msgspec.structs.replace(FLOOR, file="a.stl")}, "give one of file"),
    ({"surface_b": msgspec.structs.replace(FLOOR, unit="m")}, "surface_b.unit: this key"),
    ({"surface_b": msgspec.structs.replace(FLOOR, flipped=True)}, "surface_b.flipped: this key"),
    ({"surface_a": msgspec.structs.replace(BALL.contacts[0].a, by_vertices=False),
      "surface_b": msgspec.structs.replace(FLOOR, by_vertices=False)}, "neither surface presses"),
    ({"surface_b": msgspec.structs.replace(FLOOR, by_vertices=False, own_normals=True)}, "own_normals: this"),
    ({"surface_b": msgspec.structs.replace(FLOOR, by_vertices=False, area="paper")}, "area: this surface"),
])  # fmt: skip
def test_what_cannot_be_is_one_sentence(keys, sentence) -> None:
    """Protects users from contacts that mean nothing."""
    with pytest.raises(ValueError, match=sentence):
        with_contact(BALL, **keys)


def test_an_elastic_layer_has_the_modulus_of_its_numbers() -> None:
    """Protects the law: 5 MPa, 0.45, 2 mm."""
    contact = with_contact(BALL, stiffness=None, young_modulus_MPa=5.0, thickness_mm=2.0).contacts[0]
    assert contact.pressure_row[0] == pytest.approx(0.55 * 5e6 / (1.45 * 0.1 * 2e-3))


def test_vertices_stand_for_the_area_that_is_asked_for() -> None:
    """Protects the option: of each surface its own key, beside what the kernel's twin is tested with."""
    contact = BALL.contacts[0].a, BALL.contacts[0].b
    for areas, wanted in ((("own", "own"), (0, 0)), (("paper", "own"), (1, 0)), (("own", "paper"), (0, 1))):
        a, b = (msgspec.structs.replace(one, area=area) for one, area in zip(contact, areas, strict=True))
        packed = build(with_contact(BALL, surface_a=a, surface_b=b)).forces.contacts.pressed
        np.testing.assert_array_equal(packed.area, [wanted])


def test_a_missing_file_is_named(tmp_path) -> None:
    """Protects surfaces that are given by path."""
    lost = msgspec.structs.replace(FLOOR, plate_mm=None, file=str(tmp_path / "tibia.stl"), lines=24)
    with pytest.raises(ConfigError, match=r"tibia\.stl: no such file"):
        build(with_contact(BALL, surface_b=lost))


def test_a_file_has_its_own_triangles() -> None:
    """Protects from a number of lines that does nothing."""
    surface = msgspec.structs.replace(FLOOR, plate_mm=None, file="a.stl", lines=8)
    with pytest.raises(ValueError, match=r"surface_b.lines: this key applies only to a computed surface"):
        with_contact(BALL, surface_b=surface)


def test_a_ball_does_not_grow_through_its_centre() -> None:
    """Protects from a sign or a unit: 40 mm taken off a ball of 30 mm press from inside, with no meaning."""
    for by, words in (
        (-40.0, "grown by -40 mm, the surface would fold over itself"),
        (-20.0, ""),
        (1.0, ""),
    ):
        surface = msgspec.structs.replace(BALL.contacts[0].a, grown_mm=by, lines=8)
        spec = with_contact(BALL, surface_a=surface)
        if not words:
            build(spec)
            continue
        with pytest.raises(ConfigError, match=words):
            build(spec)


def test_surfaces_are_read_before_anything_is_compiled(tmp_path, monkeypatch) -> None:
    """Protects a minute of compiling from a surface that cannot press, and from a name in [simulation]."""

    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("rtsim.cli.terminal.compiling.compile_first", never)
    path = tmp_path / "ball.toml"
    text = find_config("mesh_ball", "models").read_text(encoding="utf-8")
    path.write_text(text.replace("ball_radius_mm = 30.0, lines = 48", f'file = "{tmp_path / "no.stl"}"'))
    found = CliRunner().invoke(cli, ["simulate", str(path)])
    assert isinstance(found.exception, ConfigError)
    assert "no.stl: no such file" in str(found.exception)
