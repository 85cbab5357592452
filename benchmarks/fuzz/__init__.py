"""Fuzzing: readers and decoders fed with damaged input, guided by coverage where atheris is installed."""
