"""Figures 4.1 to 4.6, 4.8 and 4.9 of Brown (2017): friction over velocity and normal force, and in two
experiments.

The laws are those of Andersson, Hollars, Specker, and Brown and McPhee (eqs 4.1 to 4.4), computed with our
kernels, with the transition velocity v_t; in Specker's law dynamic friction rises as tanh(v / v_d)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

import kernels.forces.friction
from kernels.contact.elements import FRICTION, NORMAL
from kernels.forces.friction import friction_force
from kernels.forces.frictions import FORCE
from rtsim.bench.mechanics.friction import LEAST_TIME, whole_steps, with_law
from rtsim.bench.mechanics.friction_reference import BELT, LAWS, RADIUS
from rtsim.bench.timed_runs import time_runs
from rtsim.config.models.friction_laws import Friction
from rtsim.files.tables.panels import FigurePanel
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.papers.item import Comparison, Computed, ItemInput, ItemResult, PaperItem, StatedBound
from rtsim.simulation.simulator import Simulator

Array = NDArray[np.float64]

STATIC, DYNAMIC, V_T, LOAD_N = 0.2, 0.15, 1e-3, 9.81
VISCOUS, F_NT = 10.0, 10.0
"""Parameters of the laws: mu_s, mu_d, v_t [m/s], normal force [N]; viscous coefficient [N s/m] and transition
force [N] of figures 4.1, 4.5 and 4.6, the latter of which is not in the thesis."""
THOUSANDTH, ROUNDING, DIGIT = 1e-3, 1e-9, 0.005
GRID = np.linspace(-5.0 * V_T, 5.0 * V_T, 1001)
WORDS = {"brown_mcphee": "proposed", "andersson": "Andersson", "hollars": "Hollars", "specker": "Specker"}
FASTER = {
    "stick_slip": {"brown_mcphee": 3100.0, "specker": 3100.0, "hollars": 2500.0, "andersson": 3100.0},
    "impact": {"brown_mcphee": 3.1, "specker": 2.7, "hollars": 2.6, "andersson": 3.0},
}
"""Printed ratios of real time to computing time (sections 4.3.1, 4.3.2)."""
MACHINE = (
    "times of Brown (2017) are from another machine and method, at a tolerance of 1e-6; rtsim's solution is "
    "within 1e-6 m/s of a solution with tight tolerance with the proposed law, and other items might run at "
    "the same time"
)
DRAWN_MS = {"stick_slip": 0.5, "impact": 0.02}
"""Longest steps of the drawn curves [ms]; the computing time is that of the shipped steps."""
CONTACT_MS, PERIOD_S = 6.94, 2.5
"""Printed duration of the impact [ms]; time in which there are two rapid transitions [s] (section 4.4)."""


def force(law: str, v: Array, F_n: float = LOAD_N, **coefficients: float) -> Array:
    """Return the friction force of a law at velocities v : (n,) [m/s] and a normal force F_n [N], (n,) [N];
    coefficients : those of the law that differ from the usual ones, by their keys in a model file"""
    given: dict[str, Any] = {
        "static": STATIC,
        "dynamic": DYNAMIC,
        "transition_velocity_m_s": V_T,
        **coefficients,
    }
    row: Array = np.array(Friction(**given, law=law).row)  # type: ignore[arg-type]
    number = getattr(kernels.forces.friction, law.upper())
    return np.array([friction_force(number, row, float(x), F_n)[0] for x in v])


def peak(law: str, **coefficients: float) -> tuple[float, float]:
    """Return the greatest friction of a law up to a velocity of 3 v_t (v_t: transition velocity) [N], and its
    velocity divided by v_t."""
    v = np.linspace(0.0, 3.0 * V_T, 6001)
    found = force(law, v, **coefficients)
    return float(found.max()), float(v[found.argmax()] / V_T)


def curve_panel(title: str, curves: dict[str, Array]) -> FigurePanel:
    """Return a panel with friction curves [N] by name, over velocity divided by v_t (transition velocity)."""
    return FigurePanel(
        title=title, unit="N", x_title="velocity divided by v_t", x=GRID / V_T, curves=curves, enlarged=True
    )  # fmt: skip


def figure_4_1(given: ItemInput) -> ItemResult:
    """Compute figure 4.1: friction over velocity by the law of Andersson, which never reaches static
    friction."""
    highest, _ = peak("andersson")
    below = StatedBound("stated by Brown (2017), section 4.1.1: friction never reaches mu_s F_n",
                        high=STATIC * LOAD_N * (1.0 - THOUSANDTH))  # fmt: skip
    rows = [Comparison("greatest friction (mu_s F_n is 1.962)", "N", "below mu_s F_n", highest, below)]
    rough = np.sign(GRID) * LOAD_N * (DYNAMIC + (STATIC - DYNAMIC) * np.exp(-((GRID / V_T) ** 2)))
    curves = {
        "eq. 4.1": force("andersson", GRID, viscous_N_s_m=VISCOUS),
        "law without tanh and viscous friction": rough,
    }
    return ItemResult(rows, [curve_panel("Andersson", curves)])


def figure_4_2(given: ItemInput) -> ItemResult:
    """Compute figure 4.2: friction over velocity by Hollars' law, which reaches static friction at v_t."""
    at = float(force("hollars", np.array([V_T]))[0])
    exactly = StatedBound("stated by Brown (2017), section 4.1.2: friction is mu_s F_n at v_t",
                          STATIC * LOAD_N - ROUNDING, STATIC * LOAD_N + ROUNDING)  # fmt: skip
    rows = [Comparison("friction at v_t", "N", STATIC * LOAD_N, at, exactly)]
    return ItemResult(rows, [curve_panel("Hollars", {"eq. 4.2": force("hollars", GRID)})])


