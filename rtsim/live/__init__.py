"""The live loop: frames in, results out, with its budget of time measured on every frame."""
