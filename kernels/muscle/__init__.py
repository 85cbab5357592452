"""Hill-type muscles: their curves, forces with a rigid or an elastic tendon, the strengths of all muscles of
a model, and activation dynamics.
"""
