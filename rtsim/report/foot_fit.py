"""Report on the fit of a foot contact model to measured steps: errors beside those of Brown (2017),
parameters, and directions in the space of parameters that the data hardly determine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.files.tables.panels import FigurePanel
from rtsim.methods.foot.foot_fit import FootFit
from rtsim.methods.foot.foot_misfit import BEARS_COP, Errors, Simulated
from rtsim.methods.foot.foot_motion import LARGEST_LIFT
from rtsim.methods.foot.foot_parameters import NAMES, SLOW, TABLE_5_6, UNITS
from rtsim.methods.foot.foot_trial import FootTrial

Array = NDArray[np.float64]

THESIS = (
    ("Brown (2017), table 5.5: errors of the fit with friction", 0.115, 0.050, 0.517, 0.265, 0.142),
    ("Brown (2017), table 5.7: errors in the calibration step (fitted)", 0.034, 0.032, 0.339, None, None),
    ("Brown (2017), table 5.7: errors in steps not fitted, same cadence", 0.042, 0.042, 0.381, None, None),
    ("Brown (2017), table 5.7: errors in steps not fitted, higher cadence", 0.049, 0.066, 0.441, None, None),
    ("Brown (2017), table 5.7: errors in steps not fitted, lower cadence", 0.044, 0.050, 0.400, None, None),
    ("Brown (2017), table 5.9: errors of the fit without pressure", 0.027, 0.018, 0.702, None, None),
)
"""Normal force, centre of pressure, pressure, friction, spinning: of other data, a man of 70 kg."""
THESIS_MM = (
    "RMS errors of Brown (2017), table 5.8: normal force 28.8 N, centre of pressure 8.0 mm along, 2.4 mm "
    "across"
)
MM, DEGREES = 1e3, 180.0 / np.pi
FASTEST = 5.0
"""Greatest velocity of the friction's curve, in transition velocities."""
LIFT_TOLD = 1e-5
"""A height so near to its bound lies at it [m]."""
HEAD = "normal    cop  pressure  friction*  spin*"


class FittedStep(NamedTuple):
    """A step of a foot, measured, and simulated with a contact model.

    trial : the measured step
    simulated, errors : the simulation, and its differences from the measurement
    knots : values of the spline that corrects the measured motion of the foot
    fitted : whether the parameters of the model were fitted to this step; otherwise only its motion was
        corrected, for a comparison with given parameters
    complete : whether the fit was not interrupted
    """

    trial: FootTrial
    errors: Errors
    simulated: Simulated
    knots: Array
    fitted: bool
    complete: bool = True

    @property
    def name(self) -> str:
        """Name of the trial, without the folder of the file."""
        return self.trial.short

    @property
    def kind(self) -> str:
        """Return how the step was used: parameters fitted to it, or only its motion, and whether the fit was
        interrupted.
        """
        kind = "fitted" if self.fitted else "only motion fitted"
        return kind if self.complete else f"{kind}, interrupted"


def steps_of(trials: Sequence[FootTrial], fit: FootFit, fitted: bool) -> list[FittedStep]:
    """Return the steps of a fit with their simulated results and errors. If the heel markers of a step had to
    be raised or lowered, its notes say by how much.

    fitted : whether parameters were fitted to these steps, not their motion alone
    """
    return [
        FittedStep(
            trial=trial._replace(notes=(*trial.notes, *_lift(height))),
            errors=errors,
            simulated=simulated,
            knots=knots,
            fitted=fitted,
            complete=fit.complete,
        )
        for trial, errors, simulated, knots, height in zip(
            trials, fit.errors, fit.simulated, fit.knots, fit.heights, strict=True
        )
    ]


def _lift(height: float) -> tuple[str, ...]:
    if not height:
        return ()
    end = ", the greatest shift allowed" if abs(height) > LARGEST_LIFT - LIFT_TOLD else ""
    way = "higher" if height > 0.0 else "lower"
    return (f"the heel was placed {MM * abs(height):.1f} mm {way} (fitted for this footstep only){end}",)