def figure_4_3(given: ItemInput) -> ItemResult:
    """Compute figure 4.3: friction over velocity by Specker's law with v_t = 2 v_d, as he recommends."""
    return ItemResult(
        specker_rows(0.5, 1.15), [curve_panel("Specker, v_t = 2 v_d", {"eq. 4.3": specker(0.5)})]
    )


def figure_4_4(given: ItemInput) -> ItemResult:
    """Compute figure 4.4: friction over velocity by Specker's law, for several velocities v_d in tanh(v /
    v_d)."""
    rows = [*specker_rows(0.5, 1.15), *specker_rows(0.25, 1.01)]
    nearer = (STATIC * LOAD_N - specker_peak(part)[0] for part in (0.25, 0.5))
    less = [abs(off) for off in nearer]
    rows.append(
        Comparison(
            "|peak - mu_s F_n| with v_t = 4 v_d, divided by that with v_t = 2 v_d", "1", "below 1",
            less[0] / less[1],
            StatedBound("stated by Brown (2017), section 4.1.3: the peak is closer to mu_s F_n", high=1.0),
        )
    )  # fmt: skip
    curves = {"v_t = 2 v_d": specker(0.5), "v_t = 4 v_d": specker(0.25)}
    return ItemResult(rows, [curve_panel("Specker", curves)])


def specker(part: float) -> Array:
    """Return friction by the law of Specker at the velocities of GRID, (n,) [N]; part : the velocity v_d of
    its term tanh(v / v_d), divided by the transition velocity"""
    return force("specker", GRID, dynamic=0.8 * STATIC, dynamic_velocity_m_s=part * V_T)


def specker_peak(part: float) -> tuple[float, float]:
    """Return the greatest friction of the law of Specker [N], and its velocity divided by the transition
    velocity v_t; part : the law's velocity v_d divided by v_t"""
    return peak("specker", dynamic=0.8 * STATIC, dynamic_velocity_m_s=part * V_T)


def specker_rows(part: float, printed: float) -> list[Comparison]:
    """Return a comparison of the velocity at which friction by Specker's law is greatest with the printed
    one, both divided by the transition velocity v_t; part : the law's velocity v_d divided by v_t"""
    at = specker_peak(part)[1]
    bound = StatedBound("section 4.1.3", printed - DIGIT, printed + DIGIT)
    return [Comparison(f"velocity of the peak with v_t = {1.0 / part:g} v_d", "v_t", printed, at, bound)]


