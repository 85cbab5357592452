"""The result of a forward simulation: a few lines for people, in mm and degrees, or JSON for programs, in m
and rad.
"""

from __future__ import annotations

import math
from typing import Any

from kernels.rosenbrock.projection import LOST
from rtsim.files.recording import Results
from rtsim.models.packing.joints import translations
from rtsim.quantity import AXES
from rtsim.report.tally import pace
from rtsim.simulation.results import largest, outside, specs_of
from rtsim.simulation.run import SimulatedRun
from rtsim.simulation.simulator import Simulator

MM = 1e3
MOST = 1e7
"""Numbers from this on are written with a power of ten."""
PEAKS = {
    "contact_normal_forces": "contact",
    "contact_friction_forces": "contact friction",
    "ligament_forces": "ligament",
    "wrapping_ligament_forces": "wrapping ligament",
    "spring_forces": "spring",
    "muscle_forces": "muscle",
    "friction_forces": "friction",
    "prescribed_moments": "moment [N m] of",
    "prescribed_forces": "force of",
    "element_forces": "constraint",
}
N_NAMED = 4
"""Most constraints that a line names."""
N_SHOWN = 12
"""Most lines of one kind in the text; JSON has all of them."""


def summary(simulator: Simulator, done: SimulatedRun, results: Results) -> dict[str, Any]:
    """Return the summary of a forward simulation as a dictionary: settings, outcome, steps, start, final
    state and largest forces; units are in the keys or beside the values.
    """
    fields = specs_of(results)
    settings, simulated = simulator.settings, done.n_done * simulator.options.step
    start: dict[str, Any] = {"equilibrium": settings.equilibrium}
    if (found := simulator.equilibrium) is not None:
        start |= {"iterations": found.n_iteration, "stable": found.stable, "held": list(settings.hold)}
    if (met := simulator.met) is not None:
        start["held_exactly"] = {
            "constraints": met.n_row,
            "independent": met.n_independent,
            "left_out": list(met.left_out),
            "slight": met.slight,
            "gap_m": met.gap,
            "at": met.element,
            "turned_rad": met.turned,
            "shifted_m": met.shifted,
            "parting_m_s": met.rate,
        }
    return {
        "model": simulator.model.name,
        "method": settings.method,
        "kinks": settings.kinks,
        "step_ms": settings.step_ms,
        "outcome": outcome(done),
        "time_s": simulator.time,
        "rows": len(done.times),
        "steps": done.n_done,
        "steps_asked": done.n_asked,
        "steps_large_error": done.n_large,
        "steps_parts": done.n_part,
        "compute_s": done.wall,
        "real_time_factor": simulated / done.wall if done.wall > 0.0 and simulated > 0.0 else None,
        "start": start,
        "final": final(simulator),
        "peaks": {
            name: {
                label: {"value": plain(value), "unit": fields[name].unit, "time_s": when}
                for label, (value, when) in largest(results, name).items()
            }
            for name in PEAKS
            if name in fields
        },
        "notes": outside(simulator, done),
    }


def outcome(done: SimulatedRun) -> str:
    """Return as text how a simulation ended: "finished", "stopped", "failed", or "step too large"."""
    if done.failed:
        return "failed"
    if done.stopped:
        return "stopped"
    return "step too large" if done.too_large else "finished"


def final(simulator: Simulator) -> dict[str, dict[str, Any]]:
    """Return the final state of a simulation, name -> value, speed and unit: all coordinates, and the
    positions of free bodies.
    """
    m, tree = simulator.model, simulator.model.tree
    rows = list(
        zip(m.coordinates.names, m.coordinates.q, m.coordinates.dof, m.coordinates.is_angle, strict=True)
    )
    for b, q, v in translations(tree):
        rows += [(f"{m.names.bodies[b]}_{axis}", q + k, v + k, False) for k, axis in enumerate(AXES)]
    return {
        name: {
            "value": plain(float(simulator.q[q])),
            "speed": plain(float(simulator.v[d])),
            "unit": "rad" if turns else "m",
        }
        for name, q, d, turns in rows
    }


def text(told: dict[str, Any]) -> str:
    """Return the summary of a simulation as text."""
    lines = [
        f"{told['model']}: {told['outcome']} at {told['time_s']:.6g} s, {told['steps']} steps of "
        f"{told['step_ms']:g} ms by {told['method']} (kinks of forces: {told['kinks']})"
    ]
    if told["real_time_factor"] is not None:
        lines.append(f"computed in {duration(told['compute_s'])}: {pace(told['real_time_factor'])}")
    lines += [
        start_of(told["start"]),
        *held_of(told["start"].get("held_exactly")),
        steps_of(told),
        "",
        f"{'at the end':28s}{'value':>12s}{'per second':>14s}",
    ]
    for name, end in told["final"].items():
        scale, unit = (180.0 / math.pi, "deg") if end["unit"] == "rad" else (MM, "mm")
        value, speed = (number(end[key], scale) for key in ("value", "speed"))
        lines.append(f"  {name:26s}{value:>12s}{speed:>14s} {unit}")
    if any(told["peaks"].values()):
        lines += ["", f"{'largest force':40s}{'[N]':>12s}{'at [s]':>12s}"]
    for name, kind in PEAKS.items():
        lines += peaks_of(kind, told["peaks"].get(name, {}))
    return "\n".join([*lines, *(f"note: {note}" for note in told["notes"])])


