"""Sum of all force elements of a model: their generalized forces, and the derivatives of these with respect
to coordinates and speeds.
"""

from __future__ import annotations

from typing import NamedTuple

from kernels.compiler.jit import inlined
from kernels.contact.contacts import add_contacts
from kernels.contact.elements import Contacts, ContactWork, new_contact_work
from kernels.contact.slopes import add_contact_slopes
from kernels.forces.frictions import (
    Frictions,
    FrictionWork,
    add_friction_slopes,
    add_frictions,
    new_friction_work,
)
from kernels.forces.generators import (
    DrivenGenerators,
    GeneratorWork,
    add_generator_slopes,
    add_generators,
    new_generator_work,
)
from kernels.forces.lines import LineElements, LineWork, add_line_slopes, add_lines, new_line_work
from kernels.forces.loads import LoadWork, PointLoads, add_load_slopes, add_loads, new_load_work
from kernels.forces.pairs import (
    ONSET,
    VELOCITY,
    Pairs,
    PairWork,
    add_pair_derivatives,
    add_pair_forces,
    clear_slopes,
    new_pair_work,
    relative_motion,
)
from kernels.forces.springs import Springs, add_spring_slopes, add_springs
from kernels.joints.tree import Tree


class ForceElements(NamedTuple):
    """All force elements of a model (ligaments, springs, contacts, friction, loads, torque generators), in
    one table for each kind.
    """

    pairs: Pairs
    lines: LineElements
    contacts: Contacts
    frictions: Frictions
    loads: PointLoads
    springs: Springs
    generators: DrivenGenerators | None = None  # None where there are none


class ForceWork(NamedTuple):
    """Results and working space of the force elements of all kinds."""

    pairs: PairWork
    lines: LineWork
    contacts: ContactWork
    frictions: FrictionWork
    loads: LoadWork
    generators: GeneratorWork | None


def new_force_work(forces: ForceElements, tree: Tree) -> ForceWork:
    """Allocate a ForceWork: results of the force elements, and working space."""
    return ForceWork(
        pairs=new_pair_work(len(forces.pairs.body_a), tree),
        lines=new_line_work(len(forces.lines.pair)),
        contacts=new_contact_work(forces.contacts),
        frictions=new_friction_work(len(forces.frictions.pair)),
        loads=new_load_work(len(forces.loads.pair)),
        generators=new_generator_work(forces.generators),
    )


@inlined
def generalized_forces(forces, pose, q, v, work, tau_out):
    """Write the sum of the generalized forces of all force elements at a given pose and given speeds.

    forces : ForceElements - the force elements of the model
    pose : Pose - positions and orientations of all bodies in ground
    q : (n_q,) - generalized coordinates [rad, m]
    v : (n_v,) - generalized speeds [rad/s, m/s]
    work : ForceWork - results and working space of all elements, written
    tau_out : (n_v,) - generalized forces [N m, N], written
    """
    pairs, sums = forces.pairs, work.pairs
    relative_motion(pairs, pose.twist, v, sums.motion, VELOCITY)
    for p in range(pairs.body_a.shape[0]):
        for i in range(6):
            sums.wrench[p, i] = 0.0
    add_lines(pairs, forces.lines, pose, work.lines, sums)
    add_contacts(pairs, forces.contacts, pose, work.contacts, sums)
    add_frictions(pairs, forces.frictions, pose, work.frictions, sums)
    add_loads(pairs, forces.loads, pose, work.loads, sums)
    for d in range(tau_out.shape[0]):
        tau_out[d] = 0.0
    add_pair_forces(pairs, pose.twist, sums.wrench, tau_out)
    add_springs(forces.springs, q, v, tau_out)
    add_generators(forces.generators, q, v, work.generators, tau_out)


@inlined
def force_derivatives(tree, forces, pose, velocities, rates, v_dot, step, work, tau_q, tau_v):
    """Add the derivatives of the generalized forces of all elements with respect to small steps of the dofs
    to tau_q, and with respect to the speeds v to tau_v.

    Call it directly after generalized_forces, whose results in work it needs and does not change.

    tree : Tree - the joint tree
    forces : ForceElements - the force elements of the model
    pose : Pose - positions and orientations of all bodies in ground
    velocities : (n_body, 6) - spatial velocities of the bodies [rad/s, m/s]
    rates : (n_v, 6) - time derivatives of the dofs' twists, from kernels/dynamics/twist_rates
    v_dot : (n_v,) - generalized accelerations [rad/s^2, m/s^2]
    step : float - length of the time step [s]; where sliding reverses within it, a secant slope replaces the
        derivative of friction; 0 = exact derivative
    work : ForceWork - results and working space of all elements, written
    tau_q, tau_v : (n_v, n_v) - derivatives of the generalized forces with respect to q (tangent steps) and v
    """
    sums = work.pairs
    relative_motion(forces.pairs, pose.twist, v_dot, sums.motion, ONSET)
    clear_slopes(sums)
    add_line_slopes(forces.lines, work.lines, sums)
    add_contact_slopes(forces.contacts, pose.position[0], step, work.contacts, sums)
    add_friction_slopes(forces.frictions, step, work.frictions, sums)
    add_load_slopes(forces.loads, work.loads, sums)
    add_pair_derivatives(tree, forces.pairs, pose, velocities, rates, sums, tau_q, tau_v)
    add_spring_slopes(forces.springs, tau_q, tau_v)
    add_generator_slopes(forces.generators, work.generators, tau_q, tau_v)
