"""Contact of triangle meshes: vertices of one surface in the other, with an elastic foundation."""
