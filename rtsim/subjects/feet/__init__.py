"""The foot of a subject: its frame, its sole, its markers."""
