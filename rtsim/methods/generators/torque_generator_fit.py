"""Fits of torque generators to the motion of a person: a generator is assessed, its parameters are changed as
little as the motion requires, and it is assessed again.

The method is that of Millard et al. (2019), J Biomech, doi 10.1016/j.jbiomech.2019.04.004, section 2.2. The
problem is not convex: besides the default start others are tried, and the report says where each ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.torque_generator.demands import Demands
from kernels.torque_generator.fit import FitOptions, GeneratorFitWork, new_fit_work
from kernels.torque_generator.torque import (
    ANGLE_SIGN,
    FACTOR,
    FIRST_VELOCITY,
    N_FIT,
    OFFSET,
    S_A,
    S_TAU,
    S_V,
    STRENGTH,
    TORQUE_SIGN,
    Generators,
    activations,
)
from rtsim.methods.generators.joint_motion import JointMotion, moved
from rtsim.methods.generators.torque_generator_search import ROW_WORDS, SAME, TOO_MUCH, Basin, search
from rtsim.models.packing.torque_generators import UNFITTED, PlacedGenerator, pack_generators

Array = NDArray[np.float64]

PARAMETERS = ("angle_scale", "speed_scale", "passive_shift", "passive_blend", "strength_scale")
"""x of eq. 8, as a config calls them."""
LOW, HIGH = (1.0, 1.0, -np.pi / 2.0, 0.0, 1.0), (np.inf, np.inf, np.pi / 2.0, 1.0, np.inf)
"""Default bounds of the parameters x, those of the authors: scales can only increase."""
TRUST, SETTLED, FULFILLED, N_ITERATION = 0.3, 1e-10, 1e-9, 500
MOST_PASSIVE = 1.4
"""t^PE_max: largest torque of people while lengthening (Yeadon et al. 2006); the published fits used 1."""
FEWEST = 3
"""Frames that a fit needs at least."""
ROUND_TWICE = 4.0 * np.pi
INTERRUPTED = "interrupted before the fit of this generator"


class Assessment(NamedTuple):
    """Activation that a generator needs for the motion, and whether the generator can produce the torque.

    activation : (n,) activation, not limited to 0 to 1
    passive : (n,) passive torque t^PE
    too_stiff, too_weak : (n,) bool, whether the activation is below the smallest or above the largest allowed
        one
    driven : whether the smallest allowed activation is above 0, for example because of its EMG; the torque at
      this activation may then be too large because the generator is too strong
    """

    activation: Array
    passive: Array
    too_stiff: NDArray[np.bool_]
    too_weak: NDArray[np.bool_]
    driven: bool = False

    @property
    def words(self) -> str:
        """Describe what the generator lacks for the motion; "feasible" if nothing."""
        stiff = TOO_MUCH if self.driven else ROW_WORDS[1]
        said = [w for w, at in ((stiff, self.too_stiff), (ROW_WORDS[0], self.too_weak)) if at.any()]
        return " and ".join(said) or "feasible"


@dataclass(frozen=True)
class FittedGenerator:
    """Fit of one torque generator to a motion; `fault` states why there is no fit.

    theta, omega : (n,) angle [rad] and speed [rad/s] over which the generator's curves are defined
    demand : (n,) torque in its direction [N m]
    x : (5,) best parameters s_A, s_V, Delta_P [rad], lambda_P, s_tau (scales of the curves over angle and
        speed, shift and blend of the passive curve, scale of strength); the present ones if there is a fault
    objective : weighted squared distance of x from the generator's parameters before the fit
    basins : minima reached by the starts of the search, the best first
    default : index of the minimum that the default start reached
    holding : times [s] and names of the active constraints, the largest multipliers first
    before, after : activation that the generator needs for the motion, and whether it can produce the torque,
        before and after the fit
    cut_short : whether an interruption came before all starts were tried
    """

    placed: PlacedGenerator
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
    def flexion(self) -> Array:
        """(n,) angle of the joint, positive in flexion [rad]."""
        return self.placed.joint.flexion_of(self.theta)

    @property
    def changed(self) -> bool:
        """Whether the fit changed any parameter of the generator."""
        return not self.fault and bool(np.abs(self.x - self.placed.fit).max() > SAME)


@dataclass(frozen=True)
class FitSettings:
    """Settings of the fits of torque generators.

    cap : largest activation (a_max)
    caps : largest activations of single generators by name, for example from EMG; one number, or one for each
        frame
    floors : smallest activations of single generators, in the same form; 0 for all others
    co_contraction : coordinate -> torque of both generators against each other, as a part of the joint's
        torque, or (n,) [N m]
    skip_unknown : whether frames in which a joint's angle, speed or moment is unknown are left out; otherwise
        the generators of this joint are not fitted
    most_passive : largest passive torque t^PE_max
    low, high, weight : bounds of the parameters x (5,), and their weights in the distance from the present
        ones
    several : whether further starts are tried besides the default
    more_starts : starts x (5,) that are tried after the usual ones
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
    more_starts: tuple[tuple[float, ...], ...] = ()
    skip_unknown: bool = False


