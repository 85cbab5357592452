"""Short names of the faults of markers, as in the quantity `marker_fault`; this module imports no kernels."""

from __future__ import annotations

SHORT = {
    1: "out of place",
    2: "frozen",
    3: "at the position of another marker",
    4: "in a segment that does not fit",
    5: "moved for good",
}
"""Value of `marker_fault` -> what is wrong, after the marker's name."""
