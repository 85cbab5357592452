"""Standard deviations of the published numbers, from the stated errors of the markers."""
