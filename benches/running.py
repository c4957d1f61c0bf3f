"""The supervisor: its memory beside the agent, how fast it reads the stream, how soon its events can be read; and many rounds."""

import os
import pathlib
import re
import subprocess
import threading
import time

from measure import CPU, Mailbox, Ratio, Times, alternate, c, dump, gnu, memory_of, musl, out, show, wake_ups
from programs import POST, questions
from watching import Listener, Watcher, prepare, settle, started


def supervisor(table, with_gnu):
    total, own, woken = beside_agent(musl("relaunch"))
    table.row("9", "supervisor's memory beside the agent", f"{total} KiB, of it anonymous {own}", "≤ 2.5 MiB", total <= 2560)
    table.missed(total <= 2560, "most of it is program text that was read once. A layout of the text by page would help, but is not worth a linker script")
    table.note(f"the supervisor of a silent agent wakes up {woken} times a second")
    if with_gnu:
        total, own, _ = beside_agent(gnu("relaunch"))
        table.row("9", "the same, gnu build", f"{total / 1024:.1f} MiB, of it anonymous {own} KiB", "beside it", None)


def beside_agent(program):
    """Resident KiB, anonymous KiB, and wake-ups in a second, of the supervisor of an agent that writes nothing."""
    with Mailbox() as m:
        prepare(m, 1, 'BENCH_HOLD = "4000"\n')
        with Listener(m), Watcher(m, program, "watch"):
            os.rename(m.folder / "staged" / "w0.json", m.root / "answered" / "w0.json")
            time.sleep(2)
            [pid] = supervisors(program)
            before = wake_ups(pid)
            time.sleep(1)
            found = *memory_of(pid), wake_ups(pid) - before
            time.sleep(2)
            return found


def supervisors(program):
    """The pids of the supervisors that run from `program`."""
    begin = f"{program}\0supervise\0".encode()
    return [int(line.parent.name) for line in pathlib.Path("/proc").glob("[0-9]*/cmdline") if line.read_bytes().startswith(begin)]


def normalize(table):
    text = out(musl("examples/normalize"))
    pairs = [tuple(map(float, row.split())) for row in text.splitlines()]
    ratio = Ratio(Times([ours for ours, _ in pairs]), Times([bare for _, bare in pairs]))
    table.row("9", "reading and normalizing stream-json / serde_json parsing the same bytes", ratio, "≤ 1.5", ratio.median <= 1.5)


def events(table):
    """The agent writes the time into its text, and the reader compares it with its own clock."""
    with Mailbox() as m:
        prepare(m, 1, 'BENCH_LINES = "200"\n')
        os.rename(m.folder / "staged" / "w0.json", m.root / "answered" / "w0.json")
        Listener(m).__enter__()
        run = subprocess.Popen([musl("relaunch"), "w0"], env=m.env, cwd=m.folder, stdout=subprocess.DEVNULL)
        time.sleep(0.5)
        reader = subprocess.Popen([musl("relaunch"), "events", "-f", "w0"], env=m.env, cwd=m.folder, stdout=subprocess.PIPE, text=True)
        late, begun = [], time.monotonic_ns()
        for line in reader.stdout:
            now = time.monotonic_ns()
            at = re.search(r"at (\d+)\.", line)
            # Lines that were written before the reader started are not measured.
            if at and int(at[1]) > begun:
                late.append((now - int(at[1])) / 1000)
        run.wait(), reader.wait()
        times = Times(late)
        table.row("9", "agent's write → the line read from `relaunch events -f`, p50", f"{times.median / 1000:.2f} ms", "≤ 1 ms", times.median <= 1000)
        table.note(f"{times}, p99 {show(times.p(99))} µs, {len(late)} lines")


def resuming(table, rounds):
    with Mailbox() as m:
        # The agent must live longer than the supervisor takes to write its records: the real agent takes about 400 ms.
        m.env["BENCH_HOLD"] = "50"
        prepare(m, rounds)
        for n in range(rounds):
            os.rename(m.folder / "staged" / f"w{n}.json", m.root / "answered" / f"w{n}.json")
        Listener(m).__enter__()
        # The measured programs must not wait for earlier writes.
        os.sync()
        alone, ours = alternate(m, rounds, [c("agent")], [musl("relaunch"), "w{}"])
        extra = (ours.median - alone.median) / 1000
        table.row("10", "`relaunch ID` − the agent alone", f"{extra:.2f} ms", "≤ 6 ms", extra <= 6)


