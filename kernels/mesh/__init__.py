"""Contact of triangle meshes: vertices of one surface in the other, an elastic foundation."""
