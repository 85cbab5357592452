"""Conversion of results for other programs and screens: browser pages, named numbers for plotting, coordinate
frames and 3D scenes.
"""
