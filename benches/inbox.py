"""The terminal inbox with many questions: the time until its first picture, and until a key is on the screen."""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import termios
import time

from measure import Mailbox, Times, musl


def inbox(table, rounds, many=10_000):
    with Mailbox() as m:
        for n in range(many):
            question = {"workflow_id": f"w-{n:05}", "question": f"Shall number {n} be done?", "options": {"yes": "Do it", "no": "Leave it"},
                        "context": "words " * 200, "timestamp": "2026-11-22T10:00:00Z", "cwd": "/home/ann/shop"}
            (m.root / "pending" / f"w-{n:05}.json").write_text(json.dumps(question))
        opened = []
        for _ in range(max(rounds // 50, 5)):
            screen = Screen(m)
            opened.append(screen.until(b"waiting"))
            screen.leave()
        first = Times(opened)
        screen = Screen(m)
        screen.until(b"waiting")
        early = Times([screen.key(key) for key in b"jjjjkkkk" * 3])
        # All are read.
        screen.settle(1.0)
        keys = Times([screen.key(key) for key in b"jk" * (rounds // 2)])
        typed = Times([screen.key(key, most=1) for key in b"/number 77"])
        screen.leave()
    ms = lambda times, percent: f"{times.p(percent) / 1000:.1f} ms"
    row = lambda what, times, target: table.row("I", what, ms(times, 50), f"≤ {target} ms", times.median <= target * 1000)
    row(f"the first picture with {many} questions", first, 50)
    row("a key while they are being read", early, 16)
    row("a key once they are read", keys, 16)
    table.note(f"95 of 100 below: first picture {ms(first, 95)}; keys while they are read {ms(early, 95)}, later {ms(keys, 95)}")
    table.note(f"a letter of a filter over all of them: {ms(typed, 50)}, 95 of 100 below {ms(typed, 95)}")


class Screen:
    """`askbox inbox` in a terminal of 80 columns and 24 rows."""

    def __init__(self, m):
        self.began = time.monotonic()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
            os.execve(musl("askbox"), ["askbox", "inbox"], m.env | {"TERM": "xterm-256color"})

    def until(self, words, limit=20):
        """Microseconds since the program was started, once these words are on the screen."""
        seen = b""
        while words not in seen:
            seen += self.read(limit)
        return (time.monotonic() - self.began) * 1e6

    def read(self, limit):
        if not select.select([self.fd], [], [], limit)[0]:
            raise TimeoutError("the inbox says nothing")
        return os.read(self.fd, 1 << 16)

    def key(self, key, most=5):
        """Microseconds until the picture has changed."""
        self.settle(0.01)
        began = time.monotonic()
        os.write(self.fd, bytes([key]))
        self.read(most)
        return (time.monotonic() - began) * 1e6

    def settle(self, quiet):
        """Reads output until there is none for so many seconds."""
        while select.select([self.fd], [], [], quiet)[0]:
            os.read(self.fd, 1 << 16)

    def leave(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)
