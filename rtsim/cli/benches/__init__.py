"""The benches of `rtsim bench`, by what they measure."""
