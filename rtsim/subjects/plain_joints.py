"""A model of a leg with simple joints, for persons with only joint centres known."""

from __future__ import annotations

import msgspec

from rtsim.config.models.joint_schema import Body
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.models.model_tables import MethodSpec
from rtsim.config.models.place_schema import Frame
from rtsim.subjects.subject import kind_of_segment

HINGE = "hinge"


def plain_joints(spec: ModelSpec) -> ModelSpec:
    """Replace the knee of a model by a plain hinge, and remove contacts, ligaments, muscles and other
    elements that act on it.
    """
    hinges = spec.methods[HINGE].joints if HINGE in spec.methods else {}
    method = MethodSpec(joints=hinges, about="hinge knees between keypoints")
    return msgspec.structs.replace(
        spec,
        bodies=tuple(map(plain_body, spec.bodies)),
        optional=(),
        methods={HINGE: method},
        **dict.fromkeys(
            (
                "elements", "reactions", "rolls", "couplers", "surfaces", "muscles", "ligaments", "springs",
                "contacts", "frictions", "loads",
            ),
            (),
        ),
    )  # fmt: skip


def plain_body(body: Body) -> Body:
    """Return a body whose joint is at the keypoint, the joint centre. A thigh gets a hip without rotation
    about its long axis, because keypoints do not show this rotation while the knee is straight.
    """
    if kind_of_segment(body.name) == "thigh":
        body = msgspec.structs.replace(body, joint="universal", axes=("w", "u"))
    return msgspec.structs.replace(
        body, registered_by=(), in_parent=at_centre(body.in_parent), in_child=at_centre(body.in_child)
    )


def at_centre(place: Frame) -> Frame:
    """Return a frame of the model with zero offset, and so at the joint centre."""
    return msgspec.structs.replace(place, offset_mm=(0.0, 0.0, 0.0), scaled=None)
