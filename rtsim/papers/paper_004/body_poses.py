"""Figures 2 and 3 of Millard et al. (2019): the planar body, and its poses through the lift, as stick
figures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.joints.tree import new_pose, pose
from rtsim.bench.mechanics.torque_generators import MADE_UP
from rtsim.files.tables.panels import FigurePanel
from rtsim.models.generator_sets import load_set
from rtsim.models.load import load_model
from rtsim.models.model import Model, build
from rtsim.papers.item import Comparison, ItemInput, ItemResult, PaperItem, StatedBound
from rtsim.papers.paper_004.lift_motion import DEEPEST_DEG, MADE_UP_DATA, LiftMotion, lift_of

Array = NDArray[np.float64]

BODY, FOOT = "planar_body", "foot_r"
PARTS = (0.0, 0.2, 0.35, 0.5, 0.65, 0.8)
"""Fractions of the duration of the lift at which poses are drawn."""
APART_M = 1.0


def figure_2(given: ItemInput) -> ItemResult:
    """Compute figure 2: segments and degrees of freedom of the planar body in standing."""
    model = build(load_model(BODY))
    rows = [
        counted("segments", 16.0, float(len(model.names.bodies))),
        counted("degrees of freedom", 18.0, float(model.n_v)),
        counted("torque generators", 30.0, 2.0 * len(load_set(MADE_UP).joints)),
    ]
    x, y = sticks(model, model.q_neutral)
    return ItemResult(rows, [stick_panel("standing", x, {"segments": y})])


def counted(quantity: str, printed: float, ours: float) -> Comparison:
    """Return a comparison of a count, such as the number of segments, with the printed count."""
    return Comparison(
        quantity,
        "1",
        printed,
        ours,
        StatedBound("stated by Millard et al. (2019), sections 2.1 and 2.3", printed, printed),
    )


def figure_3(given: ItemInput) -> ItemResult:
    """Compute figure 3: poses of the planar body through the lift, with the right foot flat."""
    lift, model = lift_of(given.recording), build(load_model(BODY))
    hips, knees = flexion_of(lift, 0), flexion_of(lift, 1)
    deepest = int(np.argmax(hips))
    bound = StatedBound("figure 4", DEEPEST_DEG - 0.5, DEEPEST_DEG + 0.5) if lift.is_of_paper else None
    rows = [
        Comparison(
            "greatest hip flexion", "deg", DEEPEST_DEG, float(hips.max()), bound,
            reason="" if bound else "the synthetic lift is as deep as that of Millard et al. (2019), "
                                    "recorded lifts are not",
        ),
        Comparison(
            "knee flexion at the largest hip flexion", "deg", "bent", float(knees[deepest]),
            reason="Millard et al. (2019) say that the knees are bent then, but not by how much",
        ),
    ]  # fmt: skip
    xs: list[Array] = []
    curves: dict[str, Array] = {}
    posed = [pose_of(lift, model, int(part * (len(hips) - 1))) for part in PARTS]
    n = len(posed[0][0])
    for k, ((x, y), part) in enumerate(zip(posed, PARTS, strict=True)):
        xs.append(x + k * APART_M)
        whole = np.full(n * len(PARTS), np.nan)
        whole[k * n : (k + 1) * n] = y
        curves[f"{100.0 * part:.0f} % of the lift"] = whole
    panel = stick_panel("poses, drawn one metre apart", np.concatenate(xs), curves)
    return ItemResult(rows, [panel], data=lift.data, has_data_of_paper=lift.is_of_paper)


def stick_panel(title: str, x: Array, curves: dict[str, Array]) -> FigurePanel:
    """Return a panel of a figure with heights over the forward direction x : (n,) [m], both at the same
    scale; curves : heights (n,) [m] by name
    """
    heights = np.array([*curves.values()])
    spare = 0.5 * max(
        0.0, float(np.nanmax(heights) - np.nanmin(heights)) - float(np.nanmax(x) - np.nanmin(x))
    )
    x = np.concatenate([[np.nanmin(x) - spare], x, [np.nanmax(x) + spare]])
    curves = {name: np.pad(y, 1, constant_values=np.nan) for name, y in curves.items()}
    return FigurePanel(title=title, unit="m", x_title="forwards [m]", x=x, curves=curves, enlarged=True)


def flexion_of(lift: LiftMotion, k: int) -> Array:
    """Return the flexion of the k-th joint with torque generators during the lift, (n,) [deg]; zeros if the
    motion does not have this joint.
    """
    joint = list(dict.fromkeys(one.joint for one in lift.placed))[k]
    if joint.coordinate not in lift.motion.names:
        return np.zeros(len(lift.motion.times))
    return np.asarray(joint.flexion_sign * np.degrees(lift.motion.of(joint.coordinate)[0]))


def pose_of(lift: LiftMotion, model: Model, frame: int) -> tuple[Array, Array]:
    """Return the lines of the body as a stick figure in a frame of the lift, with the right foot level at the
    origin: forward and upward coordinates, (n,) each [m].
    """
    q = model.q_neutral.copy()
    for k, joint in enumerate(load_set(MADE_UP).joints):
        at = model.coordinates.q[model.coordinates.names.index(joint.coordinate)]
        q[at] = np.radians(flexion_of(lift, k)[frame])
    return sticks(model, q, FOOT)


def sticks(model: Model, q: Array, level: str = "") -> tuple[Array, Array]:
    """Return forward and upward coordinates (n,), (n,) of lines from joint to joint, NaN between lines [m].

    level : body whose axes and origin are used, "" = ground
    """
    tree = model.tree
    at = new_pose(len(tree.parent), model.n_v, len(tree.chains.dof))
    pose(tree, q, at)
    turn, origin = np.eye(3), np.zeros(3)
    if level:
        b = model.names.bodies.index(level)
        turn, origin = at.rotation[b].T.copy(), at.position[b].copy()
    points = (at.position - origin) @ turn.T
    centres = (
        at.position + np.einsum("bij,bj->bi", at.rotation, model.system.bodies.centre) - origin
    ) @ turn.T
    lines = [(points[p], points[b]) for b, p in enumerate(tree.parent) if p >= 0]
    leaves = [b for b in range(len(tree.parent)) if b not in tree.parent]
    lines += [(points[b], 2.0 * centres[b] - points[b]) for b in leaves]
    gap = np.full(3, np.nan)
    rows = np.array([point for line in lines for point in (*line, gap)])
    return rows[:, 0], rows[:, 1]


ITEMS = (
    PaperItem(
        kind="figure",
        number="2",
        title="the planar body of 16 segments",
        data="shipped model planar_body, with the segment parameters of de Leva (1996) for a mean man",
        has_data_of_paper=False,
        compute=figure_2,
    ),
    PaperItem(
        kind="figure",
        number="3",
        title="poses through the lift",
        data=MADE_UP_DATA,
        has_data_of_paper=False,
        compute=figure_3,
        takes_recording=True,
    ),
)
