"""A check by name, mass and stature whether the trials of a report can belong to one person."""

from __future__ import annotations

from collections.abc import Sequence

from rtsim.report.clinical.session import ReportTrial, number_of

STATURE_SHARE = 0.04
"""Part of the stature by which static trials of one person and session may differ: posture, markers."""
MASS_SHARE = 0.1
"""Part of the mass by which weighings of one person and session may differ: plates, shoes."""


NAMES = ("subject_name", "person")
"""Entries of a descriptor's `meta` that name the person: as its file states, and as labels of markers do."""


def name_difference(trials: Sequence[ReportTrial]) -> str:
    """Return a sentence on trials whose results name different persons; "" if none do. Trials without a name
    are not compared.
    """
    for key in NAMES:
        named: dict[str, tuple[str, str]] = {}
        for trial in trials:
            name = str(trial.results.session.meta.get(key) or "").strip()
            named.setdefault(name.casefold(), (name, trial.name))
        named.pop("", None)
        if len(named) > 1:
            (one, first), (other, second) = list(named.values())[:2]
            return f"the trials are not of one person: {first} names {one}, {second} names {other}"
    return ""


def size_difference(trials: Sequence[ReportTrial]) -> str:
    """Return a sentence on trials that cannot belong to one person; "" if all can. Unknown masses and
    statures are not compared.
    """
    statures = [(number_of(trial.results.session.meta, "stature_m"), trial.name) for trial in trials]
    masses = [(trial.mass, trial.name) for trial in trials]
    for name, sizes, share, unit in (
        ("stature", statures, STATURE_SHARE, "m"), ("body mass", masses, MASS_SHARE, "kg"),
    ):  # fmt: skip
        known = sorted(size for size in sizes if size[0])
        if known and known[-1][0] > (1.0 + share) * known[0][0]:
            (least, small), (most, large) = known[0], known[-1]
            return (
                f"the trials are not of one person: {name} {least:.4g} {unit} in {small}, {most:.4g} {unit} "
                f"in {large} (they may differ by {100.0 * share:.0f} %)"
            )
    return ""