def as_lines(fit: FootFit | None, steps: Sequence[FittedStep], left: Sequence[str] = ()) -> str:
    """Return the report on the fit of a foot contact model as text.

    fit : None if parameters were not fitted
    left : names of steps that were not reached before an interruption
    """
    lines = [
        "RMS errors of the simulation (eqs 5.53-5.57 of Brown, 2017) in percent of the scales in table 5.3 "
        "there:"
    ]
    rows: list[tuple[Any, ...]] = []
    for step in steps:
        e = step.errors
        rows.append((f"{step.name} ({step.kind})", e.normal, e.cop, e.pressure, e.friction, e.spin))
    rows += THESIS
    wide = max(len(row[0]) for row in rows)
    lines += [f"{'':{wide}s} {HEAD}", *(_row(wide, *row) for row in rows)]
    lines += [f"left out, because the fit was interrupted: {name}" for name in left]
    lines.append(
        "* friction and spin (free moment) are not validated: a prescribed motion hardly determines them "
        "(Brown 2017, section 5.3.3)"
    )
    for step in steps:
        e = step.errors
        lines.append(
            f"{step.name}, RMS errors: normal force {e.normal * step.trial.weight:.1f} N, centre of pressure "
            f"{MM * e.cop_along:.1f} mm along the foot, {MM * e.cop_across:.1f} mm across it"
            + (
                f"; no simulated contact in {e.n_lost} frames in which the plate is loaded"
                if e.n_lost
                else ""
            )
        )
    lines.append(THESIS_MM)
    lines.append(
        f"centres of pressure are compared in frames in which the plate measures at least {BEARS_COP:g} N"
    )
    if fit is not None:
        lines += ["", *_parameters(fit), "", *_weak(fit)]
    notes = dict.fromkeys(f"note: {s.name}: {note}" for s in steps for note in s.trial.notes)
    return "\n".join([*lines, *notes])


def _row(wide: int, name: str, *values: float | None) -> str:
    normal, cop, pressure, friction, spin = (
        "-" if v is None or v != v else f"{100.0 * v:.1f} %" for v in values
    )
    return f"{name:{wide}s} {normal:>6s} {cop:>6s} {pressure:>9s} {friction:>10s} {spin:>6s}"


def shown(k: int, value: float) -> str:
    """Return a parameter of the foot contact model as text, in the unit of table 5.6 of Brown (2017); k : its
    index in the vector of parameters.
    """
    if UNITS[k] == "m":
        return f"{MM * value:.1f} mm"
    if UNITS[k] == "rad":
        return f"{value:.3f} rad"
    return f"{value:.3g} {UNITS[k]}" if UNITS[k] != "1" else f"{value:.3g}"


def _parameters(fit: FootFit) -> list[str]:
    """Return lines with the fitted parameters of the foot contact model beside those of Brown (2017, table
    5.6).
    """
    lines = [
        "Fitted parameters and those of table 5.6 of Brown (2017) (X medial, Y forward, Z up; the toe in "
        "the frame of the toes):"
    ]
    for k, name in enumerate(NAMES):
        bound = "  at its bound" if name in fit.at_bound else "  not fitted" if name in fit.held else ""
        lines.append(f"  {name:12s} {shown(k, fit.parameters[k]):>14s}  {shown(k, TABLE_5_6[k]):>14s}{bound}")
    known = fit.costs[np.isfinite(fit.costs)]
    if known.size:
        lines.append(
            f"cost {fit.cost:.4g}; {known.size} of {fit.costs.size} searches ended, at costs from "
            f"{known.min():.4g} to "
            f"{known.max():.4g}" + ("" if fit.complete else "; interrupted")
        )
    return lines


def _weak(fit: FootFit) -> list[str]:
    """Return lines on those combinations of parameters of the foot contact model that the data hardly
    determine.
    """
    if not fit.weak:
        return ["The data determine all parameters that are not at a bound."]
    lines = [
        f"The data hardly determine {len(fit.weak)} combinations of parameters (each line: singular value, "
        "then the share of each parameter):"
    ]
    for weak in fit.weak:
        parts = ", ".join(f"{share:+.2f} {name}" for name, share in weak.parts)
        lines.append(f"  {weak.singular:.1e}: {parts}")
    return lines


