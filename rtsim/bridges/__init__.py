"""Conversion of results for other programs and screens: a page for browsers, named numbers, frames and
scenes.
"""
