"""Shipped sets of torque generators: the table of the paper, the planar body, fits that are read back."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from msgspec import ValidationError, convert, to_builtins

from kernels.torque_generator.torque import activations
from rtsim.config.load import check_record
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.models.torque_generator_schema import GeneratorSet, TorqueGenerator
from rtsim.config.paths import shipped_names
from rtsim.errors import ConfigError
from rtsim.models.generator_sets import generators_of, load_set
from rtsim.models.packing.torque_generators import pack_generators
from rtsim.models.planar_body import planar_body
from tests.naive.torque_generators import Generator, multipliers

TABLE = Path(__file__).resolve().parents[4] / "shared" / "reference" / "mtg_table_a2.csv"
NAMES = (
    "hip_extension", "hip_flexion", "knee_extension", "knee_flexion", "ankle_plantarflexion",
    "ankle_dorsiflexion", "lumbar_extension", "lumbar_flexion", "shoulder_extension", "shoulder_flexion",
    "elbow_extension", "elbow_flexion", "wrist_ulnar_deviation", "wrist_radial_deviation",
)  # fmt: skip


@pytest.mark.skipif(not TABLE.is_file(), reason="the reference files are not there")
def test_the_gymnast_is_table_a2():
    """Protects every number of the table, the elbow as printed, angles with the other sign."""
    generators = load_set("gymnast").generators
    with TABLE.open(encoding="utf-8") as file:
        rows = [*csv.DictReader(file)]
    for name, row in zip(NAMES, rows, strict=True):
        m = generators[name]
        found = (
            m.strength_Nm, -m.optimal_angle_deg, m.width_deg, m.speed_deg_s, m.lengthening, m.half_speed,
            -m.passive_zero_deg, -m.passive_one_deg,
        )  # fmt: skip
        printed = [float(row[key]) for key in list(row)[1:9]]
        assert np.round(found[:4]) == pytest.approx(printed[:4], abs=0.5), name
        assert found[4:6] == pytest.approx(printed[4:6], abs=0.0051), name
        assert found[6:] == pytest.approx(printed[6:], abs=0.55), name


def test_every_generator_says_where_it_comes_from():
    """Protects the ownership of numbers: head generators are told to be nobody's measurement."""
    generators = load_set("gymnast").generators
    assert {*generators} == {*NAMES, "head_extension", "head_flexion"}
    assert all(len(m.source) > 10 for m in generators.values())
    assert all("nobody measured" in generators[f"head_{way}"].derivation for way in ("extension", "flexion"))


def test_every_joint_of_the_planar_body_has_a_pair():
    """Protects the planar set: all 15 joints, agonist and antagonist, lumbar joints at twice the angle."""
    placed = generators_of("planar")
    joints = {c.name for body in planar_body("male", 80.0, 1750.0).bodies[1:] for c in body.coordinates}
    assert {one.joint.coordinate for one in placed} == joints
    assert len(placed) == 30
    doubled = {one.joint.coordinate for one in placed if one.joint.factor == 2.0}
    assert doubled == {"lumbar_flexion", "thoracic_flexion"}
    assert {one.torque_sign for one in placed if one.name.endswith("extensor")} == {-1}


@pytest.mark.parametrize("name", [name for name in shipped_names("generators") if name != "gymnast"])
def test_extensors_and_flexors_pull_apart(name):
    """Protects signs: an extensor's passive torque rises in flexion, a flexor's in extension."""
    placed = generators_of(name)
    spans = pack_generators(placed).parameter[:, 5]
    for one, span in zip(placed, spans, strict=True):
        assert (span > 0.0) == one.name.endswith("extensor"), one.name


def test_fits_are_read_back(tmp_path):
    """Protects persons: strength before the fit, and the five numbers that it found."""
    path = tmp_path / "me.toml"
    path.write_text(
        'name = "me"\nsource = "a fit"\nbase = "planar"\n[fits.hip_flexion_r_extensor]\nstrength_Nm = 90.0\n'
        "angle_scale = 1.1\nspeed_scale = 1.2\npassive_shift_deg = 10.0\npassive_blend = 0.2\n"
        "strength_scale = 1.3\n"
    )
    placed = generators_of(str(path))
    k = [one.name for one in placed].index("hip_flexion_r_extensor")
    packed = pack_generators(placed)
    assert packed.fit[k] == pytest.approx([1.1, 1.2, np.radians(10.0), 0.2, 1.3])
    assert packed.parameter[k, 0] == 90.0
    assert (packed.fit[k + 1] == [1.0, 1.0, 0.0, 0.0, 1.0]).all()


