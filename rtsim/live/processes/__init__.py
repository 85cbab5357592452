"""The processes and threads of a run, and the signals that end them."""
