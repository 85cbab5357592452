"""Fits of torque generators to the motion of a person: what they lack before, the least change, what is left.

Millard et al. (2019), J Biomech, doi 10.1016/j.jbiomech.2019.04.004, section 2.2. The problem is not convex:
besides the default start others are tried, and the report says where each ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.torque_generator.demands import N_KIND, Demands
from kernels.torque_generator.fit import FITTED, IMPOSSIBLE, FitOptions, FitWork, fit, new_fit_work
from kernels.torque_generator.torque import (
    ANGLE_SIGN,
    DELTA,
    FACTOR,
    FIRST_VELOCITY,
    LAMBDA,
    N_FIT,
    OFFSET,
    OPTIMAL,
    PASSIVE_SPAN,
    S_A,
    S_TAU,
    S_V,
    SPEED,
    STRENGTH,
    TORQUE_SIGN,
    WIDTH,
    Generators,
    activations,
)
from rtsim.methods.joint_motion import JointMotion
from rtsim.models.packing.torque_generators import UNFITTED, Placed, pack_generators

Array = NDArray[np.float64]

PARAMETERS = ("angle_scale", "speed_scale", "passive_shift", "passive_blend", "strength_scale")
"""x of eq. 8, as a config calls them."""
LOW, HIGH = (1.0, 1.0, -np.pi / 2.0, 0.0, 1.0), (np.inf, np.inf, np.pi / 2.0, 1.0, np.inf)
"""Fits make generators stronger, wider, faster, their passive torque other or less; the authors' bounds."""
TRUST, SETTLED, FULFILLED, N_ITERATION = 0.3, 1e-10, 1e-9, 500
MOST_PASSIVE = 1.4
"""t^PE_max: what people bear while lengthening (Yeadon et al. 2006); the published fits were made with 1."""
FEWEST = 3
"""Frames that a fit needs at least."""
ROUND_TWICE = 4.0 * np.pi
STILL = 1e-6
"""A joint that turns less was never moved [rad]."""
SHIFTS, BLENDS = (0.0, 0.5, -0.5, 1.0), (0.0, 0.5, 1.0)
"""Passive shifts [rad], in the direction that makes supple, and blends of the other starts."""
SAME = 1e-4
"""Objectives that differ by less are of one minimum."""
ACTIVE = 1e-6
"""A multiplier above this says that its row holds the fit."""
ROW_WORDS = ("too weak", "too stiff", "stretched too far")
TOO_MUCH = "too stiff or too strong"
INTERRUPTED = "interrupted before its fit"
DEEP = 2.0
"""Strengths of the start that fulfils all rows, in parts of the least one, for room."""


class Assessment(NamedTuple):
    """What a generator needs for the motion.

    activation : (n,) - not cut off at 0 or 1; passive : (n,) - t^PE; too_stiff, too_weak : (n,) bool
    driven : whether it has to be active, as by EMG: then too much torque may be that of its strength
    """

    activation: Array
    passive: Array
    too_stiff: NDArray[np.bool_]
    too_weak: NDArray[np.bool_]
    driven: bool = False

    @property
    def words(self) -> str:
        """feasible, or what it lacks."""
        stiff = TOO_MUCH if self.driven else ROW_WORDS[1]
        said = [w for w, at in ((stiff, self.too_stiff), (ROW_WORDS[0], self.too_weak)) if at.any()]
        return " and ".join(said) or "feasible"


class Basin(NamedTuple):
    """A local minimum: its parameters, its objective, and how many of the starts led to it."""

    x: Array
    objective: float
    n_start: int


@dataclass(frozen=True)
class Fit:
    """What was found of one generator; `fault` says why there is nothing.

    theta, omega : (n,) - its angle [rad] and speed [rad/s]; demand : (n,) - torque in its direction [N m]
    x : (5,) - the best parameters; objective : their squared distance from the default
    basins : minima that starts led to, the best first; default : which of them the default start led to
    holding : times [s] and words of the rows that hold the fit, the heaviest first
    cut_short : whether an interruption came before all starts were tried
    """

    placed: Placed
    fault: str = ""
    theta: Array = field(default_factory=lambda: np.zeros(0))
    omega: Array = field(default_factory=lambda: np.zeros(0))
    demand: Array = field(default_factory=lambda: np.zeros(0))
    x: Array = field(default_factory=lambda: np.array(UNFITTED))
    objective: float = 0.0
    basins: tuple[Basin, ...] = ()
    default: int = 0
    holding: tuple[tuple[float, str], ...] = ()
    before: Assessment | None = None
    after: Assessment | None = None
    cut_short: bool = False

    @property
    def changed(self) -> bool:
        """Whether the fit moved anything."""
        return bool(np.abs(self.x - UNFITTED).max() > SAME)


