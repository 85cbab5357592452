"""The page of steps of a gait report: spatio-temporal parameters of both sides, and gait scores against norms
as bars.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from rtsim.files.norms.variables import VARIABLES
from rtsim.files.tables.legs import SIDES
from rtsim.methods.gait.cycles import LEAST_STRIDE, UNITS, cycle_values, feet_of
from rtsim.report.clinical.drawing import COLOURS, GRID, INK, MARGIN, SOFT, Page, ticks
from rtsim.report.clinical.frame import ROOM, PageFlow
from rtsim.report.clinical.report import GaitReport
from rtsim.report.clinical.session import ReportSession

BAR = 30.0
WITHOUT_NORMS = (
    "No norms were given (--norms), so there are no scores. `rtsim norms make` computes norms from "
    "trials of your own, `rtsim norms read` reads .gcd and csv."
)
NAMES_WIDTH = 520.0


class StepValue(NamedTuple):
    """A spatio-temporal parameter of a side, such as step length: mean and standard deviation over strides,
    and number of strides.
    """

    name: str
    side: str
    unit: str
    mean: float
    deviation: float
    n: int


def step_rows(session: ReportSession) -> list[tuple[str, str, int, str, float]]:
    """Return the spatio-temporal values of every stride as rows: trial, side, stride from 1, name, value."""
    rows = []
    for trial in session.trials:
        feet, counted = feet_of(trial.results), dict.fromkeys(SIDES, 0)
        for cycle in trial.cycles:
            counted[cycle.side] += 1
            for name, value in cycle_values(cycle, feet, trial.results.times).items():
                if math.isfinite(value):
                    rows.append((trial.name, cycle.side, counted[cycle.side], name, value))
    return rows


def step_values(session: ReportSession) -> list[StepValue]:
    """Return mean and standard deviation of every spatio-temporal value over the strides of all trials."""
    rows, found = step_rows(session), []
    for name, unit in UNITS.items():
        for side in SIDES:
            known = [value for _, own, _, what, value in rows if (own, what) == (side, name)]
            if known:
                mean = sum(known) / len(known)
                spread = math.sqrt(sum((x - mean) ** 2 for x in known) / max(1, len(known) - 1))
                found.append(
                    StepValue(
                        name=name, side=side, unit=unit, mean=mean,
                        deviation=spread if len(known) > 1 else math.nan, n=len(known),
                    )
                )  # fmt: skip
    return found


def asymmetry(right: float, left: float) -> float:
    """Return right minus left as a percentage of their mean (Robinson et al. 1987, J Manipulative Physiol
    Ther 10:172).
    """
    middle = 0.5 * (right + left)
    return 100.0 * (right - left) / middle if middle else math.nan


def step_pages(report: GaitReport) -> list[tuple[str, Page]]:
    """Return pages, each with its title, with the spatio-temporal parameters of both sides, then the movement
    analysis profile and the gait profile score.
    """
    flow = PageFlow("Gait report: steps and scores")
    flow.head("Spatio-temporal parameters: mean and standard deviation over strides")
    found = {s.label: {(v.name, v.side): v for v in step_values(s)} for s in report.sessions}
    before = found[report.before.label] if report.before is not None else {}
    rows = []
    for name, unit in UNITS.items():
        cells = [_cell(found[report.now.label].get((name, side))) for side in SIDES]
        pair = [found[report.now.label].get((name, side)) for side in SIDES]
        odd = asymmetry(pair[0].mean, pair[1].mean) if pair[0] and pair[1] else math.nan
        old = [_cell(before.get((name, side))) for side in SIDES] if report.before is not None else []
        if any(cells) or any(old):
            rows.append(
                [
                    f"{name} [{unit}]",
                    *cells,
                    f"{round(odd, 1) + 0.0:+.1f} %" if math.isfinite(odd) else "",
                    *old,
                ]
            )
    head = ["", "right", "left", "asymmetry"]
    widths = [0.32, 0.24, 0.24, 0.2]
    if report.before is not None:
        head += [f"{report.before.label}: {side}" for side in SIDES]
        widths = [0.29, 0.155, 0.155, 0.11, 0.145, 0.145]
    if rows:
        flow.table(head, rows, widths)
        n = {side: sum(c.side == side for t in report.now.trials for c in t.cycles) for side in SIDES}
        flow.words(
            f"Strides: right {n['right']}, left {n['left']}. Lengths are between the ankles along the "
            "stride, widths across it. Asymmetry: right minus left, in percent of their mean.",
            26.0,
            SOFT,
        )
        if lacks := lacking_in_words(report.now):
            flow.words(lacks, 26.0, SOFT)
    else:
        flow.words("No full stride was found, so there are no spatio-temporal parameters.")
    flow.head("Movement analysis profile and gait profile score")
    if not report.scores:
        flow.words(WITHOUT_NORMS, 28.0, SOFT)
        return flow.pages
    _bars(flow, report)
    return flow.pages


def lacking_in_words(session: ReportSession) -> str:
    """Return a text on why spatio-temporal parameters are missing for sides that have strides; "" where none
    is missing.
    """
    known = {(value.name, value.side) for value in step_values(session)}
    strides = [(trial, cycle) for trial in session.trials for cycle in trial.cycles]
    sides = {cycle.side for _, cycle in strides}
    lacking = {name for name in UNITS for side in sides if (name, side) not in known}
    words = []
    if "Stride Length" in lacking:
        placed = any(cycle.side in feet_of(trial.results) for trial, cycle in strides)
        why = (
            f"a foot lands less than {100.0 * LEAST_STRIDE:.0f} cm from its last position, as on a "
            "treadmill" if placed else "the positions of the feet are not known"
        )  # fmt: skip
        words.append(f"No speed, lengths and widths: {why}.")
        lacking -= {"Walking Speed", "Stride Length", "Step Length", "Step Width"}
    if lacking:
        named = ", ".join(name for name in UNITS if name in lacking)
        words.append(f"Where {named} is missing, a gait event of this or the other foot is not known.")
    return " ".join(words)


def _cell(value: StepValue | None) -> str:
    if value is None:
        return ""
    digits = 1 if value.unit in ("%", "steps/min") else 3
    spread = f" ± {value.deviation:.{digits}f}" if math.isfinite(value.deviation) else ""
    return f"{value.mean:.{digits}f}{spread}"


def _bars(flow: PageFlow, report: GaitReport) -> None:
    """Draw the movement analysis profile: the score of each gait variable and side as a bar, with the gait
    profile score below.
    """
    scores = report.scores[report.now.label]
    old = report.scores.get(report.before.label) if report.before is not None else None
    rows: list[tuple[str, dict[str, float], dict[str, float]]] = []
    for variable in VARIABLES:
        rows.append((variable.title, _by_side(scores.profile, variable.name),
                     _by_side(old.profile, variable.name) if old else {}))  # fmt: skip
    rows.append(("gait profile score", scores.sides, old.sides if old else {}))
    numbers = [x for _, *pairs in rows for pair in pairs for x in pair.values() if math.isfinite(x)]
    most = max(numbers, default=1.0) * 1.08 or 1.0
    height = (len(SIDES) * BAR + 18.0) * len(rows) + 70.0
    top = flow.room(height)
    left, right = MARGIN + NAMES_WIDTH, MARGIN + ROOM - (220.0 if old else 110.0)
    scale = (right - left) / most
    for value in ticks(0.0, most):
        x = left + value * scale
        flow.page.line(x, top, x, top + height - 60.0, GRID, 1.5)
        flow.page.text(x, top + height - 28.0, f"{value:g}", 26.0, SOFT, "middle")
    y = top + 8.0
    for title, now, before in rows:
        flow.page.text(left - 16.0, y + BAR + 8.0, title, 28.0, INK, "end", room=NAMES_WIDTH - 20.0)
        for side in SIDES:
            x, past = now.get(side, math.nan), before.get(side, math.nan)
            if math.isfinite(x):
                flow.page.box(left, y, x * scale, BAR - 5.0, COLOURS[side], 0.85 if side == "left" else 0.6)
                flow.page.text(right + 90.0, y + 20.0, f"{x:.1f}", 24.0, INK, "end")
            if math.isfinite(past):
                flow.page.text(right + 200.0, y + 20.0, f"({past:.1f})", 24.0, SOFT, "end")
                at = left + past * scale
                flow.page.line(at, y - 3.0, at, y + BAR - 2.0, INK, 5.0)
            y += BAR
        y += 18.0
    overall = f"{scores.overall:.1f} degrees" if math.isfinite(scores.overall) else "not known"
    words = (
        f"Gait profile score of the person: {overall}. In degrees: root mean square over the cycle of the "
    )
    words += "difference from the mean of the norms; upper bar right, lower bar left. "
    lacking = sorted(
        {v.title for v in VARIABLES for s in report.sides if v.name not in scores.profile.get(s, {})}
    )
    if lacking:
        words += f"No score, because a stride without gaps or the norms are missing: {', '.join(lacking)}. "
    if old is not None:
        words += f"Black marks and values in brackets: {report.before.label if report.before else ''}. "
    flow.words(f"{words}Baker et al. (2009), Gait Posture 30:265-269.", 26.0, SOFT)


def _by_side(profile: dict[str, dict[str, float]], name: str) -> dict[str, float]:
    return {side: own[name] for side, own in profile.items() if name in own}


def score_rows(report: GaitReport) -> list[tuple[str, str, str, float, float]]:
    """Return the rows of gait scores: session, side, variable, score and its standard deviation over strides
    [deg].
    """
    rows: list[tuple[str, str, str, float, float]] = []
    for label, scores in report.scores.items():
        for side, own in scores.profile.items():
            rows += [(label, side, name, x, scores.deviations[side][name]) for name, x in own.items()]
            rows.append((label, side, "gait_profile_score", scores.sides[side], math.nan))
        rows.append((label, "both", "gait_profile_score", scores.overall, math.nan))
    return rows
