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
        "frames come at four times the rate that the session states",
        "every frame gets a result, or is skipped and counted",
        "the rate in the status line",
        "frames that are skipped",
        stream_faults.early,
    ),
    Fault(
        "late",
        "no frames come for a second, then the stream continues",
        "the last result is repeated four times a second with the status stale, then results continue",
        '"... has sent nothing for 0.7 s", status stale',
        "nothing",
        stream_faults.late,
        (),
        "stale",
        f"{LOOP}::test_a_source_that_stops_without_a_word_goes_stale",
    ),
    Fault(
        "bursts",
        "the frames of one second come all at once",
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
        "a new session has the same markers in another order, and unknown ones among them",
        "markers are found by their names; a new result session begins",
        '"A new session ... began"',
        "nothing",
        stream_faults.other_markers,
        ("A new session",),
        "",
        "rtsim/live/test_begun_anew.py::test_nothing_is_left_of_what_came_before",
    ),
    Fault(
        "restarts",
        "the source ends without saying so and comes back, five times",
        "the connection is made again, results continue in a new session",
        '"trying to connect again", "A new session ... began"',
        "frames that were sent while nothing was connected",
        stream_faults.restarts,
        ("trying to connect again", "A new session"),
        "",
        f"{LOOP}::test_a_restarted_source_is_followed",
    ),
    Fault(
        "killed",
        "the source's process is killed and started again",
        "results have the status stale meanwhile, then continue in a new session",
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
        "one of several subscribers does not read the messages that are sent to it",
        "at most 1000 messages are kept for it, the other subscribers receive theirs",
        "this subscriber finds a gap in `seq`",
        "frames for this subscriber only",
        stream_faults.never_read,
    ),
)
OF_CLOCKS = (
    Fault(
        "sender's clock",
        "the clock of the sender jumps an hour forwards and back",
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
        "results and forces are the same as on one machine",
        "no latency from capture to publication, because it is not known",
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
        "the clock that gives the time stamps jumps an hour forwards during a run, as after a machine slept",
        "results go on",
        "nothing",
        "nothing",
        machine_faults.leap_forwards,
    ),
    Fault(
        "leap backwards",
        "the same clock jumps an hour back, which no system should do",
        "results go on",
        "nothing",
        "nothing",
        machine_faults.leap_backwards,
    ),
    Fault(
        "wall clock set forwards",
        "the wall clock of the machine is set an hour forwards",
        "nothing, because no time stamp is taken from that clock",
        "nothing",
        "nothing",
        machine_faults.step_forwards,
    ),
    Fault(
        "wall clock set back",
        "the wall clock is set an hour back",
        "the same",
        "nothing",
        "nothing",
        machine_faults.step_backwards,
    ),
    Fault(
        "device on another clock",
        "the clock of the device's machine is an hour ahead of the model's clock, or half an hour behind",
        "the device is armed only by a command, and its torque is ramped down by its own clock",
        "the transitions",
        "nothing",
        test="rtsim/live/test_clocks_apart.py::test_a_device_on_another_clock_is_armed_and_falls_by_its_own",
    ),
)
OF_THE_NETWORK = (
    Fault(
        "delayed",
        "parts of the stream are delayed by 50 to 150 ms",
        "frames come late and in groups; every frame gets a result, or is skipped and counted",
        "the latency from capture",
        "frames that are skipped",
        network_faults.delayed,
    ),
    Fault(
        "held",
        "nothing arrives for a second, then everything at once",
        "results have the status stale meanwhile, then the newest frames are solved",
        f'status stale, "... {SKIPPED}"',
        "frames that are skipped",
        network_faults.held,
        (),
        "stale",
    ),
    Fault(
        "broken",
        "the connection breaks, and cannot be made again for some seconds",
        "it is made again as soon as possible; frames sent meanwhile are counted as `lost`",
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
        "TCP sends packets again and restores their order: frames come late and in groups",
        "the latency from capture",
        "frames that are skipped",
        network_faults.netem,
    ),
    Fault(
        "cable of a device",
        "the connection between model and device is cut and restored",
        "both sides ramp the torque down by their own clocks, a fault is latched",
        "the fault",
        "the torque",
        test="rtsim/live/test_device_faults.py::test_a_cut_wire",
    ),
)
OF_THE_MACHINE = (
    Fault(
        "estimator suspended",
        "the estimator is suspended for a second",
        "when it continues, the newest frames are solved and the others counted",
        f'"the estimator has sent nothing for 0.7 s", "... {SKIPPED}"',
        "frames that are skipped",
        machine_faults.suspended,
        ("skipped because the reader was busy",),
        "skipped",
        f"{WATCH}::test_a_process_that_stands_still_is_told",
    ),
    Fault(
        "all suspended",
        "all processes of `rtsim live` are suspended at once, as when a machine sleeps",
        "the run continues",
        "nothing, or the message that the estimator has sent nothing",
        "frames of the time in which it slept",
        machine_faults.all_suspended,
    ),
    Fault(
        "model stopped",
        "the simulated model is suspended while the device applies torque",
        "the device ramps its torque down by its own clock, a fault is latched",
        "the fault",
        "the torque",
        test="rtsim/live/test_device_faults.py::test_a_model_that_is_stopped_for_a_while",
    ),
    Fault(
        "device stopped",
        "the device is suspended while it applies torque",
        "in its first time step afterwards it applies no torque, a fault is latched",
        "the fault",
        "the torque",
        test="rtsim/live/test_device_faults.py::test_a_device_that_is_stopped_for_a_while",
    ),
    Fault(
        "both stopped",
        "model and device are suspended at once while the device applies torque",
        "torque is ramped down by the clock, a fault is latched",
        "the fault",
        "the torque",
        test="rtsim/live/test_clocks_apart.py::test_both_suspended_at_once_come_back_without_torque",
    ),
    Fault(
        "starved",
        "three other busy processes run on the estimator's processor",
        "frames are late and have the status late, or are skipped and counted",
        "status late",
        "frames that are skipped",
        machine_faults.starved,
    ),
    Fault(
        "memory short at the start",
        "a memory limit leaves too little to start",
        "the command ends, exit 1",
        '"there is not enough memory for this command", or the message of a library',
        "nothing",
        machine_faults.memory_short_at_start,
        ("rtsim: ",),
        code=1,
    ),
    Fault(
        "memory short",
        "a memory limit leaves a running estimator almost nothing, and sessions with 4000 markers begin",
        "the run continues",
        "nothing",
        "frames of those sessions that cannot be processed in time, counted as `turned_away`",
        machine_faults.memory_short,
    ),
)
OF_PACKAGES = (
    Fault(
        "raises",
        "a stage of a user's own package raises an exception",
        "its values are NaN, the frame has the status degraded and is counted as `stage_failed`; other "
        "values stay correct",
        f'"The stage ... {PACKAGE} (ZeroDivisionError: ...): the values of this stage are missing; the run '
        'continues."',
        "its values in those frames",
        package_faults.raises,
        (PACKAGE, "ZeroDivisionError"),
        "stage_failed",
    ),
    Fault(
        "hangs",
        "such a stage takes a second for a frame",
        "the frame is counted as `stage_slow`; frames that come meanwhile are skipped and counted",
        '"The stage ... of another package took 1.0 s for a frame."',
        "frames that are skipped",
        package_faults.hangs,
        ("of another package took",),
        "stage_slow",
    ),
    Fault(
        "returns NaN",
        "the values of such a stage are NaN",
        "they are published as such",
        "gaps in the curves of this stage",
        "nothing",
        package_faults.nan,
    ),
    Fault(
        "exits",
        "it calls `sys.exit`",
        "the same as for an exception: the run does not end",
        "the same",
        "its values in those frames",
        package_faults.exits,
        (PACKAGE, "SystemExit"),
        "stage_failed",
    ),
    Fault(
        "leaks",
        "such a stage keeps more and more memory",
        "the run continues until the operating system ends it; the gauge `memory_MB` grows",
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
