"""Live capture systems: decoding of their data, conversion of their clocks, and a relay that publishes their
frames.
"""
