#!/usr/bin/env python3
"""Runs a command with a controlling terminal: python3 tests/terminal.py COMMAND…

What a person decides, they decide at a terminal, so the tests need one, also where continuous integration has none. The standard streams stay as
they are. The exit status is the command's.
"""

import fcntl
import os
import signal
import sys
import termios


def main(command):
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY))
        os.execvp(command[0], command)  # There is one.
    except OSError:
        pass
    ours, theirs = os.openpty()
    child = os.fork()
    if child == 0:
        os.setsid()
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)
        os.close(ours)
        os.close(theirs)
        os.execvp(command[0], command)
    os.close(theirs)
    for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, lambda number, _: os.killpg(child, number))
    _, status = os.waitpid(child, 0)
    sys.exit(os.waitstatus_to_exitcode(status) % 256)


main(sys.argv[1:])
