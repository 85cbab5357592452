"""One thread for each process of a study, so that results do not depend on the number of processors."""

from __future__ import annotations

import os

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
           "NUMBA_NUM_THREADS")  # fmt: skip


def one_thread() -> None:
    """One thread for linear algebra and kernels; of use before they are imported, and for child processes."""
    for name in THREADS:
        os.environ[name] = "1"
