"""Live capture systems: what they send as records, their clocks mapped to ours, and a relay that
publishes.
"""
