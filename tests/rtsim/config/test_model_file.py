"""Model files with joints, couplers, surfaces, muscles and angles: what is wrong is told with its key."""

from __future__ import annotations

import pytest

from rtsim.config.load import check_record, parse_toml
from rtsim.config.models.joint_schema import coordinates_of, is_angular
from rtsim.config.models.model_schema import DEFAULT_METHOD, ModelSpec
from rtsim.errors import ConfigError

MODEL = """
name = "all_kinds"
source = "made up"

[[bodies]]
name = "base"
joint = "weld"

[[bodies]]
name = "arm"
joint = "hinge"
axis = "w"
parent = "base"
coordinates = [{ name = "elbow", neutral_deg = 30.0, range_deg = [0.0, 140.0] }]
mass_kg = 1.5
inertia_kg_m2 = [0.02, 0.003, 0.02, 0.0, 0.001, 0.0]

[[bodies]]
name = "rod"
joint = "slider"
parent = "arm"
axis = [0.0, 1.0, 0.0]
coordinates = [{ name = "reach", range_mm = [-50.0, 50.0] }]

[[bodies]]
name = "gimbal"
joint = "universal"
parent = "rod"
axes = ["u", [0.0, 0.0, 1.0]]

[[bodies]]
name = "knee"
joint = "custom"
parent = "base"
coordinates = [{ name = "bend" }, { name = "twist", range_deg = [-20.0, 20.0] }]
motion = [
  { translates = "u", of = "bend", spline = { at = [-1.0, 0.0, 1.0], value = [0.0, 0.01, 0.03] } },
  { translates = "v", constant = -0.02 },
  { rotates = "w", of = "bend" },
  { rotates = "v", of = "twist", linear = [1.0, 0.1] },
]

[[elements]]
name = "loop"
kind = "point"
a = { segment = "gimbal" }
b = { segment = "ground", offset_mm = [0.0, 300.0, 0.0] }

[[elements]]
name = "rail"
kind = "point_on_line"
a = { segment = "knee" }
b = { segment = "ground" }
direction = [1.0, 2.0, 0.0]

[[markers]]
name = "wrist"
segment = "arm"
offset_mm = [10.0, -200.0, 0.0]
fixed = true

[[couplers]]
coordinate = "bend"
of = "elbow"
polynomial = [0.0, 0.5, 0.1]

[[couplers]]
coordinate = "twist"
constant = 0.05

[[angles]]
name = "total"
terms = [{ of = "elbow" }, { of = "bend", weight = -0.5, linear = [2.0, 0.0] }]

[[surfaces]]
name = "ball"
segment = "arm"
kind = "sphere"
radius_mm = 12.0

[[surfaces]]
name = "ring"
segment = "ground"
turned_deg = [0.0, 90.0, 0.0]
kind = "cylinder"
radius_mm = 20.0

[[muscles]]
name = "biceps"
hill = { max_isometric_force_N = 500.0, optimal_fibre_length_mm = 120.0, tendon_slack_length_mm = 100.0 }
[[muscles.path]]
segment = "base"
offset_mm = [10.0, 200.0, 0.0]
[[muscles.path]]
segment = "base"
offset_mm = [15.0, 20.0, 0.0]
within = { coordinate = "elbow", range_deg = [60.0, 140.0] }
[[muscles.path]]
over = "ball"
side = [1.0, 0.0, 0.0]
[[muscles.path]]
segment = "arm"
moving = { of = "reach", x = { constant = 0.02 }, y = { linear = [1.0, -0.05] }, z = { constant = 0.0 } }
"""

