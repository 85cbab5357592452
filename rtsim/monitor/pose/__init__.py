"""The stick figure of the window, and what is shown beside it."""
