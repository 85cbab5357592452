"""Streams of messages over ZeroMQ sockets: message types, encoding, clocks, publisher and subscriber,
recording and playing, commands, access control."""
