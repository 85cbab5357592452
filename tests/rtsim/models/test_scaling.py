"""Models scaled to a person: laws of size and mass, the file written back, OpenSim's own scaling."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import numpy as np
import pytest

from rtsim.config.models.model_schema import ModelSpec
from rtsim.errors import ConfigError
from rtsim.files.osim.model import read_osim
from rtsim.files.osim.scaled import scaled_text
from rtsim.methods.kinematics.scaling import length_ratios
from rtsim.methods.muscles.moment_arms import arms_of
from rtsim.models.load import load_model
from rtsim.models.scaling import scale_geometry, scale_masses, scale_muscles, scaled_inertia
from tests.reference.opensim_peer import quiet
from tests.rtsim.files.osim_texts import (
    CHAIN,
    CHAIN_MUSCLES,
    ZERO,
    Coordinate,
    Joint,
    Model,
    Muscle,
    Point,
    wrap_object,
)

UNTURNED = tuple(
    Joint(
        j.kind, j.parent, j.child, j.coordinates, j.transform, (j.in_parent[0], ZERO), (j.in_child[0], ZERO)
    )
    for j in CHAIN
)
WRAPS = {
    "e": wrap_object("WrapSphere", "ball", "<radius>0.01</radius>")
    + wrap_object("WrapCylinder", "drum", "<radius>0.01</radius><length>0.2</length>"),
    "f": wrap_object("WrapEllipsoid", "egg", "<dimensions>0.01 0.02 0.03</dimensions>"),
}
WRAPPED = Muscle(
    "wrapped",
    (Point("d", "0.1 0.05 0"), Point("f", "0.1 0.1 0.2")),
    wraps=(("ball", "-1 -1"), ("drum", "-1 -1"), ("egg", "-1 -1")),
)
MARKERS = (
    "<MarkerSet><objects><Marker name='m'>{}<location>0.1 0.2 0.3</location><fixed>true</fixed></Marker>"
    "</objects></MarkerSet>"
)
CONSTRAINTS = (
    "<PointConstraint name='pin'><socket_body_1>/bodyset/f</socket_body_1><socket_body_2>/bodyset/b"
    "</socket_body_2><location_body_1>0.1 0.2 0.3</location_body_1><location_body_2>0.3 0.2 0.1"
    "</location_body_2></PointConstraint>"
    "<PointOnLineConstraint name='rail'><socket_line_body>/bodyset/a</socket_line_body>"
    "<socket_follower_body>/bodyset/f</socket_follower_body><line_direction_vec>1 2 -0.5</line_direction_vec>"
    "<point_on_line>0.1 0.2 -0.1</point_on_line><point_on_follower>0.05 0 0.02</point_on_follower>"
    "</PointOnLineConstraint>"
    "<WeldConstraint name='weld'><socket_frame1>/bodyset/b</socket_frame1><socket_frame2>/bodyset/g"
    "</socket_frame2><location_body_1>0.1 0 0.2</location_body_1><orientation_body_1>0.1 0.2 0.3"
    "</orientation_body_1></WeldConstraint>"
    "<CoordinateCouplerConstraint name='k'><coupled_coordinates_function><LinearFunction><coefficients>"
    "0.1 0.02</coefficients></LinearFunction></coupled_coordinates_function><independent_coordinate_names>"
    "bend</independent_coordinate_names><dependent_coordinate_name>slide</dependent_coordinate_name>"
    "</CoordinateCouplerConstraint>"
)


def text(joints: tuple[Joint, ...], version: int = 40600, constraints: str = "") -> str:
    frame = "<body>f</body>" if version < 40000 else "<socket_parent_frame>/bodyset/f</socket_parent_frame>"
    muscles = (*CHAIN_MUSCLES, WRAPPED)
    return Model(joints, muscles, wraps=WRAPS, constraints=constraints, more=MARKERS.format(frame)).text(
        version
    )


def factors(uniform: bool) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    found = {
        name: np.full(3, rng.uniform(0.8, 1.3)) if uniform else rng.uniform(0.8, 1.3, 3) for name in "abcdefg"
    }
    return {**found, "a": np.full(3, 1.1)}


def scaled(spec: ModelSpec, of: dict[str, np.ndarray]) -> ModelSpec:
    return scale_masses(scale_geometry(spec, of, lambda note: None), of, 77.0, keep_shares=True)


def differences(a: object, b: object, key: str = "") -> list[str]:
    """Where two models differ by more than rounding."""
    if isinstance(a, dict) and isinstance(b, dict):
        return [line for k in {**a, **b} for line in differences(a.get(k), b.get(k), f"{key}.{k}")]
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)) and len(a) == len(b):
        return [line for i in range(len(a)) for line in differences(a[i], b[i], f"{key}[{i}]")]
    if isinstance(a, float) and isinstance(b, float) and abs(a - b) <= 1e-9 * max(1.0, abs(a)):
        return []
    return [] if a == b else [f"{key}: {a} {b}"]


def tables(spec: ModelSpec) -> dict:
    found = msgspec.to_builtins(spec)
    del found["source"]  # names the file
    return found


GLIDE = Joint(
    "EllipsoidJoint", "b", "h", tuple(Coordinate(f"g{k}") for k in range(3)),
    "<radii_x_y_z>0.07 0.12 0.1</radii_x_y_z>",
)  # fmt: skip


@pytest.mark.parametrize("version", [30000, 40600])
@pytest.mark.parametrize("joints", [(*CHAIN, GLIDE), UNTURNED], ids=["turned", "unturned"])
def test_the_file_written_is_the_model(tmp_path: Path, joints: tuple[Joint, ...], version: int) -> None:
    """Protects both ways of scaling: the file, changed where numbers stand, reads as the scaled model."""
    path, out = tmp_path / "a.osim", tmp_path / "b.osim"
    constraints = CONSTRAINTS if version > 40000 else ""
    path.write_text(text(joints, version, constraints))
    of = factors(uniform=False)
    larger = scaled(read_osim(path)[0], of)
    ratios = {"long": 1.25}
    larger = scale_muscles(larger, ratios)
    out.write_text(scaled_text(path, of, larger, ratios))
    assert differences(tables(read_osim(out)[0]), tables(larger)) == []


@pytest.mark.parametrize(
    "off",
    ["<appliesForce>false</appliesForce>", "<max_isometric_force>0</max_isometric_force>"],
)
def test_muscles_that_are_switched_off_are_scaled_in_the_file(tmp_path: Path, off: str) -> None:
    """Protects who switches a muscle on later: its lengths are those of the person, as in OpenSim."""
    path, out = tmp_path / "a.osim", tmp_path / "b.osim"
    more = f"{off}<optimal_fiber_length>0.1</optimal_fiber_length>"
    muscle = Muscle("long", CHAIN_MUSCLES[0].points, more=more)
    path.write_text(Model(CHAIN, (muscle,)).text(40600))
    spec = read_osim(path)[0]
    assert spec.muscles[0].hill is None
    text = scaled_text(path, {}, spec, {"long": 1.25})
    out.write_text(text.replace("false</appliesForce>", "true</appliesForce>").replace(
        "<max_isometric_force>0<", "<max_isometric_force>1<"))  # fmt: skip
    hill = read_osim(out)[0].muscles[0].hill
    assert hill.optimal_fibre_length_mm == pytest.approx(125.0)
    assert hill.tendon_slack_length_mm == pytest.approx(250.0)  # the class has 0.2 m


def test_inertias_are_written_where_the_file_has_them(tmp_path: Path) -> None:
    """Protects files of OpenSim 3 from two inertias of one body: the properties are those of the file."""
    path = tmp_path / "a.osim"
    found = Model(CHAIN).text(30000)
    for tags in (("xy", "xz", "yz"), ("xx", "yy", "zz", "xy", "xz", "yz")):
        path.write_text(re.sub(f"<inertia_(?:{'|'.join(tags)})>[^<]*</inertia_..>", "", found))
        text = scaled_text(path, {}, read_osim(path)[0], {})
        assert "<inertia>" not in text
        assert text.count("<inertia_xx>") == len(CHAIN)


def test_what_is_not_read_stays_in_the_file(tmp_path: Path) -> None:
    """Protects controllers, comments and other forces of a model: they are in the scaled file, too."""
    path = tmp_path / "a.osim"
    path.write_text(
        Model(
            CHAIN,
            forces="<HuntCrossleyForce name='h'><HuntCrossleyForce::ContactParametersSet/>"
            "</HuntCrossleyForce>",
            more="<!--kept--><ControllerSet><objects><X name='push'/></objects></ControllerSet>",
        ).text(40600)
    )
    spec = read_osim(path)[0]
    found = scaled_text(path, {}, spec, {})
    for words in ("<!--kept-->", "HuntCrossleyForce::ContactParametersSet", "push"):
        assert words in found


def test_equal_factors_everywhere_are_a_change_of_unit(tmp_path: Path) -> None:
    """Protects the whole of scaling: twice as large a model has paths twice as long in every pose."""
    path = tmp_path / "a.osim"
    path.write_text(Model(CHAIN, (*CHAIN_MUSCLES, WRAPPED), wraps=WRAPS).text(40600))
    spec = read_osim(path)[0]
    of = dict.fromkeys("abcdefg", np.full(3, 2.0))
    # what is on ground keeps its size, so the model must not touch it
    grounded = msgspec.structs.replace(spec.bodies[0], in_parent=type(spec.bodies[0].in_parent)())
    spec = msgspec.structs.replace(
        spec, bodies=(grounded, *spec.bodies[1:]), muscles=tuple(m for m in spec.muscles if m.name != "long")
    )
    small, large = (arms_of(s) for s in (spec, scale_geometry(spec, of, lambda note: None)))
    rng = np.random.default_rng(2)
    for _ in range(5):
        q = rng.uniform(-0.4, 0.4, len(small.model.q_neutral))
        q_large = np.where(small.model.coordinates.is_angle, q, 2.0 * q)
        np.testing.assert_allclose(large.lengths(q_large), 2.0 * small.lengths(q), rtol=1e-9)


def test_masses() -> None:
    """Protects totals and shares: all bodies together have the mass asked for, shares kept or by volume."""
    spec = load_model("wrist")
    bodies = tuple(
        msgspec.structs.replace(b, mass_kg=1.0 + k, inertia_kg_m2=(0.01, 0.02, 0.025))
        for k, b in enumerate(spec.bodies)
    )
    spec = msgspec.structs.replace(spec, bodies=bodies)
    of = {bodies[0].name: np.array([1.0, 2.0, 1.0])}
    kept, by_size = (scale_masses(spec, of, 12.0, keep) for keep in (True, False))
    total = sum(b.mass_kg for b in bodies)
    for before, after in zip(bodies, kept.bodies, strict=True):
        assert after.mass_kg == pytest.approx(12.0 * before.mass_kg / total)
    assert sum(b.mass_kg for b in by_size.bodies) == pytest.approx(12.0)
    assert by_size.bodies[0].mass_kg / by_size.bodies[1].mass_kg == pytest.approx(2.0 * 1.0 / 2.0)
    assert scale_masses(spec, of, None, True).bodies[0].mass_kg == 1.0


def test_inertia_of_a_cylinder() -> None:
    """Protects the rule for unequal factors: a cylinder along y stays one, its inertia that of its size."""

    def cylinder(m: float, r: float, length: float) -> tuple[float, ...]:
        across = m * (length**2 / 12.0 + r**2 / 4.0)
        return across, 0.5 * m * r**2, across

    body = msgspec.structs.replace(
        load_model("pin").bodies[0], mass_kg=2.0, inertia_kg_m2=cylinder(2.0, 0.05, 0.4)
    )
    found = scaled_inertia(body, np.array([1.2, 1.5, 1.2]), 3.0)
    np.testing.assert_allclose(found[:3], cylinder(3.0, 0.06, 0.6), rtol=1e-12)
    equal = scaled_inertia(body, np.full(3, 1.5), 2.0)
    np.testing.assert_allclose(equal[:3], cylinder(2.0, 0.075, 0.6), rtol=1e-12)


def test_models_of_a_subject_are_refused() -> None:
    """Protects from scaling twice: places of a person's anatomy have their size."""
    with pytest.raises(ConfigError, match="a person's anatomy"):
        scale_geometry(load_model("lower_limb"), {}, lambda note: None)