def figure_4_5(given: ItemInput) -> ItemResult:
    """Compute figure 4.5: friction over velocity by the proposed law (Brown and McPhee), and its terms."""
    wet = {"viscous_N_s_m": VISCOUS, "transition_force_N": F_NT}
    dynamic = force("brown_mcphee", GRID, static=DYNAMIC)
    viscous = VISCOUS * GRID
    whole = force("brown_mcphee", GRID, F_n=100.0 * F_NT, **wet)
    static = force("brown_mcphee", GRID) - dynamic
    settled = float(force("brown_mcphee", np.array([V_T]), static=DYNAMIC)[0]) / (DYNAMIC * LOAD_N)
    k = int(static.argmax())
    least = 1.0 - THOUSANDTH
    rows = [
        Comparison("dynamic friction at v_t as a fraction of mu_d F_n", "1", "within 0.1 %", settled,
                   StatedBound("stated by Brown (2017), section 4.2", low=least, high=1.0)),
        Comparison("peak of the static friction term", "N", (STATIC - DYNAMIC) * LOAD_N, float(static[k]),
                   StatedBound("stated by Brown (2017), section 4.2: the static friction term "
                               "peaks at F_n (mu_s - mu_d)", *around((STATIC - DYNAMIC) * LOAD_N))),
        Comparison("sliding velocity at which friction is greatest", "v_t", 1.0, float(GRID[k] / V_T),
                   StatedBound("stated by Brown (2017), section 4.2", *around(1.0))),
        Comparison("velocity at which the sum of all terms is greatest", "v_t", 1.0, peak("brown_mcphee")[1],
                   reason="eq. 4.4 peaks slightly above v_t, as its tanh is 0.9993 there and still rises"),
    ]  # fmt: skip
    scale = LOAD_N / (100.0 * F_NT)
    curves = {
        "dynamic": dynamic, "static": static, "viscous": viscous,
        "sum of all three": (whole - viscous) * scale + viscous,
    }  # fmt: skip
    return ItemResult(
        rows, [curve_panel("proposed friction law, F_n far above the transition force F_nt", curves)]
    )


def around(value: float) -> tuple[float, float]:
    """Return lower and upper bound of results that differ from `value` by rounding only."""
    return value - ROUNDING, value + ROUNDING


def figure_4_6(given: ItemInput) -> ItemResult:
    """Compute figure 4.6: terms of the proposed law over the normal force, at a velocity far above v_t."""
    v, loads = np.array([0.5]), np.linspace(0.0, 2.0 * F_NT, 201)
    wet = {"viscous_N_s_m": VISCOUS, "transition_force_N": F_NT}
    whole = np.array([force("brown_mcphee", v, F_n=float(F_n), **wet)[0] for F_n in loads])
    dry = np.array([force("brown_mcphee", v, F_n=float(F_n))[0] for F_n in loads])
    viscous = whole - dry
    at = float(np.interp(F_NT, loads, viscous)) / (VISCOUS * 0.5)
    rows = [
        Comparison("viscous friction at F_nt divided by mu_v v", "1", "within 0.1 %", at,
                   StatedBound("stated by Brown (2017), section 4.2", low=1.0 - THOUSANDTH, high=1.0)),
        Comparison("viscous friction without contact", "N", 0.0, float(viscous[0]),
                   StatedBound("stated by Brown (2017), section 4.2: it has no discontinuity", *around(0.0))),
    ]  # fmt: skip
    panel = FigurePanel(
        title="proposed law at 0.5 m/s", unit="N", x_title="normal force divided by F_nt", x=loads / F_NT,
        curves={"dynamic": dry, "viscous": viscous, "both": whole}, enlarged=True,
    )  # fmt: skip
    return ItemResult(rows, [panel])


class FrictionRun(NamedTuple):
    """A friction experiment simulated with one friction law.

    times : (n,) times [s]
    v : (n, n_v) speeds [m/s], [rad/s]
    friction, normal : (n,) forces [N]
    factor : how many times faster than real time the simulation is
    """

    times: Array
    v: Array
    friction: Array
    normal: Array
    factor: float


