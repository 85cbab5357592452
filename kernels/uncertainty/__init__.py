"""Standard deviations of the published numbers of a frame, from the stated errors of the markers."""
