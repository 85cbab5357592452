"""The stick figure of the window, and the displays beside it."""
