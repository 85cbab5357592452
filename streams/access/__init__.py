"""Access control of bound sockets: who may connect, with which role, and how much an unknown client may
use."""
