"""The panel of the monitor window for a run that is coupled to a device, such as a motor, and its
commands.
"""
