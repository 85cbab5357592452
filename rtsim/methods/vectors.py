"""The vector product of two small vectors, written out, because NumPy's own function takes 60 us, too long
for every frame.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def vector_product(a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """Return the vector product a x b, (3,)."""
    (ax, ay, az), (bx, by, bz) = np.asarray(a).tolist(), np.asarray(b).tolist()
    return np.array([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx])
