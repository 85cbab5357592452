"""Bodies that are found again: which filters start anew, and which loads are unknown meanwhile."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from rtsim.models.load import load_model
from rtsim.models.model import Model, build
from rtsim.stages.poses.regained_bodies import RegainedBodies
from rtsim.subjects.anatomy import for_person
from tests.rtsim.stages.whole_person import whole_person

SETTLING_S = 0.095


class Frames:
    """Frames every 10 ms of a person on both legs with a trunk, in each of which some bodies are held."""

    def __init__(self) -> None:
        subject = whole_person()
        self.model: Model = build(for_person(load_model("both_legs"), subject), subject, "minimised")
        self.regained, self.time = RegainedBodies(self.model, SETTLING_S), 0.0

    def named(self, mask: np.ndarray) -> set[str]:
        return {self.model.names.bodies[b] for b in np.flatnonzero(mask)}

    def look(self, *held: str, floating: str = "", hidden: tuple[str, ...] = ()) -> set[str]:
        """Return the bodies that start anew in the next frame."""
        of = np.array(self.model.names.bodies)
        dofs = np.isin(of[self.model.tree.dof_body], held)
        weight = np.where(np.isin(of[self.model.markers.body], hidden), 0.0, 1.0)
        estimator = SimpleNamespace(
            undetermined=(dofs, dofs & (of[self.model.tree.dof_body] != floating)), followed=(None, weight)
        )
        self.time += 0.01
        return self.named(self.regained.look(self.time, estimator))


def test_a_shank_that_is_found_again_starts_anew_with_the_foot_that_it_carries() -> None:
    """Protects the rest of the body: joints at the shank start anew, loads of this leg are unknown."""
    frames = Frames()
    assert frames.look() == set()
    assert frames.look("shank_r") == set()
    assert not frames.regained.unsettled.any()
    assert frames.look() == {"shank_r", "foot_r"}
    assert frames.named(frames.regained.unsettled) == {"shank_r", "foot_r"}
    assert frames.named(frames.regained.linked) == {"pelvis", "thigh_r", "shank_r", "foot_r"}


def test_it_has_settled_after_the_time_of_the_filter() -> None:
    """Protects from results that stay away: it settles, at once where the whole filter starts anew."""
    frames = Frames()
    frames.look("shank_r")
    frames.look()
    unsettled = [frames.look() == set() and frames.regained.unsettled.any() for _ in range(12)]
    assert unsettled == [True] * 9 + [False] * 3
    frames.look("shank_r")
    frames.look()
    frames.regained.forget()
    assert not frames.regained.unsettled.any()
    assert not frames.regained.linked.any()


def test_what_no_frame_determines_starts_nothing_anew() -> None:
    """Protects models with dofs that float, and legs without markers."""
    frames = Frames()
    for _ in range(3):
        assert frames.look("foot_l", "trunk", floating="trunk", hidden=("foot_l",)) == set()
    assert frames.look("foot_l", hidden=("foot_l",)) == set()


def test_a_body_that_lost_its_markers_starts_anew_though_another_was_held() -> None:
    """Protects from the step of a pelvis without markers, of which the solver holds a thigh."""
    frames = Frames()
    frames.look("thigh_l", hidden=("pelvis",))
    assert frames.look() >= {"pelvis", "thigh_r", "thigh_l", "trunk"}


def test_markers_of_one_leg_that_come_back_start_nothing_anew_beside_a_leg_that_has_none() -> None:
    """Protects the leg of a person whose other one is not marked: few markers and the joints determine it."""
    frames = Frames()
    frames.look("thigh_l", "shank_l", "foot_l", hidden=("foot_l", "shank_r"))
    assert frames.look("thigh_l", "shank_l", "foot_l", hidden=("foot_l",)) == set()
