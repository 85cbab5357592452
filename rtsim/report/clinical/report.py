"""All data of a gait report: its person, sessions, norms, curves and scores, from which its pages follow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from rtsim.files.markers.trial import name_some
from rtsim.files.norms.norm_set import NormSet, check_convention
from rtsim.files.norms.variables import CONVENTIONS, ISB
from rtsim.files.tables.legs import SIDES, groups_of
from rtsim.files.tables.tables import labels_of
from rtsim.methods.gait.cycles import GaitCycle
from rtsim.methods.gait.gait_scores import GaitScores, scores_of
from rtsim.report.clinical.letters import short_name, width_of
from rtsim.report.clinical.session import (
    KINETIC_SOURCES,
    ReportCurve,
    ReportSession,
    ReportTrial,
    convention_of,
    curve_of,
    kinematic_sources,
    spec_of,
)

OUR_ANGLES = ("knee_flexion", "ankle_dorsiflexion")
"""Of these each leg of our models has one, and no model of OpenSim does by these names."""


class GaitReport(NamedTuple):
    """Content of a gait report.

    person : name or code
    date : date of the session, as text
    version : version of this program
    now, before : the session of the report, and an earlier session drawn for comparison
    convention : convention of the angles, isb or cgm (conventional gait model)
    norms : norms of the same convention
    kinematics, kinetics : label of a session -> its curves, in the order of the panels
    scores : label of a session -> its scores against the norms, if there are norms
    """

    person: str
    date: str
    version: str
    now: ReportSession
    before: ReportSession | None
    convention: str
    norms: NormSet | None
    kinematics: dict[str, list[ReportCurve]]
    kinetics: dict[str, list[ReportCurve]]
    scores: dict[str, GaitScores]

    @property
    def sessions(self) -> list[ReportSession]:
        """Return the session of the report and, where there is one, the earlier session."""
        return [self.now] if self.before is None else [self.now, self.before]

    @property
    def sides(self) -> tuple[str, ...]:
        """Return the sides (right, left) that have strides; if neither has, those of the feet that the
        results of the trials contain.
        """
        strides, feet = self._with_strides, self._with_feet
        return tuple(side for side in SIDES if side in (strides or feet))

    @property
    def without_stride(self) -> tuple[str, ...]:
        """Return the sides (right, left) whose foot is in the results but has no full stride, while the other
        side has one.
        """
        lacking = self._with_feet - self._with_strides if self._with_strides else set()
        return tuple(side for side in SIDES if side in lacking)

    @property
    def _with_strides(self) -> set[str]:
        return {cycle.side for trial in self.now.trials for cycle in trial.cycles}

    @property
    def _with_feet(self) -> set[str]:
        return {side for trial in self.now.trials for side in trial.gait.feet}


def make_report(
    now: ReportSession, before: ReportSession | None, norms: NormSet | None, where: str,
    person: str, date: str, version: str, angles: str = "",
) -> GaitReport:  # fmt: skip
    """Collect the content of all pages of a gait report; raise ConfigError for norms of another angle
    convention than the results'.

    now, before : session of the report, and an earlier session drawn for comparison
    where : file of the norms, for messages
    person, date, version : texts for the pages: name or code, date of the session, version of this program
    angles : requested convention; "" = that of the norms, or of the results
    """
    trials = [*now.trials, *(before.trials if before else ())]
    convention = convention_of(trials, angles or (norms.convention if norms else ""))
    if norms is not None:
        check_convention(norms, convention, where)
    sessions = [now] if before is None else [now, before]
    kinematics = {
        s.label: [curve_of(s, source) for source in kinematic_sources(convention)] for s in sessions
    }
    kinetics = {s.label: [curve_of(s, source) for source in KINETIC_SOURCES] for s in sessions}
    scores = {}
    if norms is not None:
        for label, curves in kinematics.items():
            strides = {c.name: {side: c.usable(side) for side in c.strides} for c in curves}
            scores[label] = scores_of(strides, norms)
    return GaitReport(
        person=person, date=date, version=version, now=now, before=before, convention=convention, norms=norms,
        kinematics=kinematics, kinetics=kinetics, scores=scores,
    )  # fmt: skip


def offs_of(session: ReportSession) -> dict[str, float]:
    """Return for each side the mean instant of foot off over its strides [% of the cycle]."""
    found = {}
    for side in SIDES:
        known = [off_percent(c) for t in session.trials for c in t.cycles if c.side == side]
        known = [x for x in known if math.isfinite(x)]
        if known:
            found[side] = sum(known) / len(known)
    return found


def off_percent(cycle: GaitCycle) -> float:
    """Return the instant at which the foot leaves the ground [% of the cycle]; NaN = not known."""
    return 100.0 * (cycle.off - cycle.strike) / (cycle.end - cycle.strike)


def trials_in_words(trials: Sequence[ReportTrial], room: float, size: float) -> str:
    """Return the names of as many trials as fit within a width, at least one, and the number of the others.

    room : the width; size : size of the letters, in the same unit
    """
    names = [short_name(trial.name) for trial in trials]
    told = (name_some(names, n) for n in range(len(names), 0, -1))
    return next((words for words in told if width_of(words, size) <= room), name_some(names, 1))


def convention_in_words(report: GaitReport) -> str:
    """Return a phrase that names the definition of the angles in the report."""
    if report.convention == ISB and all(has_own_angles(trial) for trial in report.now.trials):
        return "angles: coordinates of the model, with the signs of the model"
    return f"angles: {CONVENTIONS[report.convention]}"


def has_own_angles(trial: ReportTrial) -> bool:
    """Return whether a trial's joint angles have the names of another model than rtsim's own, such as an
    OpenSim model.
    """
    spec = spec_of(trial.results, "joint_angles")
    labels = [label or "" for label in labels_of(spec)] if spec is not None else []
    side = str(trial.results.session.meta.get("side") or "")
    names = {group.name for group in groups_of(labels, side if side in SIDES else "")}
    return bool(names) and names.isdisjoint(OUR_ANGLES)
