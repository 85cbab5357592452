"""Commands to a running program and its emergency stop."""
