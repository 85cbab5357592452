"""What the window saves: pictures, tables, recordings."""
