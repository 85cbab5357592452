"""Build kernel parameters from models and subjects: the only place that does."""
