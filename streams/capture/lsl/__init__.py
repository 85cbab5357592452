"""Lab Streaming Layer: streams of markers and forces, through the library liblsl."""
