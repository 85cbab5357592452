"""One thread for each process of a study, so that results do not depend on the number of processors."""

from __future__ import annotations

import os

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
           "NUMBA_NUM_THREADS")  # fmt: skip


def one_thread() -> None:
    """Limit linear algebra and kernels to one thread each by environment variables; to be called before they
    are imported.
    """
    for name in THREADS:
        os.environ[name] = "1"
