"""What the check of force plates says of each mistake that laboratories make, and of sound recordings."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.plates.plate_contact import Plates
from rtsim.files.forces.force_trial import find_contacts, lay_out
from rtsim.methods.plates.plate_check import GRAVITY, UNUSABLE, check_plates
from tests.rtsim.methods.plates.standing_person import MASS, NAMES, Stand, corners, names_of


def moved(stand: Stand, shift: np.ndarray) -> Stand:
    """The person and the plates elsewhere; shift : (3,), or (n, 1, 3) of one who is carried about [m]."""
    plates = stand.plates._replace(centre=stand.plates.centre + shift.reshape(-1, 3)[0])
    feet = stand.feet + shift.reshape(-1, 1, 1, 3)
    return stand._replace(plates=plates, moment=stand.moment + np.cross(shift, stand.force), feet=feet)


def unbounded(stand: Stand, change) -> tuple[Plates, np.ndarray]:
    """Plates without known ends, as of a storage file, and the moment with other centres of pressure."""
    centre = find_contacts(stand.plates, stand.force, stand.moment)[0]
    plates = lay_out(np.full((2, 4, 3), np.nan), np.zeros(2))
    return plates, np.cross(change(centre), stand.force)


@pytest.mark.parametrize(
    ("name", "said", "change"),
    [
        ("point_unit", "centimetres read as metres", lambda c: 100.0 * c),
        ("point_unit", "metres read as millimetres", lambda c: 1e-3 * c),
        ("exchanged", "seem to have X and Z exchanged", lambda c: c[..., [2, 1, 0]]),
        ("exchanged", "seem to have the wrong sign of Z", lambda c: c * [1.0, 1.0, -1.0]),
        ("displaced", "along Z from the centre of pressure", lambda c: c + np.array([0.9, 0.0, -0.4])),
    ],
)
def test_centres_of_pressure_that_are_elsewhere_are_explained(stand, name, said, change):
    """Protects a leg from no load where a file tells points: their unit, order, signs and place are named,
    and that nothing of the plates can be used."""
    stand = moved(stand, np.array([2.0, 0.0, 1.0]))
    plates, moment = unbounded(stand, change)
    findings = stand.check(plates=plates, moment=moment)
    assert names_of(findings) == [(name, 0), (name, 1)]
    assert all(said in finding.sentence for finding in findings[:2])
    assert findings[-1].name in UNUSABLE
    plates, moment = unbounded(stand, lambda centre: centre)
    assert stand.check(plates=plates, moment=moment) == []


def test_where_one_foot_is_marked_a_mistake_is_explained_and_another_foot_is_not_a_mistake(stand):
    """Protects one marked leg on a belt: exchanged axes are named; a plate under the other foot is not, nor
    one who stands, whose other foot may be where any mistake would have it."""
    stand = moved(stand, np.linspace([2.0, 0.0, 1.0], [1.5, 0.0, 1.0], len(stand.times))[:, None])
    feet = stand.feet.copy()
    feet[:, 1] = np.nan
    plates, moment = unbounded(stand, lambda centre: centre[..., [2, 1, 0]])
    right = np.array([[[1.0], [0.0]]])
    findings = stand.check(
        force=right * stand.force, moment=right * moment, feet=feet, plates=plates, mass=None
    )
    assert [finding.name for finding in findings] == ["exchanged", "elsewhere"]
    left = right[:, ::-1]
    assert stand.check(force=left * stand.force, feet=feet[::-1], plates=plates, mass=None) == []
    assert stand.check(feet=feet[:1].repeat(len(feet), axis=0), plates=plates, moment=moment, mass=None) == []


@pytest.mark.parametrize(
    ("factor", "said"), [(0.1, "newton centimetres"), (1e-2, "as newton centimetres"), (1e-3, "kilonewton")]
)
@pytest.mark.parametrize("shear", [0.0, 60.0])
def test_pressure_that_keeps_to_the_middle_under_a_walking_foot_is_in_another_unit(factor, said, shear):
    """Protects moments of the ankle where a foot steps on the middle of a plate: pressure in N cm read as
    N mm is under it all the same, and does not go along it. One who stands may press in one place."""
    n, up = 60, np.array([0.0, 0.04, 0.0])  # from where the plate measures to the middle of its surface
    share = np.linspace(0.0, 1.0, n)[:, None]
    plates = lay_out(corners(0.0, 0.0)[None], np.zeros(1))
    heel = np.array([-0.1, 0.03, 0.02])
    feet = np.tile([[heel, heel + np.array([0.25, 0.0, 0.0])]] * 2, (n, 1, 1, 1))
    feet[:, 1] += np.stack([2.0 * share - 1.0, 0.15 * np.ones((n, 1)), -0.15 * np.ones((n, 1))], axis=-1)
    force = np.tile([shear, 700.0, 0.0], (n, 1, 1))
    point = heel + [0.03, -0.03, 0.0] + share * [0.17, 0.0, 0.0]
    measured = np.cross(point + up, force[:, 0])
    moment = (factor * measured - np.cross(up, force[:, 0]))[:, None]
    origin = up[None]
    findings = check_plates(("one",), plates, force, moment, np.arange(n) / 100.0, feet, None, origin)
    assert [finding.name for finding in findings] == ["moment_unit", "elsewhere"]
    assert said in findings[0].sentence
    right = (measured - np.cross(up, force[:, 0]))[:, None]
    assert check_plates(("one",), plates, force, right, np.arange(n) / 100.0, feet, None, origin) == []
    feet[:, 1] = feet[:1, 1]
    still = check_plates(("one",), plates, force, moment, np.arange(n) / 100.0, feet, None, origin)
    assert "moment_unit" not in [finding.name for finding in still] or factor < 0.1  # within a millimetre


def test_one_plate_that_is_pushed_along_is_named(stand):
    """Protects a foot on a plate of which two channels are exchanged: it would seem empty."""
    force = stand.force.copy()
    force[:, 1] = force[:, 1][:, [1, 0, 2]]
    findings = stand.check(force=force)
    assert [(f.name, f.plate) for f in findings] == [("vertical", 1)]
    assert "forces of second act along X" in findings[0].sentence


@pytest.mark.parametrize("lacking", [slice(20, 150), slice(0, 200)])
@pytest.mark.parametrize("moves", [0.0, 0.1])
def test_a_plate_with_gaps_accuses_neither_mass_nor_unit(stand, lacking, moves):
    """Protects from `check the unit of the forces and the mass` where a plate was not measured."""
    feet = stand.feet.copy()
    feet[..., 0] += moves * stand.times[:, None, None]
    shift = moves * stand.times[:, None] * [1.0, 0.0, 0.0]
    moment = stand.moment + np.cross(shift[:, None], stand.force)
    force = stand.force.copy()
    force[lacking, 1] = moment[lacking, 1] = np.nan
    names = [finding.name for finding in stand.check(force=force, moment=moment, feet=feet)]
    assert not {"weight", "force_unit"} & {*names}
    force[lacking] = moment[lacking] = np.nan
    force[:20], moment[:20] = 0.0, 0.0
    force[150:], moment[150:] = 0.0, 0.0
    (found,) = stand.check(force=force, moment=moment)
    assert found.name == "idle"
    assert "missing" in found.sentence
    assert "kilonewtons" not in found.sentence


def test_a_sound_stand_has_nothing_to_say(stand):
    """Protects from alarms where all is well; without a mass, too."""
    assert stand.check() == []
    assert stand.check(mass=None) == []


@pytest.mark.parametrize("change", [0.9, 1.12])
def test_a_weight_that_is_off_is_told_with_its_share(stand, change):
    """Protects moments of every joint, which go with the force: more than 5 % is named."""
    (found,) = stand.check(force=change * stand.force, moment=change * stand.moment)
    assert (found.name, found.figure) == ("weight", pytest.approx(change - 1.0, abs=1e-3))
    assert f"{100 * (change - 1):+.1f} %" in found.sentence
    assert stand.check(force=1.04 * stand.force, moment=1.04 * stand.moment) == []


@pytest.mark.parametrize(
    ("factor", "unit"), [(1000.0, "millinewtons"), (1.0 / 4.448, "pounds"), (1.0 / GRAVITY, "kilograms")]
)
def test_another_unit_of_force_is_named(stand, factor, unit):
    """Protects from N that are mN, kg or lbf: the weight of the person tells which."""
    (found,) = stand.check(force=factor * stand.force, moment=factor * stand.moment)
    assert found.name == "force_unit"
    assert unit in found.sentence


def test_kilonewtons_and_volts_load_no_plate(stand):
    """Protects from plates that seem empty: the greatest force, and what it looks like."""
    (found,) = stand.check(force=1e-3 * stand.force, moment=1e-3 * stand.moment)
    assert found.name == "idle"
    assert "volts or kilonewtons" in found.sentence
    (found,) = stand.check(force=np.full_like(stand.force, np.nan))
    assert found.name == "idle"
    assert "No force was measured" in found.sentence


@pytest.mark.parametrize(
    ("factor", "unit"), [(1000.0, "millinewtons"), (1.2 / 4.448, "pounds"), (0.4, "check")]
)
def test_another_unit_of_force_is_named_where_nobody_stands(stand, factor, unit):
    """Protects walks, where the weight is never on the plates at rest: the greatest force tells."""
    feet = stand.feet.copy()
    feet[..., 0] += 0.1 * stand.times[:, None, None]
    force, moment = factor * stand.force, factor * stand.moment
    found = [f for f in stand.check(force=force, moment=moment, feet=feet) if f.name == "force_unit"]
    assert len(found) == 1
    assert unit in found[0].sentence
    assert "force_unit" not in [f.name for f in stand.check(feet=feet)]


def test_feet_that_rest_for_a_moment_of_a_step_weigh_nobody(stand):
    """Protects walks from `kilograms sent as newtons`: both feet at rest, the load still on neither plate."""
    feet = stand.feet.copy()
    resting = np.zeros(len(stand.times), bool)
    resting[100:112] = True
    feet[..., 0] += np.cumsum(np.where(resting, 0.0, 1e-3))[:, None, None]
    force, moment = stand.force.copy(), stand.moment.copy()
    force[resting] *= 0.12
    moment[resting] *= 0.12
    assert {"weight", "force_unit"}.isdisjoint(
        f.name for f in stand.check(force=force, moment=moment, feet=feet)
    )


@pytest.mark.parametrize("seen", [True, False])
def test_who_stands_with_one_foot_beside_the_plates_accuses_no_unit(stand, seen):
    """Protects from `check the unit of the forces and the mass`: half of the weight is on the floor; units by
    which the forces are off as usual are named all the same."""
    feet = stand.feet.copy()
    feet[:, 1] = feet[:, 1] + np.array([0.0, 0.0, 1.5]) if seen else np.nan
    half = np.array([[[1.0], [0.0]]])
    assert stand.check(force=half * stand.force, moment=half * stand.moment, feet=feet) == []
    found = stand.check(force=0.47 * half * stand.force, moment=0.47 * half * stand.moment, feet=feet)
    assert [finding.name for finding in found] == ["force_unit"]
    assert "pounds" in found[0].sentence


def test_loads_that_name_the_other_foot_are_told(stand):
    """Protects who takes loads to another program: the body that they name is not the one that is pressed."""
    feet = ("calcn_r", "calcn_l")
    args = (NAMES, stand.plates, stand.force, stand.moment, stand.times, stand.feet, MASS, None)
    assert check_plates(*args, feet) == []
    findings = check_plates(*args, feet[::-1])
    assert names_of(findings) == [("side", 0), ("side", 1)]
    assert "first acts on calcn_l in the loads, but the other foot stands on it" in findings[0].sentence


def test_forces_of_the_person_on_the_plates_are_named(stand):
    """Protects the sign; what follows is checked with it put right."""
    assert names_of(stand.check(force=-stand.force, moment=-stand.moment)) == [("down", -1)]


def test_an_offset_of_idle_plates_is_no_weight(stand):
    """Protects from advice to negate forces where nobody is on the plates and their zero drifts."""
    n = len(stand.force)
    force = np.zeros_like(stand.force)
    force[:, :, 0] = np.where(np.arange(n) % 2, 25.0, -25.0)[:, None]
    force[:, :, 1] = -14.0
    findings = stand.check(force=force, moment=np.zeros_like(force))
    assert "down" not in [name for name, _ in names_of(findings)]


@pytest.mark.parametrize("share", [0.06, 0.075])
def test_noise_and_vibration_of_plates_beside_which_somebody_stands_accuse_nothing(stand, share):
    """Plates that bear 5 % of a weight, each sample in another place, are no unit and lie where they lie."""
    rng = np.random.default_rng(7)
    force = rng.normal(0.0, 0.1 * share, stand.force.shape)
    force[..., 1] = 0.5 * share * rng.uniform(0.5, 1.0, stand.force.shape[:2])
    force *= MASS * GRAVITY
    moment = rng.normal(0.0, 20.0, stand.moment.shape)
    findings = stand.check(force=force, moment=moment, feet=stand.feet + np.array([1.5, 0.0, 0.6]))
    assert [finding.name for finding in findings] == ["idle"]
    assert "nobody stands on them" in findings[0].sentence
    assert stand.check(force=force * (0.12 / share), moment=moment)[0].name != "idle"


def test_another_vertical_is_named(stand):
    """Protects from Z up forces with Y up markers: nothing else can be said then."""
    turn = np.array([[1.0, 0, 0], [0, 0, -1.0], [0, 1.0, 0]])
    (found,) = stand.check(force=stand.force @ turn.T, moment=stand.moment @ turn.T)
    assert found.name == "vertical"
    assert "along Z" in found.sentence


@pytest.mark.parametrize("p", [0, 1])
def test_moments_in_another_unit_are_named(stand, p):
    """Protects the centre of pressure from N mm sent as N m."""
    force, moment = stand.local(p)
    assert names_of(stand.check(**stand.placed(p, force, 1e3 * moment))) == [("moment_unit", p)]


@pytest.mark.parametrize("quarter", [1, 2, 3])
def test_a_turned_plate_is_named(stand, quarter):
    """Protects from corners in another order: the first corner decides where x and y point."""
    turn = np.linalg.matrix_power(np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), quarter)
    force, moment = stand.local(0)
    (found,) = stand.check(**stand.placed(0, force @ turn.T, moment @ turn.T))
    assert (found.name, found.plate) == ("turned", 0)
    assert f"by {360 - 90 * quarter} degrees" in found.sentence


@pytest.mark.parametrize(("edge", "word"), [(0, "first"), (1, "second")])
def test_a_mirrored_plate_is_named(stand, edge, word):
    """Protects from channels with a wrong sign."""
    flip = np.ones(3)
    flip[edge] = -1.0
    force, moment = stand.local(0)
    (found,) = stand.check(**stand.placed(0, force * flip, -moment * flip))
    assert (found.name, found.plate) == ("mirrored", 0)
    assert f"its {word} edge" in found.sentence


def test_swapped_plates_are_named(stand):
    """Protects from cables in each other's place: both plates are pressed where no foot is."""
    first, second = stand.placed(0, *stand.local(1)), stand.placed(1, *stand.local(0))
    both = {name: np.stack([first[name][:, 0], second[name][:, 1]], axis=1) for name in ("force", "moment")}
    found = stand.check(**both)
    assert names_of(found) == [("swapped", 0), ("swapped", 1)]
    assert "first seems to be swapped with second" in found[0].sentence


