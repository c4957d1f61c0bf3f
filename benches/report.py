"""The table: printed as it grows, written as Markdown, drawn as SVG."""

import os
import platform
import re
import subprocess
import time

from html import escape
from measure import PROJECT, Ratio, show


class Table:
    def __init__(self):
        self.rows = []

    def row(self, number, what, value, target, met):
        self.rows.append((number, what, value, target, met))
        mark = {True: "met", False: "MISSED", None: ""}[met]
        print(f"{number:>3}  {what:<72} {value!s:<24} {target:<14} {mark}", flush=True)

    def missed(self, met, reason):
        """Adds the reason, if the target is missed."""
        if not met:
            self.note(f"missed: {reason}")

    def note(self, text):
        self.rows.append((None, text, None, None, None))
        print(f"       {text}", flush=True)

    def add(self, title, other):
        """Adds the rows of another table. A title begins a new section."""
        self.rows += [(None, None, title, None, None)] * bool(title) + other.rows

    def markdown(self):
        lines = []
        for number, what, value, target, met in self.rows:
            if what is None:
                words = INTRODUCTIONS.get(value)
                lines.append(f"\n## {value}\n\n" + (f"{words}\n\n" if words else "") + COLUMNS)
            elif number is None:
                lines.append(f"| | *{what}* | | | |")
            else:
                lines.append(f"| {number} | {what} | {value} | {target} | {({True: 'met', False: '**missed**', None: ''})[met]} |")
        return "\n".join(lines) + "\n"

    def svg(self):
        bars = [(w, v, t, m) for _, w, v, t, m in self.rows if isinstance(v, Ratio) and m is not None]
        height, step = 46 * len(bars) + 40, 46
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 {height}" font-family="sans-serif" font-size="13">',
            f'<rect width="860" height="{height}" fill="#fff"/>',
            '<text x="10" y="22" fill="#555">Each ratio as a part of its target (the line); bars end at the median, whiskers at the quartiles</text>',
        ]
        for n, (what, ratio, target, met) in enumerate(bars):
            limit = float(re.search(r"[\d.]+", target).group())
            more = target.startswith("≥")
            x = lambda value: 10 + min(value / limit, 1.6) * 500
            y = 40 + n * step
            color = "#2a7f62" if met else "#c0392b"
            parts += [
                f'<text x="10" y="{y + 12}">{escape(what)}: {show(ratio.median)} (target {escape(target)})</text>',
                f'<rect x="10" y="{y + 18}" width="{x(ratio.median) - 10:.0f}" height="12" fill="{color}"/>',
                f'<line x1="{x(ratio.low):.0f}" x2="{x(ratio.high):.0f}" y1="{y + 24}" y2="{y + 24}" stroke="#222"/>',
                f'<line x1="510" x2="510" y1="{y + 15}" y2="{y + 33}" stroke="#222" stroke-width="2"/>',
                f'<text x="830" y="{y + 28}" text-anchor="end" fill="#555">{"more is better" if more else "less is better"}</text>',
            ]
        return "\n".join([*parts, "</svg>"]) + "\n"

    def write(self, minutes):
        """Writes the page and the picture, and keeps nothing of the old ones."""
        page = f"{HEAD}\nMeasured on {time.strftime('%Y-%m-%d', time.gmtime())} in {minutes:.0f} minutes, on {machine()}.\n{self.markdown()}"
        PAGE.write_text(page)
        PAGE.with_suffix(".svg").write_text(self.svg())


PAGE = PROJECT / "docs" / "dev" / "benchmarks.md"
COLUMNS = "| | what | measured | target | |\n|---|---|---|---|---|"
# What stands below the titles of some sections.
INTRODUCTIONS = {
    "Small agent": "The API is a server on loopback.",
    "Scale": """Everything is measured with little and with much history, by turns. The script writes the history itself: ten rounds for each
workflow, and every other workflow is a child of the one before it. Its documents are hard links to a few files. The folders of the
attempts are left out, because no measured step reads them.""",
    "After a year": """Each program does the same beside little and beside much, by turns. A row compares the time of the processor: the median
beside much divided by the median beside little. The script writes the rounds of the past itself, in the shape of a round that the
programs made, and compares that shape with a second round of theirs. A program that prints everything may take as many times longer as
there is more to print.

The inbox and the page show how many questions wait, the most urgent first, so both read the names of all that wait. The page keeps a few
fields of each question in memory. The kernel marks each file of a folder that begins to be watched.""",
}
HEAD = """# Benchmarks

`benches/run` writes this page and [the picture](benchmarks.svg), whole and in one go. Only the ratios count, because the absolute times of one
machine drift by a third within an hour. [Building](building.md) says what builds cost, and what the programs are made of.

Each ratio compares two programs that ran by turns, pinned to one CPU. The page gives the ratio of the medians and, in brackets,
the quartiles of the ratios of neighbouring runs. The C programs of `benches/c` do the same durable writes with the fewest system
calls, and do nothing else.

The main column measures the static release build that users install
(`cargo build --profile dist --target x86_64-unknown-linux-musl`). Rows named "gnu build" measure a plain `cargo build --profile dist`.

![Ratios and their targets](benchmarks.svg)
"""


def machine():
    def first(*command):
        try:
            return subprocess.run(command, capture_output=True, text=True).stdout.splitlines()[0].strip()
        except (OSError, IndexError):
            return f"no {command[0]}"

    model = next((row.split(":")[1].strip() for row in open("/proc/cpuinfo") if row.startswith("model name")), platform.machine())
    virtual = "a virtual machine" if "hypervisor" in open("/proc/cpuinfo").read() else "a machine"
    kind = first("stat", "-f", "-c", "%T", PROJECT)
    return (
        f"{virtual} (load {os.getloadavg()[0]:.1f}) with {os.cpu_count()} CPUs ({model}), {platform.system()} {platform.release().split('-')[0]}, {kind}, "
        f"{first('rustc', '--version')}, {first('musl-gcc', '--version')}, {first('valgrind', '--version')}, {first('jq', '--version')}"
    )
