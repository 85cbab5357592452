"""Pages of the gait report with panels over the gait cycle: angles, moments and powers, and other results
where present.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rtsim.files.norms.norm_set import NormCurve
from rtsim.files.tables.curve_choice import title_of
from rtsim.files.tables.legs import groups_of
from rtsim.files.tables.tables import labels_of
from rtsim.report.clinical.cycle_panel import PanelRoom, draw_panel, legend
from rtsim.report.clinical.drawing import INK, MARGIN, SOFT, WIDTH, Page
from rtsim.report.clinical.frame import END, TOP
from rtsim.report.clinical.letters import folded, short_name
from rtsim.report.clinical.report import GaitReport, offs_of
from rtsim.report.clinical.session import CurveSource, ReportCurve, ReportTrial, curve_of
from rtsim.units import ON_PAPER, face_of
from streams.messages import FieldSpec

COLUMNS, ROWS = 3, 3
KINETIC_WORDS = (
    "Internal joint moments along the ISB joint axes, and powers of the net moments, both per body mass. "
    "GRF: ground reaction force."
)
MORE_ROWS = 5
"""Rows of pages with smaller panels."""
GAP = 22.0
LEGEND = END - 72.0
"""Where the legend stands below the panels."""
ELSEWHERE = (
    "joint_angles", "joint_moments", "pelvis_angles", "foot_progression", "foot_loads", "marker_rms",
    "gait_phase", "cgm_pelvis_angles", "cgm_hip_angles", "cgm_knee_angles", "cgm_ankle_angles",
    "cgm_foot_angles",
)  # fmt: skip
"""Fields that have a page of their own, or none over the cycle."""


def kinematic_pages(report: GaitReport) -> list[tuple[str, Page]]:
    """Return pages, each with its title, with the nine joint, pelvis and foot angles of both sides."""
    curves = report.kinematics[report.now.label]
    norms = report.norms.curves if report.norms is not None else {}
    page = Page()
    _grid(page, report, curves, report.kinematics, ROWS, norms=norms, lacks=_without_strides(report))
    return [("Gait report: kinematics", page)]


def kinetic_pages(report: GaitReport) -> list[tuple[str, Page]]:
    """Return pages, each with its title, with joint moments and powers per body mass, and the vertical ground
    reaction force in body weights.
    """
    curves = report.kinetics[report.now.label]
    page, lacks = Page(), _without_strides(report)
    if not lacks and not any(curve.strides for curve in curves):
        plates = any("foot_loads" in trial.results.fields for trial in report.now.trials)
        lacks = (
            "the body mass is not known (--mass)" if plates else "there are no force plates in these trials"
        )
    if not any(curve.strides for few in report.kinetics.values() for curve in few):
        words = f"There are no moments and powers: {lacks}."
        page.text(MARGIN, TOP + 60.0, words, 30.0, SOFT, room=WIDTH - 2.0 * MARGIN)
        return [("Gait report: moments and powers", page)]
    _grid(
        page, report, curves, report.kinetics, ROWS, lacks=lacks or "there is no stride on the force plates"
    )
    kinetic_words(page, report.now.trials)
    return [("Gait report: moments and powers", page)]


def kinetic_words(page: Page, trials: Sequence[ReportTrial]) -> None:
    """Write below the panels how moments and powers are defined, and which force plates or masses do not fit
    the trials.
    """
    room = WIDTH - 2.0 * MARGIN
    page.text(MARGIN, END + 6.0, KINETIC_WORDS, 23.0, SOFT, room=room)
    told = [f"{short_name(trial.name)}: {words}." for trial in trials for words in trial.doubts]
    words = "Check force plates and mass: " + told[0] if told else ""
    if len(told) > 1:
        words = f"{words} More is on the quality page."
    lines = folded(words, room, 21.0)
    if len(lines) > 2:
        lines = [lines[0], f"{lines[1].rsplit(' ', 4)[0]} ... The rest is on the quality page."]
    for k, line in enumerate(lines):
        page.text(MARGIN, END + 30.0 + 23.0 * k, line, 21.0, INK, bold=True, room=room)


def joint_pages(report: GaitReport) -> list[tuple[str, Page]]:
    """Return pages, each with its title, with the curves that are neither angles nor moments: knee
    displacements, contacts, ligaments and muscles.
    """
    sources = joint_sources(all_trials(report))
    found = {s.label: [curve_of(s, source) for source in sources] for s in report.sessions}
    shown = [k for k in range(len(sources)) if any(curves[k].strides for curves in found.values())]
    pages = []
    each = COLUMNS * MORE_ROWS
    for begin in range(0, max(len(shown), 1), each):
        page, few = Page(), shown[begin : begin + each]
        chosen = {label: [curves[k] for k in few] for label, curves in found.items()}
        _grid(page, report, chosen[report.now.label], chosen, MORE_ROWS)
        if not few:
            words = _without_strides(report) or "there are no contacts, ligaments or muscles over the cycle"
            page.text(MARGIN, TOP + 60.0, words, 30.0, SOFT, room=WIDTH - 2.0 * MARGIN)
        pages.append(("Gait report: joints and muscles" + (", continued" if begin else ""), page))
    return pages


def all_trials(report: GaitReport) -> list[ReportTrial]:
    """Return the trials of the report's session and of the earlier session, if there is one, because
    quantities that only the earlier session has are drawn, too.
    """
    return [trial for session in report.sessions for trial in session.trials]


def joint_sources(trials: Sequence[ReportTrial], only: str = "") -> list[CurveSource]:
    """Return the sources (field, label and unit) of all curves that the results draw over time, except those
    on the pages of angles, moments and powers.

    only : name of a single field whose curves are returned, whatever its page; "" = all those fields
    """
    found: dict[tuple[str, str], CurveSource] = {}
    for trial in trials:
        for spec in trial.results.session.fields:
            chosen = spec.name == only if only else spec.name not in ELSEWHERE
            if spec.curves is None or len(spec.shape) != 1 or not chosen:
                continue
            unit, scale = _face(spec)
            for group in groups_of([label or spec.name for label in labels_of(spec)], _lone(trial)):
                source = CurveSource(
                    name=f"{spec.name}.{group.name}", title=title_of(spec, group), unit=unit, up="", down="",
                    field=spec.name, label=group.name, scale=_always(scale),
                )  # fmt: skip
                found.setdefault((spec.name, group.name), source)
    return list(found.values())


def room_of(k: int, rows: int) -> PanelRoom:
    """Return position and size of panel number k (from 0) on a page with `rows` rows of panels."""
    width = (WIDTH - 2.0 * MARGIN - (COLUMNS - 1) * GAP) / COLUMNS
    height = (END - TOP - 70.0 - (rows - 1) * GAP) / rows
    row, column = divmod(k, COLUMNS)
    return PanelRoom(MARGIN + column * (width + GAP), TOP - 50.0 + row * (height + GAP), width, height)


def _always(scale: float) -> Callable[[ReportTrial], float]:
    """Return a function of a trial that gives the same factor from SI to the printed unit for every trial."""
    return lambda trial: scale


def _lone(trial: ReportTrial) -> str:
    side = str(trial.results.session.meta.get("side") or "")
    return side if side in ("right", "left") else ""


def _face(spec: FieldSpec) -> tuple[str, float]:
    """Return the unit in which a quantity is printed, and the factor that converts its SI values to it; a
    quantity of unit 1 is printed in percent.
    """
    return ("%", 100.0) if spec.unit == "1" else face_of(spec.unit, ON_PAPER)


def _without_strides(report: GaitReport) -> str:
    return "" if any(trial.cycles for trial in report.now.trials) else "no full stride was found"


def _grid(
    page: Page, report: GaitReport, curves: Sequence[ReportCurve], all_curves: dict[str, list[ReportCurve]],
    rows: int, norms: Mapping[str, NormCurve] | None = None, lacks: str = "",
) -> None:  # fmt: skip
    """Draw one panel for each curve in rows of three, and a legend below them.

    curves : curves of the session of the report
    all_curves : session label -> the same curves of that session, for those of the earlier session
    rows : number of rows of panels on the page
    norms : name of a curve -> its norm
    lacks : why there is no curve, written in empty panels
    """
    before = all_curves.get(report.before.label) if report.before is not None else None
    offs = offs_of(report.now)
    for k, curve in enumerate(curves):
        norm = (norms or {}).get(curve.name)
        draw_panel(page, room_of(k, rows), curve, before[k] if before else None, norm, offs, lacks)
    if curves:
        used = report.norms is not None and bool(norms)
        label = report.before.label if report.before is not None else ""
        drawn = {
            side for curve in (*curves, *(before or ())) for side, rows in curve.strides.items() if len(rows)
        }
        sides = [side for side in report.sides if side in drawn or not drawn]
        several = any(len(rows) > 1 for curve in curves for rows in curve.strides.values())
        bands = any(curve.n_averaged(side) > 1 for curve in curves for side in curve.strides)
        legend(page, MARGIN, LEGEND, sides, label, "norms" if used else "", several, bands)
