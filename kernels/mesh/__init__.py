"""Contact of triangle meshes by an elastic foundation: a force proportional to depth and area pushes each
vertex of one surface that is inside the other one out of it.
"""
