"""What a checkout costs: README's first command in a clean clone, and the release's build from nothing."""

import os
import shutil
import subprocess
import time

from measure import PROJECT, ROOM


def first_command(table):
    """Clones what is committed, builds it and runs the demo. The crates are fetched before."""
    clone = ROOM / "clone"
    shutil.rmtree(clone, ignore_errors=True)
    subprocess.run(["git", "clone", "-q", PROJECT, clone], check=True)
    subprocess.run(["cargo", "fetch", "-q", "--locked"], check=True, cwd=clone)
    env = {name: value for name, value in os.environ.items() if name != "CARGO_TARGET_DIR"}
    begun = time.monotonic()
    subprocess.run("cargo build -q --offline && target/debug/askbox demo", shell=True, check=True, cwd=clone, env=env, stdout=subprocess.DEVNULL)
    took = time.monotonic() - begun
    shutil.rmtree(clone)
    table.row("18", "README's first command in a clean clone, crates fetched", f"{took:.0f} s", "≤ 180 s", took <= 180)


def release(table, seconds):
    """A row, if the programs were built from nothing."""
    if seconds is not None:
        table.row("18", "all programs, static, `--profile dist`, from nothing", f"{seconds:.0f} s", "≤ 360 s", seconds <= 360)
