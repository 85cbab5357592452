"""What a device measures, held against what a model told it."""
