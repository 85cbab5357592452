"""Segment masses from a published table, in the frames of a subject's segments."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner

from rtsim.cli.commands.check import check_model
from rtsim.cli.main import cli
from rtsim.config.paths import find_config
from rtsim.errors import ConfigError
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.subjects.calibration.masses import (
    SHARES,
    load_inertia_table,
    mean_population,
    person_of,
    segment_mass,
    with_masses,
)
from rtsim.subjects.subject import check_person, load_subject, subject_text

TABLE = load_inertia_table()
WALKER = msgspec.structs.replace(
    load_subject(find_config("walker", "subjects")), mass_kg=73.0, stature_mm=1741.0, sex="male"
)
MAN = person_of(WALKER, TABLE)


def of(kind, subject=WALKER, person=MAN):
    """Mass properties of one segment."""
    return segment_mass(kind, subject.segments[kind].segment(), person)


@pytest.mark.parametrize("sex", ["female", "male"])
def test_all_segments_are_the_whole_body(sex):
    """Protects the table: masses are 100 %, and the parts of the trunk are the printed whole of it."""
    segments = getattr(TABLE, sex).segments
    assert sum(s.mass_percent * (1 + s.pair) for s in segments.values()) == pytest.approx(100.0, abs=0.02)
    trunk = sum(segments[part].mass_percent for part in ("upper_trunk", "middle_trunk", "lower_trunk"))
    assert trunk == pytest.approx({"female": 42.57, "male": 43.46}[sex], abs=1e-9)


@pytest.mark.parametrize(
    ("sex", "shank_mm", "from_knee"), [("female", 432.3, 0.4416), ("male", 434.0, 0.4459)]
)
def test_the_shank_is_the_same_to_ankle_centre_and_to_malleolus(sex, shank_mm, from_knee):
    """Protects the row of the table's second part: its centre is as far from the knee as in the first."""
    shank = getattr(TABLE, sex).segments["shank"]
    assert 1e-2 * shank.centre_percent * shank.length_mm == pytest.approx(from_knee * shank_mm, abs=0.1)


def test_a_leg_and_the_lower_trunk_weigh_what_was_published():
    """Protects the shares: thigh, shank and foot of the mean man are 14.16, 4.33 and 1.37 % of 73 kg."""
    masses = {kind: of(kind).mass for kind in SHARES}
    expected = {"pelvis": 0.1117, "thigh": 0.1416, "shank": 0.0433, "foot": 0.0137}
    assert masses == pytest.approx({kind: 73.0 * share for kind, share in expected.items()})


@pytest.mark.parametrize("kind", list(SHARES))
def test_an_inertia_is_one_of_a_body(kind):
    """Protects the tensors: symmetric, and each principal inertia no more than the two others together."""
    found = of(kind)
    np.testing.assert_allclose(found.inertia, found.inertia.T, atol=1e-15)
    a, b, c = np.linalg.eigvalsh(found.inertia)
    assert 0.0 < a <= b <= c <= a + b


def test_thigh_and_shank_have_their_centre_on_the_line_of_joints_and_turn_least_about_it():
    """Protects frames: centres between the joints, the smallest inertia about the long axis."""
    for kind, share in (("thigh", 0.4095), ("shank", 0.4395)):
        found, v = of(kind), WALKER.segments[kind].segment().basis()[:, 1]
        np.testing.assert_allclose(found.centre, -share * v, rtol=1e-12)
        values, vectors = np.linalg.eigh(found.inertia)
        assert abs(vectors[:, 0] @ v) == pytest.approx(np.linalg.norm(v))
        radius = np.sqrt(values[0] / found.mass) / np.linalg.norm(v)
        assert radius == pytest.approx({"thigh": 0.149, "shank": 0.102}[kind])


def test_the_pelvis_is_the_trunk_below_the_navel():
    """Protects which part is meant: its mass centre is 57 mm above the middle of the hips of the mean man."""
    found = of("pelvis")
    hips = -WALKER.segments["pelvis"].segment().basis()[:, 1]
    np.testing.assert_allclose(1e3 * (found.centre - hips), [0.0, (1 - 0.6115) * 145.7, 0.0], atol=1e-9)
    forward, up, side = np.sqrt(np.diag(found.inertia) / found.mass) / 0.1457
    assert (forward, up, side) == pytest.approx((0.615, 0.587, 0.551))


