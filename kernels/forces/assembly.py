"""All force elements of a model: their generalized forces and the derivatives of these."""

from __future__ import annotations

from typing import NamedTuple

from kernels._jit import inlined
from kernels.contact.contacts import add_contacts
from kernels.contact.elements import Contacts, ContactWork, new_contact_work
from kernels.forces.frictions import Frictions, FrictionWork, add_frictions, new_friction_work
from kernels.forces.lines import Lines, LineWork, add_lines, new_line_work
from kernels.forces.loads import Loads, LoadWork, add_loads, new_load_work
from kernels.forces.pairs import (
    Pairs,
    PairWork,
    add_pair_derivatives,
    add_pair_forces,
    new_pair_work,
    relative_motion,
)
from kernels.forces.springs import Springs, add_spring_slopes, add_springs


class Forces(NamedTuple):
    """Force elements by kind."""

    pairs: Pairs
    lines: Lines
    contacts: Contacts
    frictions: Frictions
    loads: Loads
    springs: Springs


class ForceWork(NamedTuple):
    """Results and working space of all kinds."""

    pairs: PairWork
    lines: LineWork
    contacts: ContactWork
    frictions: FrictionWork
    loads: LoadWork


def new_force_work(forces: Forces) -> ForceWork:
    """Allocate a ForceWork."""
    return ForceWork(
        new_pair_work(len(forces.pairs.body_a)),
        new_line_work(len(forces.lines.pair)),
        new_contact_work(len(forces.contacts.pair)),
        new_friction_work(len(forces.frictions.pair)),
        new_load_work(len(forces.loads.pair)),
    )


@inlined
def generalized_forces(forces, pose, q, v, work, tau_out):
    """tau_out : (n_v,) of all elements at a pose and the speeds v : (n_v,); no derivatives."""
    relative_motion(forces.pairs, pose.twist, v, work.pairs.relative)
    add_wrenches(forces, pose, False, 0.0, work)
    for d in range(tau_out.shape[0]):
        tau_out[d] = 0.0
    add_pair_forces(forces.pairs, pose.twist, work.pairs.wrench, tau_out)
    add_springs(forces.springs, q, v, tau_out)


@inlined
def force_derivatives(tree, forces, pose, velocities, rates, v, v_dot, step, work, tau_q, tau_v):
    """tau_q, tau_v : (n_v, n_v) += derivatives of generalized_forces by the tangent of q and by v.

    Leaves the elements' results in work. velocities, rates : as for pairs.add_pair_derivatives
    v_dot, step : accelerations and length of the step [s] for the secant slope of friction; step 0 = exact
    """
    pairs = forces.pairs
    relative_motion(pairs, pose.twist, v, work.pairs.relative)
    relative_motion(pairs, pose.twist, v_dot, work.pairs.onset)
    for p in range(pairs.body_a.shape[0]):
        for i in range(6):
            for j in range(6):
                work.pairs.by_place[p, i, j] = 0.0
                work.pairs.by_speed[p, i, j] = 0.0
    add_wrenches(forces, pose, True, step, work)
    add_pair_derivatives(tree, pairs, pose, velocities, rates, work.pairs, tau_q, tau_v)
    add_spring_slopes(forces.springs, tau_q, tau_v)


@inlined
def add_wrenches(forces, pose, derive, step, work):
    """work.pairs.wrench of all pairs; with derive also by_place, by_speed and the elements' results."""
    pairs = forces.pairs
    for p in range(pairs.body_a.shape[0]):
        for i in range(6):
            work.pairs.wrench[p, i] = 0.0
    add_lines(pairs, forces.lines, pose, derive, work.lines, work.pairs)
    add_contacts(pairs, forces.contacts, pose, derive, step, work.contacts, work.pairs)
    add_frictions(pairs, forces.frictions, pose, derive, step, work.frictions, work.pairs)
    add_loads(pairs, forces.loads, pose, derive, work.loads, work.pairs)
