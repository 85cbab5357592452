"""Proposed maps: what is certain, what is marked, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.subjects.lab_proposal.map_text import map_text
from rtsim.subjects.lab_proposal.proposal import LabProposal, propose
from rtsim.subjects.lab_proposal.proposed_map import refusal
from rtsim.subjects.lab_proposal.proposed_roles import BY_PLACE, CERTAIN, UNSURE
from rtsim.subjects.markers.labs import load_lab
from tests.rtsim.subjects.lab_proposal.standing_person import LEG, places, trial_of, unnamed

NEEDED = set(LEG) - {"greater_trochanter", "fibula_head", "tibial_tuberosity"}
"""Roles that the place alone may tell."""


def roles_of(found: LabProposal) -> dict[tuple[str, str], str]:
    return {(role.role, role.side): role.marker for role in found.roles}


def certainties(found: LabProposal) -> dict[tuple[str, str], str]:
    return {(role.role, role.side): role.certainty for role in found.roles}


def test_names_and_places_that_agree_are_certain() -> None:
    """Protects the plain case: every landmark has its role, on its side, and is certain."""
    found = propose(trial_of(places()), "ours")
    expected = {slot for slot in places() if slot[0] in LEG}
    assert roles_of(found).keys() == expected
    assert set(certainties(found).values()) == {CERTAIN}
    assert found.proposed.lab is not None
    assert found.proposed.without == ()


@pytest.mark.parametrize(("heading", "size"), [(0.0, 1.0), (2.5, 0.68), (4.0, 1.1)])
def test_places_alone_tell_the_needed_roles(heading: float, size: float) -> None:
    """Protects names that say nothing, of child and adult who face anywhere: none is wrong or certain."""
    person = {slot: size * place for slot, place in places().items()}
    names = unnamed(person)
    found = propose(trial_of(person, names, heading=heading), "ours")
    roles = roles_of(found)
    assert all(names[slot] == marker for slot, marker in roles.items())
    assert {slot for slot in person if slot[0] in NEEDED} <= roles.keys()
    assert CERTAIN not in certainties(found).values()
    assert any("might be on the right fibula_head" in text for text in found.told)


def test_a_name_against_its_place_is_marked() -> None:
    """Protects exchanged labels: two landmarks of a leg, each under the other's name, are unsure."""
    names = dict(zip(places(), trial_of(places()).names, strict=True))
    one, other = ("calcaneus", "right"), ("epicondyle_lateral", "right")
    names[one], names[other] = names[other], names[one]
    found = propose(trial_of(places(), names), "ours")
    marks = certainties(found)
    assert marks[one] == marks[other] == UNSURE
    assert marks["calcaneus", "left"] == CERTAIN
    why = {role.marker: role.why for role in found.roles}
    assert "the marker is at the right epicondyle_lateral" in why[names[other]]
    assert roles_of(found)[one] == names[other]  # the name is believed, and marked


def test_sides_that_are_exchanged_are_told() -> None:
    """Protects mirrored sides: roles go by the names, and none of a side is certain."""
    mirrored = {slot: place * (1.0, 1.0, -1.0) for slot, place in places().items()}
    found = propose(trial_of(mirrored), "ours")
    assert roles_of(found)["asis", "right"] == "RASI"
    assert {mark for (_, side), mark in certainties(found).items() if side} == {UNSURE}
    assert any("stand on the left" in text for text in found.told)


def test_sides_that_no_name_says_come_from_the_place() -> None:
    """Protects names without sides: they are told apart where they stand, and marked."""
    names = {slot: f"{slot[0]}_{k}" for k, slot in enumerate(places())}
    names |= {slot: f"HEEL{k}" for k, slot in enumerate(places()) if slot[0] == "calcaneus"}
    found = propose(trial_of(places(), names), "ours")
    assert roles_of(found)["calcaneus", "left"] == names["calcaneus", "left"]
    assert certainties(found)["calcaneus", "left"] == BY_PLACE