def test_inertia_grows_with_mass_and_with_the_square_of_length():
    """Protects scaling: twice the mass doubles it, a thigh one tenth longer gives 1.21 times as much."""
    heavy = person_of(WALKER, TABLE, mass_kg=146.0)
    np.testing.assert_allclose(of("thigh", person=heavy).inertia, 2.0 * of("thigh").inertia)
    thigh = msgspec.structs.replace(
        WALKER.segments["thigh"], length_mm=1.1 * WALKER.segments["thigh"].length_mm
    )
    longer = msgspec.structs.replace(WALKER, segments={**WALKER.segments, "thigh": thigh})
    np.testing.assert_allclose(of("thigh", longer).inertia, 1.21 * of("thigh").inertia, atol=1e-15)


@pytest.mark.parametrize("kind", list(SHARES))
def test_mirrored_legs_are_mirror_images(kind):
    """Protects the other side: what a mirror square to Z does to points of mass, and twice is nothing."""
    found = of(kind)
    other = found.mirrored()
    rng = np.random.default_rng(0)
    w = rng.normal(size=3)
    mirror = np.array([1.0, 1.0, -1.0])
    turned = -mirror * w  # an angular velocity in a mirror
    assert turned @ other.inertia @ turned == pytest.approx(w @ found.inertia @ w)
    np.testing.assert_array_equal(other.centre, mirror * found.centre)
    for one, twice in zip(found, other.mirrored(), strict=True):
        np.testing.assert_array_equal(one, twice)


def test_what_is_not_known_is_said():
    """Protects against silent guesses: no mass is an error, other gaps are notes."""
    unknown = msgspec.structs.replace(WALKER, mass_kg=None, stature_mm=None, sex="")
    with pytest.raises(ConfigError, match="mass"):
        person_of(unknown, TABLE)
    person = person_of(unknown, TABLE, mass_kg=70.0)
    assert person.mass == 70.0
    assert len(person.notes) == 2
    mean = mean_population(TABLE.female, TABLE.male)
    assert mean.segments["thigh"].mass_percent == pytest.approx(14.47)
    leg = sum(WALKER.segments[name].length_mm for name in ("thigh", "shank"))
    assert 1e3 * person.stature == pytest.approx(1738.0 * leg / (395.35 + 439.45))


def test_a_model_with_masses_is_a_right_one():
    """Protects the way into dynamics: bodies get what the table says, and masses of their own stay."""
    spec = with_masses(load_model("lower_limb"), WALKER, MAN)
    check_model(spec)
    bodies = build(spec, WALKER).system.bodies
    for b, kind in enumerate(SHARES):
        found = of(kind)
        assert bodies.mass[b] == pytest.approx(found.mass)
        np.testing.assert_allclose(bodies.centre[b], found.centre, rtol=1e-12)
        np.testing.assert_allclose(bodies.inertia[b], found.inertia, rtol=1e-12, atol=1e-15)
    again = with_masses(spec, WALKER, person_of(WALKER, TABLE, mass_kg=146.0))
    assert again == spec


def test_a_subject_carries_mass_stature_and_sex():
    """Protects subject files: written where they are known, refused where no person has them."""
    text = subject_text(WALKER)
    assert 'mass_kg = 73.0\nstature_mm = 1741.0\nsex = "male"' in text
    for key, value in (("mass_kg", 0.5), ("stature_mm", 17410.0)):
        with pytest.raises(ValueError, match=key):
            check_person(msgspec.structs.replace(WALKER, **{key: value}))


@pytest.mark.parametrize(
    ("mass_kg", "stature_mm", "told"),
    [(31.0, 1300.0, True), (31.0, 1600.0, True), (46.0, 1400.0, True), (50.0, 1550.0, False)],
)
def test_shares_of_adults_are_told_of_a_child(mass_kg, stature_mm, told):
    """Protects who reads moments of a child: the table has nobody but adults; no number changes."""
    child = person_of(msgspec.structs.replace(WALKER, mass_kg=mass_kg, stature_mm=stature_mm), TABLE)
    assert any("those of adults" in note for note in child.notes) == told
    assert child.population == MAN.population


def test_a_planar_body_of_a_child_is_told(tmp_path):
    """Protects who scales the planar body to a child."""
    size = ["--sex", "male", "--mass", "31", "--stature", "1300"]
    done = CliRunner().invoke(cli, ["scale", "planar_body", *size, "--out", str(tmp_path / "a.toml")])
    assert done.exit_code == 0
    assert "those of adults" in done.stderr
