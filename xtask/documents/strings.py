"""Everything that a user of the command or the package may read, in one file, and phrases that must
not be in it."""

import ast
import pathlib
import re
import subprocess

from . import shown
from .tree import HERE, RUST

FILE = "docs/strings.txt"
GLOSSARY = "docs/glossary.md"
TERMS = pathlib.Path(__file__).with_name("terms.txt")
BANNED = pathlib.Path(__file__).with_name("banned.txt")
# Crates whose texts reach nobody but their developers.
INNER = ("crates/reticent-testkit/", "xtask/", "fuzz/")
TESTS = re.compile(r"(^|/)tests?(/|\.rs$)|/benches/")
TESTED = "#[cfg(test)]"
# A token of Rust, an attribute of a test, or a brace.
PART = re.compile(rf"{re.escape(TESTED)}|{RUST.pattern}|[{{}};]", re.DOTALL)
# All of a line of code up to its comment.
COMMENT = re.compile(r"^.*?(?:(?<![:\"'])//[/!]?|(?:^|\s)#'?(?= ))")
WORDS = re.compile(r"[A-Za-z]{2,} [A-Za-z`(]{2,}")
# A line of the manual, or a text of two words and more.
R_TEXT = re.compile(r"""^#' ?(.+)$|(["'])((?:\\.|(?!\2).)*[A-Za-z]{2,} [A-Za-z`(]{2,}(?:\\.|(?!\2).)*)\2""", re.MULTILINE)


def help_pages(commands):
    """The long help of every command."""
    for name in sorted(commands.flags):
        if "help" in name.split():
            continue
        flag = "--help-all" if "--help-all" in commands.flags[name] else "--help"
        words = [str(commands.binary), *name.split(), flag]
        run = subprocess.run(words, capture_output=True, text=True, check=True, env={"COLUMNS": "100"})
        yield f"reticent {name}".strip(), run.stdout


def without_tests(text):
    """A source without the items under `#[cfg(test)]`: each ends with its braces, or with `;`."""
    kept, start, skipping, depth = [], 0, False, 0
    for token in PART.finditer(text):
        word = token.group()
        if word == TESTED and not skipping:
            kept.append(text[start : token.start()])
            skipping, depth = True, 0
        elif skipping and word in "{};":
            depth += {"{": 1, "}": -1, ";": 0}[word]
            if depth == 0:
                skipping, start = False, token.end()
    return "".join([*kept, "" if skipping else text[start:]])


def literal(token):
    """The text of a literal of Rust, without its quotes; None for another token."""
    found = re.fullmatch(r'b?r?(#*)"(.*)"\1', token, re.DOTALL)
    return found and re.sub(r"\\\n\s*", "", found.group(2))


def rust_texts(tree):
    """Texts of two words and more in the sources of the crates, tests left out."""
    for file in sorted(tree.files):
        if not re.match(r"crates/[\w-]+/src/.*\.rs$", file) or file.startswith(INNER) or TESTS.search(file):
            continue
        found = (literal(token.group()) for token in RUST.finditer(without_tests(tree.text(file))))
        yield file, [text for text in found if text and WORDS.search(text)]


def r_texts(tree):
    """The manual and the texts of the R package."""
    for file in sorted(tree.files):
        if re.match(r"r/R/.*\.R$", file):
            yield file, [found.group(1) or found.group(3) for found in R_TEXT.finditer(tree.text(file))]


def python_texts(tree):
    """Texts of two words and more in the package, docstrings included."""
    for file in sorted(tree.files):
        if file.startswith("python/src/") and file.endswith(".py"):
            nodes = ast.walk(ast.parse(tree.text(file)))
            texts = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
            yield file, [text for text in texts if WORDS.search(text)]


def collected(tree, commands):
    """The whole file."""
    parts = ["Every text that the command or the Python package may show. Written by `cargo xtask docs --write`.\n"]
    for name, text in help_pages(commands):
        parts.append(f"== {name} --help\n{text.rstrip()}\n")
    for name, lines in shown.printed(commands.binary):
        parts.append("\n".join([f"== {name}", *lines]) + "\n")
    for file, texts in [*rust_texts(tree), *python_texts(tree), *r_texts(tree)]:
        if texts:
            parts.append(f"== {file}\n" + "\n".join(texts) + "\n")
    lines = "\n".join(parts).split("\n")
    return "\n".join(line.rstrip() for line in lines)


def banned():
    """Pairs of a phrase that is not ours and what to write."""
    lines = (line.strip() for line in BANNED.read_text().splitlines())
    for line in lines:
        if line and not line.startswith("#"):
            phrase, _, instead = line.partition(" -> ")
            yield re.compile(phrase), instead


def read_by_developers(tree):
    """Lines of pages, decisions and comments, each with its place. A text between backticks is a
    quotation."""
    for file in sorted(tree.files):
        if file.startswith(HERE) or file == "CHANGELOG.md":
            continue
        if file.endswith((".md", ".rs", ".py", ".R")):
            for number, line in enumerate(tree.text(file).split("\n"), 1):
                spoken = line if file.endswith(".md") else COMMENT.sub("", line)
                if file.endswith(".md") or spoken != line:
                    yield f"{file}:{number}", re.sub(r"`[^`]*`", "", spoken)


def terms():
    """Words that must have a paragraph in the glossary."""
    lines = (line.strip() for line in TERMS.read_text().splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def entries(glossary):
    """The words that a glossary explains: a paragraph may explain several."""
    heads = re.findall(r"^\*\*(.+?)\.?\*\*", glossary, re.MULTILINE)
    return {word.strip().lower() for head in heads for word in re.split(r", | and ", head)}


def unexplained(glossary, shown):
    """Words of the list without a paragraph, and words that nobody reads any more."""
    explained = entries(glossary)
    for term in terms():
        if term.lower() not in explained:
            yield f"{GLOSSARY}: it has no paragraph `**{term}.**`"
        if term.lower() not in shown.lower():
            yield f"{TERMS.name}: nothing prints `{term}`: take it off the list"


def broken(rules, place, line):
    """The rules that a line breaks."""
    for phrase, instead in rules:
        if phrase.search(line):
            yield f"{place}: `{phrase.pattern}` is not a phrase of the field: write {instead}"


def check(tree, commands):
    """Phrases that must not be shown, and a file that is behind."""
    text, faults, place = collected(tree, commands), [], FILE
    rules = list(banned())
    for line in text.split("\n"):
        if line.startswith("== "):
            place = line[3:]
        faults += broken(rules, place, line)
    for place, line in read_by_developers(tree):
        faults += broken(rules, place, line)
    if tree.has(GLOSSARY):
        faults += unexplained(tree.text(GLOSSARY), text)
    if not tree.has(FILE) or tree.text(FILE) != text:
        faults.append(f"{FILE}: it is behind the sources: `cargo xtask docs --write`")
    return faults


def write(tree, commands):
    """Writes the file."""
    (tree.root / FILE).write_text(collected(tree, commands))
