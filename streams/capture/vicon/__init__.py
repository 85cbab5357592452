"""Vicon DataStream without the SDK of Vicon: blocks, frames, and the conversation with a server."""
