"""Schemas of the messages that Foxglove draws, in JSON Schema: transforms, scenes, logs, and numbers of
results.

Names and keys are those of Foxglove's message types (foxglove-sdk 0.30), which Foxglove recognises by the
name of the schema; only what is sent is described.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Schema = dict[str, Any]
DRAFT = "https://json-schema.org/draft/2020-12/schema"
TRANSFORMS, SCENE, LOG, NUMBERS = "foxglove.FrameTransforms", "foxglove.SceneUpdate", "foxglove.Log", "rtsim."
"""Names of schemas; that of the numbers of a field is NUMBERS and the field's."""
INFO, WARNING = 2, 3
"""Levels of a log message."""
LINE_LIST = 2
"""Type of a line whose points are the ends of pieces."""


def record(title: str, properties: Mapping[str, Schema], required: Sequence[str] | None = None) -> Schema:
    """Return a JSON schema of an object with these properties, all of them required unless stated
    otherwise.
    """
    wanted = list(properties) if required is None else list(required)
    return {"type": "object", "title": title, "properties": dict(properties), "required": wanted}


def listed(items: Schema) -> Schema:
    """Return a JSON schema of a list whose items have the schema `items`."""
    return {"type": "array", "items": items}


NUMBER, TEXT, TRUTH = {"type": "number"}, {"type": "string"}, {"type": "boolean"}
WHOLE = {"type": "integer", "minimum": 0}
STAMP = record("time", {"sec": WHOLE, "nsec": {**WHOLE, "maximum": 999_999_999}})
DURATION = record("duration", {"sec": {"type": "integer"}, "nsec": {**WHOLE, "maximum": 999_999_999}})
VECTOR = record("foxglove.Vector3", dict.fromkeys("xyz", NUMBER))
POINT = record("foxglove.Point3", dict.fromkeys("xyz", NUMBER))
QUATERNION = record("foxglove.Quaternion", dict.fromkeys("xyzw", NUMBER))
POSE = record("foxglove.Pose", {"position": VECTOR, "orientation": QUATERNION})
PART = {"type": "number", "minimum": 0.0, "maximum": 1.0}
COLOUR = record("foxglove.Color", dict.fromkeys("rgba", PART))
SPHERE = record("foxglove.SpherePrimitive", {"pose": POSE, "size": VECTOR, "color": COLOUR})
LINE = record(
    "foxglove.LinePrimitive",
    {
        "type": {"type": "integer", "enum": [0, 1, LINE_LIST]},
        "pose": POSE,
        "thickness": NUMBER,
        "scale_invariant": TRUTH,
        "points": listed(POINT),
        "color": COLOUR,
        "colors": listed(COLOUR),
        "indices": listed(WHOLE),
    },
)
EMPTY = listed({"type": "object"})
NOT_USED = ("arrows", "cubes", "cylinders", "triangles", "texts", "models")
"""Kinds of shapes of a scene that are always empty here."""
ENTITY = record(
    "foxglove.SceneEntity",
    {
        "timestamp": STAMP,
        "frame_id": TEXT,
        "id": TEXT,
        "lifetime": DURATION,
        "frame_locked": TRUTH,
        "metadata": listed(record("foxglove.KeyValuePair", {"key": TEXT, "value": TEXT})),
        "spheres": listed(SPHERE),
        "lines": listed(LINE),
        **dict.fromkeys(NOT_USED, EMPTY),
    },
)
DELETION = record("foxglove.SceneEntityDeletion", {"timestamp": STAMP, "type": WHOLE, "id": TEXT})
TRANSFORM = record(
    "foxglove.FrameTransform",
    {
        "timestamp": STAMP,
        "parent_frame_id": TEXT,
        "child_frame_id": TEXT,
        "translation": VECTOR,
        "rotation": QUATERNION,
    },
)
SCHEMAS: Mapping[str, Schema] = {
    name: {"$schema": DRAFT, **schema}
    for name, schema in {
        TRANSFORMS: record(TRANSFORMS, {"transforms": listed(TRANSFORM)}),
        SCENE: record(SCENE, {"deletions": listed(DELETION), "entities": listed(ENTITY)}),
        LOG: record(
            LOG,
            {"timestamp": STAMP, "level": {**WHOLE, "maximum": 5}, "message": TEXT, "name": TEXT,
             "file": TEXT, "line": WHOLE},
        ),
    }.items()
}  # fmt: skip


def numbers_schema(field: str, labels: Sequence[str], parts: Sequence[str], units: Sequence[str]) -> Schema:
    """Return the schema of a field's numbers: a key for each label, and below it one for each part; numbers
    that a frame marks as not usable are left out, as JSON has no NaN.

    units : unit of each label
    """
    of_labels = {}
    for label, unit in zip(labels, units, strict=True):
        number = {**NUMBER, "description": unit}
        of_labels[label] = record("", dict.fromkeys(parts, number), ()) if parts else number
    return {"$schema": DRAFT, **record(f"{NUMBERS}{field}", of_labels, ())}


def stamp(t_ns: int) -> dict[str, int]:
    """Return a time [ns] as Foxglove's messages represent it, in seconds and nanoseconds."""
    return {"sec": t_ns // 1_000_000_000, "nsec": t_ns % 1_000_000_000}


def vector(values: Sequence[float]) -> dict[str, float]:
    """Return three or four numbers as a map with the keys x, y, z and, for a quaternion, w."""
    return dict(zip("xyzw", values, strict=False))
