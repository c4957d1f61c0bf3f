"""Builds the measured programs, and measures them: by turns, pinned to one CPU, medians with quartiles."""

import atexit
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parent
TRIPLE = "x86_64-unknown-linux-musl"
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or PROJECT / "target").resolve()
# Not under /tmp: it is often memory, and checkpoints there are copied into the mailbox.
ROOM = TARGET / "benches"
CPU = max(os.sched_getaffinity(0))


def out(*command, **more):
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True, **more).stdout


def baselines():
    ROOM.mkdir(parents=True, exist_ok=True)
    for source in sorted((HERE / "c").glob("*.c")):
        out("musl-gcc", "-O2", "-static", "-o", ROOM / source.stem, source)


def build(gnu, fresh):
    """The C baselines, and the programs as they are released. Returns the seconds that those took, if they were built from nothing."""
    baselines()
    if fresh:
        for folder in (TARGET / TRIPLE / "dist", TARGET / "dist"):
            shutil.rmtree(folder, ignore_errors=True)
    cargo = ["cargo", "build", "--profile", "dist", "--features", "mcp,web", "--bins", "--manifest-path", PROJECT / "Cargo.toml"]
    begun = time.monotonic()
    subprocess.run([*cargo, "--target", TRIPLE], check=True)
    took = time.monotonic() - begun
    subprocess.run(["cargo", "build", "--profile", "dist", "--manifest-path", PROJECT / "Cargo.toml", "--target", TRIPLE, "--example", "normalize"], check=True)
    if gnu:
        subprocess.run(cargo, check=True)
    return took if fresh else None


def settle_load():
    """Waits until the build is no longer in the load of the last minute."""
    for _ in range(36):
        if os.getloadavg()[0] <= 1:
            return
        time.sleep(5)


def c(name):
    return ROOM / name


# Set by --debug: the programs of a plain `cargo build --all-features`.
DEBUG = False


def musl(name):
    return TARGET / "debug" / name if DEBUG else TARGET / TRIPLE / "dist" / name


def gnu(name):
    return TARGET / "dist" / name


class Mailbox:
    """A new mailbox on the disk of the target folder; removed when the benchmarks end."""

    def __init__(self, room=ROOM):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=room))
        self.root = self.folder / "q"
        self.env = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "USER")} | {
            "ASKBOX_DIR": str(self.root),
            "ASKBOX_CONFIG": str(self.folder / "config.toml"),
            "CLAUDE_CONFIG_DIR": str(self.folder / "claude"),
        }
        (self.folder / "claude").mkdir()
        (self.folder / "config.toml").write_text("")
        self.run(musl("ask-post"), "first", "-w", "first")
        self.run(musl("ask-answer"), "cancel", "first")
        # A mailbox in use has all lock files: they are made once and stay.
        for stripe in range(256):
            (self.root / "locks" / f"{stripe:02x}").touch(mode=0o600)

    def run(self, *command, **more):
        return out(*command, env=self.env, cwd=self.folder, **more)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # The folder is removed later, because removing many files slows the disk down for minutes.
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)


class Times:
    """The microseconds of one program, one number for each round."""

    def __init__(self, values, memory=0):
        self.values, self.memory = values, memory
        self.low, self.median, self.high = quartiles(values)

    def p(self, percent):
        return sorted(self.values)[min(len(self.values) - 1, int(len(self.values) * percent / 100))]

    def __str__(self):
        return f"{show(self.median)} µs ({show(self.low)}–{show(self.high)})"


def quartiles(values):
    return statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3


def show(number):
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"


class Ratio:
    """The quartiles of the ratios of neighbouring runs, of two programs that run by turns."""

    def __init__(self, ours, base):
        self.low, _, self.high = quartiles([a / b for a, b in zip(ours.values, base.values)])
        # The ratio of the medians: a disturbance from outside hits one of two neighbours.
        self.median = ours.median / base.median

    def __str__(self):
        return f"{self.median:.2f} ({self.low:.2f}–{self.high:.2f})"


def alternate(mailbox, rounds, *programs, offset=0, fails=False, processor=False):
    """Runs the programs by turns; `{}` in their arguments is the round. The times are those of the clock, or of the processor."""
    line = [c("alternate"), str(rounds), f"+{offset}"]
    for program in programs:
        line += ["//", *program]
    text = out("taskset", "-c", str(CPU), *line, env=mailbox.env, cwd=mailbox.folder)
    times, memory = [[] for _ in programs], [0] * len(programs)
    for row in text.splitlines():
        which, time, kib, status, spent = map(int, row.split())
        if status and not fails:
            raise SystemExit(f"{programs[which]} failed with {status}")
        times[which].append(spent if processor else time / 1000)
        memory[which] = max(memory[which], kib)
    return [Times(t, m) for t, m in zip(times, memory)]


def instructions(mailbox, *command):
    """Instructions counted by callgrind, which have no noise."""
    line = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *map(str, command)]
    done = subprocess.run(line, env=mailbox.env, cwd=mailbox.folder, capture_output=True, text=True)
    return next((int(row.split()[-1]) for row in done.stderr.splitlines() if "Collected" in row), None)


def system_calls(mailbox, *command):
    done = subprocess.run(["strace", "-f", "-qq", *map(str, command)], env=mailbox.env, cwd=mailbox.folder, capture_output=True, text=True)
    return sum(1 for row in done.stderr.splitlines() if "(" in row and "+++" not in row)


def memory_of(pid):
    """Resident KiB: all, and the anonymous part."""
    fields = dict(row.split(":", 1) for row in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in row)
    return int(fields["VmRSS"].split()[0]), int(fields["RssAnon"].split()[0])


def processor_of(pid):
    """Microseconds that the threads of a process have used which have not ended."""
    return sum(int(task.read_text().split()[0]) for task in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1000


def processor_in_all(pid):
    """Microseconds that a process has used without its children, in steps of 10 ms."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1e6 / os.sysconf("SC_CLK_TCK")


def wake_ups(pid):
    """Context switches of all threads of a process."""
    count = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        fields = dict(row.split(":", 1) for row in (task / "status").read_text().splitlines() if ":" in row)
        count += int(fields["voluntary_ctxt_switches"]) + int(fields["nonvoluntary_ctxt_switches"])
    return count


def dump(value):
    return json.dumps(value)
