"""OptiTrack Motive over NatNet 3.0 to 4.2: messages, frames, and the conversation with a server."""
