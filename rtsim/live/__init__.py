"""The live loop: frames in, results out, with the time spent on every frame measured against its limit."""
