"""The command line. It takes one thread of linear algebra, unless these variables say more: matrices are
small here, and threads would wait for each other. NumPy reads them when it is loaded.
"""

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ.setdefault(name, "1")
