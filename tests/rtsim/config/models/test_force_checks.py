"""Force elements and [simulation] in model files: what is wrong is told with its key."""

from __future__ import annotations

import pytest

from rtsim.config.load import check_record, parse_toml
from rtsim.config.models.model_schema import ModelSpec
from rtsim.errors import ConfigError
from tests.rtsim.simulation.loose import MODEL

BAND = 'a = { segment = "block" }\nb = { segment = "ball" }'
CORD = 'a = { segment = "bob" }\nb = { segment = "ground"'
FRICTION = "friction = { static = 0.2, dynamic = 0.15 }"
CENTRING = "stiffness_N_m = 10.0\ndamping_N_s_m = 1.0"
SCALED = '{ offset_mm = [1.0, 0.0, 0.0], segment = "x", reference_length_mm = 1.0 }'
BODIES = "block, arm, bob, ball"

# what is written wrong, and the words that must be said
MISTAKES = {
    "negative mass": ("mass_kg = 1.0", "mass_kg = -1.0", ("bodies[0].mass_kg", ">= 0")),
    "stiffness of a contact": ("stiffness = 1.0e7", "stiffness = 0.0", ("contacts[0].stiffness", "> 0")),
    "stiffness of a ligament": (
        "stiffness_N = 500.0",
        "stiffness_N = -1.0",
        ("ligaments[0].stiffness_N", "> 0"),
    ),
    "stiffness of a spring": (
        "stiffness_N_m = 10.0",
        "stiffness_N_m = -1.0",
        ("springs[0].stiffness_N_m", ">= 0"),
    ),
    "radius": ("radius_mm = 50.0", "radius_mm = 0.0", ("contacts[0].ellipsoid.radius_mm", "> 0")),
    "no radius": (
        "radius_mm = 50.0",
        "offset_mm = [0.0, 0.0, 0.0]",
        ("contacts.floor.ellipsoid", "radii_mm"),
    ),
    "normal": ("normal = [0.0, 1.0, 0.0]", "normal = [0.0, 0.0, 0.0]", ("contacts.floor.plane.normal",)),
    "load of a friction": ("load_N = 9.81", "load_N = 0.0", ("frictions[0].load_N", "> 0")),
    "step": ("step_ms = 1.0", "step_ms = 0.0", ("simulation.step_ms", "> 0")),
    "duration": ("duration_s = 0.05", "duration_s = -1.0", ("simulation.duration_s", "> 0")),
    "duration that is none": ("duration_s = 0.05", "duration_s = nan", ("simulation.duration_s",)),
    "speed that is none": ("position = 100.0", "position = inf", ("simulation.speeds.position", "inf")),
    "key": ("duration_s", "duration", ("simulation", "`duration`", "duration_s", "step_ms")),
    "method": ('method = "ros34pw2"', 'method = "rk4"', ("simulation.method", "rk4", "ros34pw2", "rodas4p")),
    "kinks": ('kinks = "secant"', 'kinks = "cut"', ("simulation.kinks", "cut", "split, secant, exact")),
    "law of friction": (
        FRICTION,
        'friction = { law = "coulomb" }',
        ("contacts[0].friction.law", "coulomb", "brown_mcphee, andersson, hollars, specker"),
    ),
    "law of a contact": (
        "stiffness = 1.0e7",
        'stiffness = 1.0e7\nlaw = "hertz"',
        ("contacts[0].law", "hertz", "power"),
    ),
    "end of a ligament": (
        BAND,
        BAND.replace("block", "blok"),
        ("ligaments.band.a.segment", "'blok'", f"{BODIES}, ground"),
    ),
    "no segment": (BAND, BAND.replace('segment = "block"', ""), ("ligaments.band.a.segment", BODIES)),
    "end of a spring": (CORD, CORD.replace("ground", "floor"), ("springs.cord.b.segment", "'floor'", BODIES)),
    "ligament on one segment": (
        BAND,
        BAND.replace("block", "ball"),
        ("ligaments.band", "both ends are on ball"),
    ),
    "spring on one segment": (CORD, CORD.replace("ground", "bob"), ("springs.cord", "both ends are on bob")),
    "contact on one segment": (
        'plane = { segment = "ground"',
        'plane = { segment = "ball"',
        ("contacts.floor", "both ends"),
    ),
    "friction on one segment": ('b = "ground"', 'b = "block"', ("frictions.belt", "both ends")),
    "plane": (
        'plane = { segment = "ground"',
        'plane = { segment = "earth"',
        ("contacts.floor.plane.segment", "'earth'"),
    ),
    "ellipsoid": (
        'ellipsoid = { segment = "ball"',
        'ellipsoid = { segment = "bal"',
        ("contacts.floor.ellipsoid.segment",),
    ),
    "friction on nothing": ('b = "ground"', 'b = "belt"', ("frictions.belt.b", "'belt'", BODIES)),
    "load on ground": (
        'at = { segment = "ball"',
        'at = { segment = "ground"',
        ("loads.push.at.segment", BODIES),
    ),
    "ground has no ends": (CORD, CORD + ', origin = "distal"', ("springs.cord.b", "ground has no ends")),
    "scaled by nothing": (
        BAND,
        BAND.replace('"block"', f'"block", scaled = {SCALED}'),
        ("ligaments.band.a.scaled.segment", "'x'"),
    ),
    "coordinate of a spring": (
        'coordinate = "position"',
        'coordinate = "place"',
        ("springs.centring.coordinate", "'place'", "swing"),
    ),
    "spring in degrees": (
        CENTRING,
        "stiffness_N_m_rad = 1.0",
        ("springs.centring", "position is a length", "stiffness_N_m"),
    ),
    "spring in metres": (
        'coordinate = "position"\n',
        'coordinate = "swing"\n',
        ("springs.centring", "swing is an angle", "stiffness_N_m_rad"),
    ),
    "spring of two kinds": (
        CENTRING,
        CENTRING + "\nrest_deg = 3.0",
        ("springs.centring", "some numbers are in mm"),
    ),
    "names of lines": (
        'name = "cord"',
        'name = "band"',
        ("ligaments and springs", "'band'", "more than once"),
    ),
    "names of contacts": ('name = "wall"', 'name = "floor"', ("contacts", "'floor'", "more than once")),
    "hold": ("hold = []", 'hold = ["x"]', ("simulation.hold", "'x'", "position, swing")),
    "hold without equilibrium": (
        "hold = []",
        'hold = ["swing"]',
        ("simulation.hold", "equilibrium", "weightless"),
    ),
    "plot": ('plot = ["position"]', 'plot = ["speed"]', ("simulation.plot", "'speed'", "position, swing")),
    "speeds": ("swing = 90.0", "ball = 90.0", ("simulation.speeds", "'ball'", "position, swing")),
    "velocity of nothing": (
        "{ ball = [500.0",
        "{ bal = [500.0",
        ("simulation.velocities_mm_s", "'bal'", BODIES),
    ),
    "velocity of a ball joint": (
        "{ ball = [500.0",
        "{ bob = [500.0",
        ("velocities_mm_s.bob", "ball joint", "free", "speeds"),
    ),
    "turning of a hinge": (
        "{ bob = [0.0, 180.0",
        "{ arm = [0.0, 180.0",
        ("turning_deg_s.arm", "hinge joint", "ball or "),
    ),
    "half a velocity": ("[500.0, 0.0, 0.0]", "[500.0, 0.0]", ("simulation.velocities_mm_s.ball", ">= 3")),
}


