"""Qualisys' real-time protocol: its messages and settings, its forces, its socket."""
