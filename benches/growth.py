"""What lasts and grows must not cost more: each program beside few and many rounds of one workflow, rounds of all workflows, waiting
questions, and booked turns of a day. The processor's time and the memory, as ratios to those beside few."""

import http.client
import os
import re
import shutil
import statistics
import subprocess
import time

from inbox import Screen
from measure import Mailbox, alternate, c, memory_of, musl, processor_in_all, processor_of
from running import supervisors
from watching import Watcher

# A year of one workflow, a team's history, a crowded inbox, a busy day.
# Few fill what a program shows of them: `history --limit 10` looks at twice as many names as it prints.
FEW, SOME = 50, 2_000
MOST_MEMORY = 32 << 10  # KiB
AT_MOST = 1.2
QUESTION = "Shall the branch be merged before the release?"


def measure_all(table, args):
    times = 5 if args.quick else 7
    large = args.many // 10
    axes = [
        ("rounds of its workflow", of_one_workflow, FEW, [SOME]),
        ("rounds of other workflows", of_all, FEW, [SOME] if args.quick else [large]),
        ("waiting questions", waiting, FEW, [SOME] if args.quick else [large]),
        ("booked turns of the day", of_a_day, FEW, [20_000 if args.quick else 200_000]),
    ]
    shape_of_a_round()
    for what, fill, few, sizes in axes:
        for many in sizes:
            with Grown() as little, Grown() as much:
                for m, count in ((little, few), (much, many)):
                    fill(m, count)
                    m.settle()
                for name, before, now in Pair(little, much, times).measured():
                    compare(table, f"{name} with {many} {what} / with {few}", name in PRINT_EVERYTHING, many / few, before, now)
    answers_beside_dates(table, large)


def compare(table, what, prints_all, linear, before, now):
    """A row: the processor's time in microseconds and the memory in KiB, beside few and beside many."""
    ratio, memory, limit = now[0] / before[0], now[1], AT_MOST * linear if prints_all else AT_MOST
    ok = ratio <= limit and memory <= max(MOST_MEMORY if prints_all else 0, AT_MOST * before[1], before[1] + 512)
    value = f"{ratio:.2f} ({before[0] / 1000:.2f} → {now[0] / 1000:.2f} ms; {before[1] / 1024:.1f} → {memory / 1024:.1f} MiB)"
    table.row("G", what, value, f"≤ {linear:.0f} × {AT_MOST}, ≤ 32 MiB" if prints_all else f"≤ {AT_MOST}", ok)


# They print a line for each question, count them, list what they would remove, or look at every file.
PRINT_EVERYTHING = {"askbox count", "relaunch status", "ask-answer list", "askbox tree", "askbox gc --dry-run", "askbox doctor"}
LOOKS = [
    ("relaunch status ID", "relaunch", ["status", "w"]),
    ("ask-answer show ID", "ask-answer", ["show", "w"]),
    ("relaunch logs ID", "relaunch", ["logs", "w"]),
    ("askbox tree ID", "askbox", ["tree", "w"]),
    ("askbox doctor ID", "askbox", ["doctor", "w"]),
    ("askbox history --limit 10", "askbox", ["history", "--limit", "10"]),
    ("askbox count", "askbox", ["count"]),
    ("relaunch status", "relaunch", ["status"]),
    ("ask-answer list", "ask-answer", ["list"]),
    ("askbox tree", "askbox", ["tree"]),
    ("askbox gc --dry-run", "askbox", ["gc", "--keep", "30d", "--dry-run"]),
    ("askbox doctor", "askbox", ["doctor"]),
]


