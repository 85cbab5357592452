"""Files that the window saves: pictures, tables, recordings."""
