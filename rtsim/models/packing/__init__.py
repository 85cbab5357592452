"""Packing of models and subjects into kernel parameters, which is done here only."""
