"""Contact of two triangle surfaces in OpenSim, for comparison with that of rtsim: one evaluation of OpenSim's
elastic foundation, if OpenSim is installed.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time_ns
from typing import Any, NamedTuple

import numpy as np

from rtsim.files.surfaces.surfaces import TriangleSurface

N_CALL = 60


class Foundation(NamedTuple):
    """Result of OpenSim's elastic foundation: median duration of a call [us], and contact force along the
    line between the centres of the two surfaces [N].
    """

    us: float
    force: float


def foundation(surface: TriangleSurface, distance: float, modulus: float) -> Foundation | None:
    """Evaluate OpenSim's elastic foundation between two bodies that both have this surface, with their
    origins `distance` apart along x [m]; return None without OpenSim.

    modulus : force per area and depth [N/m^3]
    """
    try:
        import opensim
    except ModuleNotFoundError:
        return None
    with TemporaryDirectory() as name:
        path = Path(name) / "surface.obj"
        lines = [f"v {x:.9f} {y:.9f} {z:.9f}" for x, y, z in surface.vertices]
        lines += [f"f {a} {b} {c}" for a, b, c in surface.triangles + 1]
        path.write_text("\n".join(lines) + "\n", encoding="ascii")
        model, force = _model(opensim, str(path), modulus)
        state = model.initSystem()
        slide, times = model.getCoordinateSet().get(0), []
        for k in range(N_CALL):
            slide.setValue(state, distance + 1e-7 * (k % 7))
            model.realizeVelocity(state)
            start = process_time_ns()
            model.realizeDynamics(state)
            times.append(1e-3 * (process_time_ns() - start))
        return Foundation(float(np.median(times)), abs(force.getRecordValues(state).get(0)))


def _model(opensim: Any, path: str, modulus: float) -> tuple[Any, Any]:
    """Return an OpenSim model and the elastic foundation force in it, between ground and a body on a slider
    along x.

    path : file of the triangle surface that both have; modulus : force per area and depth [N/m^3]
    """
    model, zero = opensim.Model(), opensim.Vec3(0)
    model.setGravity(zero)
    body = opensim.Body("moving", 1.0, zero, opensim.Inertia(1e-3))
    model.addBody(body)
    model.addJoint(opensim.SliderJoint("slide", model.getGround(), zero, zero, body, zero, zero))
    force = opensim.ElasticFoundationForce()
    for name, frame in (("of_ground", model.getGround()), ("of_body", body)):
        model.addContactGeometry(opensim.ContactMesh(path, zero, zero, frame, name))
        force.addGeometry(name)
    force.setStiffness(modulus)
    for unused in (force.setDissipation, force.setStaticFriction, force.setDynamicFriction):
        unused(0.0)
    force.setViscousFriction(0.0)
    force.setTransitionVelocity(0.1)
    model.addForce(force)
    return model, force
