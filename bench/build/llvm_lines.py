#!/usr/bin/env python3
"""Counts the lines of LLVM IR that the compiler makes of a crate, before any optimisation.

usage: python3 bench/build/llvm_lines.py [--crate reticent-data] [--release] [--top 25]

Nearly all of the time that a build of the kernels takes is LLVM's, and it grows with these lines.
Cargo builds the crate with this script as its compiler wrapper for the workspace: the crate itself
is compiled with `-C opt-level=3 -C no-prepopulate-passes -C codegen-units=1` to IR alone, all
others as usual. Nothing that other builds made is touched. Dependencies come from the dev profile
unless `--release` is given; the functions that the crate instantiates are the same.
"""
import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CRATE = "RETICENT_LLVM_LINES_OF"
FLAGS = ["-Copt-level=3", "-Cno-prepopulate-passes", "-Ccodegen-units=1"]
FLAGS += ["-Cdebug-assertions=off", "-Coverflow-checks=off", "-Csymbol-mangling-version=v0"]


def wrap(command):
    """Compiles as cargo asks, but the crate that is counted to IR alone."""
    name = command[command.index("--crate-name") + 1] if "--crate-name" in command else ""
    if name == os.environ[CRATE] and "--test" not in command:
        drop = ("codegen-units", "-Ccodegen-units", "incremental")
        kept = []
        for word in command:
            if word.startswith("--emit="):
                word = "--emit=dep-info,metadata,llvm-ir"
            if word.split("=")[0] in drop and kept and kept[-1] == "-C":
                kept.pop()
                continue
            kept.append(word)
        command = kept + FLAGS
    os.execvp(command[0], command)


def segments(symbol, start=0):
    """The names that follow each other in a mangled name from `start` on."""
    names = []
    while match := re.compile(r"(?:s[0-9a-zA-Z]*_)?(\d+)_?").match(symbol, start):
        start = match.end() + int(match.group(1))
        names.append(symbol[match.end() : start])
    return names


def cause(symbol, crate):
    """The module of the crate that a function is there for, its own or that of what it is generic
    in; else its own crate."""
    at = symbol.find(f"{len(crate)}{crate}")
    names = [name for name in segments(symbol, at)[1:] if name and name[0].islower()] if at >= 0 else []
    if names:
        return "::".join([crate, *names[:3]])
    other = re.search(r"Cs[0-9a-zA-Z]+_(\d+)", symbol)
    return symbol[other.end() : other.end() + int(other.group(1))] if other else "other"


def count(ir, crate):
    """Lines and functions, in all and by cause."""
    total, causes, inside = collections.Counter(), collections.defaultdict(collections.Counter), []
    with open(ir) as lines:
        for line in lines:
            if line.startswith("define "):
                symbol = re.search(r"@\"?([^\"(]+)", line).group(1)
                inside = [total, causes[cause(symbol, crate)]]
                for counter in inside:
                    counter["functions"] += 1
            elif line.startswith("}"):
                inside = []
            elif line.startswith("  "):
                for counter in inside:
                    counter["lines"] += 1
    return total, causes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--crate", default="reticent-data")
    parser.add_argument("--release", action="store_true")
    parser.add_argument("--top", type=int, default=25)
    options = parser.parse_args()
    crate = options.crate.replace("-", "_")
    command = ["cargo", "build", "--quiet", "-p", options.crate, "--lib"] + ["--release"] * options.release
    environment = os.environ | {"RUSTC_WORKSPACE_WRAPPER": str(pathlib.Path(__file__).resolve()), CRATE: crate}
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    deps = target / ("release" if options.release else "debug") / "deps"
    ir = max(deps.glob(f"{crate}-*.ll"), key=lambda path: path.stat().st_mtime)
    total, causes = count(ir, crate)
    print(f"{options.crate}: {total['lines']:,} lines of LLVM IR in {total['functions']:,} functions")
    print(f"\n{'lines':>9} {'copies':>7}  for")
    for name, counter in sorted(causes.items(), key=lambda item: -item[1]["lines"])[: options.top]:
        print(f"{counter['lines']:>9,} {counter['functions']:>7,}  {name}")


if __name__ == "__main__":
    if CRATE in os.environ and len(sys.argv) > 1 and pathlib.Path(sys.argv[1]).stem == "rustc":
        wrap(sys.argv[1:])
    main()
