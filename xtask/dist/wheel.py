"""The Python package: one wheel for all supported versions of CPython, and its sources."""

import sys
import zipfile

from .tools import GLIBC, LINUX, OUT, ROOT, check_glibc, run, say

# The largest size of a wheel, for users with a slow line.
MOST_BYTES = 12_000_000


def build():
    """Builds both. Maturin checks that the wheel keeps to the platform that its name states."""
    old = [*OUT.glob("*.whl"), *OUT.glob("*.tar.gz")]
    for file in old:
        if file.name.startswith("reticent-") and "-command-" not in file.name:
            file.unlink()
    linux = ["--zig", "--compatibility", f"manylinux_{GLIBC.replace('.', '_')}"] if LINUX else []
    maturin = [sys.executable, "-m", "maturin", "build", "--release", "--locked", "--sdist", "--out", OUT]
    run(*maturin, "--interpreter", sys.executable, *linux, cwd=ROOT / "python")
    check(the_wheel())


def the_wheel():
    """The one wheel."""
    wheels = list(OUT.glob("reticent-*.whl"))
    if len(wheels) != 1:
        sys.exit(f"`{OUT}` holds {len(wheels)} wheels, not one: run `cargo xtask dist wheel`")
    return wheels[0]


def check(wheel):
    """Its name, its size, and the C library that it asks for."""
    size = wheel.stat().st_size
    if size > MOST_BYTES:
        sys.exit(f"`{wheel.name}` has {size} bytes, more than {MOST_BYTES}")
    say(f"{wheel.name}: {size / 1e6:.1f} MB")
    if "-cp310-abi3-" not in wheel.name:
        sys.exit(f"`{wheel.name}` is not for every CPython from 3.10 on")
    if not LINUX:
        return
    with zipfile.ZipFile(wheel) as parts:
        (name,) = [name for name in parts.namelist() if name.endswith(".so")]
        library = OUT / "library.so"
        library.write_bytes(parts.read(name))
    check_glibc(library)
    library.unlink()
