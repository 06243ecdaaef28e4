"""Every block of code in the guide runs, page by page, in a folder with a table and its schema."""

import os
import pathlib
import re
import subprocess
import sys

import pytest
from conftest import ROOT
from documents import clinic

PAGES = [*sorted((ROOT / "docs" / "guide").glob("*.md")), ROOT / "docs" / "ledger.md"]


def blocks(page):
    """The blocks of a page, with their language; a block inside a list is indented."""
    found = re.findall(r"^( *)```(\w+)\n(.*?)^\1```$", page.read_text(), re.MULTILINE | re.DOTALL)
    return [(language, "\n".join(line.removeprefix(indent) for line in text.splitlines())) for indent, language, text in found]


@pytest.fixture
def folder(tmp_path, reticent):
    """A folder to read the guide in; `reticent` is the command."""
    clinic.prepare(tmp_path, reticent.binary)
    commands = tmp_path / "commands"
    commands.mkdir()
    (commands / "reticent").symlink_to(reticent.binary)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_runs(page, folder):
    environment = {**os.environ, "PATH": f"{folder / 'commands'}{os.pathsep}{os.environ['PATH']}", "PYSPARK_PYTHON": sys.executable}
    run = {"sh": ["bash", "-euo", "pipefail", "-c"], "python": [sys.executable, "-c"]}
    for language, text in blocks(page):
        assert language in run, f"{page.name} has a block in {language}, which nobody runs"
        done = subprocess.run([*run[language], text], cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{page.name}:\n{text}\n{done.stdout}\n{done.stderr}"


def test_the_guide_lists_every_page():
    guide = ROOT / "docs" / "guide"
    listed = set(re.findall(r"\]\(([\w-]+\.md)\)", (guide / "README.md").read_text()))
    assert listed == {page.name for page in guide.glob("*.md")} - {"README.md"}


def test_every_decision_is_listed():
    folder = ROOT / "docs" / "decisions"
    listed = re.findall(r"^\| \[(\d+)\]\((\1-[\w-]+\.md)\)", (folder / "README.md").read_text(), re.MULTILINE)
    assert [name for _, name in listed] == sorted(page.name for page in folder.glob("0*.md"))


def test_every_erratum_names_a_test_or_says_that_none_shows_it():
    sources = "\n".join(path.read_text() for folder in ("crates", "attacks") for path in (ROOT / folder).rglob("*.rs"))
    vectors = "\n".join(path.read_text() for path in (ROOT / "crates" / "reticent-testkit" / "vectors").glob("*.json"))
    rows = [line.split("|")[1:-1] for line in (ROOT / "docs" / "errata.md").read_text().splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in row] for row in rows if not set(row[0].strip()) <= set("-")]
    rows = [row for row in rows if row[0] not in ("where", "Where")]
    assert len(rows) > 50
    for *_, shown in rows:
        names = re.findall(r"`(\w+)`", shown)
        assert names or shown.startswith(("argued", "text")), shown
        for name in names:
            assert f"fn {name}(" in sources or f'"{name}"' in vectors, name


def test_every_direct_dependency_is_explained_with_its_licence():
    page = (ROOT / "docs" / "dependencies.md").read_text()
    listed = dict(re.findall(r"^\| `([\w-]+)` \| [^|]+ \| ([^|]+) \|$", page, re.MULTILINE))
    import json

    cargo = os.environ.get("CARGO", "cargo")
    text = subprocess.run(
        [cargo, "metadata", "--format-version", "1", "--locked", "--offline"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    metadata = json.loads(text)
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    direct = {}
    for member in metadata["workspace_members"]:
        for dependency in nodes[member]["deps"]:
            package = packages[dependency["pkg"]]
            if package["source"]:
                direct[package["name"]] = package["license"]
    assert {name: licence.strip() for name, licence in listed.items()} == direct


def test_the_pages_are_read_from_this_repository():
    assert all(isinstance(page, pathlib.Path) and page.exists() for page in PAGES)
    assert len(PAGES) == 14
