"""Force plates: their contacts, which foot is on which, and their errors."""
