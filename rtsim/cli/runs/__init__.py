"""Parts of the commands that run something: their options, and what they print."""
