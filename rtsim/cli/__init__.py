"""The command line. It limits linear algebra to one thread, unless these environment variables say
otherwise, because matrices are small here and threads would wait for each other. NumPy reads the variables
when it is loaded.
"""

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ.setdefault(name, "1")
