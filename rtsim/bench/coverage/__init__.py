"""Standard deviations compared with the truth of synthetic walkers: how often an interval contains it."""