@dataclass(frozen=True)
class FitSettings:
    """What fits are held to.

    cap : activation that is reached at most (a_max); caps : of single generators, as from EMG, by name, one
        number or one for each frame; floors : likewise activations that they have at least (0)
    co_contraction : coordinate -> torque that both generators bear against each other, in parts of the
        joint's torque, or (n,) [N m]
    skip_unknown : whether frames in which a joint is not known are left out, instead of its generators
    most_passive : t^PE_max; low, high : bounds of x; several : whether more than the default start is tried
    """

    cap: float = 1.0
    caps: Mapping[str, float | Array] = field(default_factory=dict)
    floors: Mapping[str, float | Array] = field(default_factory=dict)
    co_contraction: Mapping[str, float | Array] = field(default_factory=dict)
    most_passive: float = MOST_PASSIVE
    low: tuple[float, ...] = LOW
    high: tuple[float, ...] = HIGH
    weight: tuple[float, ...] = (1.0,) * N_FIT
    several: bool = True
    skip_unknown: bool = False


def fit_all(
    placed: Sequence[Placed],
    motion: JointMotion,
    settings: FitSettings,
    tell: Callable[[str], None] = lambda name: None,
    stopped: Callable[[], bool] = lambda: False,
) -> list[Fit]:
    """Fits of all generators whose joints the motion has; what is wrong with one is told in its `fault`.

    tell : called with the name of each before its fit; stopped : whether to end here, with what there is
    """
    works: dict[int, FitWork] = {}
    found = []
    for one in placed:
        if one.joint.coordinate in motion.names:
            tell(one.name)
            found.append(fit_one(one, motion, settings, works, stopped))
    return found


def fit_one(
    one: Placed, motion: JointMotion, settings: FitSettings, works: dict[int, FitWork],
    stopped: Callable[[], bool],
) -> Fit:  # fmt: skip
    """The fit of one generator; works : room for fits, by the number of frames."""
    if stopped():
        return Fit(one, INTERRUPTED)
    q, qd, tau = motion.of(one.joint.coordinate)
    if fault := settings_fault_of(one, len(q), settings):
        return Fit(one, fault)
    cap, floor = activations_asked(one, settings, len(q))
    asked = one_sided(one, tau, settings)
    used = np.isfinite(q + qd + tau) if settings.skip_unknown else np.ones(len(q), bool)
    q, qd, tau, cap, floor, asked = (values[used] for values in (q, qd, tau, cap, floor, asked))
    if fault := fault_of(one, q, qd, tau):
        return Fit(one, fault)
    work = works.setdefault(len(q), new_fit_work(len(q)))
    packed = pack_generators([one])
    p = packed.parameter[0]
    demands = Demands(
        packed.curves, FIRST_VELOCITY, p, p[FACTOR] * p[ANGLE_SIGN] * (q - p[OFFSET]),
        p[FACTOR] * p[TORQUE_SIGN] * qd, asked / p[STRENGTH], cap, floor,
        settings.most_passive,
    )  # fmt: skip
    options = FitOptions(
        np.array(UNFITTED), np.array(settings.weight), np.array(settings.low), np.array(settings.high),
        TRUST, SETTLED, FULFILLED, N_ITERATION,
    )  # fmt: skip
    states = np.column_stack([q, qd, p[TORQUE_SIGN] * asked])
    before = assess(packed, states, demands)
    begun = Fit(one, theta=demands.theta, omega=demands.omega, demand=asked, before=before)
    basins, default, holding, fault = search(demands, options, work, settings.several, stopped)
    if not basins:
        return replace(begun, fault=INTERRUPTED if stopped() else fault)
    best = basins[0]
    packed.fit[0] = best.x
    after = assess(packed, states, demands)
    return replace(
        begun,
        x=best.x,
        objective=best.objective,
        basins=basins,
        default=default,
        holding=tuple((float(motion.times[used][frame]), words) for frame, words in holding),
        after=after,
        cut_short=settings.several and stopped(),
    )


def fault_of(one: Placed, q: Array, qd: Array, tau: Array) -> str:
    """Why a generator cannot be fitted to this motion; nothing where it can."""
    if len(q) < FEWEST:
        return f"{one.joint.coordinate} is known in {len(q)} frames"
    for words, values in (("angle", q), ("speed", qd), ("moment", tau)):
        if n := int((~np.isfinite(values)).sum()):
            return f"the {words} of {one.joint.coordinate} is not known in {n} of {len(values)} frames"
    if np.ptp(q) < STILL:
        return f"{one.joint.coordinate} never moves"
    if np.abs(q).max() > ROUND_TWICE:
        return f"{one.joint.coordinate} turns more than twice round: its angles have to be radians"
    return ""


def settings_fault_of(one: Placed, n: int, settings: FitSettings) -> str:
    """Why what is asked of a generator in n frames cannot be; nothing where it can."""
    for name, low, high in zip(PARAMETERS, settings.low, settings.high, strict=True):
        if not low <= high:
            return f"the bounds of {name} contradict each other: {low:g} to {high:g}"
    caps = np.asarray(settings.caps.get(one.name, settings.cap), float)
    against = np.asarray(settings.co_contraction.get(one.joint.coordinate, 0.0), float)
    floors = np.asarray(settings.floors.get(one.name, 0.0), float)
    for words, values in (
        ("activations", caps), ("least activations", floors), ("torques of co-contraction", against),
    ):  # fmt: skip
        if values.ndim and len(values) != n:
            return f"there are {len(values)} {words} for {n} frames"
    if not (np.isfinite(caps).all() and (caps > 0.0).all() and (caps <= 1.0).all()):
        return "an activation that it may reach is not above 0 and at most 1"
    if not ((floors >= 0.0).all() and (floors <= caps).all()):
        return "an activation that it has at least is below 0 or above the one that it may reach"
    return ""


