"""Systems for tests of derivatives: those of cases.py, and chains whose motions come in any order."""

from __future__ import annotations

import numpy as np

from kernels.joints.kinds import BALL, CHAIN, FREE, HINGE
from rtsim.models.packing.tree import ChainMotion
from tests.kernels.dynamics.cases import TREES, Case, some_case
from tests.naive import random_models

CASES = [*((name, seed) for name in TREES for seed in range(2)), ("shuffled", 0), ("shuffled", 1)]


def any_case(name: str, seed: int) -> Case:
    """Return a random system in a random state, without external wrenches."""
    case = shuffled_case(seed) if name == "shuffled" else some_case(name, seed)
    return case._replace(wrench=np.zeros_like(case.wrench))


def shuffled_case(seed: int) -> Case:
    """Return a system with chains, plain and driven, whose later coordinates move first."""
    rng = np.random.default_rng([seed, 29])
    a, b, c, d = random_models.unit_rows(rng, 4)
    plain = (ChainMotion(True, a, 2), ChainMotion(False, b, 1), ChainMotion(True, c, 0))
    mixed = (
        ChainMotion(True, a, 1),
        ChainMotion(True, b, 0, 2),
        ChainMotion(False, c, 0, 3),
        ChainMotion(False, d, 2, 2),
    )
    tree = random_models.tree_of(
        rng,
        (CHAIN, CHAIN, FREE, CHAIN, BALL, HINGE),
        (-1, 0, 1, 2, 3, 3),
        {0: plain, 1: mixed, 3: plain},
        random_models.build_functions(random_models.FUNCTIONS),
    )
    q, n_v = random_models.random_coordinates(rng, tree), len(tree.dof_body)
    v, v_dot = rng.normal(size=(2, n_v))
    return Case(random_models.random_system(rng, tree), q, v, v_dot, np.zeros((len(tree.parent), 6)))
