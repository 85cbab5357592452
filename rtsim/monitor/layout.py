"""What a result stream has to show, from its descriptor alone: panels of curves, parts of the figure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from streams.messages import FieldSpec, Session

Array = NDArray[np.float64]

# Units inside -> units on the screen. "1" is a fraction; every fraction shown here is a lengthening.
DISPLAY_UNITS: dict[str, tuple[str, float]] = {
    "rad": ("°", 180.0 / math.pi),
    "m": ("mm", 1000.0),
    "m/s": ("mm/s", 1000.0),
    "1": ("%", 100.0),
}
RATE_ASSUMED = 100.0  # Hz, for the buffers when the stream is irregular and the descriptor names no rate


class PanelKind(NamedTuple):
    """How one result field is drawn: title, quantity on the axis, column, shortest axis (display unit)."""

    title: str
    quantity: str
    column: int
    extent_least: float
    from_zero: bool


PANEL_KINDS: dict[str, PanelKind] = {
    "joint_angles": PanelKind("", "angle", 0, 10.0, False),  # one panel per joint, titled by the joint
    "joint_displacements": PanelKind("Displacements", "displacement", 0, 4.0, False),
    "joint_displacement_speeds": PanelKind("Velocities", "velocity", 0, 10.0, False),
    "knee_displacements": PanelKind("Knee displacement", "displacement", 1, 4.0, False),
    "ligament_lengthening": PanelKind("Ligaments", "lengthening", 1, 4.0, False),
    "contact_normal_forces": PanelKind("Contacts", "normal force", 1, 20.0, True),
    "ligament_forces": PanelKind("Ligaments", "tension", 1, 20.0, False),
    "friction_forces": PanelKind("Friction", "force", 1, 2.0, False),
    "marker_rms": PanelKind("Marker residual", "RMS", 1, 5.0, True),
}

ARM_COLUMN, ARM_EXTENT_LEAST = 2, 20.0  # a column of their own; shortest axis [mm]


class Panel(NamedTuple):
    """One plot: curves are the channels `first` to `first + len(names)` of the history."""

    title: str
    quantity: str
    unit: str
    names: tuple[str, ...]
    first: int
    column: int
    extent_least: float
    from_zero: bool

    @property
    def axis_title(self) -> str:
        """Quantity with its unit, as it stands on the axis."""
        return f"{self.quantity} ({self.unit})"


class Channel(NamedTuple):
    """Where a block of history channels comes from: entries of a flattened field, times a scale."""

    field: str
    entries: NDArray[np.intp]
    scale: float
    first: int


class Contact(NamedTuple):
    """The contact points: anterior, then lateral position of each, from history channel `first` on."""

    names: tuple[str, ...]
    unit: str
    first: int


class Layout(NamedTuple):
    """Everything the window builds from one descriptor.

    rate : nominal rate [Hz], NaN when the stream is irregular;
    arms : moment arms of all muscles about the first angle of each joint, shown on demand;
    stick : (n, 2) pairs of joint centres;  follow : index of the pelvis among the segments, or None.
    """

    session_id: str
    rate: float
    shapes: dict[str, tuple[int, ...]]
    labels: dict[str, tuple[str, ...]]
    meta: dict[str, str]
    panels: tuple[Panel, ...]
    arms: tuple[Panel, ...]
    channels: tuple[Channel, ...]
    n_channel: int
    contact: Contact | None
    stick: NDArray[np.intp]
    follow: int | None

    @property
    def rate_assumed(self) -> float:
        """The nominal rate, or a usual one [Hz]."""
        return self.rate if math.isfinite(self.rate) else RATE_ASSUMED

    def read(self, data: Mapping[str, Array], values_out: Array) -> None:
        """Write the (n_channel,) values of a frame of this session in display units."""
        for channel in self.channels:
            part = values_out[channel.first : channel.first + len(channel.entries)]
            np.multiply(data[channel.field].reshape(-1)[channel.entries], channel.scale, out=part)


def layout_of(session: Session) -> Layout:
    """Read a descriptor; fields that are unknown or of an odd shape are simply not shown."""
    specs = {spec.name: spec for spec in session.fields}
    panels: list[Panel] = []
    channels: list[Channel] = []
    n_channel = 0
    for name, kind in PANEL_KINDS.items():
        spec = specs.get(name)
        if spec is None or len(spec.shape) != 1 or not spec.shape[0]:
            continue
        unit, scale = DISPLAY_UNITS.get(spec.unit, (spec.unit, 1.0))
        for title, entries, names in _groups(spec, kind):
            panels.append(Panel(title, kind.quantity, unit, names, n_channel, *kind[2:]))
            channels.append(Channel(name, np.array(entries), scale, n_channel))
            n_channel += len(entries)
    arms = _arms(specs.get("moment_arms"), specs.get("joint_angles"), n_channel)
    channels += [channel for _, channel in arms]
    n_channel += sum(len(channel.entries) for _, channel in arms)
    contact = _contact(specs.get("contact_points"), n_channel)
    if contact is not None:
        channels.append(contact[1])
        n_channel += len(contact[1].entries)
    labels = {name: _labels(spec) for name, spec in specs.items()}
    segments = labels.get("segment_positions", ())
    return Layout(
        session_id=session.session,
        rate=session.rate if math.isfinite(session.rate) and session.rate > 0.0 else math.nan,
        shapes={name: tuple(spec.shape) for name, spec in specs.items()},
        labels=labels,
        meta={key: str(value) for key, value in session.meta.items() if isinstance(value, str | int | float)},
        panels=_balanced(panels),
        arms=tuple(panel for panel, _ in arms),
        channels=tuple(channels),
        n_channel=n_channel,
        contact=contact[0] if contact else None,
        stick=_stick(session.meta.get("stick"), labels.get("joint_centres", ())),
        follow=segments.index("pelvis") if "pelvis" in segments else None,
    )


def _arms(spec: FieldSpec | None, angles: FieldSpec | None, first: int) -> list[tuple[Panel, Channel]]:
    """A panel of all muscles for the first angle of each joint; the columns of the field are the angles."""
    if spec is None or angles is None or tuple(spec.shape[1:]) != tuple(angles.shape) or not spec.shape[0]:
        return []
    unit, scale = DISPLAY_UNITS.get(spec.unit, (spec.unit, 1.0))
    names = tuple(name.replace("_", " ") for name in _labels(spec))
    n_muscle, n_angle = spec.shape
    found = []
    for joint, entries, movements in _groups(angles, PANEL_KINDS["joint_angles"]):
        title = f"Muscles about {joint.lower()} {movements[0]}"
        panel = Panel(title, "moment arm", unit, names, first, ARM_COLUMN, ARM_EXTENT_LEAST, False)
        found.append((panel, Channel(spec.name, entries[0] + n_angle * np.arange(n_muscle), scale, first)))
        first += n_muscle
    return found


def _contact(spec: FieldSpec | None, first: int) -> tuple[Contact, Channel] | None:
    """The plot of the contact points and its channels: x and z of each, in the frame of the plateau."""
    if spec is None or len(spec.shape) != 2 or not spec.shape[0] or spec.shape[1] != 3:
        return None
    unit, scale = DISPLAY_UNITS.get(spec.unit, (spec.unit, 1.0))
    points = np.arange(0, 3 * spec.shape[0], 3)
    entries = np.stack([points, points + 2], axis=1).ravel()
    return Contact(_labels(spec), unit, first), Channel("contact_points", entries, scale, first)


def _labels(spec: FieldSpec) -> tuple[str, ...]:
    """Labels of the first axis, made up from numbers when the descriptor gives none."""
    n = spec.shape[0] if spec.shape else 0
    return tuple(spec.labels) if len(spec.labels) == n else tuple(str(i + 1) for i in range(n))


def _balanced(panels: list[Panel]) -> tuple[Panel, ...]:
    """One column instead of two when one of them would be nearly empty, and its plots oddly tall."""
    counts = Counter(panel.column for panel in panels)
    if len(counts) == 2 and 2 * min(counts.values()) < max(counts.values()):
        panels = [panel._replace(column=0) for panel in panels]
    return tuple(panels)


def _groups(spec: FieldSpec, kind: PanelKind) -> list[tuple[str, list[int], tuple[str, ...]]]:
    """Title, entries and curve names of the panels of a field; joint angles are grouped by joint."""
    labels = _labels(spec)
    if kind.title:
        names = labels if len(labels) > 1 else (kind.quantity,)
        return [(kind.title, list(range(len(labels))), tuple(name.replace("_", " ") for name in names))]
    if not _named_by_joint(labels):
        return [("Joint angles", list(range(len(labels))), tuple(name.replace("_", " ") for name in labels))]
    groups: dict[str, list[int]] = {}
    for i, label in enumerate(labels):
        joint, _, movement = label.partition("_")
        groups.setdefault(joint if movement else "joint angles", []).append(i)
    return [
        (joint.capitalize(), entries, tuple(_movement(labels[i]) for i in entries))
        for joint, entries in groups.items()
    ]


def _named_by_joint(labels: tuple[str, ...]) -> bool:
    """Whether angles are named after joints, as hip_flexion is; internal_rotation beside flexion is not."""
    joints = Counter(label.partition("_")[0] for label in labels if "_" in label)
    return joints.total() == len(labels) or max(joints.values(), default=0) > 1


def _movement(label: str) -> str:
    joint, _, movement = label.partition("_")
    return (movement or joint).replace("_", " ")


def _stick(pairs: Any, names: tuple[str, ...]) -> NDArray[np.intp]:
    """Index pairs of the joint centres to connect; without a list, a polyline in their order."""
    if not isinstance(pairs, list | tuple):
        found = [(i, i + 1) for i in range(len(names) - 1)]
    else:
        found = [
            (names.index(pair[0]), names.index(pair[1]))
            for pair in pairs
            if isinstance(pair, list | tuple) and len(pair) == 2 and pair[0] in names and pair[1] in names
        ]
    return np.array(found, dtype=np.intp).reshape(-1, 2)
