"""Limits of plausible forces and moments of force plates, in a module that can be imported without the
compiler.
"""

GREATEST = 1e6
"""Largest force [N] or moment [N m] that is accepted; squares and sums of smaller ones stay finite."""
THRESHOLD = 20.0
"""Least normal force of a contact [N]: a plate with all components of its force below it is empty."""
