"""Closed mechanisms as text of model files."""

from __future__ import annotations

HEAD = """
name = "closed"
source = "test"
"""

# Crank, link and rocker in a plane; the loop is closed in space, so that one of its three rows says nothing.
FOUR_BAR = (
    HEAD
    + """
[[bodies]]
name = "crank"
joint = "hinge"
axis = "w"
coordinates = [{ name = "crank", neutral_deg = 60.0 }]
mass_kg = 0.4
mass_centre_mm = [50.0, 0.0, 0.0]
inertia_kg_m2 = [1.0e-4, 4.0e-4, 4.0e-4]

[[bodies]]
name = "link"
joint = "hinge"
axis = "w"
parent = "crank"
in_parent = { offset_mm = [100.0, 0.0, 0.0] }
coordinates = [{ name = "link", neutral_deg = -40.0 }]
mass_kg = 0.8
mass_centre_mm = [125.0, 0.0, 0.0]
inertia_kg_m2 = [1.0e-4, 4.0e-3, 4.0e-3]

[[bodies]]
name = "rocker"
joint = "hinge"
axis = "w"
in_parent = { offset_mm = [200.0, 0.0, 0.0] }
coordinates = [{ name = "rocker", neutral_deg = 70.0 }]
mass_kg = 0.6
mass_centre_mm = [90.0, 0.0, 0.0]
inertia_kg_m2 = [1.0e-4, 2.0e-3, 2.0e-3]

[[elements]]
name = "loop"
kind = "point"
a = { segment = "link", offset_mm = [250.0, 0.0, 0.0] }
b = { segment = "rocker", offset_mm = [180.0, 0.0, 0.0] }

[simulation]
hold = ["crank"]
speeds = { crank = 400.0 }
"""
)
# The same crank, turned as told; on the rocker a cam that follows the link, and on it a tail on a rod.
DRIVEN = FOUR_BAR.replace(", neutral_deg = 60.0", "").replace(
    'hold = ["crank"]\nspeeds = { crank = 400.0 }',
    """
[[couplers]]
coordinate = "crank"
of = "time"
sine = [0.5, 6.0, 0.7, 0.8]

[[bodies]]
name = "cam"
joint = "hinge"
axis = "w"
parent = "rocker"
in_parent = { offset_mm = [40.0, 0.0, 0.0] }
coordinates = [{ name = "cam" }]
mass_kg = 0.2
mass_centre_mm = [20.0, 10.0, 0.0]
inertia_kg_m2 = [1.0e-4, 1.0e-4, 2.0e-4]

[[bodies]]
name = "tail"
joint = "universal"
axes = [[0.2, 1.0, 0.5], "u"]
parent = "cam"
in_parent = { offset_mm = [40.0, 0.0, 0.0] }
coordinates = [{ name = "tail", neutral_deg = 20.0 }, { name = "wag" }]
mass_kg = 0.2
mass_centre_mm = [20.0, 10.0, 5.0]
inertia_kg_m2 = [1.0e-4, 1.0e-4, 2.0e-4]

[[couplers]]
coordinate = "cam"
of = "link"
polynomial = [0.1, 0.5, 0.3, 0.2]

[[elements]]
name = "rod"
kind = "distance"
a = { segment = "tail", offset_mm = [80.0, 30.0, 40.0] }
b = { segment = "ground", offset_mm = [300.0, 300.0, 100.0] }
target_mm = 200.0
""",
)
# Free, ball, planar and custom joints, tied to each other and to ground by rods and planes.
SPACE = (
    HEAD
    + """
[[bodies]]
name = "base"
joint = "free"
mass_kg = 2.0
mass_centre_mm = [10.0, 30.0, -20.0]
inertia_kg_m2 = [0.03, 0.02, 0.04, 0.002, 0.001, -0.003]

[[bodies]]
name = "ball"
joint = "ball"
parent = "base"
in_parent = { offset_mm = [100.0, 20.0, 40.0] }
in_child = { offset_mm = [0.0, 80.0, 10.0], turned_deg = [10.0, 20.0, -30.0] }
mass_kg = 0.7
mass_centre_mm = [5.0, -60.0, 0.0]
inertia_kg_m2 = [0.004, 0.001, 0.003]

[[bodies]]
name = "hinge"
joint = "hinge"
parent = "ball"
axis = [1.0, 2.0, 0.5]
in_parent = { offset_mm = [0.0, -150.0, 0.0] }
coordinates = [{ name = "bend", neutral_deg = 20.0 }]
mass_kg = 0.4
mass_centre_mm = [0.0, -40.0, 10.0]
inertia_kg_m2 = [0.001, 0.0005, 0.001]

[[bodies]]
name = "plate"
joint = "planar"
parent = "base"
in_parent = { offset_mm = [30.0, 50.0, 0.0] }
axes = ["u", "w"]
coordinates = [{ name = "x" }, { name = "z" }, { name = "turn", neutral_deg = 15.0 }]
mass_kg = 0.5
mass_centre_mm = [20.0, 10.0, -30.0]
inertia_kg_m2 = [0.002, 0.003, 0.002]

[[bodies]]
name = "cam"
joint = "custom"
parent = "plate"
in_parent = { offset_mm = [0.0, 60.0, 0.0] }
motion = [
  { rotates = [1.0, 0.3, 0.0], of = "lift" },
  { translates = [0.0, 1.0, 0.0], of = "lift", polynomial = [0.02, 0.01, 0.03] },
  { rotates = [0.0, 0.0, 1.0], of = "roll" },
]
coordinates = [{ name = "lift", neutral_deg = 10.0 }, { name = "roll" }]
mass_kg = 0.3
inertia_kg_m2 = [0.001, 0.0015, 0.001]

[[elements]]
name = "rod"
kind = "distance"
a = { segment = "hinge", offset_mm = [0.0, -80.0, 0.0] }
b = { segment = "plate", offset_mm = [20.0, 0.0, 30.0] }
target_mm = 180.0

[[elements]]
name = "table"
kind = "plane"
a = { segment = "cam", offset_mm = [30.0, 20.0, 10.0] }
b = { segment = "ball", offset_mm = [20.0, 0.0, 30.0] }
normal = [1.0, 0.4, 0.2]
target_mm = 20.0

GROUNDED
[simulation]
speeds = { bend = 80.0, x = -150.0 }
turning_deg_s = { base = [100.0, -60.0, 30.0] }
"""
)
TIED = SPACE.replace(
    "GROUNDED",
    """
[[springs]]
name = "guy"
a = { segment = "plate", offset_mm = [-20.0, 0.0, 60.0] }
b = { segment = "ground", offset_mm = [0.0, -300.0, 300.0] }
rest_mm = 200.0
stiffness_N_m = 100.0
damping_N_s_m = 1.0

[[elements]]
name = "tether"
kind = "distance"
a = { segment = "base", offset_mm = [0.0, 100.0, 0.0] }
b = { segment = "ground", offset_mm = [50.0, 500.0, 0.0] }
target_mm = 350.0

[[elements]]
name = "wall"
kind = "plane"
a = { segment = "ground", offset_mm = [30.0, 0.0, 0.0] }
b = { segment = "hinge", offset_mm = [20.0, 0.0, 30.0] }
normal = [0.3, 1.0, 0.2]
target_mm = 120.0
""",
)
AFLOAT = SPACE.replace("GROUNDED", "").replace(
    'source = "test"', 'source = "test"\ngravity_m_s2 = [0.0, 0.0, 0.0]'
)

