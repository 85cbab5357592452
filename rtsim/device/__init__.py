"""Devices in the loop: arming and limits on the model's side, and a simulated orthosis."""
