"""Measures how long building and testing take, and writes bench/build/RESULTS.md.

usage: python3 bench/build/measure.py [--cold] [--touch] [--quick] [--test] [--crate NAME] [--file PATH] [--tree DIR]

  --cold    `cargo build --release --bin reticent` into a folder of its own: CPU seconds of all processes
  --touch   a file gets one line more, then the tests of its crate are built and run: seconds
  --quick   the same change, then `cargo xtask quick` on the crate: seconds
  --test    `cargo xtask test` in a fresh clone with nothing compiled: seconds
  --tree    another checkout to measure, of an earlier commit; this one without it

Each run adds a line to bench/build/results.jsonl, with the commit, so that before and after stand
on one page. Without a flag only the page is written. --cold takes some ten minutes on two quiet
cores, --test half an hour.
"""

import argparse
import contextlib
import json
import os
import pathlib
import platform
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
LINES = HERE / "results.jsonl"

HEAD = """# How long building takes

    python3 bench/build/measure.py --cold --touch --quick --test

measures and writes this page from `results.jsonl`, one line for each run. CPU seconds are those of the compiler and all
other processes together, and depend little on what else the machine does; seconds on the clock do. *Load* is the number of
processes that wanted a core when the run began: where it is not far below the number of cores, the clock's figure is too high.

| commit | figure | CPU seconds | seconds | load | machine |
| --- | --- | --- | --- | --- | --- |
"""

END = "<!-- measure.py writes down to here -->"


def main():
    """Runs what was asked for and writes the page."""
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    for flag in ("--cold", "--touch", "--quick", "--test"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--crate", default="reticent-data")
    parser.add_argument("--file", type=pathlib.Path)
    parser.add_argument("--tree", type=pathlib.Path, default=HERE.parents[1])
    asked = parser.parse_args()
    # Every command below runs in the checkout that is measured.
    os.chdir(asked.tree)
    file = asked.file or pathlib.Path("crates") / asked.crate / "src" / "kernel" / "mod.rs"
    if (asked.touch or asked.quick) and not file.exists():
        parser.exit(2, f"there is no `{file}` to change; name a file of {asked.crate} with --file\n")
    if asked.cold:
        keep("cold `cargo build --release --bin reticent`", cold)
    if asked.touch:
        tests = ["cargo", "test", "--locked", "--package", asked.crate]
        keep(f"`{file}` touched, `cargo test --package {asked.crate}`", lambda: touched(file, tests))
    if asked.quick:
        quick = ["cargo", "xtask", "quick", asked.crate]
        keep(f"`{file}` touched, `cargo xtask quick {asked.crate}`", lambda: touched(file, quick))
    if asked.test:
        keep("`cargo xtask test` in a fresh clone", fresh)
    write()


def cold():
    """Builds the command with nothing compiled; what the network brings is there before."""
    run(["cargo", "fetch", "--locked"])
    with tempfile.TemporaryDirectory(dir=scratch()) as target:
        command = ["cargo", "build", "--release", "--locked", "--bin", "reticent"]
        return timed(command, CARGO_TARGET_DIR=target)


def touched(file, command):
    """Runs a command once, changes one line, and measures it again."""
    run(command)
    with changed(file):
        return timed(command)


@contextlib.contextmanager
def changed(file):
    """A statement more in the first function: a change that the compiler cannot pass over."""
    text = file.read_text()
    begins = re.search(r"^( *)(?:pub(?:\([^)]*\))? )?fn [^;{]*\{\n(?! *(?:const|static|use|fn) )", text, re.MULTILINE)
    if not begins:
        sys.exit(f"`{file}` has no function to change; name another file with --file")
    statement = f"{begins.group(1)}    let _ = std::hint::black_box({time.time_ns()}_u64);\n"
    try:
        file.write_text(text[: begins.end()] + statement + text[begins.end() :])
        yield
    finally:
        file.write_text(text)


def fresh():
    """Clones the last commit and runs everything."""
    with tempfile.TemporaryDirectory(dir=scratch()) as folder:
        clone = pathlib.Path(folder) / "clone"
        run(["git", "clone", "--quiet", str(pathlib.Path.cwd()), str(clone)])
        run(["cargo", "fetch", "--locked"], cwd=clone)
        return timed(["cargo", "xtask", "test"], cwd=clone, CARGO_TARGET_DIR=str(clone / "target"))


def scratch():
    """A folder for what is built and thrown away."""
    folder = pathlib.Path.cwd() / "target" / "measure"
    folder.mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(folder).free < 10e9:
        sys.exit(f"less than 10 GB are free in `{folder}`: make room and try again")
    return folder


def run(command, cwd=None, **environment):
    """Runs a command, or ends with what it said."""
    done = subprocess.run(command, cwd=cwd, env={**os.environ, **environment}, check=False)
    if done.returncode:
        sys.exit(f"`{' '.join(command)}` ended with code {done.returncode}: nothing was measured")


def timed(command, **where):
    """CPU seconds of all processes of a command, and seconds on the clock."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    run(command, **where)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu": round(cpu, 1), "wall": round(time.monotonic() - start, 1)}


def keep(figure, measure):
    """Measures and adds a line to the results."""
    load = round(os.getloadavg()[0], 1)
    line = {"commit": commit(), "figure": figure, **measure(), "load": load, "machine": machine()}
    with LINES.open("a") as results:
        results.write(json.dumps(line) + "\n")


def commit():
    """The commit, with a plus where files differ from it."""
    git = ["git", "describe", "--always", "--abbrev=8", "--dirty=+", "--exclude=*"]
    return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()


def machine():
    """Processor, cores and compiler."""
    with contextlib.suppress(OSError, IndexError):
        text = pathlib.Path("/proc/cpuinfo").read_text()
        name = text.split("model name")[1].split("\n")[0].strip("\t :")
        version = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True)
        return f"{name}, {os.cpu_count()} cores, {' '.join(version.stdout.split()[:2])}"
    return f"{platform.machine()}, {os.cpu_count()} cores"


def write():
    """Writes the page down to its mark; others' figures may stand below."""
    lines = [json.loads(line) for line in LINES.read_text().splitlines()] if LINES.exists() else []
    rows = ("commit", "figure", "cpu", "wall", "load", "machine")
    table = "".join("| " + " | ".join(str(line[name]) for name in rows) + " |\n" for line in lines)
    page = HERE / "RESULTS.md"
    below = page.read_text().partition(END)[2] if page.exists() else "\n"
    page.write_text(HEAD + table + "\n" + END + below)


if __name__ == "__main__":
    main()
