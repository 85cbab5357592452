"""A controller of your own: a spring that acts while the leg stands, and lets go in swing.

[controller]
kind = "python"
function = "examples/controller.py:torque"
stiffness_most_N_m_rad = 30.0      # at the most, for the check of stability
damping_most_N_m_s_rad = 0.0
gait = true                        # needs [gait]
parameters = { stiffness = 20.0, stance = 0.6 }
ranges = { stiffness = [0.0, 30.0], stance = [0.3, 0.8] }
"""


def torque(seen, parameters):
    """Torque on the joint [N m] at what is seen in a tick (docs/controllers.md)."""
    if seen.gait.confidence < 0.6 or seen.gait.phase > parameters["stance"]:
        return 0.0
    return -parameters["stiffness"] * seen.angle
