"""`python3 -m book`: the sources of the site in target/site/src, and the site in
target/site/book."""

import os
import pathlib
import shutil
import subprocess
import sys

from documents.tree import Tree

from . import check, sources, summary

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
STYLE = pathlib.Path(__file__).with_name("site.css")

BOOK = """[book]
title = "Reticent"
description = "Private models with a certificate that anyone can re-check without the data"
language = "en"
src = "src"

[build]
create-missing = false

[output.html]
no-section-label = true
default-theme = "light"
preferred-dark-theme = "navy"
additional-css = ["site.css"]

[output.html.fold]
enable = true
level = 0

[output.html.print]
enable = false

[output.html.search]
limit-results = 30
"""


def write(tree, folder):
    """Writes the sources; gives their faults."""
    folder = pathlib.Path(folder)
    made, copied = sources.make(tree)
    contents = summary.make(made)
    if (folder / "src").exists():
        shutil.rmtree(folder / "src")
    for path, text in {**made, "SUMMARY.md": contents}.items():
        place = folder / "src" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    for path, file in copied.items():
        place = folder / "src" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(tree.root / file, place)
    (folder / "book.toml").write_text(BOOK, encoding="utf-8")
    shutil.copyfile(STYLE, folder / "site.css")
    return check.faults(made, copied, contents)


def renderer():
    """The tool that renders: that of `cargo xtask site`, or one on the path."""
    own = TARGET / "tools" / "bin" / ("mdbook.exe" if sys.platform == "win32" else "mdbook")
    return str(own) if own.exists() else shutil.which("mdbook")


def render(tool, folder, libraries=None):
    """Renders the sources in a folder; gives what does not lead anywhere."""
    folder = pathlib.Path(folder)
    run = subprocess.run([tool, "build", str(folder)], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"`{tool} build` ended with {run.returncode}\n{run.stdout}{run.stderr}")
    if libraries is not None and libraries.is_dir():
        shutil.copytree(libraries, folder / "book" / sources.LIBRARIES, dirs_exist_ok=True)
    return check.rendered_faults(folder / "book")


def main():
    """The command."""
    folder = TARGET / "site"
    folder.mkdir(parents=True, exist_ok=True)
    found = write(Tree(ROOT), folder)
    tool = renderer()
    if not found and tool:
        found = render(tool, folder, TARGET / "doc")
    for fault in found:
        sys.stderr.write(f"{fault}\n")
    if not found:
        sys.stderr.write(f"open {folder / 'book' / 'index.html'}\n" if tool else "no mdbook is here: the sources alone were checked\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
