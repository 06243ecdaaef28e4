"""The wheel in a clean environment of every supported CPython: it installs, starts quickly, fits
and verifies."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

from .tools import MACHINE, OUT, ROOT, SYSTEM, run, say
from .wheel import the_wheel

TRIAL = pathlib.Path(__file__).with_name("trial.py")
# `python3.10`, and on Windows `python.exe`, of which each version has its own folder.
NAME = re.compile(r"python(3(\.\d+)?)?(\.exe)?")


def check():
    """Tries the wheel with each interpreter that is found; one of the oldest supported version must
    be there."""
    oldest = tomllib.loads((ROOT / "python" / "pyproject.toml").read_text())["project"]["requires-python"]
    oldest = tuple(int(part) for part in oldest.removeprefix(">=").split("."))
    # The first CPython that was built for Windows on Arm.
    if (SYSTEM, MACHINE) == ("windows", "aarch64"):
        oldest = max(oldest, (3, 11))
    supported = {version: python for version, python in found().items() if version >= oldest}
    if min(supported, default=None) != oldest:
        sys.exit(f"no Python {'.'.join(map(str, oldest))} is here, the oldest that is supported: install it (pyenv, or python{'.'.join(map(str, oldest))} on the path)")
    wheel = the_wheel()
    for version, python in sorted(supported.items()):
        with tempfile.TemporaryDirectory() as folder:
            home = pathlib.Path(folder) / "environment"
            run(python, "-m", "venv", home)
            (inside,) = [*home.glob("bin/python"), *home.glob("Scripts/python.exe")]
            run(inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
            say(f"CPython {'.'.join(map(str, version))}: " + run(inside, TRIAL, cwd=folder, PYTHONPATH="").strip())
    say(f"{wheel.name} works with {len(supported)} versions of CPython; all files are in {OUT}")


def found():
    """Interpreters by version: of pyenv, and those on the path."""
    candidates = sorted((pathlib.Path.home() / ".pyenv" / "versions").glob("*/bin/python3"))
    folders = [pathlib.Path(folder) for folder in os.environ["PATH"].split(os.pathsep)]
    candidates += [path for folder in folders for path in sorted(folder.glob("python*")) if NAME.fullmatch(path.name)]
    versions = {}
    for python in [*candidates, pathlib.Path(sys.executable)]:
        ask = [str(python), "-c", "import sys; print(*sys.version_info[:2], sys.implementation.name)"]
        told = subprocess.run(ask, capture_output=True, text=True, check=False).stdout.split()
        if len(told) == 3 and told[2] == "cpython":
            versions.setdefault((int(told[0]), int(told[1])), python)
    return versions
