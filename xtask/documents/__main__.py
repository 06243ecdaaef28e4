"""`python3 -m documents [--write]`: checks all pages; with --write, rewrites their figures
first."""

import argparse
import contextlib
import os
import pathlib
import sys
import tempfile

from . import check, clinic, figures, outputs, strings, width
from .command import Commands
from .pages import pages
from .tree import Tree

ROOT = pathlib.Path(__file__).resolve().parents[2]
ALLOWED = pathlib.Path(__file__).with_name("allowed.txt")


@contextlib.contextmanager
def session(page, tree, binary):
    """A fresh folder for the commands of a page."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        if page.path != figures.FRONT:
            clinic.prepare(folder, binary)
        yield outputs.Session(folder, binary)


def faults(tree, binary, allowed):
    """Every fault that shows without running the commands of a page."""
    found = check.check(tree, Commands(tree, binary), check.Allowed(allowed))
    return found + [fault for page in pages(tree) for fault in figures.check(page, tree)]


def output_faults(tree, binary):
    """Every command of a page that prints something else than the page shows."""
    found = []
    for page in pages(tree):
        if any(outputs.sessions(page.text)):
            with session(page, tree, binary) as typed:
                found += outputs.check(page, typed)
    return found


def write(tree, binary):
    """Rewrites the figures of every page."""
    for page in pages(tree):
        text = tree.text(page.path)
        new = figures.rewrite(text, tree)
        if any(outputs.sessions(text)):
            with session(page, tree, binary) as typed:
                new = outputs.rewrite(new, typed)
        if new != text:
            (tree.root / page.path).write_text(new)
            sys.stderr.write(f"wrote {page.path}\n")


def wording_faults(tree, binary):
    """Phrases that are not of the field in what a user reads, and lines that are too wide."""
    return strings.check(tree, Commands(tree, binary)) + list(width.check(tree))


def main():
    """The command."""
    parser = argparse.ArgumentParser(prog="cargo xtask docs", description=__doc__)
    parser.add_argument("--write", action="store_true", help="rewrite figures and outputs first")
    parser.add_argument("--wrap", action="store_true", help="wrap comments and pages at 100 columns first")
    arguments = parser.parse_args()
    binary = pathlib.Path(os.environ.get("RETICENT", ROOT / "target" / "release" / "reticent"))
    tree = Tree(ROOT)
    if arguments.wrap:
        sys.stderr.writelines(f"wrapped {file}\n" for file in width.write(tree))
    if arguments.write:
        write(tree, binary)
        strings.write(tree, Commands(tree, binary))
    found = faults(tree, binary, ALLOWED.read_text()) + output_faults(tree, binary) + wording_faults(tree, binary)
    for fault in found:
        sys.stderr.write(f"{fault}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
