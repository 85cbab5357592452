"""C3D files by their bytes: numbers of three processors, parameter section, frames, and more points."""
