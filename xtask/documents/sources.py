"""References of the sources to the tree: paths in comments, docstrings and texts, commands in
messages and help."""

import re

from .tree import HERE, RUST

CITED = re.compile(r"(?<![\w/.:-])((?:[\w.-]+/)*[\w-]+\.(?:rs|py|md))\b(?!\()")
DECISION = re.compile(r"\b[Dd]ecisions? (\d{4})\b")
# A command in a text: between backticks, or alone on a line of an example.
TYPED = re.compile(r"`(reticent [a-z][^`{}\\]*)`|(?:^\"?|\\n) *(reticent [a-z]+ --[^\\\n\"{}]*)", re.MULTILINE)


def check(tree, commands, allowed):
    """Every fault of every source, as `file:line: what`."""
    faults = []
    for file in sorted(tree.files):
        if file.startswith(HERE) or not file.endswith((".rs", ".py")):
            continue
        text = tree.text(file)
        faults += [f"{file}:{line}: {fault}" for line, fault in cited(text, file, tree, allowed)]
        if file.endswith(".rs") and "/src/" in file:
            faults += [f"{file}:{line}: {fault}" for line, fault in told(text, tree, commands)]
    return faults


def cited(text, file, tree, allowed):
    """Files and decisions that the comments and docstrings name and that are not there."""
    for number, prose in comments(text, file):
        if "://" in prose:
            continue
        for path in CITED.findall(prose):
            if not tree.has(path, file) and path not in allowed:
                yield number, f"the tree has no `{path}`"
        for decision in DECISION.findall(prose):
            yield from ((number, fault) for fault in decision_faults(decision, tree))


def comments(text, file):
    """The lines of comments, and in Python those of docstrings, with their numbers."""
    quotes = 0
    for number, line in enumerate(text.splitlines(), 1):
        inside = quotes % 2 or '"""' in line
        quotes += line.count('"""')
        comment = re.search(r"//.*" if file.endswith(".rs") else r"(?:^|\s)#.*", line)
        if file.endswith(".py") and inside:
            yield number, line
        elif comment:
            yield number, comment.group()


def told(text, tree, commands):
    """Commands in messages and examples that cannot be typed so, and pages that are not there."""
    for token in RUST.finditer(text):
        if token.group()[-1] not in "\"#" or token.group().startswith("//"):
            continue
        line = text.count("\n", 0, token.start()) + 1
        for found in TYPED.finditer(token.group()):
            words = (found.group(1) or found.group(2)).split()
            below = line + token.group().count("\n", 0, found.start())
            yield from ((below, fault) for fault in commands.faults(words))
        for path in CITED.findall(token.group()):
            if path.startswith("docs/") and not tree.has(path):
                yield line, f"the tree has no `{path}`"


def decision_faults(number, tree):
    """A decision that is cited by number is there."""
    return [] if tree.has(f"docs/decisions/{number}-*.md") else [f"there is no decision {number}"]
