"""The rules: what stands between backticks, in links and in comments is there."""

import re

from . import sources
from .command import without_variables
from .pages import pages

# Endings of files that are ours if we name them; other files may be the reader's.
SOURCE = (".rs", ".py", ".md", ".toml", ".ipynb", ".svg")
FILE = re.compile(r"\.?[\w<>*-]+(?:\.[\w<>*-]+)*\.(?:rs|py|md|toml|json|jsonl|csv|gz|txt|svg|ipynb|html|sh)")
PATH = re.compile(r"(?:\.\.?/)*[\w<>*.-]+(?:/[\w<>*.-]+)*/?")
FORMULA = re.compile(r"[^\x00-\x7f]|\^|_\{|\be\^")
QUALIFIED = re.compile(r"\b([A-Za-z_]\w*)::([A-Za-z_]\w*)\b(?!::)")
DOTTED = re.compile(r"(?<![\w.\"'/-])reticent(?:\.[a-z_A-Z]\w*)+")
NAME = re.compile(r"(?<![\w-])[A-Za-z_]\w*(?:-[A-Za-z]\w*)*")


class Allowed:
    """Words that are no names of ours. Each has a reason, and each must be needed."""

    def __init__(self, text):
        lines = (line.split("#")[0].strip() for line in text.splitlines())
        self.words = {line for line in lines if line}
        self.used = set()

    def __contains__(self, word):
        if word in self.words:
            self.used.add(word)
            return True
        return False

    def unused(self):
        """Entries that nothing needs."""
        return sorted(self.words - self.used)


def check(tree, commands, allowed):
    """Every fault of every page, as `page:line: what`."""
    faults = []
    known = list(pages(tree))
    headings = {page.path: page.headings() for page in known}
    for page in known:
        for place, text in page.spans():
            faults += located(page, place, span_faults(text, page.path, tree, commands, allowed))
        for place, _, text in page.blocks():
            faults += located(page, place, block_faults(text, commands))
        for place, target in page.links():
            faults += located(page, place, link_faults(target, page.path, tree, headings))
        for found in sources.DECISION.finditer(page.prose()):
            faults += located(page, found.start(), sources.decision_faults(found.group(1), tree))
    faults += sources.check(tree, commands, allowed)
    faults += [f"allowed.txt: no page needs `{word}`: delete it" for word in allowed.unused()]
    return faults


def located(page, place, faults):
    """Faults with their page and line."""
    return [f"{page.path}:{page.line(place)}: {fault}" for fault in faults]


def span_faults(text, page, tree, commands, allowed):
    """The faults of one span of code."""
    if text in allowed:
        return []
    words = without_variables(text.split())
    if words and commands.is_command(words):
        return commands.faults(words) + value_faults(words, tree, allowed)
    if len(words) == 1 and is_path(text):
        return path_faults(text, page, tree)
    faults = [
        f"no command has the flag `{flag}`"
        for flag in re.findall(r"(?<![\w-])--[a-z][\w-]*", text)
        if flag not in commands.any_flag and flag not in allowed
    ]
    rest = re.sub(r"(?<![\w-])--[a-z][\w-]*", " ", text)
    return faults + name_faults(rest, tree, allowed)


def value_faults(words, tree, allowed):
    """Words that a command of ours is given, as an algorithm's name; files are the reader's."""
    if words[0] == "cargo":
        return []
    given = [word for before, word in zip(words, words[1:], strict=False) if before.startswith("--")]
    given += words[2:] if words[0].startswith("python") else []
    values = (word for word in given if re.fullmatch(r"[a-z][a-z-]+[a-z]", word))
    return [f"the code has no `{word}`" for word in values if not known(word, tree) and word not in allowed]


def is_path(text):
    """Whether a span is meant as a path of the tree, and no fraction, range or kind of file."""
    if not PATH.fullmatch(text) or text.startswith("~"):
        return False
    if "/" not in text:
        return bool(FILE.fullmatch(text))
    first = text.lstrip("./").split("/")[0]
    return len(first) > 2 and not re.fullmatch(r"[A-Z]+/[A-Z]+|[\d.]+/\w+", text)


def path_faults(text, page, tree):
    """A source file must be in the tree; of other paths the code may have every word."""
    if tree.has(text, page):
        return []
    if not text.endswith(SOURCE) and set(re.findall(r"\w+", text)) <= tree.texts:
        return []
    return [f"the tree has no `{text}`"]


def name_faults(text, tree, allowed):
    """Names must occur in the code: `A::b` together, `reticent.a` in the package, others
    anywhere."""
    faults = [
        f"no file that has `{a}` defines `{b}`"
        for a, b in QUALIFIED.findall(text)
        if not tree.defines(a, b) and f"{a}::{b}" not in allowed
    ]
    faults += [f"the Python package has no `{name}`" for name in DOTTED.findall(text) if not tree.python(name)]
    formula = FORMULA.search(text)
    for name in NAME.findall(text):
        if formula and not re.fullmatch(r"[a-z]{2,}(_[a-z]+)+", name):
            continue
        if not known(name, tree) and name not in allowed:
            faults.append(f"the code has no `{name}`")
    return faults


def known(name, tree):
    """Whether a name occurs. `a_` and `_a` stand for names that begin or end so; one with a hyphen
    may be made of a variant or a field by rule."""
    if len(name.strip("_")) < 3 or name.isupper() and len(name) < 5 or name in tree.names:
        return True
    if name.endswith("_") or name.startswith("_"):
        match = str.startswith if name.endswith("_") else str.endswith
        return any(match(other, name) for other in tree.names | tree.texts)
    if len(name) > 3 and name[0].isupper() and re.search(r"[a-z][A-Z]", name):
        return False
    camel = "".join(part[:1].upper() + part[1:] for part in name.split("-"))
    made = "-" in name and (camel in tree.names or name.replace("-", "_") in tree.names)
    return made or name in tree.texts


def block_faults(text, commands):
    """Command lines in a block of code."""
    faults = []
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        words = line.strip().removeprefix("$ ").split(" #")[0].split()
        words = words[: next((i for i, word in enumerate(words) if word in ("|", ">", "&&", ";")), len(words))]
        words = without_variables(words)
        if words and words[0] in ("reticent", "cargo") and len(words) > 1 and not line.strip().endswith(":"):
            faults += commands.faults(words)
    return faults


def link_faults(target, page, tree, headings):
    """A link within the project leads to a file, and its anchor to a heading."""
    if re.match(r"[a-z]+:", target):
        return []
    path, _, anchor = target.partition("#")
    goal = (tree.root / page).parent / path if path else tree.root / page
    if not goal.exists():
        return [f"the link `{target}` leads nowhere"]
    goal = goal.resolve().relative_to(tree.root).as_posix()
    if anchor and anchor not in headings.get(goal, {anchor}):
        return [f"`{goal}` has no heading for the link `{target}`"]
    return []