def history(table, many, rounds):
    """The same steps with little and with much history, by turns: ask, answer, launch under a tree's limit, look, and the start of a watcher."""
    with Mailbox() as little, Mailbox() as much:
        remember(much, many)
        for m in (little, much):
            (m.folder / "config.toml").write_text(f'[runner.claude]\nprogram = "{c("agent")}"\n[limits]\ntree_cost = 1000.0\n')
        both = [["--mailbox", m.root] for m in (little, much)]
        with_and_without = f"with {many} rounds of history / with none"
        steps = [("ask-post", [*POST, "p{}"]), ("ask-answer", ["p{}", "merge"]), ("relaunch", ["p{}"]), ("relaunch", ["status", "p{}"])]
        steps += [("ask-answer", ["list"]), ("ask-answer", ["show", "p{}"]), ("askbox", ["tree", "p{}"]), ("askbox", ["tree"]), ("askbox", ["doctor", "p{}"])]
        names = {"ask-answer p{} merge": "ask-answer", "relaunch p{}": "claim, launch under a tree's limit, and close"}
        for program, arguments in steps:
            few, lots = alternate(little, rounds, *[[musl(program), *arguments, *box] for box in both])
            ratio = Ratio(lots, few)
            words = " ".join([program, *arguments])
            what = "ask-post" if program == "ask-post" else names.get(words, words.replace("p{}", "ID"))
            table.row("S", f"{what} {with_and_without}", ratio, "≤ 1.1", ratio.median <= 1.1)
            table.note(f"{few}; {lots}")
        few, lots = [], []
        for _ in range(max(rounds // 10, 20)):
            few.append(started(little)), lots.append(started(much))
        ratio = Ratio(Times(lots), Times(few))
        table.row("S", f"a watcher's start {with_and_without}", ratio, "≤ 1.1", ratio.median <= 1.1)


def remember(m, count):
    """Writes closed rounds, ten of each workflow. The files are hard links to a few bodies, and the folders of the rounds are left out: no measured
    step reads them, and making and removing a million takes an hour on some disks."""
    questions(m, 1, "old", checkpoint=False)
    bodies, body = m.folder / "bodies", (m.root / "pending" / "old0.json").read_bytes()
    bodies.mkdir()
    m.run(musl("ask-answer"), "cancel", "old0")
    for n in range(count):
        # A filesystem limits the number of links to one file.
        if n % 20_000 == 0:
            source, empty = bodies / str(n), bodies / f"{n}.empty"
            source.write_bytes(body), empty.write_bytes(b"")
        qid, workflow = f"01900000-0000-7000-8000-{n:012x}", f"done{n // 10}"
        if n % 10 == 0:
            # Every other workflow is a child of the one before it.
            if n % 20 == 10:
                os.makedirs(f"{m.root}/runs/done{n // 10 - 1}/children", 0o700, exist_ok=True)
                os.link(empty, f"{m.root}/runs/done{n // 10 - 1}/children/{workflow}")
            os.mkdir(f"{m.root}/runs/{workflow}", 0o700)
            os.link(source, f"{m.root}/workflows/{workflow}.json")
            os.link(source, f"{m.root}/checkpoints/{workflow}.json")
        os.link(source, f"{m.root}/closed/{workflow}.{qid}.json")
    out("sync")


def growth(table, rounds):
    """One watcher, many rounds: its memory after the first tenth and at the end."""
    with Mailbox() as m:
        prepare(m, 0)
        Listener(m).__enter__()
        sizes, step = [], max(rounds // 10, 1)
        with Watcher(m, musl("relaunch"), "watch") as w:
            for turn in range(10):
                questions(m, step, f"t{turn}-", checkpoint=False)
                for n in range(step):
                    m.run(musl("ask-answer"), f"t{turn}-{n}", "merge")
                while any((m.root / "answered").iterdir()) or any((m.root / "running").iterdir()):
                    time.sleep(0.05)
                settle(w.pid)
                sizes.append(memory_of(w.pid)[0])
        table.row("8", f"watcher's memory after {rounds} rounds / after {step}", f"{sizes[-1] / sizes[0]:.2f}", "≤ 1.1", sizes[-1] <= 1.1 * sizes[0])
        table.note(", ".join(map(str, sizes)) + " KiB")
