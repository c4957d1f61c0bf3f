"""The parts of the programs, by `cargo metadata`: the licences that must go along, and the bill of materials."""

import json
import re
import subprocess
import tomllib
from collections import defaultdict
from pathlib import Path

LICENCE_FILE = re.compile(r"(LICEN[CS]E|COPYING|COPYRIGHT|NOTICE|UNLICENSE)", re.IGNORECASE)

MUSL = """musl, the C library, is linked into the programs. It is licensed under the MIT licence:

Copyright © 2005-2020 Rich Felker, et al.

Permission is hereby granted, free of charge, to any person obtaining
a copy of this software and associated documentation files (the
"Software"), to deal in the Software without restriction, including
without limitation the rights to use, copy, modify, merge, publish,
distribute, sublicense, and/or sell copies of the Software, and to
permit persons to whom the Software is furnished to do so, subject to
the following conditions:

The above copyright notice and this permission notice shall be
included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND,
EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT.
IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY
CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT,
TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE
SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""


def metadata(root, target, features):
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", target, "--features", features]
    return json.loads(subprocess.run(command, cwd=root, check=True, stdout=subprocess.PIPE).stdout)


def root_package(metadata):
    return next(package for package in metadata["packages"] if package["id"] == metadata["resolve"]["root"])


def linked(metadata):
    """The dependencies, without the ones for tests and build scripts: each package, and the ids of the packages that it uses."""
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    uses, open_ids = {}, [metadata["resolve"]["root"]]
    while open_ids:
        at = open_ids.pop()
        if at not in uses:
            uses[at] = sorted(d["pkg"] for d in nodes[at]["deps"] if any(kind["kind"] is None for kind in d["dep_kinds"]))
            open_ids += uses[at]
    packages = [package for package in metadata["packages"] if package["id"] in uses]
    return sorted(packages, key=lambda package: (package["name"], package["version"])), uses


def licences(metadata):
    """Each licence text once, below the names of the packages that come with it."""
    packages, _ = linked(metadata)
    own = metadata["workspace_members"]
    names_of_text, text_of_words, without_text, lines = defaultdict(list), {}, [], []
    for package in (package for package in packages if package["id"] not in own):
        label = f"{package['name']} {package['version']}"
        if not package["license"]:
            raise SystemExit(f"error: {label} names no licence in its Cargo.toml\nhint: see whether .ci/deny.toml makes an exception for it")
        lines.append(f"  {label}: {package['license']}")
        folder = Path(package["manifest_path"]).parent
        files = sorted(file for file in folder.iterdir() if file.is_file() and LICENCE_FILE.match(file.name))
        for text in sorted({file.read_text(errors="replace").replace("\r\n", "\n").strip() for file in files}):
            # Copies differ in spaces and ends of lines.
            names_of_text[text_of_words.setdefault(" ".join(text.split()), text)].append(label)
        if not files:
            without_text.append(f"  {label}: {', '.join(package['authors']) or 'its authors'}; {package['repository'] or 'https://crates.io/crates/' + package['name']}")
    sections = ["The programs of askbox contain these packages, and the standard library of Rust (MIT OR Apache-2.0):\n\n" + "\n".join(lines)]
    if without_text:
        sections.append("These packages come without a licence text; it is the usual one of the licence named above. Their authors and places:\n\n" + "\n".join(without_text))
    sections.append(MUSL.strip())
    for names, text in sorted((sorted(set(names)), text) for text, names in names_of_text.items()):
        sections.append(f"Of {', '.join(names)}:\n\n{text}")
    return ("\n\n" + "-" * 80 + "\n\n").join(sections) + "\n"


def bill_of_materials(metadata, root, written_at):
    """CycloneDX 1.5, without a serial number: the same sources give the same bytes."""
    packages, uses = linked(metadata)
    own = root_package(metadata)["id"]
    lock = tomllib.loads((root / "Cargo.lock").read_text())["package"]
    checksums = {(entry["name"], entry["version"]): entry.get("checksum") for entry in lock}
    address = {package["id"]: f"pkg:cargo/{package['name']}@{package['version']}" for package in packages}

    def component(package, kind):
        made = {
            "type": kind,
            "bom-ref": address[package["id"]],
            "name": package["name"],
            "version": package["version"],
            "licenses": [{"expression": package["license"].replace("/", " OR ")}],
            "purl": address[package["id"]],
        }
        if checksum := checksums.get((package["name"], package["version"])):
            made["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        return made

    compiler = subprocess.run(["rustc", "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()[1]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": written_at,
            "tools": {"components": [{"type": "application", "name": "rustc", "version": compiler}]},
            "component": component(next(package for package in packages if package["id"] == own), "application"),
        },
        "components": [component(package, "library") for package in packages if package["id"] != own],
        "dependencies": [{"ref": address[at], "dependsOn": sorted(address[used] for used in uses[at])} for at in sorted(address, key=address.get)],
    }
