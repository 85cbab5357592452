"""Detection of gait events and strides in live frames, for the monitor window."""
