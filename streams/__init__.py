"""Bytes and sockets: messages, codec, clock, subscriber, publisher, player, recorder, control, security."""
