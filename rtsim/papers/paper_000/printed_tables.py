"""Tables 1 and 2 of Andersen et al. (2017) as printed: means over five cycles of RMSD ([mm] in table 1, [N]
in table 2), r squared, and the errors of magnitude M and phase P of Sprague and Geers.
"""

from __future__ import annotations

TASKS = {"chewing": "chewing", "open-close": "opening", "protrusion": "protrusion"}
"""Name of a task in the paper -> its name in rtsim."""
AXES = {"AP": "ap", "ML": "ml", "SI": "si"}
METRICS = ("RMSD", "r^2", "M", "P")

TABLE_1 = {
    ("chewing", "left AP"): ((0.79, 0.99, 0.00, 0.05), (0.57, 0.99, 0.00, 0.04)),
    ("chewing", "left ML"): ((0.98, 0.70, 0.00, 0.01), (0.74, 0.03, -0.01, 0.00)),
    ("chewing", "left SI"): ((1.70, 0.93, -0.03, 0.22), (0.63, 0.98, -0.03, 0.08)),
    ("chewing", "right AP"): ((0.78, 1.00, 0.11, 0.04), (0.39, 0.99, 0.02, 0.02)),
    ("chewing", "right ML"): ((0.95, 0.79, 0.00, 0.01), (0.75, 0.12, 0.01, 0.00)),
    ("chewing", "right SI"): ((1.66, 0.57, -0.06, 0.14), (0.48, 0.96, -0.01, 0.04)),
    ("open-close", "left AP"): ((0.61, 0.99, 0.00, 0.04), (0.35, 0.99, -0.01, 0.03)),
    ("open-close", "left ML"): ((0.48, 0.30, 0.01, 0.00), (0.27, 0.21, 0.00, 0.00)),
    ("open-close", "left SI"): ((1.25, 0.92, 0.13, 0.16), (0.47, 0.99, -0.02, 0.07)),
    ("open-close", "right AP"): ((0.81, 1.00, 0.12, 0.06), (0.22, 1.00, 0.05, 0.01)),
    ("open-close", "right ML"): ((0.47, 0.32, -0.01, 0.00), (0.28, 0.14, 0.00, 0.00)),
    ("open-close", "right SI"): ((1.41, 0.85, -0.05, 0.12), (0.33, 0.98, -0.08, 0.02)),
    ("protrusion", "left AP"): ((0.59, 0.99, -0.04, 0.03), (0.32, 1.00, 0.02, 0.01)),
    ("protrusion", "left ML"): ((1.16, 0.18, 0.00, 0.01), (0.37, 0.05, 0.01, 0.00)),
    ("protrusion", "left SI"): ((1.34, 0.92, 0.02, 0.11), (0.53, 0.99, -0.04, 0.04)),
    ("protrusion", "right AP"): ((0.88, 0.99, 0.07, 0.04), (0.21, 1.00, 0.00, 0.01)),
    ("protrusion", "right ML"): ((1.16, 0.18, 0.00, 0.01), (0.37, 0.06, -0.01, 0.00)),
    ("protrusion", "right SI"): ((1.25, 0.91, 0.00, 0.09), (0.40, 0.98, -0.05, 0.02)),
}
"""Task, side and axis -> agreement with the measurement of force-dependent kinematics, then of the
point-on-plane model."""
TABLE_2 = {
    ("chewing", "left AP"): (4.71, 0.46, 0.12, 0.18),
    ("chewing", "left ML"): (12.5, 0.14, 0.35, 0.51),
    ("chewing", "left SI"): (5.67, 0.89, -0.21, 0.08),
    ("chewing", "right AP"): (9.84, 0.06, 0.73, 0.44),
    ("chewing", "right ML"): (17.88, 0.00, 0.92, 0.50),
    ("chewing", "right SI"): (6.63, 0.87, -0.20, 0.09),
    ("open-close", "left AP"): (7.49, 0.95, 0.48, 0.04),
    ("open-close", "left ML"): (18.69, 0.37, -0.77, 0.43),
    ("open-close", "left SI"): (12.17, 0.99, -0.23, 0.02),
    ("open-close", "right AP"): (19.29, 0.09, 3.34, 0.19),
    ("open-close", "right ML"): (24.7, 0.23, -0.86, 0.53),
    ("open-close", "right SI"): (14.4, 0.99, -0.25, 0.03),
    ("protrusion", "left AP"): (0.75, 0.64, -0.08, 0.11),
    ("protrusion", "left ML"): (5.46, 0.37, -0.93, 0.34),
    ("protrusion", "left SI"): (3.25, 0.73, -0.49, 0.10),
    ("protrusion", "right AP"): (2.37, 0.14, -0.08, 0.34),
    ("protrusion", "right ML"): (5.14, 0.14, -0.68, 0.56),
    ("protrusion", "right SI"): (4.68, 0.38, -0.51, 0.15),
}
"""Task, side and axis -> agreement of the point-on-plane model with force-dependent kinematics."""
