"""Contact of triangle meshes by an elastic foundation: vertices of one surface that are inside the other are
pressed out.
"""
