"""Capture systems, live: what they tell as records, their clocks mapped to ours, a relay that publishes."""
