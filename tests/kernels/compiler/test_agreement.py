"""Kernels give the same numbers, but for last digits, compiled for another processor or not at all."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]
X86 = platform.machine().lower() in ("x86_64", "amd64")
CODE = """
import json
import numpy as np
from kernels.algebra.linear import cholesky, solve_lower
from kernels.algebra.rotation import quaternion_step, quaternion_to_matrix
from kernels.muscle.curves import force_length, force_velocity
rng = np.random.default_rng(7)
A, b, q, R = rng.normal(size=(12, 12)), rng.normal(size=12), np.array([1.0, 0.0, 0.0, 0.0]), np.zeros((3, 3))
H = A @ A.T + 12.0 * np.eye(12)
cholesky(H, 12, 1e-14)
solve_lower(H, 12, b)
for turn in rng.normal(size=(200, 3)):
    quaternion_step(q.copy(), *turn, q)
quaternion_to_matrix(q, R)
curves = [curve(x) for x in np.linspace(0.5, 1.5, 21) for curve in (force_length, force_velocity)]
print(json.dumps([*np.tril(H).ravel(), *b, *q, *R.ravel(), *np.ravel(curves)]))
"""


def numbers(tmp_path: Path, **environment: str) -> np.ndarray:
    """What a process with these settings of the compiler computes, with a cache of kernels of its own."""
    others = {"PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(tmp_path), **environment}
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        env={**os.environ, **others},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return np.array(json.loads(done.stdout))


@pytest.mark.process
@pytest.mark.compiled
@pytest.mark.parametrize(
    "environment",
    [
        pytest.param({"NUMBA_DISABLE_JIT": "1"}, id="without the compiler"),
        pytest.param(
            {"NUMBA_CPU_NAME": "x86-64", "NUMBA_CPU_FEATURES": "+sse2"},
            id="without AVX", marks=pytest.mark.skipif(not X86, reason="instructions of x86-64"),
        ),
    ],
)  # fmt: skip
def test_numbers_agree(tmp_path: Path, environment: dict[str, str]) -> None:
    """Protects who compares results of two machines: a factorisation, many turns and curves of muscles."""
    usual = numbers(tmp_path)
    other = numbers(tmp_path, **environment)
    assert np.isfinite(usual).all()
    np.testing.assert_allclose(other, usual, rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(numbers(tmp_path), usual)
