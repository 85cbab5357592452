"""The table of faults, which `rtsim bench faults`, the tests and docs/reliability.md use.

A row without an `act` names the test that was there. One with both is done to real processes by the bench
alone, as the test shows the same in less time.
"""

from __future__ import annotations

from benchmarks.faults import machine_faults, network_faults, package_faults, stream_faults
from benchmarks.faults.fault import Fault

HEAD = "| fault | what happens | what the user sees | what is lost | test |\n|---|---|---|---|---|\n"
SKIPPED = "frames skipped because the reader was busy, the newest kept"
PACKAGE = "of another package has failed"
WATCH = "rtsim/cli/terminal/test_watch.py"
LOOP = "rtsim/live/test_loop.py"
BAD_FRAMES = "rtsim/live/test_faults.py::test_bad_frames_are_counted_and_the_others_solved"

OF_THE_SOURCE = (
    Fault(
        "twice",
        "each frame comes twice",
        "copies are dropped, counted as `duplicate`",
        '"... frames came twice, the copies were dropped"',
        "nothing",
        stream_faults.twice,
        ("came twice, the copies were dropped",),
        "duplicate",
        BAD_FRAMES,
    ),
    Fault(
        "early",
        "frames come four times as densely as the session says",
        "all are answered, or skipped and counted",
        "the rate in the status line",
        "frames that are skipped",
        stream_faults.early,
    ),
    Fault(
        "late",
        "nothing comes for a second, then the stream goes on",
        "the last result is repeated as stale four times a second, then results go on",
        '"... has sent nothing for 0.7 s", status stale',
        "nothing",
        stream_faults.late,
        (),
        "stale",
        f"{LOOP}::test_a_source_that_stops_without_a_word_goes_stale",
    ),
    Fault(
        "bursts",
        "a second of frames comes at once",
        "the newest are solved, the others counted as `skipped`",
        f'"... {SKIPPED}"',
        "frames that are skipped",
        stream_faults.bursts,
        ("skipped because the reader was busy",),
        "skipped",
        f"{LOOP}::test_a_slow_loop_skips_the_oldest_and_says_so",
    ),
    Fault(
        "other markers",
        "a session of the same markers in another order, with strange ones among them",
        "markers are found by their names, in a new result session",
        '"A new session ... began"',
        "nothing",
        stream_faults.other_markers,
        ("A new session",),
        "",
        "rtsim/live/test_begun_anew.py::test_nothing_is_left_of_what_came_before",
    ),
    Fault(
        "restarts",
        "the source ends without a word and comes back, five times",
        "the connection is made anew, results go on in a new session",
        '"trying to connect again", "A new session ... began"',
        "what was sent while nobody was connected",
        stream_faults.restarts,
        ("trying to connect again", "A new session"),
        "",
        f"{LOOP}::test_a_restarted_source_is_followed",
    ),
    Fault(
        "killed",
        "the source's process is killed and started again",
        "results are stale meanwhile, then go on in a new session",
        '"The other side closed the connection to ...; trying to connect again"',
        "frames that were not sent",
        stream_faults.killed,
        ("closed the connection", "A new session"),
        "stale",
    ),
    Fault(
        "player killed",
        "the player of `rtsim live` is killed",
        "the session ends, exit 1",
        '"the player was killed (signal 9); the run ends"',
        "frames not sent",
        test=f"{WATCH}::test_a_dead_player_ends_the_run",
    ),
    Fault(
        "never reads",
        "beside others a subscriber takes nothing of what it is sent",
        "at most 1000 messages wait for it, the others get theirs",
        "it finds a gap in `seq`",
        "frames of that subscriber alone",
        stream_faults.never_read,
    ),
)
OF_CLOCKS = (
    Fault(
        "sender's clock",
        "the clock of the sender steps an hour forwards and back",
        "counted as `clock_jump`, all frames are solved",
        '"... a jump in the sender\'s clock"',
        "nothing",
        stream_faults.clock_of_sender,
        ("jump in the sender's clock",),
        "clock_jump",
        BAD_FRAMES,
    ),
    Fault(
        "clock ahead",
        "the sender runs on a machine whose clock is an hour ahead",
        "results and forces as on one machine",
        "no latency from capture to publication, as that is not known",
        "nothing",
        network_faults.ahead,
    ),
    Fault(
        "clock behind",
        "the sender's clock is half an hour behind",
        "the same",
        "the same",
        "nothing",
        network_faults.behind,
    ),
    Fault(
        "leap forwards",
        "the clock of all stamps leaps an hour forwards under the estimator, as where a machine slept",
        "results go on",
        "nothing",
        "nothing",
        machine_faults.leap_forwards,
    ),
    Fault(
        "leap backwards",
        "the same clock leaps an hour back, which no system should do",
        "results go on",
        "nothing",
        "nothing",
        machine_faults.leap_backwards,
    ),
    Fault(
        "wall clock set forwards",
        "the clock on the wall is set an hour forwards",
        "nothing, as no stamp is of that clock",
        "nothing",
        "nothing",
        machine_faults.step_forwards,
    ),
    Fault(
        "wall clock set back",
        "it is set an hour back",
        "the same",
        "nothing",
        "nothing",
        machine_faults.step_backwards,
    ),
    Fault(
        "device on another clock",
        "a device runs where the clock is an hour ahead, or half an hour behind, of the model's",
        "it is armed by command alone, and its torque falls by its own clock",
        "the transitions",
        "nothing",
        test="rtsim/live/test_clocks_apart.py::test_a_device_on_another_clock_is_armed_and_falls_by_its_own",
    ),
)
OF_THE_NETWORK = (
    Fault(
        "delayed",
        "pieces of the stream are under way for 50 to 150 ms",
        "frames come late and together; all are answered, or skipped and counted",
        "the latency from capture",
        "frames that are skipped",
        network_faults.delayed,
    ),
    Fault(
        "held",
        "nothing gets through for a second, then all of it",
        "results are stale meanwhile, then the newest frames are solved",
        f'status stale, "... {SKIPPED}"',
        "frames that are skipped",
        network_faults.held,
        (),
        "stale",
    ),
    Fault(
        "broken",
        "the connection breaks, and cannot be made again for a while",
        "it is made anew as soon as it can; frames between are counted as `lost`",
        '"trying to connect again", "... frames lost on the way here"',
        "frames sent meanwhile",
        network_faults.broken,
        ("trying to connect again", "lost on the way here"),
        "lost",
    ),
    Fault(
        "netem",
        "the kernel delays, loses and reorders packets (`tc` with netem in a network namespace, "
        "where the system has it)",
        "TCP sends again and puts in order: frames come late and together",
        "the latency from capture",
        "frames that are skipped",
        network_faults.netem,
    ),
    Fault(
        "cable of a device",
        "the wire between model and device is cut and mended",
        "torque falls on both sides' clocks, a fault latches",
        "the fault",
        "the torque",
        test="rtsim/live/test_device_faults.py::test_a_cut_wire",
    ),
)
OF_THE_MACHINE = (
    Fault(
        "estimator suspended",
        "the estimator is suspended for a second",
        "the newest frames are solved when it goes on, the others are counted",
        f'"the estimator has sent nothing for 0.7 s", "... {SKIPPED}"',
        "frames that are skipped",
        machine_faults.suspended,
        ("skipped because the reader was busy",),
        "skipped",
        f"{WATCH}::test_a_process_that_stands_still_is_told",
    ),
    Fault(
        "all suspended",
        "all processes of `rtsim live` are suspended at once, as where a machine sleeps",
        "the run goes on",
        "nothing, or that the estimator has sent nothing",
        "the time that it slept",
        machine_faults.all_suspended,
    ),
    Fault(
        "model stopped",
        "the model of a device is suspended under torque",
        "the device's torque falls by its clock, a fault latches",
        "the fault",
        "the torque",
        test="rtsim/live/test_device_faults.py::test_a_model_that_is_stopped_for_a_while",
    ),
    Fault(
        "device stopped",
        "the device is suspended under torque",
        "its first tick afterwards has no torque, a fault latches",
        "the fault",
        "the torque",
        test="rtsim/live/test_device_faults.py::test_a_device_that_is_stopped_for_a_while",
    ),
    Fault(
        "both stopped",
        "model and device are suspended at once under torque",
        "torque falls by the clock, a fault latches",
        "the fault",
        "the torque",
        test="rtsim/live/test_clocks_apart.py::test_both_suspended_at_once_come_back_without_torque",
    ),
    Fault(
        "starved",
        "three busy processes share the estimator's processor",
        "frames are late and flagged so, or skipped and counted",
        "status late",
        "frames that are skipped",
        machine_faults.starved,
    ),
    Fault(
        "memory short at the start",
        "a limit leaves too little memory to start",
        "the command ends, exit 1",
        '"there is not enough memory for this command"; from libraries their own words',
        "nothing",
        machine_faults.memory_short_at_start,
        ("rtsim: ",),
        code=1,
    ),
    Fault(
        "memory short",
        "a limit leaves a running estimator next to none, and sessions of 4000 markers come",
        "the run goes on",
        "nothing",
        "frames of those sessions for which there is no time, counted as `turned_away`",
        machine_faults.memory_short,
    ),
)
OF_PACKAGES = (
    Fault(
        "raises",
        "a stage of a user's own package raises",
        "its values are NaN and the frame degraded, counted as `stage_failed`; all others are as without it",
        f'"The stage ... {PACKAGE} (ZeroDivisionError: ...): the values of this stage are missing; the run '
        'continues."',
        "its values in those frames",
        package_faults.raises,
        (PACKAGE, "ZeroDivisionError"),
        "stage_failed",
    ),
    Fault(
        "hangs",
        "it takes a second for a frame",
        "counted as `stage_slow`; frames meanwhile are skipped and counted",
        '"The stage ... of another package took 1.0 s for a frame."',
        "frames that are skipped",
        package_faults.hangs,
        ("of another package took",),
        "stage_slow",
    ),
    Fault(
        "returns NaN",
        "its values are NaN",
        "they are published as such",
        "gaps in its curves",
        "nothing",
        package_faults.nan,
    ),
    Fault(
        "exits",
        "it calls `sys.exit`",
        "as where it raises: it does not end the run",
        "the same",
        "its values in those frames",
        package_faults.exits,
        (PACKAGE, "SystemExit"),
        "stage_failed",
    ),
    Fault(
        "leaks",
        "it keeps more and more",
        "the run goes on until the system ends it; gauge `memory_MB`",
        '"Memory of this process has grown from ... to ... MB within ... s", each time by 256 MB more',
        "nothing",
        package_faults.leaks,
        test="rtsim/live/processes/test_memory_growth.py::test_a_leak_is_told_again_and_again",
    ),
)
SECTIONS = {
    "Of the source": OF_THE_SOURCE,
    "Of clocks": OF_CLOCKS,
    "Of the network": OF_THE_NETWORK,
    "Of the machine": OF_THE_MACHINE,
    "Of a user's own package": OF_PACKAGES,
}
FAULTS = tuple(fault for faults in SECTIONS.values() for fault in faults)


def page_section(title: str) -> str:
    """Return the section of the page: its heading and its table."""
    rows = (
        f"| {fault.done} | {fault.happens} | {fault.seen} | {fault.lost} | {fault.shown_by} |"
        for fault in SECTIONS[title]
    )
    return f"### {title}\n\n{HEAD}" + "\n".join(rows) + "\n"
