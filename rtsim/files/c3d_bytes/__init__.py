"""C3D files as bytes: number formats of three processors, parameter section, frames, and added points."""