class Grown(Mailbox):
    """A mailbox in which a workflow `w` has run once. It lies in memory, because only the processor's time is compared. It is removed at its
    end: there is room for one large mailbox at a time."""

    def __init__(self):
        super().__init__("/dev/shm")
        self.configure()
        self.round("w")

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def configure(self, more=""):
        (self.folder / "config.toml").write_text(f'[runner.claude]\nprogram = "{c("agent")}"\n[limits]\nworkflow_cost = 1000.0\n{more}')

    def round(self, workflow):
        """One whole round without a watcher."""
        self.run(musl("ask-post"), QUESTION, "-o", "merge=Merge", "-o", "keep=Keep", "-w", workflow)
        self.run(musl("ask-answer"), workflow, "merge")
        self.run(musl("relaunch"), workflow)

    def settle(self):
        """As it is after some use: the lists of what is newest are made by the first programs that need them."""
        self.round("w")
        time.sleep(2.1)
        for _, program, arguments in LOOKS[:5] * 2:
            self.run(musl(program), *arguments)

    def watched_round(self):
        self.run(musl("ask-post"), QUESTION, "-o", "merge=Merge", "-w", "w")
        self.run(musl("ask-answer"), "w", "merge")
        while (self.root / "answered" / "w.json").exists() or any(name.startswith("w.") for name in os.listdir(self.root / "running")):
            time.sleep(0.005)
        # Its news are told afterwards.
        time.sleep(0.05)

    def serve(self):
        """The page, and a browser that has signed in."""
        log = self.folder / "page.log"
        page = subprocess.Popen(
            [musl("askbox"), "web", "--listen", "127.0.0.1:0"], env=self.env, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=log.open("wb")
        )
        while not (port := re.search(r"http://127\.0\.0\.1:(\d+)", log.read_text())):
            if page.poll() is not None:
                raise SystemExit(f"askbox web has ended: {log.read_text()}")
            time.sleep(0.01)
        return page, Browser(int(port[1]), re.search(r"/in/\S+", self.run(musl("askbox"), "web", "link", "desk"))[0])


class Pair:
    """A mailbox with little and one with much. Everything is measured in both by turns."""

    def __init__(self, little, much, times):
        self.both, self.times = (little, much), times

    def measured(self):
        """Names, with the time and the memory in either."""
        for name, program, arguments in LOOKS:
            yield name, *self.spent(program, *arguments)
        yield "ask-post", *self.spent("ask-post", QUESTION, "-w", "p{}")
        yield "ask-answer", *self.spent("ask-answer", "p{}", "yes")
        yield "relaunch ID, a whole run", *self.spent("relaunch", "p{}")
        yield "a round, in its watcher", *self.watched("")
        yield "a round, in its watcher with a target", *self.watched('[notify]\ngrace = "0s"\ncommand = ["/bin/true"]\n')
        yield "the inbox's first picture", *self.first_picture()
        yield from self.page()

    def spent(self, program, *arguments):
        both = [[musl(program), *arguments, "--mailbox", m.root] for m in self.both]
        taken = alternate(self.both[0], self.times, *both, processor=True, fails=program == "askbox")
        return [(times.median, times.memory) for times in taken]

    def watched(self, more):
        """What a watcher spends on one round of `w`."""
        for m in self.both:
            m.configure(more)
        with Watcher(self.both[0], musl("relaunch"), "watch") as one, Watcher(self.both[1], musl("relaunch"), "watch") as other:
            watchers = (one, other)
            for m in self.both:
                m.watched_round()
            # At its start a watcher reads all that waits, and once a day it looks for old rounds: this is told apart, and no part of a round.
            starts = [settled(watcher.pid) for watcher in watchers]
            # So many that a step of the measured time is little.
            before, rounds = [processor_in_all(watcher.pid) for watcher in watchers], 8 * self.times
            for _ in range(rounds):
                for m in self.both:
                    m.watched_round()
            found = [((processor_in_all(w.pid) - was) / rounds, memory_of(w.pid)[1]) for w, was in zip(watchers, before)]
        for m in self.both:
            m.configure()
        print(f"       (the start of the watcher below: {starts[0] / 1000:.0f} and {starts[1] / 1000:.0f} ms)", flush=True)
        return found

    def first_picture(self):
        spent, most = ([], []), [0, 0]
        for _ in range(self.times):
            for n, m in enumerate(self.both):
                screen = Screen(m)
                screen.until(b"waiting")
                spent[n].append(processor_of(screen.pid))
                most[n] = max(most[n], memory_of(screen.pid)[1])
                screen.leave()
        return [(statistics.median(times), memory) for times, memory in zip(spent, most)]

    def page(self):
        served = [m.serve() for m in self.both]
        try:
            for name, path in [("the page", "/"), ("the page's /tree", "/tree"), ("the page's /done", "/done")]:
                spent = ([], [])
                for turn in range(1 + 4 * self.times):
                    for n, (page, browser) in enumerate(served):
                        before = processor_of(page.pid)
                        browser.get(path)
                        # The first look reads what is new.
                        spent[n].extend([processor_of(page.pid) - before] if turn else [])
                yield name, *[(statistics.median(times), memory_of(page.pid)[1]) for times, (page, _) in zip(spent, served)]
        finally:
            for page, _ in served:
                page.terminate()
                page.wait()