def one_sided(one: Placed, tau: Array, settings: FitSettings) -> Array:
    """(n,) - the torque in the generator's direction (eq. 7), with what it bears against its antagonist."""
    against = settings.co_contraction.get(one.joint.coordinate, 0.0)
    both = against if isinstance(against, np.ndarray) else against * np.abs(tau)
    return np.maximum(one.torque_sign * tau, 0.0) + both


def activations_asked(one: Placed, settings: FitSettings, n: int) -> tuple[Array, Array]:
    """(n,) - activations that a generator may reach, and has at least."""
    caps, floors = settings.caps.get(one.name, settings.cap), settings.floors.get(one.name, 0.0)
    cap, floor = (np.broadcast_to(np.asarray(values, float), (n,)).copy() for values in (caps, floors))
    return cap, floor


def assess(packed: Generators, states: Array, demands: Demands) -> Assessment:
    """Activations that the only generator of a table needs."""
    n = len(states)
    activation, parts = np.zeros(n), np.zeros((n, 4))
    activations(packed, 0, states, activation, parts)
    slack = 1e-6
    stiff, weak = activation < demands.floor - slack, activation > demands.cap + slack
    return Assessment(activation, parts[:, 2], stiff, weak, bool(demands.floor.any()))


def default_start(demands: Demands) -> Array:
    """The start of the authors' program: ranges of the motion in parts of those of the curves."""
    p = demands.parameter
    span = 2.0 * p[WIDTH] * sqrt(2.0 * log(1000.0))
    x = np.array(UNFITTED)
    x[S_A] = max(np.ptp(demands.theta) / span, 1.0)
    x[S_V] = max(np.abs(demands.omega).max() / p[SPEED], 1.0)
    x[S_TAU] = max(demands.demand.max(), 1.0)
    return x


def starts_of(demands: Demands) -> list[Array]:
    """The default start, then others: supple by a shift or a blend, unchanged, and one that can do it all."""
    first = default_start(demands)
    towards = np.sign(demands.parameter[PASSIVE_SPAN])
    found = [first]
    for shift in SHIFTS:
        for blend in BLENDS:
            if shift or blend:
                x = first.copy()
                x[DELTA], x[LAMBDA] = towards * shift, blend
                found.append(x)
    reach = abs(demands.theta - demands.parameter[OPTIMAL]).max() / demands.parameter[WIDTH]
    strong = first.copy()
    strong[S_A], strong[S_V], strong[LAMBDA] = max(1.0, reach), 2.0 * first[S_V], 1.0
    strong[S_TAU] = DEEP * max(1.0, demands.demand.max() / demands.cap.min())
    return [*found, np.array(UNFITTED), strong]


def search(
    demands: Demands, options: FitOptions, work: FitWork, several: bool, stopped: Callable[[], bool]
) -> tuple[tuple[Basin, ...], int, tuple[tuple[int, str], ...], str]:
    """Minima that starts lead to, the best first; which the default start led to; what holds the best."""
    found: list[list] = []
    default, least, impossible = -1, np.inf, True
    words = (ROW_WORDS[0], TOO_MUCH if demands.floor.any() else ROW_WORDS[1], ROW_WORDS[2])
    for k, start in enumerate(starts_of(demands)):
        if stopped() or (not several and k and found):
            break
        x = start.copy()
        status, _, violation = fit(demands, options, work, x)
        least, impossible = min(least, violation), impossible and status == IMPOSSIBLE
        if status != FITTED:
            continue
        objective = float(options.weight @ (x - options.target) ** 2)
        same = next((basin for basin in found if abs(basin[1] - objective) < SAME), None)
        if same is None:
            found.append(same := [x, objective, 0, holding_rows(work, words), len(found)])
        same[2] += 1
        default = same[4] if k == 0 else default
        if objective < SAME**2:
            break  # nothing is nearer to the default than the default
    if not found:
        why = "nothing within the bounds can do this motion" if impossible else "no fit was finished"
        return (), -1, (), f"{why}: a row stays violated by {least:.2g} of the isometric torque"
    ordered = sorted(found, key=lambda basin: basin[1])
    where = next((k for k, basin in enumerate(ordered) if basin[4] == default), -1)
    return tuple(Basin(*basin[:3]) for basin in ordered), where, ordered[0][3], ""


def holding_rows(work: FitWork, words: tuple[str, ...]) -> tuple[tuple[int, str], ...]:
    """Frames and words of the rows that hold the last fit, the heaviest first; words : of their kinds."""
    multiplier = work.quadratic.multiplier[: len(work.value)]
    rows = [int(j) for j in np.argsort(-multiplier)[:N_FIT] if multiplier[j] > ACTIVE]
    return tuple((j // N_KIND, words[j % N_KIND]) for j in rows)
