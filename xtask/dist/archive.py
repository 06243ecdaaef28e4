"""An archive of the command: program, manual pages, completions, licences."""

import gzip
import os
import pathlib
import shutil
import sys
import tarfile
import tempfile
import zipfile

from .tools import CARGO, GLIBC, LINUX, MACHINE, OUT, ROOT, SYSTEM, TARGET, VERSION, check_glibc, run, say

SHELLS = {"bash": "reticent.bash", "zsh": "_reticent", "fish": "reticent.fish", "powershell": "_reticent.ps1"}
PAGES = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"]


def build():
    """Builds the command and packs it."""
    binary = compile_command()
    say(f"{binary.name}: {binary.stat().st_size / 1e6:.1f} MB")
    name = f"reticent-command-{VERSION}-{SYSTEM}-{MACHINE}"
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder) / name
        fill(folder, binary)
        pack(folder)


def compile_command():
    """The program; on Linux linked against the oldest C library."""
    build = ["--release", "--locked", "--bin", "reticent"]
    if not LINUX:
        run(CARGO, "build", *build)
        return TARGET / "release" / ("reticent.exe" if sys.platform == "win32" else "reticent")
    # Debug names are left out by the linker.
    target = f"{MACHINE}-unknown-linux-gnu"
    flags = {"CARGO_PROFILE_RELEASE_STRIP": "symbols"}
    run("cargo-zigbuild", "zigbuild", *build, "--target", f"{target}.{GLIBC}", **flags)
    binary = TARGET / target / "release" / "reticent"
    check_glibc(binary)
    return binary


def fill(folder, binary):
    """Everything that is packed, made by the program itself where it can."""
    folder.mkdir()
    shutil.copy(binary, folder)
    program = folder / binary.name
    for page in PAGES:
        shutil.copy(ROOT / page, folder)
    run(program, "man", "--out", folder / "man" / "man1")
    (folder / "completions").mkdir()
    for shell, file in SHELLS.items():
        (folder / "completions" / file).write_text(run(program, "completions", shell))
    if not list((folder / "man" / "man1").glob("reticent*.1")):
        sys.exit("`reticent man` wrote no page")


def pack(folder):
    """One archive with sorted names and the date of the commit: the same files give the same
    bytes."""
    date = int(os.environ.get("SOURCE_DATE_EPOCH") or run("git", "log", "-1", "--format=%ct"))
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    if sys.platform == "win32":
        with zipfile.ZipFile(OUT / f"{folder.name}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for file in files:
                archive.write(file, file.relative_to(folder.parent))
        return

    def plain(entry):
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = "root"
        entry.mtime = date
        return entry

    with open(OUT / f"{folder.name}.tar.gz", "wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=date) as zipped:
        with tarfile.open(fileobj=zipped, mode="w") as archive:
            for file in files:
                archive.add(file, file.relative_to(folder.parent), filter=plain)
