"""The watcher: how fast an answer becomes an agent, what it costs to start and to wait."""

import contextlib
import json
import os
import pathlib
import subprocess
import threading
import time

from measure import CPU, Mailbox, Ratio, Times, alternate, c, dump, gnu, memory_of, musl, out, show, wake_ups
from programs import TEXT, questions


# The number of answers that land in one mailbox before the turn of the next mailbox.
TURN = 5


class Watcher:
    """A running watcher: askbox's or the baseline."""

    def __init__(self, m, *command, ready=b"watching"):
        self.err = open(m.folder / "watcher.log", "wb")
        self.process = subprocess.Popen([str(a) for a in command], env=m.env, cwd=m.folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self.pid, self.ready = self.process.pid, ready
        self.process.stderr.readline()
        threading.Thread(target=lambda: [None for _ in self.process.stderr], daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


class Listener:
    """Reads what the agents write into the FIFO, so that no agent blocks."""

    def __init__(self, m):
        self.file = os.open(m.folder / "fifo", os.O_RDWR)

    def __enter__(self):
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while os.read(self.file, 4096) != b"end":
            pass

    def __exit__(self, *_):
        os.write(self.file, b"end")


def prepare(m, count, more=""):
    """Answered questions beside the mailbox, and the fake agent as the runner."""
    fifo = m.folder / "fifo"
    os.mkfifo(fifo)
    (m.folder / "config.toml").write_text(
        f'[runner.claude]\nprogram = "{c("agent")}"\n[runner.claude.env]\nBENCH_FIFO = "{fifo}"\n{more}[relaunch]\nmax_concurrent = 64\n'
    )
    m.env["BENCH_FIFO"] = str(fifo)
    answered(m, count)
    return fifo


def answered(m, count):
    questions(m, count, checkpoint=False)
    staged = m.folder / "staged"
    staged.mkdir()
    for n in range(count):
        m.run(musl("ask-answer"), f"w{n}", "merge")
        (m.root / "answered" / f"w{n}.json").rename(staged / f"w{n}.json")


def latency(table, rounds, many):
    ours = [musl("relaunch"), "watch"]
    with Mailbox() as base_m, Mailbox() as m:
        fifos = [prepare(each, rounds) for each in (base_m, m)]
        base, times = landed(rounds, [(base_m, fifos[0], [c("claim"), base_m.root, c("agent")]), (m, fifos[1], ours)])
    ratio = Ratio(times, base)
    table.row("6", "answer landed → the agent's main() / C with the same steps", ratio, "≤ 1.7", ratio.median <= 1.7)
    table.row("6", "the same: p99 / p50", f"{times.p(99) / times.median:.2f}", "≤ 5", times.p(99) / times.median <= 5)
    table.note(f"C {base}, p99 {show(base.p(99))}; relaunch watch {times}, p99 {show(times.p(99))}")
    with Mailbox() as m, Mailbox() as full:
        fifos = [prepare(each, rounds) for each in (m, full)]
        fill(full, many)
        empty, filled = landed(rounds, [(m, fifos[0], ours), (full, fifos[1], ours)])
    flat = Ratio(filled, empty)
    table.row("6", f"the same with {many} files in the folders / without", flat, "≤ 1.15", flat.median <= 1.15)


def landed(rounds, watchers):
    """Lands answers in two mailboxes by turns, each with its watcher, so that both share the state of the disk."""
    pinned = ["taskset", "-c", str(CPU)]
    times = [[] for _ in watchers]
    with contextlib.ExitStack() as stack:
        for m, _, command in watchers:
            # A watcher still reads the mailbox after it has said that it is ready.
            settle(stack.enter_context(Watcher(m, *pinned, *command)).pid)
        for first in range(0, rounds, TURN):
            for which, (m, fifo, _) in enumerate(watchers):
                poke = [c("poke"), fifo, first, min(TURN, rounds - first), 25, m.folder / "staged", m.root / "answered"]
                times[which] += [int(row) / 1000 for row in out(*pinned, *poke).split()]
    return map(Times, times)


def fill(m, count):
    """Writes `count` pending questions and `count` delivered rounds."""
    questions(m, count, "old", checkpoint=False)
    template = json.loads((m.root / "pending" / "old0.json").read_text())
    for n in range(count):
        qid = f"01900000-0000-7000-8000-{n:012x}"
        template |= {"workflow_id": f"done{n}", "question_id": qid}
        (m.root / "closed" / f"done{n}.{qid}.json").write_text(dump(template))
    out("sync")


def start(table, many, with_gnu):
    with Mailbox() as m:
        fill(m, many)
        cold, scans, ready = [], [], []
        for turn in range(5):
            for which in ([0, 1] if turn % 2 else [1, 0]):
                out("sync")
                try:
                    pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")
                    is_cold = True
                except OSError:
                    is_cold = False
                # The programs themselves are read once before, so that only the mailbox is cold.
                out(c("scan"), m.folder), subprocess.run([musl("relaunch"), "--version"], capture_output=True)
                if which:
                    scans += alternate(m, 1, [c("scan"), m.root / "pending", m.root / "closed"])[0].values
                else:
                    ready.append(started(m))
        base, ours = Times(scans), Times(ready)
        ratio = Ratio(ours, base)
        table.row("7", f"start with {many} pending and {many} delivered / names-only scan in C, {'cold' if is_cold else 'warm'}", ratio, "≤ 2", ratio.median <= 2)
        table.note(f"C {show(base.median / 1000)} ms; ready after {show(ours.median / 1000)} ms")
        with Watcher(m, musl("relaunch"), "watch") as w:
            settle(w.pid)
            total, own = memory_of(w.pid)
            table.row("8", f"watcher's memory with {many} questions known", f"{total / 1024:.1f} MiB", "≤ 24 MiB", total <= 24 << 10)
            idle(table, w, f"with {many} questions")
    with Mailbox() as m, Watcher(m, musl("relaunch"), "watch") as w:
        settle(w.pid)
        total, own = memory_of(w.pid)
        table.row("8", "watcher's memory, idle", f"{total} KiB, of it anonymous {own}", "≤ 2.5 MiB", total <= 2560)
        idle(table, w, "")
    if with_gnu:
        with Mailbox() as m, Watcher(m, gnu("relaunch"), "watch") as w:
            settle(w.pid)
            total, own = memory_of(w.pid)
            table.row("8", "the same, gnu build", f"{total / 1024:.1f} MiB, of it anonymous {own} KiB", "beside it", None)


def started(m):
    """Microseconds until the watcher tells the service manager that it is ready."""
    import socket

    path = m.folder / "notify"
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.bind(str(path))
        s.settimeout(120)
        begin = time.monotonic_ns()
        p = subprocess.Popen([musl("relaunch"), "watch"], env=m.env | {"NOTIFY_SOCKET": str(path)}, stderr=subprocess.DEVNULL)
        s.recv(100)
        took = (time.monotonic_ns() - begin) / 1000
        p.terminate()
        p.wait()
        return took


def settle(pid):
    """Waits until the process uses no more CPU time."""
    last, still = -1, 0
    while still < 4:
        time.sleep(0.5)
        used = sum(map(int, pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]))
        still, last = (still + 1 if used == last else 0), used


def idle(table, w, how):
    before = wake_ups(w.pid)
    time.sleep(20)
    count = wake_ups(w.pid) - before
    table.row("8", f"wake-ups in 20 s, idle {how}".strip(), f"{count}", "0", count == 0)
