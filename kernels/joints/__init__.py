"""The kinds of joints: one file each, chosen in kinds."""
