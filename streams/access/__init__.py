"""Who may connect to a bound socket, with which role, and how much a stranger may cost."""
