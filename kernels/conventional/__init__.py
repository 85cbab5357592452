"""The conventional gait model (Plug-in Gait), frame by frame."""
