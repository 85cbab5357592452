"""Results as tables and as panels of figures: text, OpenSim storage, CSV, recordings."""