# A bar on two cranks of one length: both turn alike. A third crank adds nothing but dependent rows.
CRANK = """
[[bodies]]
name = "NAME"
joint = "hinge"
axis = "w"
in_parent = { offset_mm = [AT, 0.0, 0.0] }
coordinates = [{ name = "NAME", neutral_deg = 50.0 }]
mass_kg = 0.5
mass_centre_mm = [60.0, 5.0, 0.0]
inertia_kg_m2 = [1.0e-4, 6.0e-4, 6.0e-4]
"""
BAR = """
[[bodies]]
name = "bar"
joint = "hinge"
axis = "w"
parent = "left"
in_parent = { offset_mm = [120.0, 0.0, 0.0] }
coordinates = [{ name = "bar", neutral_deg = -50.0 }]
mass_kg = 1.1
mass_centre_mm = [140.0, 20.0, 0.0]
inertia_kg_m2 = [1.0e-4, 8.0e-3, 8.0e-3]
"""
PIN = """
[[elements]]
name = "NAME"
kind = "point"
a = { segment = "bar", offset_mm = [AT, 0.0, 0.0] }
b = { segment = "NAME", offset_mm = [120.0, 0.0, 0.0] }
"""
COUPLED = """
[[couplers]]
coordinate = "bar"
of = "left"
linear = [-1.0, 0.0]
[[couplers]]
coordinate = "right"
of = "left"
linear = [1.0, 0.0]
"""
START = "[simulation]\nspeeds = { left = 120.0 }\n"
LEFT, RIGHT, MIDDLE = (
    CRANK.replace("NAME", name).replace("AT", at)
    for name, at in (("left", "0.0"), ("right", "300.0"), ("middle", "110.0"))
)
PIN_RIGHT = PIN.replace("NAME", "right").replace("AT", "300.0")
PIN_MIDDLE = PIN.replace("NAME", "middle").replace("AT", "110.0")
LIGHT_MIDDLE = MIDDLE.replace("mass_kg = 0.5", "mass_kg = 1.0e-9").replace(
    "[1.0e-4, 6.0e-4, 6.0e-4]", "[1.0e-12, 1.0e-12, 1.0e-12]"
)
PARALLELOGRAM = HEAD + LEFT + BAR + RIGHT + PIN_RIGHT + START
PARALLELOGRAM_COUPLED = (
    HEAD + LEFT + BAR.replace(", neutral_deg = -50.0", "") + RIGHT.replace(", neutral_deg = 50.0", "")
    + COUPLED + START
)  # fmt: skip
OVERCONSTRAINED = HEAD + LEFT + BAR + RIGHT + LIGHT_MIDDLE + PIN_RIGHT + PIN_MIDDLE + START

# A bob on a rod, and on a hinge.
BOB = (
    HEAD
    + """
[[bodies]]
name = "bob"
joint = "planar"
axes = ["u", "v"]
coordinates = [{ name = "x", neutral_mm = 240.0 }, { name = "y", neutral_mm = -320.0 }, { name = "turn" }]
mass_kg = 1.3
inertia_kg_m2 = [0.01, 0.01, 0.01]

[[elements]]
name = "rod"
kind = "distance"
a = { segment = "bob" }
b = { segment = "ground" }
target_mm = 400.0
"""
)
HINGED = (
    HEAD
    + """
[[bodies]]
name = "bob"
joint = "hinge"
axis = "w"
coordinates = [{ name = "swing", neutral_deg = 36.86989764584402 }]
mass_kg = 1.3
mass_centre_mm = [0.0, -400.0, 0.0]
"""
)