def test_a_plate_in_the_wrong_place_is_told(stand):
    """Protects from corners of another laboratory: by how much, and where most of the load is so, that too;
    what wanders besides has no explanation."""
    moved = stand.force, stand.moment + np.cross([1.4, 0.0, 0.9], stand.force)
    plates = stand.plates._replace(centre=stand.plates.centre + np.array([1.4, 0.0, 0.9]))
    findings = stand.check(plates=plates, force=moved[0], moment=moved[1])
    assert [(f.name, f.plate) for f in findings] == [("displaced", 0), ("displaced", 1), ("elsewhere", -1)]
    for finding in findings[:2]:  # the middle of a foot is not where it presses
        assert "-1.4" in finding.sentence, finding
        assert "-0.9" in finding.sentence, finding
    feet = stand.feet + np.linspace(0.0, 3.0, len(stand.feet))[:, None, None, None] * [1.0, 0.0, -1.0]
    findings = stand.check(plates=plates, force=moved[0], moment=moved[1], feet=feet, mass=None)
    assert names_of(findings) == [("far", 0), ("far", 1)]
    beside = stand.placed(0, *stand.local(0))
    beside["moment"][:, 0] += np.cross([0.0, 0.0, 0.6], beside["force"][:, 0])
    assert names_of(stand.check(**beside)) == [("off_plate", 0)]