WITHIN = 'within = { coordinate = "elbow", range_deg = [60.0, 140.0] }'
# what is written wrong, and the words that must be said
MISTAKES = {
    "parent": ('parent = "arm"', 'parent = "amr"', ("bodies.rod.parent", "amr", "base, arm")),
    "a body called ground": ('name = "rod"', 'name = "ground"', ("bodies.ground",)),
    "body without name": ('name = "rod"', 'name = ""', ("bodies[2].name", "length >= 1")),
    "joint": ('joint = "universal"', 'joint = "cardan"', ("bodies[3].joint", "cardan")),
    "no axes": ('axes = ["u", [0.0, 0.0, 1.0]]', "", ("bodies.gimbal.axes", "universal")),
    "axes of a slider": ("axis = [0.0, 1.0, 0.0]", 'axes = ["u", "v"]', ("bodies.rod.axes", "remove")),
    "parallel axes": (
        '["u", [0.0, 0.0, 1.0]]',
        '["u", [-2.0, 0.0, 0.0]]',
        ("bodies.gimbal.axes", "parallel"),
    ),
    "no direction": ("axis = [0.0, 1.0, 0.0]", "axis = [0.0, 0.0, 0.0]", ("bodies.rod", "no direction")),
    "direction": ('rotates = "w"', 'rotates = "x"', ("bodies[4].motion[2].rotates",)),
    "motion of no custom joint": (
        'joint = "slider"',
        'joint = "slider"\nmotion = [{ rotates = "w" }]',
        ("bodies.rod.motion", "custom"),
    ),
    "custom joint without motion": (
        'joint = "universal"\nparent = "rod"\naxes = ["u", [0.0, 0.0, 1.0]]',
        'joint = "custom"\nparent = "rod"',
        ("bodies.gimbal.motion", "custom"),
    ),
    "both ways": (
        'rotates = "w", of',
        'rotates = "w", translates = "u", of',
        ("bodies[4].motion[2]", "either"),
    ),
    "two functions": (
        "linear = [1.0, 0.1]",
        "linear = [1.0, 0.1], constant = 1.0",
        ("motion[3]", "constant and linear"),
    ),
    "coordinate of a motion": (
        'of = "twist"',
        'of = "torsion"',
        ("bodies.knee.motion.of", "torsion", "bend, twist"),
    ),
    "motion of nothing": (
        'of = "twist", linear',
        'of = "bend", linear',
        ("bodies.knee.coordinates", "twist does not move the body"),
    ),
    "which coordinate": (
        'rotates = "w", of = "bend"',
        'rotates = "w"',
        ("bodies.knee.motion", "`of` is missing"),
    ),
    "too many coordinates": (
        '[{ name = "reach", range_mm = [-50.0, 50.0] }]',
        '[{ name = "reach" }, { name = "reach_2" }]',
        ("bodies.rod.coordinates", "2 coordinates are given", "slider joint has 1"),
    ),
    "unit": (
        "range_mm = [-50.0, 50.0]",
        "range_deg = [-50.0, 50.0]",
        ("bodies.rod.coordinates", "reach", "mm"),
    ),
    "lever without a plane": (
        "direction = [1.0, 2.0, 0.0]",
        "direction = [1.0, 2.0, 0.0]\nlever_mm = [0.0, 1.0, 0.0]",
        ("elements.rail.lever_mm", "only an element of kind plane"),
    ),
    "line without direction": (
        "direction = [1.0, 2.0, 0.0]",
        "direction = [0.0, 0.0, 0.0]",
        ("elements.rail.direction", "not all of them 0"),
    ),
    "marker on ground": (
        'segment = "arm"\noffset_mm = [10',
        'segment = "ground"\noffset_mm = [10',
        ("markers.wrist.segment", "ground"),
    ),
    "clamped to nothing": (
        '{ name = "bend" }',
        '{ name = "bend", clamped = true }',
        ("bend is clamped, but has no range",),
    ),
    "two units": (
        "neutral_deg = 30.0",
        "neutral_mm = 30.0",
        ("bodies[1].coordinates[0]", "elbow", "give only one"),
    ),
    "range": (
        "range_deg = [0.0, 140.0]",
        "range_deg = [140.0, 0.0]",
        ("bodies[1].coordinates[0]", "lower limit"),
    ),
    "start outside": ("neutral_deg = 30.0", "neutral_deg = 141.0", ("elbow", "outside its range")),
    "coordinate twice": ('name = "reach"', 'name = "elbow"', ("coordinates and angles", "elbow")),
    "mass": ("mass_kg = 1.5", "mass_kg = -1.5", ("bodies[1].mass_kg", ">= 0")),
    "numbers of an inertia": ("0.0, 0.001, 0.0]", "0.0]", ("bodies.arm.inertia_kg_m2", "4 numbers")),
    "not a number": (
        "mass_kg = 1.5",
        "mass_kg = 1.5\nmass_centre_mm = [nan, 0.0, 0.0]",
        ("bodies[1].mass_centre_mm[0]", "nan"),
    ),
    "endless": ("radius_mm = 12.0", "radius_mm = inf", ("surfaces[0].radius_mm", "inf")),
    "splines that do not rise": ("at = [-1.0, 0.0, 1.0]", "at = [-1.0, 0.0, 0.0]", ("spline", "increase")),
    "splines without pairs": ("at = [-1.0, 0.0, 1.0]", "at = [-1.0, 0.0]", ("spline", "as many of each")),
    "one end on both": ('b = { segment = "ground"', 'b = { segment = "gimbal"', ("elements.loop", "gimbal")),
    "end of ground": (
        'b = { segment = "ground",',
        'b = { segment = "ground", origin = "distal",',
        ("elements.loop.b", "ground"),
    ),
    "coupled coordinate": (
        'coordinate = "bend"',
        'coordinate = "bent"',
        ("couplers.coordinate", "bent", "elbow, reach"),
    ),
    "driver": ('of = "elbow"\npoly', 'of = "ellbow"\npoly', ("couplers.bend.of", "ellbow", "elbow")),
    "coupler of itself": ('of = "elbow"\npoly', 'of = "bend"\npoly', ("couplers.bend", "follows itself")),
    "circle of couplers": (
        "constant = 0.05",
        'of = "bend"\nlinear = [1.0, 0.0]\n[[couplers]]\n'
        'coordinate = "elbow"\nof = "twist"\nlinear = [1.0, 0.0]',
        ("couplers.", "follows itself"),
    ),
    "two couplers": ('coordinate = "twist"', 'coordinate = "bend"', ("couplers", "bend", "more than once")),
    "coupler without function": ("polynomial = [0.0, 0.5, 0.1]", "", ("couplers[0]", "bend", "no function")),
    "constant of another": ("constant = 0.05", 'of = "elbow"\nconstant = 0.05', ("couplers[1]", "twist")),
    "function of nothing": ("constant = 0.05", "linear = [1.0, 0.0]", ("couplers[1]", "twist")),
    "start of a follower": (
        '{ name = "bend" }',
        '{ name = "bend", neutral_deg = 5.0 }',
        ("knee", "bend", "coupler"),
    ),
    "no terms": (
        'terms = [{ of = "elbow" }, { of = "bend", weight = -0.5, linear = [2.0, 0.0] }]',
        "terms = []",
        ("angles[0].terms", ">= 1"),
    ),
    "term": ('{ of = "elbow" }', '{ of = "shoulder" }', ("angles.total.terms.of", "shoulder", "elbow")),
    "angle called like a coordinate": ('name = "total"', 'name = "bend"', ("coordinates and angles", "bend")),
    "segment of a surface": (
        'segment = "arm"\nkind',
        'segment = "leg"\nkind',
        ("surfaces.ball.segment", "leg", "arm"),
    ),
    "no radius": ("radius_mm = 12.0", "", ("surfaces[0]", "ball", "radius_mm")),
    "radius of nothing": ("radius_mm = 12.0", "radius_mm = 0.0", ("surfaces[0].radius_mm", "> 0")),
    "another surface's size": (
        "radius_mm = 12.0",
        "radius_mm = 12.0\nradii_mm = [1.0, 1.0, 1.0]",
        ("ball", "radii_mm"),
    ),
    "name of two lines": ('name = "ring"', 'name = "ri\\nng"', ("surfaces", "cannot be a name", "one line")),
    "surface twice": ('name = "ring"', 'name = "ball"', ("surfaces", "ball", "more than once")),
    "segment of a point": (
        'segment = "base"\noffset_mm = [10.0',
        'segment = "bose"\noffset_mm = [10.0',
        ("muscles.biceps.path[0].segment", "bose", "ground"),
    ),
    "no segment": (
        'segment = "base"\noffset_mm = [10.0',
        "offset_mm = [10.0",
        ("muscles.biceps.path[0].segment",),
    ),
    "surface": ('over = "ball"', 'over = "bell"', ("muscles.biceps.path[2].over", "bell", "ball, ring")),
    "side": ("side = [1.0, 0.0, 0.0]", "side = [0.0, 0.0, 0.0]", ("muscles[0].path[2]", "side")),
    "surface and place": ('over = "ball"', 'over = "ball"\nsegment = "arm"', ("muscles[0].path[2]", "ball")),
    "condition": (
        'coordinate = "elbow", range',
        'coordinate = "wrist", range',
        ("path[1].within.coordinate", "wrist"),
    ),
    "condition without range": (", range_deg = [60.0, 140.0]", "", ("path[1].within", "elbow", "range_deg")),
    "condition's unit": (
        "range_deg = [60.0, 140.0]",
        "range_mm = [60.0, 140.0]",
        ("path[1].within", "range_deg"),
    ),
    "condition upside down": ("[60.0, 140.0]", "[140.0, 60.0]", ("path[1].within", "lower limit")),
    "moving by": (
        'moving = { of = "reach"',
        'moving = { of = "grasp"',
        ("path[3].moving.of", "grasp", "reach"),
    ),
    "moving without function": ("z = { constant = 0.0 }", "z = {}", ("path[3].moving", "z has no function")),
    "moving and fixed": (
        '"arm"\nmoving',
        '"arm"\noffset_mm = [1.0, 0.0, 0.0]\nmoving',
        ("path[3]", "moving point"),
    ),
    "begins on a surface": (
        'segment = "base"\noffset_mm = [10.0, 200.0, 0.0]',
        'over = "ring"',
        ("muscles[0]", "biceps begins"),
    ),
    "ends on a condition": (
        'segment = "arm"\nmoving',
        f'segment = "arm"\n{WITHIN}\n#',
        ("muscles[0]", "biceps ends"),
    ),
    "force": (
        "max_isometric_force_N = 500.0",
        "max_isometric_force_N = 0.0",
        ("muscles[0].hill.max_iso", "> 0"),
    ),
    "pennation": ("optimal_fibre", "pennation_deg = 90.0, optimal_fibre", ("hill.pennation_deg", "< 90")),
    "stiff elastic tendon": (
        "tendon_slack_length_mm = 100.0",
        "tendon_slack_length_mm = 0.0, tendon = 'elastic'",
        ("muscles[0].hill", "elastic", "above 0"),
    ),
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
    """Protects against checks that refuse what is right: all kinds of entries in one model."""
    spec = read(MODEL)
    assert [len(x) for x in (spec.bodies, spec.couplers, spec.surfaces, spec.muscles[0].path)] == [5, 2, 2, 4]
    assert spec.gravity_m_s2 == (0.0, -9.81, 0.0)


def test_a_model_without_methods_has_one_in_which_all_holds():
    """Protects models for dynamics: they need not list methods."""
    method = read(MODEL).methods[DEFAULT_METHOD]
    assert method.hard == ("loop", "rail")
    assert not method.soft


def test_coordinates_are_named_after_their_body():
    """Protects short model files: unnamed coordinates get the body's name, and a number if many."""
    names = {body.name: [c.name for c in coordinates_of(body)] for body in read(MODEL).bodies}
    assert names == {
        "base": [], "arm": ["elbow"], "rod": ["reach"],
        "gimbal": ["gimbal_1", "gimbal_2"], "knee": ["bend", "twist"],
    }  # fmt: skip


def test_a_custom_coordinate_is_what_its_numbers_or_its_motion_say():
    """Protects units: turning makes an angle, moving along makes a length, numbers in one unit decide."""
    knee = '{ name = "bend" }'
    turns = read(MODEL).bodies[4]
    assert is_angular(turns, 0)
    length = read(MODEL.replace(knee, '{ name = "bend", range_mm = [-5.0, 5.0] }')).bodies[4]
    assert not is_angular(length, 0)
    slides = read(MODEL.replace('rotates = "w", of = "bend"', 'translates = "w", of = "bend"')).bodies[4]
    assert not is_angular(slides, 0)


def test_what_needs_a_subject_is_known():
    """Protects models without anatomy from needing a person, and those with it from being packed without."""
    assert not read(MODEL).of_subject
    assert read(MODEL.replace("offset_mm = [10.0", 'origin = "distal"\noffset_mm = [10.0')).of_subject


def test_a_method_cannot_make_a_joint_custom():
    """Protects methods: a custom joint's motion is the model's; only plain kinds replace joints."""
    with pytest.raises(ConfigError, match=r"methods\.m\.joints\.arm"):
        read(MODEL + '[methods.m]\njoints = { arm = "custom" }')
    with pytest.raises(ConfigError, match=r"bodies\.arm\.axes: a planar joint needs two axes"):
        read(MODEL + '[methods.m]\njoints = { arm = "planar" }')


def test_a_path_of_one_point_is_none():
    """Protects paths: a muscle joins two points at least."""
    start = MODEL.index("[[muscles.path]]")
    second = MODEL.index("[[muscles.path]]", start + 1)
    with pytest.raises(ConfigError, match=r"muscles\[0\]\.path: .*>= 2"):
        read(MODEL[:second])
