"""The stick figure of the monitor window, and the displays beside it."""
