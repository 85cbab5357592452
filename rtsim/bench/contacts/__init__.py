"""Benches of knee, jaw, foot and lifting: contact and force-dependent kinematics."""
