"""The panel of a run with a device, and the commands that it gives."""
