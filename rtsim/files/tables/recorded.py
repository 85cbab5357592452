"""Results written as a recording: the same messages as in a live session, which read_results reads back."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from rtsim.files.recording import Results
from streams.codec import FieldLayout, encode
from streams.errors import StreamError
from streams.messages import AnyMessage, End, Result
from streams.recording.recorder import Recorder


def write_results(path: str | Path, results: Results) -> None:
    """Write a new .mcap file; StreamError if it exists already or cannot be written. If writing fails, no
    incomplete file is left.

    The clock of its messages starts at the session's t_start and advances with the time of the trial.
    """
    recorder = Recorder(path)
    try:
        put_all(recorder, results)
    except BaseException as fault:
        with suppress(StreamError):
            recorder.close()
        recorder.file.remove(Path(path))
        if not isinstance(fault, StreamError):
            raise
        why = getattr(fault.__cause__, "strerror", None) or fault
        raise StreamError(f"{path} cannot be written ({why}); no file was kept; is the disk full?") from fault


def put_all(recorder: Recorder, results: Results) -> None:
    """Write the descriptor and all frames of the results to a recorder, and close its file."""
    session = results.session
    layout = FieldLayout(session)
    t_ns = session.t_start
    with recorder:
        put(recorder, session, t_ns)
        for seq, time in enumerate(results.times.tolist()):
            t_ns = session.t_start + max(0, round(1e9 * time))
            put(
                recorder,
                Result(
                    session=session.session,
                    seq=seq,
                    t_capture=t_ns,
                    time=time,
                    data=layout.pack({name: values[seq] for name, values in results.fields.items()}),
                    t_received=t_ns,
                    t_solved=t_ns,
                    t_published=t_ns,
                    status=int(results.status[seq]),
                    iterations=0,
                    residual=0.0,
                ),
                t_ns,
            )
        put(recorder, End(session=session.session, seq=len(results.times), reason="finished"), t_ns)


def put(recorder: Recorder, message: AnyMessage, t_ns: int) -> None:
    topic, payload = encode(message)
    recorder.write(topic, payload, t_ns)
