"""A model with several kinds of joints and every kind of force element, as the text of its file."""

from __future__ import annotations

MODEL = """
name = "loose"
source = "made up"

[[bodies]]
name = "block"
joint = "slider"
axis = "u"
coordinates = [{ name = "position", range_mm = [-50.0, 2.0] }]
mass_kg = 1.0

[[bodies]]
name = "arm"
joint = "hinge"
axis = "w"
parent = "block"
coordinates = [{ name = "swing", neutral_deg = 20.0 }]
mass_kg = 0.8
mass_centre_mm = [0.0, -120.0, 0.0]
inertia_kg_m2 = [0.004, 0.001, 0.004]

[[bodies]]
name = "bob"
joint = "ball"
parent = "arm"
in_parent = { offset_mm = [0.0, -250.0, 0.0] }
mass_kg = 0.3
mass_centre_mm = [0.0, -30.0, 0.0]
inertia_kg_m2 = [4.0e-4, 2.0e-4, 4.0e-4]

[[bodies]]
name = "ball"
joint = "free"
in_parent = { offset_mm = [0.0, 49.0, 300.0] }
mass_kg = 0.5
inertia_kg_m2 = [5.0e-4, 5.0e-4, 5.0e-4]

[[springs]]
name = "centring"
coordinate = "position"
stiffness_N_m = 10.0
damping_N_s_m = 1.0

[[springs]]
name = "cord"
a = { segment = "bob" }
b = { segment = "ground", offset_mm = [0.0, -300.0, 100.0] }
stiffness_N_m = 100.0
rest_mm = 50.0

[[ligaments]]
name = "band"
a = { segment = "block" }
b = { segment = "ball" }
stiffness_N = 500.0
reference_strain = 0.02

[[contacts]]
name = "floor"
ellipsoid = { segment = "ball", radius_mm = 50.0 }
plane = { segment = "ground", normal = [0.0, 1.0, 0.0] }
stiffness = 1.0e7
friction = { static = 0.2, dynamic = 0.15 }

[[contacts]]
name = "wall"
ellipsoid = { segment = "ball", radius_mm = 50.0 }
plane = { segment = "ground", offset_mm = [900.0, 0.0, 0.0], normal = [-1.0, 0.0, 0.0] }
stiffness = 1.0e7

[[frictions]]
name = "belt"
a = { segment = "block" }
b = "ground"
direction = [1.0, 0.0, 0.0]
load_N = 9.81
friction = { static = 0.2, dynamic = 0.15 }

[[loads]]
name = "push"
at = { segment = "ball" }
force_N = [0.0, 0.0, 5.0]

[simulation]
duration_s = 0.05
step_ms = 1.0
method = "ros34pw2"
kinks = "secant"
equilibrium = "none"
hold = []
speeds = { position = 100.0, swing = 90.0 }
velocities_mm_s = { ball = [500.0, 0.0, 0.0] }
turning_deg_s = { bob = [0.0, 180.0, 0.0], ball = [0.0, 0.0, 90.0] }
plot = ["position"]
"""
