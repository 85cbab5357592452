"""Standard deviations held against made-up walkers of known truth: how often an interval holds it."""
