"""Where things are, and how commands are run."""

import os
import pathlib
import platform
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
OUT = TARGET / "dist"
CARGO = os.environ.get("CARGO", "cargo")
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]

# The oldest C library that the compiler's standard library supports on Linux.
GLIBC = "2.17"
LINUX = sys.platform == "linux"
MACHINE = {"AMD64": "x86_64", "arm64": "aarch64", "ARM64": "aarch64"}.get(platform.machine(), platform.machine())
SYSTEM = {"darwin": "macos", "win32": "windows"}.get(sys.platform, sys.platform)


def say(text):
    """Tells what is done."""
    sys.stderr.write(text + "\n")


def run(*command, cwd=ROOT, **environment):
    """Runs a command, shows it, and gives what it printed."""
    words = [str(word) for word in command]
    say("> " + " ".join(words))
    # Tools of this environment, as the linker of another machine, are found by their names.
    path = f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(words, cwd=cwd, env={**os.environ, "PATH": path, **environment}, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"`{' '.join(words)}` ended with {done.returncode}\n{done.stdout}")
    return done.stdout


def glibc_of(file):
    """The newest version of the C library that a program or library asks for, as a tuple."""
    from elftools.elf.elffile import ELFFile
    from elftools.elf.gnuversions import GNUVerNeedSection

    with open(file, "rb") as binary:
        needs = [s for s in ELFFile(binary).iter_sections() if isinstance(s, GNUVerNeedSection)]
        names = [aux.name for section in needs for _, auxes in section.iter_versions() for aux in auxes]
    versions = [name.removeprefix("GLIBC_") for name in names if name.startswith("GLIBC_")]
    return max(tuple(int(part) for part in version.split(".")) for version in versions)


def check_glibc(file):
    """Ends if a file needs a newer C library than is promised."""
    newest = glibc_of(file)
    if newest > tuple(int(part) for part in GLIBC.split(".")):
        sys.exit(f"`{file}` asks for glibc {'.'.join(map(str, newest))}, and {GLIBC} is promised")
    say(f"{file.name} asks for glibc {'.'.join(map(str, newest))}")
