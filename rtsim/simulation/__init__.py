"""Forward simulation of models: its parts, its start, its run and its results."""
