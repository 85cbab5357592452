"""Files that the monitor window saves: pictures, tables, recordings."""
