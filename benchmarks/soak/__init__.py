"""Long runs of whole chains: what is lost, late, and how memory goes; the highest rate that is held."""
