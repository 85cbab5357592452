"""What the monitor window shows of a result stream, derived from its descriptor: panels of curves, and parts
of the stick figure.

The amount that one sender can make the window draw is limited; a note reports what is left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.files.tables.legs import SIDES, sides_of
from rtsim.monitor.device.device_layout import DeviceLayout, device_of
from rtsim.monitor.naming import below, bones, joints, labels_of, spoken
from rtsim.monitor.panels import (
    FieldReading,
    HistoryBlock,
    PlotPanel,
    balanced,
    read_at_once,
    told_apart,
    zeros_of,
)
from rtsim.monitor.pose.force_arrows import FORCES
from rtsim.monitor.words import NAME_MOST, printable
from rtsim.units import ON_SCREEN
from streams.account import bounded
from streams.messages import Curves

if TYPE_CHECKING:
    from streams.messages import FieldSpec, Session

Array = NDArray[np.float64]

RATE_ASSUMED = 100.0  # Hz, for the buffers when the stream is irregular and the descriptor names no rate
RATES = (0.01, 100_000.0)  # Hz; a nominal rate beyond is not believed
CURVES_MOST = 100  # of one field: more cannot be told apart
PANELS_MOST = 16  # of one field
PANELS_ALL = 32  # of all fields
POINTS_MOST = 2000  # of one field in the figure
LARGEST = 1e9  # of a value on the screen [display unit]; what is beyond is no measurement
N_DETAIL = 20  # entries of `meta` that are told, and notes
NOTE_MOST = 300  # characters

# What is drawn or told in the figure, and the shape of each entry of the first axis.
POINTS = ("joint_centres", "markers_measured", "markers_model", "segment_positions", "contact_places")
LINES = ("ligament_ends", "spring_ends")
FIGURE_FIELDS: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(POINTS, (3,)),
    "segment_rotations": (3, 3),
    **dict.fromkeys(LINES, (2, 3)),
    **{field: (3,) for fields in FORCES.values() for field in fields},
    "marker_residuals": (),
    "marker_weights": (),
    "marker_gap_age": (),
    "marker_fault": (),
}


COLUMNS_MOST = 3  # of curves; what a descriptor wants beyond stands in the last
CONTACTS_MOST = 12  # traces in the plot of the contact points
IMAGES_MOST, CELLS_MOST = 4, 40_000  # of one field: images, and cells of each
CELL = (1e-3, 1e4)  # sides of a cell [mm]; others are not believed
ARM_COLUMN, ARM_EXTENT_LEAST = 3, 20.0  # a column of their own; shortest axis [mm]


class ContactTraces(NamedTuple):
    """The curves of the contact points of the knee. From channel `first` of the history on, there are two
    channels for each point: its anterior and its lateral position.
    """

    names: tuple[str, ...]
    unit: str
    first: int


class ImageField(NamedTuple):
    """A field of the results drawn as images, such as the pressure under each foot, one for each entry of its
    first axis.

    shape : rows and columns
    across, along : size of a cell [mm]
    order : order of the images, from the left
    """

    title: str
    unit: str
    scale: float
    field: str
    labels: tuple[str, ...]
    shape: tuple[int, int]
    across: float
    along: float
    order: list[int]


class WindowLayout(NamedTuple):
    """Panels, curves and figure of the monitor window, made from the descriptor of a session.

    rate : nominal rate [Hz], NaN if the stream is irregular
    parts : field that the stick figure shows -> shape of that part of its array that is stored for it
    labels : field that the stick figure shows -> names of its entries
    arms : panels of moment arms of all muscles about the first angle of each joint, shown on demand;
    stick : (n, 2) pairs of joint centres;  follow : index of the pelvis among the segments, or None;
    sides : right, left or "" of each joint centre;
    commands : commands that the control endpoint accepts, if the sender states them, else None
    methods : methods of the run; None if the sender does not state them
    notes : notes on what is left out
    """

    session_id: str
    rate: float
    parts: dict[str, tuple[int, ...]]
    labels: dict[str, tuple[str, ...]]
    meta: dict[str, str]
    panels: tuple[PlotPanel, ...]
    arms: tuple[PlotPanel, ...]
    channels: tuple[FieldReading, ...]
    n_channel: int
    contact: ContactTraces | None
    picture: ImageField | None
    device: DeviceLayout | None
    stick: NDArray[np.intp]
    sides: tuple[str, ...]
    follow: int | None
    commands: tuple[str, ...] | None
    methods: tuple[str, ...] | None
    notes: tuple[str, ...]

    @property
    def rate_assumed(self) -> float:
        """The nominal rate, or a usual one if there is none [Hz]."""
        return self.rate if math.isfinite(self.rate) else RATE_ASSUMED

    def read(self, data: Mapping[str, Array], values_out: Array) -> int:
        """Write the values of a frame of this session in display units into values_out, (n_channel,).

        Return the number of values beyond any possible measurement, which become NaN.
        """
        with np.errstate(over="ignore"):  # what overflows is beyond
            for field, entries, scales, into, zeros in self.channels:
                values = data[field].reshape(-1)[entries]
                values_out[into] = (values if zeros is None else values - zeros) * scales
        beyond = np.abs(values_out) > LARGEST
        n_beyond = int(np.count_nonzero(beyond))
        if n_beyond:
            values_out[beyond] = np.nan
        return n_beyond


def layout_of(session: Session) -> WindowLayout:
    """Build the layout of the monitor's plots from the descriptor of a result stream, which lists its fields;
    unknown fields are not shown."""
    specs = {spec.name: spec for spec in session.fields}
    notes: list[str] = []
    panels: list[PlotPanel] = []
    channels: list[HistoryBlock] = []
    n_channel = 0
    deviations = {spec.of: spec for spec in session.fields if spec.role == "deviation"}
    side = str(session.meta.get("side") or "")
    side = side if side in SIDES else ""
    for panel, channel in [*_curves(specs, side, notes), *_arms(specs, notes)]:
        n_curve, own = len(channel.entries), deviations.get(channel.field)
        spread = own is not None and own.shape == specs[channel.field].shape
        panels.append(panel._replace(first=n_channel, deviation=n_channel + n_curve if spread else None))
        channels.append(channel._replace(first=n_channel))
        if own is not None and spread:
            channels.append(channel._replace(field=own.name, first=n_channel + n_curve, zeros=None))
        n_channel += 2 * n_curve if spread else n_curve
    contact = _contact(specs.get("contact_points"), n_channel)
    if contact is not None:
        channels.append(contact[1])
        n_channel += len(contact[1].entries)
    parts = _parts(specs, notes)
    picture = _picture(specs, notes)
    if picture is not None:
        parts[picture.field] = tuple(specs[picture.field].shape)
    labels = {name: labels_of(specs[name], shape[0]) for name, shape in parts.items()}
    segments = labels.get("segment_positions", ())
    centres = labels.get("joint_centres", ())
    return WindowLayout(
        session_id=session.session,
        rate=_rate(session.rate, notes),
        parts=parts,
        labels=labels,
        meta=_details(session),
        panels=balanced(told_apart([panel for panel in panels if panel.column != ARM_COLUMN])),
        arms=tuple(panel for panel in panels if panel.column == ARM_COLUMN),
        channels=read_at_once(channels),
        n_channel=n_channel,
        contact=contact[0] if contact else None,
        picture=picture,
        device=device_of(session, specs, notes),
        stick=bones(session.meta.get("stick"), centres, len(centres)),
        sides=sides_of(centres, side),
        follow=segments.index("pelvis") if "pelvis" in segments else None,
        commands=_names(session, "commands"),
        methods=_names(session, "methods"),
        notes=tuple(notes),
    )


def _curves(
    specs: Mapping[str, FieldSpec], side: str, notes: list[str]
) -> list[tuple[PlotPanel, HistoryBlock]]:
    """Return the panels of all fields drawn as curves, and where their values come from; their first channels
    are not assigned yet.

    specs : the fields of the session, by name
    side : side of the solved leg, if only one was solved
    notes : list to which notes on what is left out are added
    """
    found = []
    silent = not any(spec.curves for spec in specs.values())  # a sender that does not know the key
    for name, spec in specs.items():
        kind = usual_curves(spec) if silent else spec.curves
        if kind is None or spec.shape == (0,):
            continue
        if len(spec.shape) != 1:
            notes.append(f"the field {spoken((name,))[0]} of shape {list(spec.shape)} is not drawn")
            continue
        unit, scale = _display_unit(spec)
        axis, title = printable(kind.axis) or spoken((printable(name),))[0], printable(kind.panel)
        labels = labels_of(spec, CURVES_MOST)
        names = spoken(labels) if len(labels) > 1 else (axis,)
        sides = sides_of(labels, side)
        zeros = zeros_of(kind, spec.shape[0])
        groups = [(title, list(range(len(labels))), below(title, names))] if title else joints(labels)
        column = min(kind.column, COLUMNS_MOST - 1)
        least = scale * kind.least if 0.0 < scale * kind.least < LARGEST else 1.0
        for heading, entries, said in groups[:PANELS_MOST]:
            panel = PlotPanel(
                title=heading if zeros is None else f"{heading} from neutral",
                quantity=axis,
                unit=unit,
                names=said,
                first=0,
                column=column,
                extent_least=least,
                from_zero=kind.from_zero,
                field=name,
                sides=tuple(sides[k] for k in entries),
                key=f"{printable(name)}/{heading}",
            )
            own = None if zeros is None else zeros[entries]
            found.append((panel, HistoryBlock(name, np.array(entries), scale, 0, own)))
        n_drawn = sum(len(entries) for _, entries, _ in groups[:PANELS_MOST])
        _note_rest(notes, name, n_drawn, spec.shape[0])
    if len(found) > PANELS_ALL:
        notes.append(f"{PANELS_ALL} of {len(found)} panels shown")
    return found[:PANELS_ALL]


def usual_curves(spec: FieldSpec) -> Curves | None:
    """Return the default way in which a field is drawn as curves, for a sender that states none: a curve for
    each entry of a vector. None if the field is not drawn as curves.
    """
    if spec.name in FIGURE_FIELDS or len(spec.shape) != 1 or spec.role != "value":
        return None
    said = spoken((printable(spec.name),))[0]
    turns = spec.unit == "rad"
    return Curves("" if turns else said.capitalize(), "angle" if turns else said, 0 if turns else 1, 0.0)


def _arms(specs: Mapping[str, FieldSpec], notes: list[str]) -> list[tuple[PlotPanel, HistoryBlock]]:
    """Return a panel for the first angle of each joint, with the moment arms of all muscles about this
    angle.
    """
    spec, angles = specs.get("moment_arms"), specs.get("joint_angles")
    if spec is None or angles is None or not spec.shape or not spec.shape[0]:
        return []
    if len(angles.shape) != 1 or tuple(spec.shape[1:]) != tuple(angles.shape):
        return []
    unit, scale = _display_unit(spec)
    labels = labels_of(spec, CURVES_MOST)
    n_angle = angles.shape[0]
    found = []
    for joint, entries, movements in joints(labels_of(angles, CURVES_MOST))[:PANELS_MOST]:
        title = f"Muscles about {joint.lower()} {movements[0]}"
        panel = PlotPanel(
            title=title,
            quantity="moment arm",
            unit=unit,
            names=spoken(labels),
            first=0,
            column=ARM_COLUMN,
            extent_least=ARM_EXTENT_LEAST,
            from_zero=False,
            field=spec.name,
            sides=("",) * len(labels),
            key=f"{spec.name}/{title}",
        )
        found.append(
            (panel, HistoryBlock(spec.name, entries[0] + n_angle * np.arange(len(labels)), scale, 0))
        )
    _note_rest(notes, spec.name, len(labels), spec.shape[0])
    return found


def _contact(spec: FieldSpec | None, first: int) -> tuple[ContactTraces, HistoryBlock] | None:
    """Return the plot of the contact points of the knee, and its history channels (from number `first` on): x
    (anterior) and z (lateral) of each in the axes of the tibial plateau; None if the stream has none.
    """
    if spec is None or len(spec.shape) != 2 or not spec.shape[0] or spec.shape[1] != 3:
        return None
    unit, scale = _display_unit(spec)
    names = spoken(labels_of(spec, CONTACTS_MOST))
    points = np.arange(0, 3 * len(names), 3)
    entries = np.stack([points, points + 2], axis=1).ravel()
    return ContactTraces(names, unit, first), HistoryBlock("contact_points", entries, scale, first)


def _picture(specs: Mapping[str, FieldSpec], notes: list[str]) -> ImageField | None:
    """Return the first field that is declared as an image and can be drawn; the images of the left side are
    placed on the left."""
    for name, spec in specs.items():
        if spec.image is None or name in FIGURE_FIELDS:
            continue
        shape, sizes = tuple(spec.shape), (spec.image.across, spec.image.along)
        n_image, n_row, n_column = (1, *shape) if len(shape) == 2 else shape if len(shape) == 3 else (0, 0, 0)
        sound = 0 < n_image <= IMAGES_MOST and 0 < n_row * n_column <= CELLS_MOST
        if not (sound and all(CELL[0] <= size <= CELL[1] for size in sizes)):
            notes.append(f"{spoken((name,))[0]} of shape {list(shape)} is not drawn")
            continue
        unit, scale = _display_unit(spec)
        labels = spoken(labels_of(spec, IMAGES_MOST)) if len(shape) == 3 else ("",)
        title = printable(spec.image.title) or spoken((printable(name),))[0]
        order = sorted(range(n_image), key=lambda k: (labels[k] != "left", k))
        return ImageField(
            title=title,
            unit=unit,
            scale=scale,
            field=name,
            labels=labels,
            shape=(n_row, n_column),
            across=sizes[0],
            along=sizes[1],
            order=order,
        )
    return None


def _parts(specs: Mapping[str, FieldSpec], notes: list[str]) -> dict[str, tuple[int, ...]]:
    """Return the fields that the stick figure draws, with the shape of the part of each that it draws; notes
    on what is left out are added to `notes`.
    """
    parts = {}
    for name, entry in FIGURE_FIELDS.items():
        shape = tuple(specs[name].shape) if name in specs else ()
        if not shape or not shape[0] or shape[1:] != entry:
            continue
        parts[name] = (min(shape[0], POINTS_MOST), *entry)
        _note_rest(notes, name, parts[name][0], shape[0])
    return parts


def _note_rest(notes: list[str], name: str, n_shown: int, n: int) -> None:
    if n_shown < n:
        notes.append(f"{spoken((name,))[0]}: {n_shown} of {n} shown")


def _rate(rate: float, notes: list[str]) -> float:
    """Return the nominal rate if it is plausible, else NaN [Hz]."""
    if RATES[0] <= rate <= RATES[1]:
        return rate
    if rate:
        notes.append(f"the announced rate of {rate:.3g} Hz is implausible and not used")
    return math.nan


def _details(session: Session) -> dict[str, str]:
    """Return the plain entries of a descriptor's `meta` (such as model, method, subject), shortened, and the
    notes of the results.
    """
    plain = [(key, value) for key, value in session.meta.items() if isinstance(value, str | int | float)]
    details = {printable(key): printable(str(value), 2 * NAME_MOST) for key, value in plain[:N_DETAIL]}
    notes = bounded(session.meta.get("notes"), N_DETAIL)
    return details | {f"note {k}": printable(note, NOTE_MOST) for k, note in enumerate(notes, 1)}


def _names(session: Session, key: str) -> tuple[str, ...] | None:
    """Return the names in the list of a descriptor's `meta` with this key; None if there is no such list."""
    names = session.meta.get(key)
    if not isinstance(names, list | tuple):
        return None
    return tuple(name for name in names[:N_DETAIL] if isinstance(name, str))


def _display_unit(spec: FieldSpec) -> tuple[str, float]:
    """Return the unit in which a field is displayed, and the factor by which its values are multiplied."""
    return ON_SCREEN.get(spec.unit, (printable(spec.unit, 12), 1.0))