def fit_all(
    placed: Sequence[PlacedGenerator],
    motion: JointMotion,
    settings: FitSettings,
    tell: Callable[[str], None] = lambda name: None,
    stopped: Callable[[], bool] = lambda: False,
) -> list[FittedGenerator]:
    """Fit all generators whose joints the motion has; a fit that fails states the reason in its `fault`.

    tell : called with the name of each generator before its fit; stopped : function that returns whether to
      end now with the fits done so far
    """
    works: dict[int, GeneratorFitWork] = {}
    found = []
    for one in placed:
        if one.joint.coordinate in motion.names:
            tell(one.name)
            found.append(fit_one(one, motion, settings, works, stopped))
    return found


def fit_one(
    one: PlacedGenerator, motion: JointMotion, settings: FitSettings, works: dict[int, GeneratorFitWork],
    stopped: Callable[[], bool],
) -> FittedGenerator:  # fmt: skip
    """Fit one torque generator to the motion of its joint.

    works : number of frames -> working arrays of the fit, reused and extended here
    stopped : function that returns whether to end now
    """
    begun = FittedGenerator(one, x=np.array(one.fit))
    if stopped():
        return replace(begun, fault=INTERRUPTED)
    q, qd, tau = motion.of(one.joint.coordinate)
    if fault := settings_fault_of(one, len(q), settings):
        return replace(begun, fault=fault)
    cap, floor = activations_asked(one, settings, len(q))
    asked = one_sided(one, tau, settings)
    known = np.isfinite(q) & np.isfinite(qd) & np.isfinite(tau)
    used = known if settings.skip_unknown else np.ones(len(q), bool)
    q, qd, tau, cap, floor, asked = (values[used] for values in (q, qd, tau, cap, floor, asked))
    if fault := fault_of(one, q, qd, tau):
        return replace(begun, fault=fault)
    work = works.setdefault(len(q), new_fit_work(len(q)))
    packed = pack_generators([one])
    p = packed.parameter[0]
    demands = Demands(
        curves=packed.curves, velocity=FIRST_VELOCITY, parameter=p,
        theta=p[FACTOR] * p[ANGLE_SIGN] * (q - p[OFFSET]),
        omega=p[FACTOR] * p[TORQUE_SIGN] * qd, demand=asked / p[STRENGTH], cap=cap, floor=floor,
        most_passive=settings.most_passive,
    )  # fmt: skip
    low, high = bounds_of(one, settings)
    options = FitOptions(
        target=np.array(one.fit),
        weight=np.array(settings.weight),
        low=low,
        high=high,
        trust=TRUST,
        settled=SETTLED,
        fulfilled=FULFILLED,
        n_iteration=N_ITERATION,
    )
    states = np.column_stack([q, qd, p[TORQUE_SIGN] * asked])
    before = assess(packed, states, demands)
    begun = replace(begun, theta=demands.theta, omega=demands.omega, demand=asked, before=before)
    more = [np.array(x) for x in settings.more_starts]
    basins, default, holding, fault = search(demands, options, work, settings.several, stopped, more)
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


