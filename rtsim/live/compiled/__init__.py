"""Groups of kernels that are compiled ahead of a run and called before its first frame."""
