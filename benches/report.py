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
        lines, beside = [], {}
        for number, what, value, target, met in [*self.rows, (None, None, "", None, None)]:
            mark = {True: "met", False: "**missed**", None: ""}[met]
            if beside and not (number and BESIDE.search(what)):
                if number is None and what is not None:
                    continue  # The times behind a ratio.
                lines += grid(beside) + ([f"\n{COLUMNS}"] if number else [])
                beside = {}
            if what is None:
                words = INTRODUCTIONS.get(value)
                lines += [f"\n## {value}\n" + (f"\n{words}\n" if words else "")] if value else []
            elif number is None:
                lines += [note] if (note := f"| | *{what.replace('; ', ' · ')}* | | | |") not in lines else []
            elif BESIDE.search(what):
                name, much = BESIDE.split(what)[0], BESIDE.search(what)[1]
                beside.setdefault(name, []).append((much, str(value), target, met))
            else:
                lines += [COLUMNS] if not lines or lines[-1].endswith("\n") else []
                lines.append(f"| {number} | {what} | {value} | {target} | {mark} |")
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


# The end of a row that compares a program beside much with the same beside little.
BESIDE = re.compile(r" with (\d+ .+ / with \w+)$")


def grid(beside):
    """A table of ratios: a line for each program, a column for each kind of much. Of a ratio that is met, only the number is shown."""
    columns = list(dict.fromkeys(much for cells in beside.values() for much, *_ in cells))
    lines = ["| | " + " | ".join(much.replace("/ with", "/") for much in columns) + " | target |", "|---|" + "---|" * (len(columns) + 1)]
    for name, cells in beside.items():
        shown = {much: value.split(" ")[0] if met else f"**{value}**" for much, value, _, met in cells}
        targets = dict.fromkeys(target if len({t for _, _, t, _ in cells}) == 1 else re.sub(r"\d+ ×", "n ×", target) for _, _, target, _ in cells)
        lines.append(f"| {name} | " + " | ".join(shown.get(much, "") for much in columns) + f" | {', '.join(targets)} |")
    return lines


PAGE = PROJECT / "docs" / "dev" / "benchmarks.md"
COLUMNS = "| | what | measured | target | |\n|---|---|---|---|---|"
# What stands below the titles of some sections.
INTRODUCTIONS = {
    "Small agent": "The API is a server on loopback.",
    "Scale": """Each step is measured with little and with much history, by turns. The script writes the history: ten rounds for each workflow, and
every other workflow is a child of the one before it. The folders of the attempts are left out, because no measured step reads them.""",
    "After a year": """Each program does the same beside little and beside much, by turns. A cell is the ratio of the processor's times, in bold if it or
the memory misses the target. A program that prints everything may take n times longer, if there is n times more to print. The script writes
past rounds in the shape of a round that the programs made.

The inbox and the page show how many questions wait, the most urgent first, so both read the names of all. The page keeps a few fields of each
question in memory. The kernel marks each file of a folder that begins to be watched.""",
}
HEAD = """# Benchmarks

`benches/run` writes this page and [the picture](benchmarks.svg). Only the ratios count: the absolute times of one machine drift by a third within
an hour. [Building](building.md) says what builds cost, and what the programs are made of.

Each ratio compares two programs that ran by turns, pinned to one CPU: the ratio of the medians and, in brackets, the quartiles of the ratios of
neighbouring runs. The C programs of `benches/c` do the same durable writes with the fewest system calls, and nothing else. The rows measure the
static release build (`cargo build --profile dist --target x86_64-unknown-linux-musl`), and "gnu build" a plain `cargo build --profile dist`.

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
