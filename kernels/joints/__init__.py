"""The joint tree and the kinds of its joints: one module for each kind, chosen in kinds."""