def test_the_velocity_curve_blends_to_what_the_set_says(tmp_path):
    """Protects eq. 5 as printed and as computed: a set chooses, sets upon it follow, the twin agrees."""
    (tmp_path / "printed.toml").write_text(
        'name = "printed"\nsource = "eq. 5"\nbase = "planar"\nvelocity_blends_to = "one"\n'
    )
    upon = tmp_path / "me.toml"
    upon.write_text(f'name = "me"\nsource = "me"\nbase = "{tmp_path / "printed.toml"}"\n')
    for name, to_one in (("planar", False), (str(upon), True)):
        one = generators_of(name)[0]._replace(blend=0.3)
        spec, packed, made = one.spec, pack_generators([one]), np.zeros((1, 4))
        angles = (spec.speed_deg_s, spec.optimal_angle_deg, spec.width_deg)
        zero, last = np.radians([spec.passive_zero_deg, spec.passive_one_deg])
        m = Generator(
            spec.strength_Nm, *np.radians(angles), spec.lengthening, spec.half_speed, zero, last,
            blend=0.3, to_one=to_one,
        )  # fmt: skip
        for speed in (-9.0, 3.0):
            activations(packed, 0, np.array([[0.5, one.torque_sign * speed, 1.0]]), np.zeros(1), made)
            twin = multipliers(m, 0.5, speed, np.array([1.0, 1.0, 0.0, 0.0, 1.0]))
            np.testing.assert_allclose(made[0], twin, rtol=1e-9)
    with pytest.raises(ConfigError, match="velocity_blends_to"):
        check_record(
            {"name": "x", "source": "x", "base": "planar", "velocity_blends_to": "two"}, GeneratorSet, "x"
        )


def test_a_fit_of_nothing_is_refused(tmp_path):
    """Protects from a misspelt name that would be passed over."""
    path = tmp_path / "me.toml"
    path.write_text('name = "me"\nsource = "a fit"\nbase = "planar"\n[fits.hip_extensor]\n')
    with pytest.raises(
        ConfigError, match=r"no joint of the set has a generator 'hip_extensor'.*hip_flexion_r_extensor"
    ):
        generators_of(str(path))


KNEE = {
    "source": "me", "strength_Nm": 310.0, "optimal_angle_deg": 60.0, "width_deg": 30.0, "speed_deg_s": 1000.0,
    "lengthening": 1.15, "half_speed": 0.15, "passive_zero_deg": 115.0, "passive_one_deg": 155.0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("strength_Nm", 310000.0), ("strength_Nm", -310.0), ("optimal_angle_deg", 6000.0), ("width_deg", 0.5),
        ("speed_deg_s", 17.5), ("passive_one_deg", 115.5),
    ],
)  # fmt: skip
def test_numbers_of_other_units_are_refused(key, value):
    """Protects own sets: newton millimetres, radians, rad/s and curves that rise at once are told."""
    assert convert(KNEE, TorqueGenerator).width_deg == 30.0
    with pytest.raises(ValidationError, match=key):
        convert(KNEE | {key: value}, TorqueGenerator)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ({"lines": {"at": [0.0, 0.0], "value": [0.1, 0.2]}}, "the numbers must increase"),
        ({"lines": {"at": [0.0, 1.0], "value": [10.0, 60.0]}}, "not percent"),
        ({}, "has no function"),
    ],
)
def test_activations_over_time_that_cannot_be_meant_are_told(function, words):
    """Protects models: a mistake inside a function that stands in place of a number ends in one sentence."""
    spec = to_builtins(planar_body("male", 80.0, 1800.0))
    spec["torque_generators"] = {"set": "planar", "activation": {"knee_flexion_r_extensor": function}}
    with pytest.raises(ConfigError, match=words):
        check_record(spec, ModelSpec, "me.toml")
