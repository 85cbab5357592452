"""Capture systems measured against servers of ours that speak their protocols, as no real one is here."""