def read(text: str) -> ModelSpec:
    return check_record(parse_toml(text, "mine.toml"), ModelSpec, "mine.toml")


@pytest.mark.parametrize("kind", MISTAKES)
def test_a_mistake_is_told_with_its_key(kind):
    """Protects the author of a model: one sentence with the key, what is wrong and what is allowed."""
    right, wrong, words = MISTAKES[kind]
    assert MODEL.count(right) >= 1
    with pytest.raises(ConfigError) as caught:
        read(MODEL.replace(right, wrong, 1))
    said = str(caught.value)
    assert said.startswith("mine.toml: ")
    assert "\n" not in said
    assert all(word in said for word in words), said


def test_a_right_model_is_read():
    """Protects against checks that refuse what is right: every kind of element and joint in one model."""
    spec = read(MODEL)
    sizes = [len(x) for x in (spec.springs, spec.ligaments, spec.contacts, spec.frictions, spec.loads)]
    assert sizes == [2, 1, 2, 1, 1]
    assert not spec.of_subject


def test_names_of_frictions_and_loads_are_there_once():
    """Protects results and commands: a second element of the same name is refused."""
    for table in ("frictions", "loads"):
        start = MODEL.index(f"[[{table}]]")
        block = MODEL[start : MODEL.index("[[loads]]" if table == "frictions" else "[simulation]")]
        with pytest.raises(ConfigError, match=f"{table}: .* more than once"):
            read(MODEL.replace("[simulation]", f"{block}\n[simulation]"))


def test_elements_on_landmarks_need_a_person():
    """Protects models with anatomy: a place of any force element that only a person has is seen."""
    for right in (
        BAND,
        'ellipsoid = { segment = "ball"',
        'at = { segment = "ball"',
        CORD,
        'a = { segment = "block" }\nb = "ground"',
    ):
        first = right.index('segment = "') + len('segment = "')
        end = right.index('"', first) + 1
        assert read(MODEL.replace(right, f'{right[:end]}, point = "knee"{right[end:]}')).of_subject, right


def test_a_settings_free_model_has_defaults():
    """Protects models that were written before there were simulations."""
    spec = read(MODEL[: MODEL.index("[simulation]")])
    assert (spec.simulation.step_ms, spec.simulation.duration_s, spec.simulation.hold) == (1.0, 1.0, ())
