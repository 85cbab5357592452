"""Results as tables and panels: text, OpenSim storage, CSV, recordings."""
