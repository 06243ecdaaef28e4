"""`python -m dist [PART ...]`: everything that is handed over, in target/dist, each part checked as
it is made.

    crates    cargo packages every crate that is published, and builds it from its package alone
    wheel     the Python package: one wheel for all versions of CPython, and the sources
    binary    an archive of the command with manual pages and completions
    sbom      the components of the command as CycloneDX
    sums      SHA-256 of all of these
    try       installs the wheel for every supported CPython on this machine, measures its start, and fits

Without a part all are made, in this order. The C library that wheel and archive ask of Linux is
GLIBC.
"""

import argparse
import pathlib
import shutil
import sys

from . import archive, crates, interpreters, sbom, sums, wheel
from .tools import OUT, say

PARTS = {
    "crates": crates.build,
    "wheel": wheel.build,
    "binary": archive.build,
    "sbom": sbom.build,
    "sums": sums.build,
    "try": interpreters.check,
}


def main():
    """Makes the parts that are named, or all."""
    parser = argparse.ArgumentParser(prog="cargo xtask dist", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help="crates, wheel, binary, sbom, sums or try")
    asked = parser.parse_args().parts
    unknown = [part for part in asked if part not in PARTS]
    if unknown:
        parser.error(f"there is no part `{unknown[0]}`: name some of {', '.join(PARTS)}")
    if not asked and pathlib.Path(OUT).exists():
        shutil.rmtree(OUT)
    pathlib.Path(OUT).mkdir(parents=True, exist_ok=True)
    for name, make in PARTS.items():
        if not asked or name in asked:
            say(f"== {name}")
            make()
    return 0


if __name__ == "__main__":
    sys.exit(main())