def test_one_leg_makes_a_map_of_one_leg() -> None:
    """Protects laboratories that mark one leg: its table stands for both, the other's lack is told."""
    found = propose(trial_of(places(("left",))), "ours")
    assert found.proposed.one_leg == "left"
    assert found.proposed.lab is not None
    assert found.proposed.lab.right == found.proposed.lab.left
    assert "calcaneus" in found.proposed.lacking["right"]


def test_a_leg_without_a_heel_is_refused() -> None:
    """Protects against maps that no command would accept: what is missing is said, with what it is for."""
    person = {slot: x for slot, x in places().items() if slot[0] not in ("calcaneus", "psis")}
    found = propose(trial_of(person), "ours")
    assert found.proposed.lab is None
    with pytest.raises(ConfigError, match=r"calcaneus \(without this marker the foot cannot be computed\)"):
        raise refusal(found.proposed, "still.trc")


def test_markers_without_names_are_refused() -> None:
    """Protects against maps of numbers that the next trial has otherwise."""
    names = {slot: f"*{k}" for k, slot in enumerate(places())}
    with pytest.raises(ConfigError, match="have no names"):
        propose(trial_of(places(), names), "ours")
    numbered = {slot: f"M{k:03d}" for k, slot in enumerate(places())}
    assert any(
        "the marker names are numbers" in text for text in propose(trial_of(places(), numbered), "ours").told
    )


def test_a_movement_says_what_is_followed() -> None:
    """Protects markers of the static trial alone: the map does not follow what a movement lacks."""
    static = trial_of(places())
    names = [name for name in static.names if name not in ("RKNM", "LKNM")]
    moving = trial_of({slot: x for slot, x in places().items() if slot[0] != "epicondyle_medial"})
    assert list(moving.names) == names
    found = propose(static, "ours", moving)
    assert found.proposed.lab is not None
    assert "RKNM" not in found.proposed.lab.right.tracking.thigh
    assert found.proposed.lab.right.epicondyle_medial == "RKNM"
    assert any("RKNM, LKNM" in text or "LKNM" in text for text in found.told)


@pytest.mark.parametrize("odd", ['Kn"ee', "#1 knee", "\u00e9paule=", "a\\b", "tab\there"])
def test_the_text_is_read_again(tmp_path, odd: str) -> None:
    """Protects the file: any name in it, each doubt in a comment, and the same map when it is read."""
    names = unnamed(places()) | {("epicondyle_lateral", "right"): odd}
    found = propose(trial_of(places(), names), "ours")
    assert found.proposed.lab is not None
    path = tmp_path / "ours.toml"
    path.write_text(map_text(found.proposed.lab, found.roles, ["Proposed."]), encoding="utf-8")
    assert load_lab(str(path)) == found.proposed.lab
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith(("asis", "calcaneus", "malleolus")):
            assert "# check: " in line or "# UNSURE: " in line


def test_a_bent_crowd_is_not_certain() -> None:
    """Protects against certainty about nobody: points of no person have no certain role."""
    rng = np.random.default_rng(3)
    cloud = {(f"p{k}", ""): rng.uniform(0.0, 1.0, 3) * (0.5, 1.6, 0.5) for k in range(30)}
    found = propose(trial_of(cloud, {slot: f"Q{k}x" for k, slot in enumerate(cloud)}), "ours")
    assert CERTAIN not in certainties(found).values()


def test_a_beginning_that_all_names_share_is_a_persons() -> None:
    """Protects maps for the next person: the name before an underscore is no part of the markers' names."""
    trial = trial_of(places())
    found = propose(trial._replace(names=tuple(f"Anna_{name}" for name in trial.names)), "ours")
    assert roles_of(found)["calcaneus", "left"] == "LHEE"
    assert set(certainties(found).values()) == {CERTAIN}


def test_a_second_person_beside_the_first_is_told() -> None:
    """Protects against markers of two persons who stand arm in arm: every role is unsure, and why is said."""
    person, aside = places(), np.array([0.5, 0.0, 0.3])
    both = person | {(f"{role} of another", side): x + aside for (role, side), x in person.items()}
    found = propose(trial_of(both, unnamed(both)), "ours")
    assert any("do not belong to a leg" in text for text in found.told)
    assert set(certainties(found).values()) == {UNSURE}
