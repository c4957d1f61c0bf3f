"""Builds the wheel and the source package (PEP 517) with the standard library alone. The same sources give the same bytes.

python3 build_backend.py FOLDER     makes the wheel in FOLDER
"""

import base64
import hashlib
import io
import pathlib
import re
import sys
import tarfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = (HERE / "pyproject.toml").read_text(encoding="utf-8")
LICENSES = ("LICENSE-MIT", "LICENSE-APACHE")


def field(name):
    return re.search(rf'^{name} = "(.*)"$', PROJECT, re.MULTILINE).group(1)


def names(field_name):
    return re.findall(r'"([^"]*)"', re.search(rf"^{field_name} = \[(.*)\]$", PROJECT, re.MULTILINE).group(1))


NAME, VERSION = field("name"), field("version")


def metadata():
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {NAME}",
        f"Version: {VERSION}",
        f"Summary: {field('description')}",
        f"Requires-Python: {field('requires-python')}",
    ]
    lines += [
        f"License-Expression: {field('license')}",
        *(f"License-File: {one}" for one in LICENSES),
        f"Keywords: {','.join(names('keywords'))}",
    ]
    lines += [*(f"Classifier: {one}" for one in names("classifiers")), "Description-Content-Type: text/markdown"]
    return "\n".join(lines) + "\n\n" + (HERE / "README.md").read_text(encoding="utf-8")


def sources():
    return sorted(path for path in (HERE / "src" / NAME).iterdir() if path.suffix == ".py" or path.name == "py.typed")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    info = f"{NAME}-{VERSION}.dist-info"
    files = {f"{NAME}/{path.name}": path.read_bytes() for path in sources()}
    files[f"{info}/METADATA"] = metadata().encode()
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: askbox\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files.update({f"{info}/licenses/{one}": (HERE / one).read_bytes() for one in LICENSES})
    record = "".join(f"{name},sha256={digest(content)},{len(content)}\n" for name, content in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    wheel = f"{NAME}-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return wheel


def digest(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")


def build_sdist(sdist_directory, config_settings=None):
    base = f"{NAME}-{VERSION}"
    files = {str(path.relative_to(HERE)): path.read_bytes() for path in sources()}
    files.update({name: (HERE / name).read_bytes() for name in ("pyproject.toml", "build_backend.py", "README.md", *LICENSES)})
    files["PKG-INFO"] = metadata().encode()
    with tarfile.open(pathlib.Path(sdist_directory) / f"{base}.tar.gz", "w:gz") as archive:
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(f"{base}/{name}")
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
    return f"{base}.tar.gz"


if __name__ == "__main__":
    print(build_wheel(sys.argv[1]))
