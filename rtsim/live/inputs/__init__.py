"""Where the frames of a run come from."""