def as_table(fit: FootFit | None, steps: Sequence[FittedStep], left: Sequence[str] = ()) -> dict[str, Any]:
    """Return the report on the fit of a foot contact model as a dictionary with numbers in SI units. Its
    entries `complete` say whether the whole fit, and the fit of each step, ended without an interruption.

    left : names of steps that were not reached before an interruption
    """
    table: dict[str, Any] = {
        "complete": not left and all(step.complete for step in steps),
        "left_out": list(left),
        "steps": [
            {
                "name": step.trial.name,
                "side": step.trial.side,
                "fitted": step.fitted,
                "complete": step.complete,
                "weight_N": step.trial.weight,
                "rms": {
                    key: None if value != value else value
                    for key, value in step.errors._asdict().items()
                    if key != "n_lost"
                },
                "unvalidated": ["friction", "spin"],
                "frames_without_simulated_contact": step.errors.n_lost,
                "motion_correction": step.knots.tolist(),
                "notes": [*step.trial.notes, *(step.trial.pressure.notes if step.trial.pressure else ())],
            }
            for step in steps
        ],
    }
    if fit is not None:
        table["parameters"] = dict(zip(NAMES, fit.parameters.tolist(), strict=True))
        table["at_bound"], table["not_looked_for"] = list(fit.at_bound), list(fit.held)
        table["cost"] = fit.cost
        table["costs"] = [None if cost != cost else cost for cost in fit.costs.tolist()]
        table["weak"] = [{"singular": weak.singular, "parts": dict(weak.parts)} for weak in fit.weak]
    return table


def panels(step: FittedStep, mu_d: float) -> list[FigurePanel]:
    """Return the panels of figures 5.9 to 5.11, 5.13 and 5.15 of Brown (2017): forces, centre of pressure and
    peak pressure over the step. If friction is simulated, they include the greatest friction that the
    coefficient mu_d of dynamic friction allows, and the friction curve.
    """
    t, s = step.trial, step.simulated
    x = t.times - t.times[0]
    axis = "time [s]"
    rubs = bool(s.force[:, :2].any())
    shear = {"measured": np.hypot(*t.force[:, :2].T), "simulated": np.hypot(*s.force[:, :2].T)}
    if rubs:
        shear["greatest possible friction, mu_d F_n"] = mu_d * s.force[:, 2]
    found = [
        FigurePanel("Normal force", "N", axis, x, {"measured": t.force[:, 2], "simulated": s.force[:, 2]}),
        FigurePanel("Centre of pressure along foot", "mm", axis, x, _both(t.centre[:, 1], s.centre[:, 1])),
        FigurePanel("Centre of pressure, medial", "mm", axis, x, _both(t.centre[:, 0], s.centre[:, 0])),
        FigurePanel(f"Friction, not validated{'' if rubs else ' (none was simulated)'}", "N", axis, x, shear),
        FigurePanel(
            "Free moment, not validated", "N m", axis, x,
            {"measured": t.free_moment, "simulated": s.free_moment},
        ),
    ]  # fmt: skip
    if t.pressure is not None and s.pressure is not None:
        felt = t.pressure
        most = {"measured": felt.pressure.max(axis=1), "simulated": s.pressure.max(axis=1)}
        curves = {
            name: np.interp(x, x[felt.frames], 1e-3 * peaks, left=np.nan, right=np.nan)
            for name, peaks in most.items()
        }
        found.append(FigurePanel("Peak pressure", "kPa", axis, x, curves))
    return [*found, friction_curve(mu_d)] if rubs else found


def friction_curve(mu_d: float) -> FigurePanel:
    """Return figure 5.11 of Brown (2017): friction over normal force as a function of sliding velocity,
    without the additional static friction; mu_d : coefficient of dynamic friction.
    """
    v = np.linspace(-FASTEST, FASTEST, 401) * SLOW
    curve = {f"mu_d = {mu_d:.2f}": mu_d * np.tanh(4.0 * v / SLOW)}  # eq. 4.4 where mu_s is mu_d
    return FigurePanel("Friction divided by normal force", "1", "sliding velocity [mm/s]", MM * v, curve)


def _both(measured: Array, simulated: Array) -> dict[str, Array]:
    return {"measured": MM * measured, "simulated": MM * simulated}
