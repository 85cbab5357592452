"""Packing of force elements: what a model file says becomes the tables of kernels/forces."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.contact.pressure import DAMPING, EXPONENT, HUNT_CROSSLEY, STIFFNESS, VOLUMETRIC
from kernels.forces.friction import ANDERSSON, F_NT, MU_D, MU_S, SPECKER, V_D, V_S, V_T
from kernels.forces.ligament import K_LINEAR, K_TOE, LINEAR, SLACK_LENGTH, STRAIN, TOE_LINEAR
from kernels.solver.constraints import DISTANCE, HARD, OFF, SPHERE_ON_PLANE
from rtsim.errors import ConfigError
from rtsim.models.model import build
from rtsim.models.roles import roles_of

from .small_models import built, read

BLOCK = """
[[bodies]]
name = "block"
joint = "planar"
axes = ["u", "v"]
in_parent = { offset_mm = [0.0, 100.0, 0.0] }
mass_kg = 1.0
inertia_kg_m2 = [0.01, 0.01, 0.01]
[[bodies]]
name = "fixed"
joint = "weld"
"""
LIGAMENT = """
[[ligaments]]
name = "ligament"
a = { segment = "block", offset_mm = [0.0, 50.0, 0.0] }
b = { segment = "ground", offset_mm = [0.0, -50.0, 0.0] }
"""
CONTACT = """
[[contacts]]
name = "floor"
ellipsoid = {{ segment = "block", offset_mm = [1.0, 2.0, 3.0], {size} }}
plane = {{ segment = "ground", normal = [0.0, 2.0, 0.0], velocity_mm_s = [100.0, 0.0, 0.0] }}
stiffness = 2.0e6
{more}
"""


@pytest.mark.parametrize(
    "numbers",
    [
        "toe_stiffness_N_mm2 = 10.0\nlinear_stiffness_N_mm = 60.0",  # L0 = 60e3/(4 10e6 0.03) = 50 mm
        "stiffness_N = 3000.0\nslack_length_mm = 50.0",  # k = K2 L0
        "stiffness_N = 3000.0\nreference_strain = 0.1\nreference_length_mm = 55.0",
        "stiffness_N = 3000.0\nreference_strain = 3.0",  # 200 mm in the neutral pose
    ],
    ids=["both stiffnesses", "slack length", "reference length", "neutral length"],
)
def test_all_ways_to_describe_a_ligament_agree(numbers):
    """Protects both parametrisations and both ways to the slack length: one ligament, four descriptions."""
    lines = built(BLOCK + LIGAMENT + numbers).forces.lines
    row = lines.parameter[0]
    assert lines.law[0] == TOE_LINEAR
    np.testing.assert_allclose(
        row[[SLACK_LENGTH, K_TOE, K_LINEAR, STRAIN]], [0.05, 1e7, 6e4, 0.03], rtol=1e-12
    )


def test_springs_follow_the_ligaments_and_rest_in_the_neutral_pose():
    """Protects springs between places: after the ligaments, at rest in the neutral pose by default."""
    m = built(
        BLOCK
        + '[[springs]]\nname = "strap"\nstiffness_N_m = 20.0\n'
        + 'a = { segment = "block" }\nb = { segment = "fixed" }\n'
        + LIGAMENT
        + "stiffness_N = 1.0\nslack_length_mm = 1.0"
    )
    assert m.names.lines == ("ligament", "strap")
    assert m.forces.lines.law.tolist() == [TOE_LINEAR, LINEAR]
    assert m.forces.lines.parameter[1, SLACK_LENGTH] == pytest.approx(0.1, rel=1e-15)


def test_springs_on_coordinates_are_in_si():
    """Protects springs on coordinates: degrees and millimetres become radians and metres."""
    springs = built(
        BLOCK
        + '[[springs]]\nname = "a"\ncoordinate = "block_3"\nrest_deg = 90.0\nstiffness_N_m_rad = 3.0\n'
        + '[[springs]]\nname = "b"\ncoordinate = "block_2"\nrest_mm = 20.0\ndamping_N_s_m = 4.0\n'
    ).forces.springs
    np.testing.assert_allclose(springs.rest, [0.5 * np.pi, 0.02])
    assert springs.dof.tolist() == [2, 1]
    assert springs.stiffness.tolist() == [3.0, 0.0]
    assert springs.damping.tolist() == [0.0, 4.0]


def test_a_contact_is_an_ellipsoid_on_a_plane():
    """Protects contacts: radii, unit normal, and the moving surface in SI."""
    contacts = built(
        BLOCK + CONTACT.format(size="radii_mm = [10.0, 20.0, 30.0]", more="damping = 0.5")
    ).forces.contacts
    assert contacts.law[0] == VOLUMETRIC
    assert contacts.round[0] == 0
    np.testing.assert_allclose(contacts.radii[0], [0.01, 0.02, 0.03])
    np.testing.assert_allclose(contacts.normal[0], [0.0, 1.0, 0.0])
    np.testing.assert_allclose(contacts.surface_velocity[0], [0.1, 0.0, 0.0])
    np.testing.assert_allclose(contacts.pressure[0, [STIFFNESS, DAMPING]], [2e6, 0.5])
    assert contacts.friction_law[0] == -1


def test_a_sphere_is_recognised_however_it_is_given():
    """Protects the shorter way for spheres."""
    for size in ("radius_mm = 10.0", "radii_mm = [10.0, 10.0, 10.0]"):
        contacts = built(
            BLOCK + CONTACT.format(size=size, more='law = "hunt_crossley"\nexponent = 1.5')
        ).forces.contacts
        assert contacts.round[0] == 1
        assert contacts.law[0] == HUNT_CROSSLEY
        assert contacts.pressure[0, EXPONENT] == 1.5


@pytest.mark.parametrize(
    ("law", "number", "column"), [("specker", SPECKER, V_D), ("andersson", ANDERSSON, V_S)]
)
def test_friction_parameters_find_their_columns(law, number, column):
    """Protects friction: v_d is a quarter of v_t where none is given, Andersson's v_s is v_t."""
    friction = f'friction = {{ law = "{law}", static = 0.4, dynamic = 0.3, transition_velocity_m_s = 0.02 }}'
    contacts = built(BLOCK + CONTACT.format(size="radius_mm = 10.0", more=friction)).forces.contacts
    assert contacts.friction_law[0] == number
    np.testing.assert_allclose(contacts.friction[0, [MU_S, MU_D, V_T, F_NT]], [0.4, 0.3, 0.02, 10.0])
    assert contacts.friction[0, column] == pytest.approx(0.005 if law == "specker" else 0.02)


