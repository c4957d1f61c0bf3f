#!/usr/bin/env python3
"""A disk that records every write and every flush, in order.

    recording_disk.py DISK IMAGE LOG

The existing file DISK becomes the disk, by a FUSE mount over it; its content is IMAGE, which is changed. LOG gets one record for
each write and each flush, before the kernel is told that it is done: `W OFFSET LENGTH\\n` and the bytes, or `F\\n`. The program prints
`ready`, and ends when its standard input ends or DISK is unmounted.

A filesystem in DISK is mounted through a loop device. What the device calls a flush arrives here as an fsync.
"""

import errno
import os
import select
import struct
import subprocess
import sys

# The kernel's include/uapi/linux/fuse.h names these requests and their fields.
GETATTR, SETATTR, OPEN, READ, WRITE, STATFS, RELEASE, FSYNC, FLUSH, INIT, DESTROY = 3, 4, 14, 15, 16, 17, 18, 20, 25, 26, 38
FORGET, INTERRUPT, BATCH_FORGET = 2, 36, 42
LARGEST_WRITE = 1 << 20
BIG_WRITES, MAX_PAGES = 1 << 5, 1 << 22
PAST_THE_PAGE_CACHE = 1
REGULAR_FILE = 0o100600


def attributes(image):
    size = os.fstat(image).st_size
    numbers = struct.pack("=6Q10I", 1, size, size // 512, 0, 0, 0, 0, 0, 0, REGULAR_FILE, 1, 0, 0, 0, 4096, 0)
    return struct.pack("=QII", 3600, 0, 0) + numbers


def reply_to(opcode, body, image, log):
    """Does what one request asks for. The reply's body; or the number of an error."""
    if opcode == INIT:
        major, minor = struct.unpack_from("=II", body)
        return struct.pack("=4I2H2I2H8I", major, min(minor, 31), 0, BIG_WRITES | MAX_PAGES, 16, 12, LARGEST_WRITE, 1, LARGEST_WRITE // 4096, *[0] * 9)
    if opcode in (GETATTR, SETATTR):
        return attributes(image)
    if opcode == OPEN:
        return struct.pack("=QII", 0, PAST_THE_PAGE_CACHE, 0)
    if opcode == READ:
        _, offset, size = struct.unpack_from("=QQI", body)
        return os.pread(image, size, offset)
    if opcode == WRITE:
        _, offset, size = struct.unpack_from("=QQI", body)
        data = body[40 : 40 + size]
        log.write(b"W %d %d\n" % (offset, size) + data)
        os.pwrite(image, data, offset)
        return struct.pack("=II", size, 0)
    if opcode == FSYNC:
        log.write(b"F\n")
        return b""
    if opcode in (FLUSH, RELEASE, DESTROY):
        return b""
    return errno.ENOSYS


def serve(fuse, image, log):
    while True:
        ready, _, _ = select.select([fuse, sys.stdin], [], [])
        if sys.stdin in ready:
            return
        try:
            request = os.read(fuse, LARGEST_WRITE + 65536)
        except OSError as error:
            if error.errno == errno.ENODEV:
                return  # unmounted
            if error.errno in (errno.ENOENT, errno.EINTR, errno.EAGAIN):
                continue
            raise
        _, opcode, unique = struct.unpack_from("=IIQ", request)
        if opcode in (FORGET, INTERRUPT, BATCH_FORGET):
            continue  # these want no reply
        reply = reply_to(opcode, request[40:], image, log)
        error, reply = (-reply, b"") if isinstance(reply, int) else (0, reply)
        try:
            os.write(fuse, struct.pack("=IiQ", 16 + len(reply), error, unique) + reply)
        except FileNotFoundError:
            pass  # whoever asked has gone


def main():
    disk, image, log = sys.argv[1:]
    fuse = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={fuse},rootmode={REGULAR_FILE:o},user_id=0,group_id=0"
    subprocess.run(["mount", "-i", "-t", "fuse", "-o", options, "recording-disk", disk], pass_fds=[fuse], check=True)
    with open(log, "wb", buffering=0) as log:
        image = os.open(image, os.O_RDWR)
        print("ready", flush=True)
        serve(fuse, image, log)


main()
