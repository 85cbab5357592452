"""Panels of a figure of a simulation: which curves it draws depends on the elements that the model has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.files.recording import Results
from rtsim.files.tables.curve_choice import words_of
from rtsim.files.tables.panels import FigureContent, FigurePanel, curves_of, small_of
from rtsim.simulation.results import largest, specs_of
from rtsim.simulation.run import SimulatedRun
from rtsim.simulation.simulator import Simulator
from rtsim.units import ON_PAPER, face_of

Array = NDArray[np.float64]

N_COORDINATE = 6
"""Most coordinates that are drawn where the model does not say which."""
N_MUSCLE = 8
"""Most muscles that are drawn: those with the largest forces."""
STICKS, SLIPS = 1.0, 5.0
"""Sliding speeds, of the transition velocity, below which something sticks and above which it slips."""
TRANSITION = 2
"""Column of the transition velocity in the parameters of friction."""
N_AROUND = 15
"""Rows on both sides of the transition that is drawn enlarged."""


def panels_of(simulator: Simulator, done: SimulatedRun, results: Results, over: str = "") -> FigureContent:
    """Return the panels of a figure of a simulation, over time or over the coordinate `over`, from top to
    bottom, and a note on the quantities that are left out.
    """
    fields = specs_of(results)
    x_title, x = abscissa(simulator, done, over)
    chosen = [name for name in drawn(simulator) if name != over]
    slides = "contact_sliding" in fields or "friction_sliding" in fields
    rows: list[tuple[str, list[str], list[str] | None]] = [
        ("angle", ["joint_angles"], chosen),
        ("displacement", ["joint_displacements"], chosen),
        ("position", ["joint_positions"], None),
    ]
    if slides:
        rows += [
            ("angular speed", ["joint_angle_speeds"], chosen),
            ("speed", ["joint_displacement_speeds"], chosen),
            ("speed", ["joint_velocities"], None),
            ("sliding velocity", ["contact_sliding", "friction_sliding"], None),
        ]
    rows += [
        ("contact normal force", ["contact_normal_forces"], None),
        ("friction", ["contact_friction_forces", "friction_forces"], None),
        ("ligament force", ["ligament_forces", "wrapping_ligament_forces"], None),
        ("spring force", ["spring_forces"], None),
        ("muscle force", ["muscle_forces"], strongest(results)),
        ("activation", ["muscle_activations"], strongest(results)),
        ("moment of prescribed motion", ["prescribed_moments"], None),
        ("force of prescribed motion", ["prescribed_forces"], None),
        ("force of each constraint", ["element_forces"], None),
    ]
    panels: list[FigurePanel] = []
    left_out: dict[str, list[str]] = {}  # sentence -> titles of panels
    for title, names, only in rows:
        there = [fields[name] for name in names if name in fields]
        every = {key: y for spec in there for key, y in curves_of(spec, results.fields[spec.name]).items()}
        if only is None:
            out, why = small_of(every), "whose values are negligible compared with the others"
        else:
            wanted = {words_of(name) for name in only}
            out, why = [name for name in every if name not in wanted], why_left_out(simulator, title, over)
        if out:
            left_out.setdefault(f"drawn without {', '.join(out)}, {why}", []).append(title)
        curves = {name: y for name, y in every.items() if name not in out}
        if curves:
            unit, _ = face_of(there[0].unit, ON_PAPER)
            panels.append(FigurePanel(title, unit, x_title, x, curves))
    said = [f"{', '.join(titles)}: {words}" for words, titles in left_out.items()]
    return FigureContent(panels if over else panels + enlarged(simulator, results, panels), said)


def why_left_out(simulator: Simulator, title: str, over: str) -> str:
    """Return a clause that says why the panel `title` does not show all its curves; over : coordinate on the
    horizontal axis, "" = time
    """
    if title in ("muscle force", "activation"):
        return f"whose forces are smaller than those of the {N_MUSCLE} muscles that are drawn"
    if simulator.settings.plot:
        return "which simulation.plot of the model does not name"
    beside = f", and {words_of(over)} is the horizontal axis" if over else ""
    return f"because simulation.plot names none, so that only the first {N_COORDINATE} are drawn{beside}"


def drawn(simulator: Simulator) -> list[str]:
    """Return the names of the coordinates to draw: those that the model's file lists, or the first ones."""
    return list(simulator.settings.plot or simulator.model.coordinates.names[:N_COORDINATE])


def strongest(results: Results) -> list[str]:
    """Return the names of the muscles with the largest forces, in the order of the model."""
    peaks = largest(results, "muscle_forces") if "muscle_forces" in results.fields else {}
    first = sorted(peaks, key=lambda name: -peaks[name][0])[:N_MUSCLE]
    return [name for name in peaks if name in first]


def abscissa(simulator: Simulator, done: SimulatedRun, over: str) -> tuple[str, Array]:
    """Return title with unit, and values, of a figure's horizontal axis: time, or the coordinate `over`."""
    m = simulator.model
    if not over:
        return "time [s]", done.times
    if over not in m.coordinates.names:
        raise ConfigError(
            f"unknown coordinate {over!r}", where="--over", allowed=", ".join(m.coordinates.names) or "none"
        )
    k = m.coordinates.names.index(over)
    unit, scale = face_of("rad" if m.coordinates.is_angle[k] else "m", ON_PAPER)
    return f"{over.replace('_', ' ')} [{unit}]", scale * done.trace.q[:, m.coordinates.q[k]]


def enlarged(simulator: Simulator, results: Results, panels: Sequence[FigurePanel]) -> list[FigurePanel]:
    """Return a list with one panel: the friction around the first time that a contact stops slipping, on an
    enlarged time axis. The list is empty if no contact stops slipping, or if friction is not among `panels`.
    """
    row = first_stick(simulator, results)
    friction = next((panel for panel in panels if panel.title == "friction"), None)
    if row is None or friction is None:
        return []
    part = slice(max(row - N_AROUND, 0), row + N_AROUND + 1)
    curves = {name: y[part] for name, y in friction.curves.items()}
    return [
        friction._replace(
            title="friction at the change from slip to stick, enlarged",
            x=friction.x[part],
            curves=curves,
            enlarged=True,
        )
    ]


def first_stick(simulator: Simulator, results: Results) -> int | None:
    """Return the first row of the results in which a contact sticks that has slipped before; None if there is
    none.
    """
    forces = simulator.model.forces
    rubs = forces.contacts.friction_law >= 0
    parameters = np.vstack([forces.frictions.parameter, forces.contacts.friction[rubs]])
    speeds = [
        np.abs(values) if values.ndim == 2 else np.linalg.norm(values, axis=2)  # NaN where nothing touches
        for name in ("friction_sliding", "contact_sliding")
        if (values := results.fields.get(name)) is not None
    ]
    if not speeds:
        return None
    relative = np.hstack(speeds) / parameters[:, TRANSITION]
    has_slipped = np.maximum.accumulate(relative > SLIPS, axis=0)
    rows = np.flatnonzero((has_slipped & (relative < STICKS)).any(axis=1))
    return int(rows[0]) if len(rows) else None
