"""Telemetry of strangers: what a subscriber keeps of it."""

import math


def test_a_strangers_telemetry_is_cut_to_what_can_be_kept(raw_sender, subscribe, eventually):
    """Protects whoever shows it: numbers of names and sentences, their lengths, and escape codes."""
    subscriber = subscribe(raw_sender.address, (b"result", "telemetry"))
    raw_sender.wait_joined(b"session", b"result", b"telemetry", b"end")
    raw_sender.message(
        "telemetry",
        t=5,
        counters={f"{k}\x1b" + "n" * 100: 2**64 - 1 for k in range(3000)},
        gauges={f"{k}": math.nan for k in range(3000)},
        text=["\x1b[2J" + "x" * 100_000, *(f"sentence {k}" for k in range(20_000))],
    )
    eventually(lambda: subscriber.telemetry)
    message = subscriber.telemetry[-1]
    assert len(message.counters) == len(message.gauges) == 256
    assert set(message.counters.values()) == {2**63 - 1}
    assert len(message.text) < 200
    for words in (*message.counters, *message.text):
        assert len(words) <= 300
        assert words.isprintable()
    assert "left out" in message.text[-1]
