"""The benchmarks of `rtsim bench`, grouped by what they measure."""