def test_frames_without_markers_blame_no_plate(stand):
    """Protects from a plate in the wrong place where markers of the foot on it are only gone for a while."""
    feet = stand.feet.copy()
    feet[: len(feet) // 2, 0] = np.nan
    assert "far" not in [finding.name for finding in stand.check(feet=feet)]


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("depth", [0.0, -0.04])
def test_an_origin_of_the_other_sign_is_named(stand, alone, depth):
    """Protects moments about a corner in the surface, of which a depth of 0 does not show the sign."""
    true = np.array([0.8, 0.2, depth])
    taken = true * [-1.0, -1.0, 1.0 if depth else -1.0]
    force, moment = stand.local(0)
    changed = stand.placed(0, force, moment + np.cross(force, taken - true))
    origins = np.full((2, 3), np.nan)
    origins[0] = taken @ stand.plates.axes[0]
    if alone:
        changed["feet"] = stand.feet.copy()
        changed["feet"][:, 1] = np.nan
    findings = [finding for finding in stand.check(**changed, origins=origins) if finding.plate == 0]
    assert findings[0].name == "origin"
    within = " in its x and y components" if depth else ""
    assert f"ORIGIN of first seems to have the wrong sign{within}." in findings[0].sentence
    assert "is under a foot in 100 % of its frames" in findings[0].sentence


def test_two_feet_on_a_plate_and_a_wrong_side_are_told(stand):
    """Protects from moments that are made up, and from plates that bear the name of the other foot."""
    feet = stand.feet.copy()
    feet[:, 1] = feet[:, 0] - [0.0, 0.0, 0.25]
    found = stand.check(
        feet=feet, force=stand.force * [[[1.0], [0.0]]], moment=stand.moment * [[[1.0], [0.0]]]
    )
    assert [(f.name, f.plate) for f in found if f.name == "two_feet"] == [("two_feet", 0)]
    assert names_of(stand.check(names=("calcn_l", "calcn_r"))) == [("side", 0), ("side", 1)]
    assert stand.check(names=("calcn_r", "ground_force_left")) == []
