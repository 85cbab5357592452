"""Standard deviations of results, from the errors of what was measured."""