def settled(pid):
    """Waits until the process has used no processor time for two seconds. Returns what it has used since its start, in microseconds."""
    spent = -1
    while spent != (spent := processor_in_all(pid)):
        time.sleep(2)
    return spent


class Browser:
    """A browser without scripting that has signed in."""

    def __init__(self, port, link):
        self.port, self.cookie = port, ""
        reply = self.send("POST", link, {"Origin": f"http://127.0.0.1:{port}", "Content-Type": "application/x-www-form-urlencoded"})
        self.cookie = reply.getheader("set-cookie").split(";")[0]

    def send(self, method, path, headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, headers=headers | ({"Cookie": self.cookie} if self.cookie else {}))
        reply = connection.getresponse()
        reply.read()
        return reply

    def get(self, path):
        reply = self.send("GET", path, {})
        if reply.status != 200:
            raise SystemExit(f"{path}: {reply.status}")


# The parts that differ between two rounds: ids, times, hashes, a process, an inode.
SLOTS = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[\d:.]+Z|\b[0-9a-f]{64}\b|(?<=^process )\d+|(?<=\")\d+:\d+(?=\")")


class Shape:
    """The files of one round, as the programs made them. Their slots are numbered by the values in them."""

    def __init__(self, m, workflow):
        [closed] = m.root.glob(f"closed/{workflow}.*.json")
        self.workflow, self.question = workflow, closed.name[len(workflow) + 1 : -5]
        runs = m.root / "runs" / workflow / self.question
        files = [closed, m.root / "workflows" / f"{workflow}.json", *sorted(path for path in runs.rglob("*") if path.is_file())]
        self.values, self.files = [], []
        for path in files:
            self.files.append((self.without_ids(str(path.relative_to(m.root))), path.stat().st_mode & 0o777, self.cut(path.read_text())))

    def without_ids(self, path):
        return path.replace(self.question, "{question}").replace(f"/{self.workflow}/", "/{workflow}/").replace(f"/{self.workflow}.", "/{workflow}.")

    def cut(self, text):
        """The text as pieces: texts, and the numbers of values."""
        pieces, at = [], 0
        text = text.replace(f'"{self.workflow}"', '"{workflow}"')
        for slot in SLOTS.finditer(text):
            if slot[0] not in self.values:
                self.values.append(slot[0])
            pieces += [text[at : slot.start()], self.values.index(slot[0])]
            at = slot.end()
        return [*pieces, text[at:]]

    def write(self, m, workflow, question, at, with_record):
        """Writes a round with new ids, which ended at `at` (seconds)."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(at))
        values = [self.changed(value, question, moment) for value in self.values]
        runs = m.root / "runs" / workflow / question
        os.makedirs(runs / "1", 0o700)
        for path, mode, pieces in self.files:
            if path.startswith("workflows/") and not with_record:
                continue
            name = f"{m.root}/{path}".replace("{question}", question).replace("{workflow}", workflow)
            text = "".join(piece if isinstance(piece, str) else values[piece] for piece in pieces).replace('"{workflow}"', f'"{workflow}"')
            with open(os.open(name, os.O_WRONLY | os.O_CREAT, mode), "w") as file:
                file.write(text)
            os.utime(name, (at, at))

    def changed(self, value, question, moment):
        if value == self.question:
            return question
        if len(value) < 36 and value.endswith("Z"):
            return moment
        # Another session, message and hash for each round.
        return value[:24] + question[24:] if len(value) == 36 else value


def shape_of_a_round():
    """Checks that two rounds of the programs have the same shape, and that a written one has it too."""
    with Grown() as m:
        m.round("other")
        one, other = Shape(m, "w"), Shape(m, "other")
        Shape(m, "w").write(m, "written", "01900000-0000-7000-8000-000000000001", 1_700_000_000, True)
        written = Shape(m, "written")
        for made in (other, written):
            for (path, mode, pieces), (its_path, its_mode, its_pieces) in zip(one.files, made.files, strict=True):
                texts, its_texts = (["" if isinstance(piece, int) else piece for piece in all_of] for all_of in (pieces, its_pieces))
                if (path, mode, texts) != (its_path, its_mode, its_texts):
                    raise SystemExit(f"a written round is not like a real one: {path}\n{texts}\n{its_texts}")


def past(m, count, name, each):
    """Writes so many past rounds, one a minute up to now, `each` of one workflow."""
    shape, now = Shape(m, "w"), int(time.time()) - 60
    for n in range(count):
        shape.write(m, name(n // each), f"01900000-0000-7000-8000-{n:012x}", now - 60 * (count - n), n % each == 0 and name(0) != "w")


def of_one_workflow(m, count):
    past(m, count, lambda _: "w", count)


def of_all(m, count):
    past(m, count, lambda n: f"done{n}", 10)


def waiting(m, count):
    m.run(musl("ask-post"), QUESTION, "-w", "q0")
    text = (m.root / "pending" / "q0.json").read_text()
    first = re.search(r'"question_id": "([^"]+)"', text)[1]
    for n in range(1, count):
        written = text.replace(first, f"01900000-0000-7000-8000-{n:012x}").replace('"q0"', f'"q{n}"')
        with open(os.open(m.root / "pending" / f"q{n}.json", os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(written)


def of_a_day(m, count):
    """Turns that were booked today, and a limit on the day's costs."""
    m.configure = lambda more="": (m.folder / "config.toml").write_text(
        f'[runner.claude]\nprogram = "{c("agent")}"\n[limits]\nday_cost = 100000.0\n[metrics]\nfile = "{m.folder}/metrics.prom"\n{more}'
    )
    m.configure()
    [day] = (m.root / "costs").glob("*.jsonl")
    line = day.read_text().splitlines()[0]
    question = re.search(r'"question_id":"([^"]+)"', line)[1]
    with day.open("a") as file:
        for n in range(count):
            file.write(line.replace(question, f"01900000-0000-7000-8000-{n:012x}").replace('"cost_usd":0.0', '"cost_usd":0.01') + "\n")