def fault_of(one: PlacedGenerator, q: Array, qd: Array, tau: Array) -> str:
    """Return a sentence on why a generator cannot be fitted to the motion of its joint; "" if it can.

    q, qd, tau : (n,) angle [rad], speed [rad/s] and moment [N m] of the joint
    """
    if len(q) < FEWEST:
        return f"{one.joint.coordinate} is known in only {len(q)} frames; a fit needs {FEWEST} or more"
    for words, values in (("angle", q), ("speed", qd), ("moment", tau)):
        if n := int((~np.isfinite(values)).sum()):
            return f"the {words} of {one.joint.coordinate} is not known in {n} of {len(values)} frames"
    if not moved(q):
        return f"{one.joint.coordinate} never moves"
    if np.abs(q).max() > ROUND_TWICE:
        return f"{one.joint.coordinate} rotates by more than two turns; angles have to be in radians"
    return ""


def settings_fault_of(one: PlacedGenerator, n: int, settings: FitSettings) -> str:
    """Return a sentence on why the settings of the fit of a generator to n frames are impossible; "" if they
    are possible.
    """
    for name, low, high in zip(PARAMETERS, *bounds_of(one, settings), strict=True):
        if not low <= high:
            return (
                f"the bounds of {name} contradict each other or the generator's own value: "
                f"{low:g} to {high:g}"
            )
    caps = np.asarray(settings.caps.get(one.name, settings.cap), float)
    against = np.asarray(settings.co_contraction.get(one.joint.coordinate, 0.0), float)
    floors = np.asarray(settings.floors.get(one.name, 0.0), float)
    for words, values in (
        ("activations", caps), ("least activations", floors), ("torques of co-contraction", against),
    ):  # fmt: skip
        if values.ndim and len(values) != n:
            return f"the number of {words}, {len(values)}, differs from the number of frames, {n}"
    if not (np.isfinite(caps).all() and (caps > 0.0).all() and (caps <= 1.0).all()):
        return "the greatest allowed activation must be above 0 and at most 1"
    if not ((floors >= 0.0).all() and (floors <= caps).all()):
        return "the least activation must be 0 or more and at most the greatest allowed activation"
    return ""


def bounds_of(one: PlacedGenerator, settings: FitSettings) -> tuple[Array, Array]:
    """Return lower and upper bounds (5,) of the fit's parameters x.

    A scale cannot become smaller than its value from an earlier fit. Default bounds of the shift and the
    blend are widened so that they contain the present values of the generator.
    """
    low, high = np.array(settings.low), np.array(settings.high)
    for k, value in enumerate(one.fit):
        if k in (S_A, S_V, S_TAU):
            low[k] = value if settings.low[k] == LOW[k] else max(low[k], value)
        elif settings.low[k] == LOW[k] and settings.high[k] == HIGH[k]:
            low[k], high[k] = min(low[k], value), max(high[k], value)
    return low, high


def one_sided(one: PlacedGenerator, tau: Array, settings: FitSettings) -> Array:
    """Return the torque (n,) in the direction of a generator that a motion demands of it: the joint torque
    `tau` (n,), 0 where it is in the other direction (Millard et al. 2019, eq. 7), plus co-contraction; NaN
    where it is not known.
    """
    tau = np.where(np.isfinite(tau), tau, np.nan)
    against = settings.co_contraction.get(one.joint.coordinate, 0.0)
    both = against if isinstance(against, np.ndarray) else against * np.abs(tau)
    return np.maximum(one.torque_sign * tau, 0.0) + both


def activations_asked(one: PlacedGenerator, settings: FitSettings, n: int) -> tuple[Array, Array]:
    """Return upper and lower limits of a generator's activation, (n,) each."""
    caps, floors = settings.caps.get(one.name, settings.cap), settings.floors.get(one.name, 0.0)
    cap, floor = (np.broadcast_to(np.asarray(values, float), (n,)).copy() for values in (caps, floors))
    return cap, floor


def assess(packed: Generators, states: Array, demands: Demands) -> Assessment:
    """Compute the activations that a torque generator needs for a motion, and whether it can produce the
    torques of the motion.

    packed : table of generators, the first of which is assessed; states : (n, 3) angle, speed and torque
    demands : the torques, with limits of the activation
    """
    n = len(states)
    activation, parts = np.zeros(n), np.zeros((n, 4))
    activations(packed, 0, states, activation, parts)
    slack = 1e-6
    stiff, weak = activation < demands.floor - slack, activation > demands.cap + slack
    return Assessment(activation, parts[:, 2], stiff, weak, bool(demands.floor.any()))
