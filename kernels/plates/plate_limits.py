"""Limits of plausible forces and moments of force plates, in a module that can be imported without the
compiler.
"""

GREATEST = 1e6
"""Largest force [N] or moment [N m] that is accepted; squares and sums of smaller ones stay finite."""
THRESHOLD = 20.0
"""Smallest normal force that counts as contact [N]; a force with all components below it is taken as none."""