def answers_beside_dates(table, dates):
    """The time from an answer to its agent while so many questions expire, beside the same without any."""
    alone, _ = answered(0)
    beside, left = answered(dates)
    p = lambda values, percent: sorted(values)[min(len(values) - 1, len(values) * percent // 100)] / 1000
    words = f"{p(beside, 50):.1f} ms, p99 {p(beside, 99):.1f} ms; without dates {p(alone, 50):.1f} ms, p99 {p(alone, 99):.1f} ms"
    ratio = p(beside, 99) / p(beside, 50)
    table.row("G", f"answer → agent while {dates} dates are due: p99 / p50", f"{ratio:.2f} (p50 {words})", "≤ 5", ratio <= 5)
    table.note(f"{len(beside)} answers; {left} of the dates were still due after the last of them")


def answered(dates, answers=100):
    """Microseconds from the rename of each answered document to the beginning of its agent's main(), and how many dates were left."""
    with Grown() as m:
        fifo = m.folder / "fifo"
        os.mkfifo(fifo)
        m.configure(f'[runner.claude.env]\nBENCH_FIFO = "{fifo}"\n[relaunch]\nmax_concurrent = 64\n')
        reader = os.open(fifo, os.O_RDWR)
        staged = m.folder / "staged"
        staged.mkdir()
        for n in range(answers):
            m.run(musl("ask-post"), QUESTION, "-o", "merge=Merge", "-w", f"a{n}")
            m.run(musl("ask-answer"), f"a{n}", "merge")
            (m.root / "answered" / f"a{n}.json").rename(staged / f"a{n}.json")
        waiting(m, max(dates, 1))
        for n in range(1, dates):
            path = m.root / "pending" / f"q{n}.json"
            path.write_text(path.read_text().replace('"timestamp":', '"expires_at": "2026-01-02T00:00:00.000Z",\n  "timestamp":'))
            (m.root / "timers" / f"20260102T000000.000Z~expire~q{n}~01900000-0000-7000-8000-{n:012x}").touch(0o600)
        late = []
        with Watcher(m, musl("relaunch"), "watch"):
            for n in range(answers):
                begun = time.monotonic_ns()
                (staged / f"a{n}.json").rename(m.root / "answered" / f"a{n}.json")
                late.append((int.from_bytes(os.read(reader, 8), "little") - begun) / 1000)
            left = len(os.listdir(m.root / "timers"))
            while supervisors(musl("relaunch")):
                time.sleep(0.05)
        os.close(reader)
        return late, left
