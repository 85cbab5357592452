"""The joint tree and the kinds of its joints: one module for each kind; the module `kinds` calls that of a
joint's kind.
"""