@lru_cache(maxsize=8)
def run_of(experiment: str, law: str) -> FrictionRun:
    """Simulate an experiment ("stick_slip" or "impact") with a friction law, and time the simulation."""
    spec = with_law(load_model(experiment), law)
    model = build(spec)
    drawn_ms = min(spec.simulation.step_ms, DRAWN_MS[experiment])
    simulator = Simulator(model, replace(spec.simulation, step_ms=drawn_ms))
    n = whole_steps(experiment, simulator)
    trace = simulator.trace(n + 1)
    simulator.run(n, 1, trace, last=True)
    times = simulator.options.step * np.arange(n + 1.0)
    step = 1e-3 * spec.simulation.step_ms
    n = whole_steps(experiment, Simulator(model, spec.simulation))
    first = time_runs(Simulator(model, spec.simulation), n, 1)
    best = time_runs(Simulator(model, spec.simulation), n, max(5, int(LEAST_TIME / first.best))).best
    slides = experiment == "stick_slip"
    return FrictionRun(
        times=times,
        v=trace.v.copy(),
        friction=trace.friction[:, 0, FORCE] if slides else trace.contact[:, 0, FRICTION],
        normal=np.full(len(times), LOAD_N) if slides else trace.contact[:, 0, NORMAL],
        factor=n * step / best,
    )


def faster_rows(experiment: str) -> list[Comparison]:
    """Return comparisons of how many times faster than real time each law was simulated."""
    return [
        Comparison(
            f"{WORDS[law]}: times faster than real time", "1", FASTER[experiment][law],
            run_of(experiment, law).factor, reason=MACHINE,
        )
        for law in LAWS
    ]  # fmt: skip


def figure_4_8(given: ItemInput) -> ItemResult:
    """Compute figure 4.8: a block that sticks and slips on a belt, by four friction laws."""
    rows = faster_rows("stick_slip")
    slips = {law: first_slip(run_of("stick_slip", law)) for law in LAWS}
    latest = min(time for law, time in slips.items() if law != "andersson")
    rows.append(
        Comparison(
            "time by which the first slip with the law of Andersson precedes the first slip with all "
            "other laws", "s", "earlier",
            latest - slips["andersson"],
            StatedBound("stated by Brown (2017), section 4.3.1: the block slips earlier", low=0.0),
        )
    )  # fmt: skip
    usual = [run_of("stick_slip", law).v[:, 0] for law in LAWS if law != "andersson"]
    rows += [
        Comparison(
            "RMS difference between the velocities with the other three laws", "m/s", "almost identical",
            float(np.sqrt(np.mean(np.ptp(usual, axis=0) ** 2))),
            reason="Brown (2017) shows a figure but states no number",
        ),
        Comparison(
            "stick-slip period, proposed law", "s", PERIOD_S, period_of(run_of("stick_slip", "brown_mcphee")),
            reason="Brown (2017) says about 2.5 s; if friction jumps from mu_s to mu_d, the block sticks for "
            "0.98 s and slides for 1.36 s (computed by hand); the law's static friction decays more slowly",
        ),
    ]  # fmt: skip
    velocity = {WORDS[law]: run_of("stick_slip", law).v[:, 0] for law in LAWS}
    friction = {WORDS[law]: run_of("stick_slip", law).friction for law in LAWS}
    t = run_of("stick_slip", "brown_mcphee").times
    sticks = slips["brown_mcphee"] + back_on_belt(run_of("stick_slip", "brown_mcphee"), slips["brown_mcphee"])
    near = np.abs(t - sticks) < 0.02
    close = {name: y[near] for name, y in friction.items()}
    return ItemResult(
        rows,
        [
            time_panel("velocity of the block", "m/s", t, velocity),
            time_panel("friction on the block", "N", t, friction),
            time_panel("friction when the block sticks again", "N", t[near], close),
        ],
    )


def time_panel(title: str, unit: str, t: Array, curves: dict[str, Array]) -> FigurePanel:
    """Return a panel of curves over time."""
    return FigurePanel(title=title, unit=unit, x_title="time [s]", x=t, curves=curves, enlarged=True)


def slipping(run: FrictionRun) -> NDArray[np.bool_]:
    """Return a mask (n,) of the times at which the block slides on the belt faster than twice the
    transition velocity v_t of the friction laws."""
    return np.asarray(np.abs(run.v[:, 0] - BELT) > 2.0 * V_T)


def first_slip(run: FrictionRun) -> float:
    """Return the time at which the block first slips [s]."""
    return float(run.times[np.flatnonzero(slipping(run))[0]])


