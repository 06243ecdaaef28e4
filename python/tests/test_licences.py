"""Everything that is linked has a licence on the list of deny.toml, read from the lock file's
packages."""

import json
import os
import re
import subprocess
import tomllib

import pytest
from conftest import ROOT

ALLOWED = set(tomllib.loads((ROOT / "deny.toml").read_text())["licenses"]["allow"])


def cargo(*arguments):
    """The output of cargo."""
    command = [os.environ.get("CARGO", "cargo"), *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def is_allowed(expression, allowed=ALLOWED):
    """Whether an SPDX expression can be met by allowed licences: AND binds before OR, `/` is an old
    OR."""
    words = re.findall(r"[()]|[^\s()]+", expression.replace("/", " OR "))

    def alternatives():
        found = conjunction()
        while words and words[0] == "OR":
            words.pop(0)
            found = conjunction() or found
        return found

    def conjunction():
        found = licence()
        while words and words[0] == "AND":
            words.pop(0)
            found = licence() and found
        return found

    def licence():
        word = words.pop(0)
        if word == "(":
            found = alternatives()
            assert words.pop(0) == ")", expression
            return found
        if words and words[0] == "WITH":
            words.pop(0)
            word = f"{word} WITH {words.pop(0)}"
        return word in allowed

    found = alternatives()
    assert not words, f"not an SPDX expression: {expression}"
    return found


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("MIT", True),
        ("GPL-3.0", False),
        ("MIT OR GPL-3.0", True),
        ("GPL-3.0 OR MIT", True),
        ("MIT/GPL-3.0", True),
        ("MIT AND GPL-3.0", False),
        ("MIT AND Apache-2.0", True),
        ("GPL-3.0 OR MIT AND Apache-2.0", True),
        ("(MIT OR GPL-3.0) AND Unicode-3.0", True),
        ("(MIT OR Apache-2.0) AND GPL-3.0", False),
        ("Apache-2.0 WITH LLVM-exception OR GPL-3.0", True),
        ("GPL-2.0 WITH Classpath-exception-2.0", False),
    ],
)
def test_expressions_are_read_by_their_grammar(expression, expected):
    assert is_allowed(expression) is expected


def test_every_linked_package_has_an_allowed_licence():
    host = re.search(r"^host: (.+)$", cargo("-vV"), re.MULTILINE).group(1)
    options = ("--format-version", "1", "--locked", "--offline", "--filter-platform", host)
    metadata = json.loads(cargo("metadata", *options))
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    linked, waiting = set(), list(metadata["workspace_members"])
    while waiting:
        name = waiting.pop()
        if name in linked:
            continue
        linked.add(name)
        for dependency in nodes[name]["deps"]:
            # Only what is linked: `dev` and `build` dependencies stay at home.
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                waiting.append(dependency["pkg"])
    refused = {
        f"{packages[p]['name']} {packages[p]['version']}": packages[p]["license"]
        for p in linked
        if not packages[p]["license"] or not is_allowed(packages[p]["license"])
    }
    assert not refused
    assert len(linked) > 50, "the graph was walked"
    sources = {packages[p]["source"] for p in linked} - {None}
    assert sources == {"registry+https://github.com/rust-lang/crates.io-index"}