@pytest.mark.parametrize(("joints", "uniform"), [(UNTURNED, False), (CHAIN, True)], ids=["axes", "turned"])
def test_opensim_scales_alike(tmp_path: Path, joints: tuple[Joint, ...], uniform: bool) -> None:
    """Protects the rules themselves: frames, functions, points, surfaces, masses, fibres of OpenSim 4.6."""
    opensim = quiet(pytest.importorskip("opensim"))
    path, out = tmp_path / "a.osim", tmp_path / "b.osim"
    path.write_text(text(joints))
    of = factors(uniform)
    theirs = opensim.Model(str(path))
    state = theirs.initSystem()
    scales = opensim.ScaleSet()
    for name, S in of.items():
        scale = opensim.Scale()
        scale.setSegmentName(name)
        scale.setScaleFactors(opensim.Vec3(*S))
        scale.setApply(True)
        scales.cloneAndAppend(scale)
    assert theirs.scale(state, scales, True, 77.0)
    theirs.printToXML(str(out))
    spec = read_osim(path)[0]
    larger = scaled(spec, of)
    arms = [arms_of(s) for s in (spec, larger)]
    notes: list[str] = []
    larger = scale_muscles(larger, length_ratios(arms[0], arms[1], notes.append))
    found = differences(tables(read_osim(out)[0]), tables(larger))
    # a path over several surfaces is not the same to the last digit
    assert [line for line in found if "fibre_length" not in line and "slack_length" not in line] == []
    for a, b in zip(read_osim(out)[0].muscles, larger.muscles, strict=True):
        assert b.hill.optimal_fibre_length_mm == pytest.approx(
            a.hill.optimal_fibre_length_mm, rel=1e-3 if a.name == "wrapped" else 1e-9
        )