def duration(seconds: float) -> str:
    """Return a duration as text with three significant digits, in s or ms."""
    return f"{seconds:.3g} s" if seconds >= 1.0 else f"{1e3 * seconds:.3g} ms"


def start_of(start: dict[str, Any]) -> str:
    """Return a line on how the simulation starts: from the neutral pose or from a static equilibrium."""
    if start["equilibrium"] == "none":
        return "start: the neutral pose"
    held = f", with {', '.join(start['held'])} held fixed" if start["held"] else ""
    n = start["iterations"]
    loads = "without weight and loads" if start["equilibrium"] == "weightless" else "under weight and loads"
    unstable = "" if start["stable"] else "; it is unstable: a small deviation grows"
    found = f"found after {n} iteration{'' if n == 1 else 's'}"
    return f"start: static equilibrium of the model {loads}, {found}{held}{unstable}"


def held_of(held: dict[str, Any] | None) -> list[str]:
    """Return text on the constraints that a simulation satisfies exactly, and on how far its start pose and
    speeds were changed to satisfy them; [] if there are none.

    held : the entry `held_exactly` in the summary of the simulation
    """
    if held is None:
        return []
    n, spare = held["constraints"], held["constraints"] - held["independent"]
    said = f"satisfied exactly: {n} constraint{'' if n == 1 else 's'}"
    if spare:
        said += f", {spare} of which follow{'s' if spare == 1 else ''} from the others and carr"
        said += f"{'ies' if spare == 1 else 'y'} no force: {some_of(held['left_out'])}"
    if held["slight"]:
        part = max(held["slight"].values())
        said += (
            f"\n{some_of(list(held['slight']))}: almost redundant, because the direction that it locks "
            f"differs by at most {part:.1g} of a unit vector from directions that other constraints lock; "
            "if axes or positions of the model are rounded, a motion that should be free is locked: give "
            "them with more digits, so that the axes lie exactly in one plane"
        )
    if held["gap_m"] > LOST:
        turned, shifted = math.degrees(held["turned_rad"]), MM * held["shifted_m"]
        moved = (
            f"the start pose violated {held['at']} by {MM * held['gap_m']:.3g} mm; to close the gap, "
            "joints were turned by"
        )
        said += f"\n{moved} at most {turned:.3g} deg and shifted by at most {shifted:.3g} mm"
    if held["parting_m_s"] > LOST:
        parting = f"{MM * held['parting_m_s']:.3g} mm/s"
        said += f"\nthe speeds stated for the start would separate constrained points at {parting}; "
        said += "the other speeds were changed so that the points stay together"
    return [said]


def some_of(names: list[str]) -> str:
    """Return the first few names as text, with the number of the remaining ones."""
    more = len(names) - N_NAMED
    return ", ".join(names[:N_NAMED]) + (f" and {more} more" if more > 0 else "")


def steps_of(told: dict[str, Any]) -> str:
    """Return a line on how many time steps of a simulation had a large error, and how many shorter steps were
    added by splitting; told : the summary of the simulation
    """
    large, more = told["steps_large_error"], told["steps_parts"] - told["steps"]
    said = f"time steps with a large estimated error: {large}"
    return f"{said}; splitting time steps added {more} shorter ones" if more > 0 else said


def peaks_of(kind: str, peaks: dict[str, dict[str, Any]]) -> list[str]:
    """Return lines on the largest forces of the elements of one kind, such as ligaments, during a simulation,
    the largest first; elements that never act are only counted.

    peaks : name of an element -> its largest value and when it occurred
    """
    acting = sorted((item for item in peaks.items() if item[1]["value"]), key=lambda item: -item[1]["value"])
    lines = [
        f"  {kind + ' ' + name:38s}{number(peak['value']):>12s}{peak['time_s']:12.4f}"
        for name, peak in acting[:N_SHOWN]
    ]
    if len(acting) > N_SHOWN:
        lines.append(
            f"  {len(acting) - N_SHOWN} smaller forces of the kind {kind} are in the output of --json"
        )
    idle = len(peaks) - len(acting)
    return [*lines, f"  {kind}: {idle} of {len(peaks)} elements bear no force at any time"] if idle else lines


def number(value: float | None, scale: float = 1.0) -> str:
    """Return a number as text with three decimals, or in exponential form if it is too long for the
    column.
    """
    if value is None:
        return "none"
    return f"{scale * value:z.3f}" if abs(scale * value) < MOST else f"{scale * value:.3e}"


def plain(value: float) -> float | None:
    """Return a quantity as a number for JSON, None in place of NaN."""
    return value if math.isfinite(value) else None
