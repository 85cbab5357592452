"""Devices in the loop: what arms and limits them on the model's side, and a simulated orthosis."""
