"""The meaning of a C3D label: a real marker, an unlabelled one, a computed position, or another model
output.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rtsim.files.markers.persons import UNNAMED
from rtsim.files.markers.trial import name_some

REAL = "real"
UNLABELLED = "unlabelled"
POSITION = "position"  # a point in space computed by a model: joint centre, segment axis, virtual marker
SCALAR = "scalar"  # angles, forces, moments, powers: no position at all

GHOST = re.compile(r"\*.*|unlabell?ed.*|uname.*", re.IGNORECASE)
JOINT_CENTRE = re.compile(r"[LR]?_?(HJC|KJC|AJC|SJC|EJC|WJC)(Harrington|_reg)?|Cent(re|er)OfMass(Floor)?")
OUTPUT = re.compile(r".*(Angles?|Forces?|Moments?|Powers?|NormalisedGRF|ArchHeight(Index)?|ViconLegLength)")
# A segment of a Vicon model: three capitals, then O for its origin and A, L, P for a point along each axis.
SEGMENT = re.compile(r"[A-Z]{3}O")
SEGMENT_ENDINGS = "OALP"
# Virtual points of the Oxford Foot Model. Other laboratories put real markers at such names (LTIB1), so these
# count only where the Oxford forefoot and hindfoot segments are in the same file.
OXFORD_SIGN = re.compile(r"[LR](FOF|HDF)0")
OXFORD = re.compile(
    r"[LR]((FOF|HDF|HLX)[0-3]|TIB[0-3]|ANK1|KAX|HE1|D1M0|PROXFF|HFplantar)|proj[LR](KAX|TIB)|PEL0"
)


def strip_subjects(
    labels: Sequence[str], groups: Mapping[str, Sequence[str]], seen: Sequence[int] = ()
) -> tuple[list[str], dict[str, list[str]], str, list[str]]:
    """Remove the "subject:" prefix from the labels of a C3D file, such as `Anna:LASI`, if they have only one
    subject.

    If the file has several subjects, the prefix distinguishes their markers and is kept. It is also kept if
    markers without a prefix have the same names, unless they have no data.

    groups : labels of model outputs by parameter name (ANGLES, ...), which have the prefix, too
    seen : number of samples with data of each label, if known

    Returns labels, groups, the only subject ("" = none or several), and notes about it.
    """
    subjects = sorted({label.split(":", 1)[0] for label in labels if ":" in label})
    kept = {name: list(members) for name, members in groups.items()}
    if not subjects:
        return list(labels), kept, "", []
    kinds = classify(labels, groups)
    real = [label for k, label in enumerate(labels) if kinds[k] == REAL and (not seen or seen[k])]
    bare, named = {x for x in real if ":" not in x}, {x.split(":", 1)[1] for x in real if ":" in x}
    if len(subjects) > 1 or bare & named:
        several = [*subjects, *([UNNAMED] if bare & named else [])]
        return list(labels), kept, "", [f"the file contains several subjects ({', '.join(several)})"]
    cut = f"{subjects[0]}:"
    stripped = {name: [member.removeprefix(cut) for member in members] for name, members in groups.items()}
    notes = [f"the subject prefix {cut!r} was stripped from the marker names"]
    if bare and named:
        notes.append(
            f"{name_some(sorted(bare))}, which lack this prefix, were also used as markers of {subjects[0]}"
        )
    return [label.removeprefix(cut) for label in labels], stripped, subjects[0], notes


def classify(labels: Sequence[str], groups: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the kind (REAL, UNLABELLED, POSITION or SCALAR) of every label.

    groups : labels that the file lists as model outputs, by parameter name (ANGLES, ..., MODELED_MARKERS)
    """
    listed = {
        label: POSITION if name == "MODELED_MARKERS" else SCALAR
        for name, members in groups.items()
        for label in members
    }
    plain = [label.split(":", 1)[-1] for label in labels]
    segments = _segment_points(plain)
    oxford = any(OXFORD_SIGN.fullmatch(name) for name in plain)
    return [
        _kind(label, name, listed, name in segments, oxford)
        for label, name in zip(labels, plain, strict=True)
    ]


def _kind(label: str, plain: str, listed: Mapping[str, str], segment: bool, oxford: bool) -> str:
    if not plain or GHOST.fullmatch(plain):
        return UNLABELLED
    if label in listed or plain in listed:
        return listed.get(label) or listed[plain]
    if OUTPUT.fullmatch(plain):
        return SCALAR
    if segment or JOINT_CENTRE.fullmatch(plain) or (oxford and OXFORD.fullmatch(plain)):
        return POSITION
    return REAL


def _segment_points(names: Sequence[str]) -> set[str]:
    """Return those names that belong to one of the sets of four points by which modelling software stores a
    segment.
    """
    known = set(names)
    found: set[str] = set()
    for name in known:
        if SEGMENT.fullmatch(name):
            quartet = {name[:-1] + ending for ending in SEGMENT_ENDINGS}
            if quartet <= known:
                found |= quartet
    return found