def back_on_belt(run: FrictionRun, since: float) -> float:
    """Return the duration from the time `since` [s] until the block sticks on the belt again [s]."""
    after = run.times > since
    return float(run.times[np.flatnonzero(after & ~slipping(run))[0]] - since)


def period_of(run: FrictionRun) -> float:
    """Return the time between the last two slips [s]."""
    begins = np.flatnonzero(np.diff(slipping(run).astype(int)) > 0)
    return float(run.times[begins[-1]] - run.times[begins[-2]])


def figure_4_9(given: ItemInput) -> ItemResult:
    """Compute figure 4.9: a ball that strikes a floor obliquely, by four friction laws."""
    rows = faster_rows("impact")
    runs = {law: run_of("impact", law) for law in LAWS}
    own = runs["brown_mcphee"]
    touching = np.flatnonzero(own.normal > 0.0)
    last = touching[-1]
    root = np.sqrt(own.normal[last - 1 : last + 1])  # as the depth, which ends in a straight line
    ends = own.times[last] + (own.times[1]) * root[1] / (root[0] - root[1])
    rows.append(
        Comparison(
            "duration of the contact", "ms", CONTACT_MS, 1e3 * float(ends),
            StatedBound("stated by Brown (2017), section 4.3.2: the contact lasts about 6.94 ms",
                        CONTACT_MS - 0.005, CONTACT_MS + 0.005),
        )
    )  # fmt: skip
    stops = [1e3 * end_of_slip(run) for run in runs.values()]
    rows.append(
        Comparison(
            "end of slipping: by the law with the latest minus that with the earliest", "ms", "the same time",
            float(np.ptp(stops)),
            reason="Brown (2017) chose the coefficient k_v of the law of Hollars so that the laws agree, "
                   "and does not say how closely",
        )
    )  # fmt: skip
    t = 1e3 * own.times
    curves = {f"{WORDS[law]}, velocity of the centre": run.v[:, 0] for law, run in runs.items()}
    curves |= {f"{WORDS[law]}, r omega": -RADIUS * run.v[:, 2] for law, run in runs.items()}
    friction = {WORDS[law]: run.friction for law, run in runs.items()}
    panels = [
        time_panel("velocity of the centre; radius r times angular velocity omega", "m/s", t, curves),
        time_panel("friction", "N", t, friction),
    ]
    return ItemResult(rows, [panel._replace(x_title="time [ms]") for panel in panels])


def end_of_slip(run: FrictionRun) -> float:
    """Return the time [s] at which the ball's sliding velocity falls below v_t, the transition velocity of
    the friction laws."""
    over = slide_of(run) - V_T
    k = int(np.flatnonzero(over < 0.0)[0])
    return float(run.times[k] - run.times[1] * over[k] / (over[k] - over[k - 1]))


def slide_of(run: FrictionRun) -> Array:
    """Return the sliding velocity of the ball on the floor, (n,) [m/s]."""
    return np.asarray(run.v[:, 0] + RADIUS * run.v[:, 2])


LAW_DATA = "eqs 4.1 to 4.4 of Brown (2017), coefficients of section 4.3; F_nt = 10 N is chosen by rtsim"


def item(number: str, title: str, compute: Computed, kernels: tuple[str, ...] = ()) -> PaperItem:
    """Build the catalogue entry of a figure of chapter 4."""
    return PaperItem(
        kind="figure", number=number, title=title, data=LAW_DATA, has_data_of_paper=True, compute=compute,
        kernels=kernels,
    )  # fmt: skip


ITEMS = (
    item("4.1", "the law of Andersson", figure_4_1),
    item("4.2", "the law of Hollars", figure_4_2),
    item("4.3", "the law of Specker", figure_4_3),
    item("4.4", "the choice of the velocity v_d in the friction law of Specker", figure_4_4),
    item("4.5", "the proposed friction law and its terms", figure_4_5),
    item("4.6", "the proposed friction law as a function of the normal force", figure_4_6),
    item("4.8", "stick and slip, four laws", figure_4_8, ("simulation",)),
    item("4.9", "oblique impact, four laws", figure_4_9, ("simulation",)),
)