def test_the_viscous_ramp_ends_where_the_transition_force_is_reached():
    """Protects the ramp of viscous friction: k depth^2 = F_nt gives its depth."""
    law = 'law = "power"\nexponent = 2.0\nfriction = { viscous_N_s_m = 1.0, transition_force_N = 50.0 }'
    contacts = built(BLOCK + CONTACT.format(size="radius_mm = 50.0", more=law)).forces.contacts
    assert contacts.ramp[0] == pytest.approx(np.sqrt(50.0 / 2e6), rel=1e-9)
    plain = built(BLOCK + CONTACT.format(size="radius_mm = 50.0", more="friction = { static = 0.1 }")).forces
    assert plain.contacts.ramp[0] == 0.0


def test_elements_between_the_same_bodies_share_a_pair():
    """Protects the sums over pairs: elements of one pair of bodies are projected once."""
    contact = CONTACT.format(size="radius_mm = 10.0", more="")
    load = (
        '[[loads]]\nname = "push"\nat = { segment = "block" }\nforce_N = [1.0, 0.0, 0.0]\nduration_s = 0.5\n'
    )
    m = built(BLOCK + LIGAMENT + "stiffness_N = 1.0\nslack_length_mm = 1.0\n" + contact + load)
    assert len(m.forces.pairs.body_a) == 1
    assert m.forces.pairs.n_path.tolist() == [3]
    assert m.forces.loads.stop.tolist() == [0.5]


def test_an_element_between_bodies_that_never_part_is_refused():
    """Protects the user from elements without effect: both ends on what a weld holds to ground."""
    text = LIGAMENT.replace('"block"', '"fixed"') + "stiffness_N = 1.0\nslack_length_mm = 1.0"
    with pytest.raises(ConfigError, match=r"no joint moves .* relative to each other"):
        built(BLOCK + text)


BOTH = """
[[ligaments]]
name = "cord"
a = { segment = "block", offset_mm = [0.0, 30.0, 0.0] }
b = { segment = "ground", offset_mm = [0.0, 130.0, 0.0] }
length = { target_mm = 100.0 }
stiffness_N = 1.0
slack_length_mm = 90.0

[[contacts]]
name = "foot"
ellipsoid = { segment = "block", radius_mm = 50.0 }
plane = { segment = "ground", normal = [0.0, 2.0, 0.0] }
stiffness = 1.0e6
"""
HOLDS = '[methods.held]\nhard = ["cord", "foot"]\n[methods.loose]\n'


def test_a_ligament_and_a_contact_can_be_held_and_act():
    """Protects the one record of each: a force law, a row that methods hold, or both; the law is the same."""
    m = built(BLOCK + BOTH)
    assert (m.names.lines, m.names.contacts, m.names.elements) == (("cord",), ("foot",), ("cord",))
    assert roles_of(read(BLOCK + BOTH)).mode.tolist() == [OFF]
    spec = read(BLOCK + BOTH + HOLDS)
    held = build(spec)
    assert (held.names.lines, held.names.contacts, held.names.elements) == (
        ("cord",), ("foot",), ("foot", "cord"),
    )  # fmt: skip
    roles = roles_of(spec, "held")
    assert held.elements.kind.tolist() == [SPHERE_ON_PLANE, DISTANCE]
    assert (roles.mode.tolist(), roles_of(spec, "loose").mode.tolist()) == ([HARD, HARD], [OFF, OFF])
    np.testing.assert_allclose(roles.target, [0.025, 0.1])  # the radius is that of the normal as printed
    np.testing.assert_array_equal(held.elements.normal_b[0], [0.0, 1.0, 0.0])
    assert (held.reported.ligaments.tolist(), held.reported.contacts.tolist()) == ([], [0])
    both = (*held.forces.lines, *held.forces.contacts)
    for alone, beside in zip((*m.forces.lines, *m.forces.contacts), both, strict=True):
        np.testing.assert_array_equal(alone, beside)


def test_a_point_is_held_on_a_plane_or_before_it():
    """Protects the planes of constraints that are no contacts: a distance for a unit normal, or none."""
    plane = (
        '[[elements]]\nname = "{}"\nkind = "plane"\na = {{ segment = "block" }}\n'
        'b = {{ segment = "ground" }}\n'
        "normal = [0.0, 2.0, 0.0]\n"
    )
    spec = read(BLOCK + plane.format("on") + plane.format("before") + "target_mm = 30.0\n")
    roles = roles_of(spec)
    assert roles.mode.tolist() == [HARD, HARD]
    np.testing.assert_allclose(roles.target, [0.0, 0.03])
    np.testing.assert_array_equal(build(spec).elements.normal_b, [[0.0, 1.0, 0.0]] * 2)
