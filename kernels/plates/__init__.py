"""Force plates: centre of pressure and free moment, which foot stands on which plate, and errors of
measurement.
"""
