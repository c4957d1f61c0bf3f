"""The small programs: one process each, beside a C program with the same durable writes."""

import subprocess

from measure import Mailbox, Ratio, Times, alternate, c, dump, gnu, instructions, musl, out, show, system_calls

TEXT = "The sections overlap. How should we proceed? " * 14
OPTIONS = ["-o", "merge=Merge into the existing section", "-o", "restructure=Restructure both"]
POST = [TEXT, *OPTIONS, "-w"]
# Why targets are missed.
WORK = "a third is clap, which describes each argument with its help before it reads a word, a quarter the allocator; see [Building](building.md)"
LENGTH = "see [Building](building.md) for what the programs are made of"
ANCESTORS = (
    "`ask-answer` notes through what an answer came, so it reads the configuration, and asks `/proc` about each ancestor whether it is an agent or a run"
)
STATE = {
    "workflow_id": "x",
    "current_step": "review",
    "completed_steps": ["draft", "backup"],
    "files": {"proposed": "/srv/proposed.md", "backup": "/srv/backup.md", "original": "/srv/doc.md"},
    "context": "Review found a conflict. " * 12,
    "next_action": "apply the choice",
}


def post(table, rounds, with_gnu):
    with Mailbox() as m:
        (m.folder / "c").mkdir()
        programs = [[c("post"), m.folder / "c", "n{}.json"], [musl("ask-post"), *POST, "m{}"], [c("empty")], [musl("ask-post"), "--version"]]
        base, ours, empty, version = alternate(m, rounds, *programs)
        table.row("1", "ask-post / C with the same durable write", Ratio(ours, base), "≤ 1.5", Ratio(ours, base).median <= 1.5)
        table.missed(Ratio(ours, base).median <= 1.5, WORK)
        table.note(f"C {base}; ask-post {ours}; an empty C process {empty}; `ask-post --version` {version}")
        if with_gnu:
            base, other = alternate(m, rounds // 5, [c("post"), m.folder / "c", "o{}.json"], [gnu("ask-post"), *POST, "g{}"])
            table.row("1", "the same, gnu build", Ratio(other, base), "beside it", None)
        count = instructions(m, musl("ask-post"), *POST, "i1")
        table.row("1", "ask-post: instructions", count, "≤ 300,000", count <= 300_000)
        table.missed(count <= 300_000, WORK)
        table.note(f"ask-post: {system_calls(m, musl('ask-post'), *POST, 'i2')} system calls, {ours.memory} KiB")
        bash = 'cat > "$ASKBOX_DIR/pending/$0.json" <<EOF\n' + dump({"question": TEXT, "workflow_id": "b"}) + '\nEOF\necho "QUESTION_POSTED:$0"'
        seed, mine = alternate(m, rounds // 5, ["/bin/bash", "-c", bash, "b{}"], [musl("ask-post"), *POST, "n{}"])
        table.note(f"the first design's bash post, without any fsync: {seed}, {Ratio(seed, mine)} × ask-post")
        return m


def questions(m, count, prefix="w", checkpoint=True):
    documents = [{"question": TEXT, "options": {"merge": "Merge", "keep": "Keep"}, "workflow_id": f"{prefix}{n}"} for n in range(count)]
    if checkpoint:
        for n in range(count):
            (m.root / "checkpoints" / f"{prefix}{n}.json").write_text(dump(STATE | {"workflow_id": f"{prefix}{n}"}))
    for start in range(0, count, 5000):
        m.run(musl("ask-post"), "--batch", "--file", "-", input=dump(documents[start : start + 5000]))


def answer(table, rounds, with_gnu):
    with Mailbox() as m, Mailbox() as base_m:
        questions(m, rounds)
        questions(base_m, rounds)
        ours = [musl("ask-answer"), "w{}", "merge"]
        base, mine = alternate(m, rounds, [c("answer"), base_m.root, "w{}"], ours)
        table.row("2", "ask-answer ID VALUE / C with the same durable writes", Ratio(mine, base), "≤ 1.5", Ratio(mine, base).median <= 1.5)
        table.missed(Ratio(mine, base).median <= 1.5, ANCESTORS)
        table.note(f"C {base}; ask-answer {mine}, {mine.memory} KiB")
        some = max(rounds // 5, 20)
        # The bash step runs in the mailbox of the C program, because it does not sync, and its unsynced writes must not slow down ask-answer.
        questions(base_m, some, "s")
        seed = (
            f'M="{base_m.root}"; Q="$M/pending/$0.json"; QUESTION=$(jq -r .question "$Q"); CHECKPOINT=$(jq -r .checkpoint "$Q"); '
            'jq \'.user_answer = "restructure"\' "$CHECKPOINT" > "$CHECKPOINT.tmp"; mv "$CHECKPOINT.tmp" "$CHECKPOINT"; '
            'mv "$Q" "$M/answered/$0.json"'
        )
        questions(m, some, "t")
        theirs, mine = alternate(m, some, ["/bin/bash", "-c", seed, "s{}"], [musl("ask-answer"), "t{}", "merge"])
        ratio = Ratio(theirs, mine)
        table.row("2", "the first design's jq and mv / ask-answer", ratio, "≥ 30", ratio.median >= 30)
        table.missed(ratio.median >= 30, f"{ANCESTORS}; the C program with the same four fsyncs reaches {theirs.median / base.median:.0f}")
        table.note(f"bash, jq and mv, without any fsync: {theirs}")
        questions(m, 2, "i")
        count = instructions(m, musl("ask-answer"), "i0", "merge")
        table.row("2", "ask-answer: instructions", count, "≤ 550,000", count <= 550_000)
        table.missed(count <= 550_000, WORK)
        table.note(f"ask-answer: {system_calls(m, musl('ask-answer'), 'i1', 'merge')} system calls")
        if with_gnu:
            questions(m, some, "g")
            questions(base_m, some, "h")
            base, mine = alternate(m, some, [c("answer"), base_m.root, "h{}"], [gnu("ask-answer"), "g{}", "merge"])
            table.row("2", "ask-answer, gnu build / C", Ratio(mine, base), "beside it", None)


def resume(table, rounds):
    with Mailbox() as m:
        path = m.root / "checkpoints" / "w.json"
        path.write_text(dump(STATE | {"workflow_id": "w", "user_answer": "restructure"}))
        reads = "; ".join(
            f'{name}=$(echo "$CHECKPOINT" | jq -r {field})'
            for name, field in [("USER_CHOICE", ".user_answer"), ("CURRENT_STEP", ".current_step"), ("PROPOSED", ".files.proposed"), ("BACKUP", ".files.backup"), ("ORIGINAL", ".files.original")]
        )
        # The time of an empty shell is subtracted, because the real step runs in a shell that exists already.
        shell, seed, mine, alone = alternate(
            m, rounds,
            ["/bin/bash", "-c", ":"],
            ["/bin/bash", "-c", f'CHECKPOINT=$(cat "{path}"); {reads}'],
            ["/bin/bash", "-c", f'eval "$({musl("checkpoint")} env w)"'],
            [musl("checkpoint"), "env", "w"],
        )
        theirs, ours = Times([s - shell.median for s in seed.values]), Times([max(o - shell.median, 1) for o in mine.values])
        ratio = Ratio(theirs, ours)
        table.row("3", 'the first design\'s five jq reads / `eval "$(checkpoint env ID)"`', ratio, "≥ 50", ratio.median >= 50)
        table.note(f"in a running shell: jq {theirs}; checkpoint env {ours}, as a process of its own {alone}; one process")


def size(table, with_gnu):
    with Mailbox() as m:
        missed = False
        for name, most in {"ask-post": 2, "ask-answer": 2, "checkpoint": 2, "relaunch": 4}.items():
            mib = musl(name).stat().st_size / (1 << 20)
            table.row("4", f"{name}: stripped", f"{mib:.2f} MiB", f"≤ {most} MiB", mib <= most)
            missed |= mib > most
        table.missed(not missed, LENGTH)
        questions(m, 1)
        m.run(musl("ask-post"), "q", "-w", "v")
        calls = {
            "ask-post": [*POST, "p"], "ask-answer": ["w0", "merge"], "checkpoint": ["env", "w0"], "relaunch": ["status", "v"],
        }
        for name, arguments in calls.items():
            [used] = alternate(m, 1, [musl(name), *arguments])
            table.row("4", f"{name} {'…' if name == 'ask-post' else ' '.join(arguments)}: memory", f"{used.memory / 1024:.2f} MiB", "≤ 2.5 MiB", used.memory <= 2560)
        if with_gnu:
            table.note("gnu build: " + ", ".join(f"{n} {gnu(n).stat().st_size / (1 << 20):.2f} MiB" for n in ["ask-post", "ask-answer", "checkpoint", "relaunch"]))


def hook(table, rounds):
    """The hook that Claude Code waits for before a tool call and with each prompt of a user's session, without any news to tell."""
    with Mailbox() as m:
        questions(m, 200, checkpoint=False)
        session = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
        call = {"hook_event_name": "PreToolUse", "session_id": session, "cwd": "/", "tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": "ls"}}
        prompt = {"hook_event_name": "UserPromptSubmit", "session_id": session, "cwd": "/", "prompt": "hello"}
        for name, event in (("call", call), ("prompt", prompt)):
            (m.folder / name).write_text(dump(event))
        m.run(musl("askbox"), "hook", input=dump(prompt))
        through = ["/bin/sh", "-c", 'exec "$0" "$2" < "$1"']
        silent, calls, prompts = alternate(m, rounds, [*through, c("empty"), "call"], *[[*through, musl("askbox"), name, "hook"] for name in ("call", "prompt")])
        worst = max(calls.p(99), prompts.p(99)) / 1000
        table.row("3", "`askbox hook` with nothing to say: p99", f"{worst:.1f} ms", "≤ 20 ms", worst <= 20)
        table.note(f"before a tool call {calls}; with a prompt, beside 200 questions {prompts}; an empty C process by the same way {silent}")


def crowd(table, rounds):
    with Mailbox() as m:
        (m.folder / "c").mkdir()
        worst, details = 9.0, []
        for processes in [1, 2, 4, 8, 16]:
            each, ours, base = max(8, rounds // (2 * processes)), [], []
            for turn in range(5):
                base.append(int(out(c("crowd"), processes, each, f"{processes}-{turn}", c("post"), m.folder / "c", "x{}.json", env=m.env)))
                ours.append(int(out(c("crowd"), processes, each, f"{processes}-{turn}", musl("ask-post"), *POST, "x{}", env=m.env, cwd=m.folder)))
            ratio = Ratio(Times(base), Times(ours))
            worst = min(worst, ratio.median)
            details.append(f"{processes}: {ratio}, {show(processes * each / Times(ours).median * 1e9)} posts/s")
        table.row("5", "1 to 16 posting processes: throughput / C's, the worst", f"{worst:.2f}", "≥ 0.65", worst >= 0.65)
        table.missed(worst >= 0.65, "with both CPUs busy, the disk no longer hides the start of the process and clap's reading of the arguments")
        table.note("; ".join(details))


def folder(table, rounds, many):
    with Mailbox() as empty, Mailbox() as full:
        questions(full, many, "old", checkpoint=False)
        full.run("sync")
        at = lambda m, name: ["/usr/bin/env", f"ASKBOX_DIR={m.root}", musl("ask-post"), *POST, name]
        here, there = [musl("ask-post"), "--mailbox", empty.root, *POST, "n{}"], [musl("ask-post"), "--mailbox", full.root, *POST, "n{}"]
        few, lots = alternate(empty, rounds, here, there)
        ratio = Ratio(few, lots)
        table.row("5", f"posting into an empty folder / one of {many} files", ratio, "≥ 0.9", ratio.median >= 0.9)
        batch, single = [], []
        for turn in range(15):
            documents = dump([{"question": TEXT, "options": {"merge": "Merge", "keep": "Keep"}, "workflow_id": f"b{turn}-{n}"} for n in range(100)])
            path = empty.folder / "batch.json"
            path.write_text(documents)
            batch += alternate(empty, 1, [musl("ask-post"), "--batch", "--file", path])[0].values
            single.append(sum(alternate(empty, 100, [musl("ask-post"), *POST, f"s{turn}-{{}}"])[0].values))
        ratio = Ratio(Times(single), Times(batch))
        table.row("5", "100 single posts / one `ask-post --batch` of 100", ratio, "≥ 4", ratio.median >= 4)
