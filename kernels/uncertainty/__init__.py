"""Standard deviations of what is published, from the stated errors of the markers."""
