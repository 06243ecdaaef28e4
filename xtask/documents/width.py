"""Comments of Rust and Python sources, docstrings and pages wrap at 100 columns; tables, code,
links and figures stay as they are."""

import ast
import re

from .tree import RUST

WIDTH = 100
# Parts that stay on one line: code, links, comments with the source of a figure.
WHOLE = re.compile(r"<!--.*?-->\S*|!?\[[^\]]*\]\([^)]*\)\S*|`[^`]{1,60}`\S*")
# A line that begins so is not prose: heading, table, rule, quote, reference, HTML.
OTHER = re.compile(r"\s*(#|\||>|<|---|===|\[[^\]]+\]:|\$ )")
ITEM = re.compile(r"(\s*)([-*+]|\d+[.)]) +")
# A word that would make something else of the line that it begins.
MARK = re.compile(r" (?=(?:[-+*#>|=]+|\d+[.)])(?: |$))")
COMMENT = re.compile(r"^( *)(//[/!]?)( ?)(.*)$")
# The indent of a line of Python prose, with what begins a docstring or a comment.
HEAD = re.compile(r'\s*(?:r?"""|# )?')
# Lines of a docstring that stay: empty ones, examples, usage, options, tables, rules, directives,
# fields with a type.
STAYS = re.compile(r'\s*(?:"""\s*)?$|\s*(?:>>>|usage: |--\w+  |\.\.\.|\||---|===|\.\. |:[a-z]+:|\*{0,2}\w+(?:, \*{0,2}\w+)* : )')
HOLD = "\x00"


def wrapped(words, first, later):
    """The words in lines of at most WIDTH columns. The first begins with `first`, the others with
    `later`."""
    words = WHOLE.sub(lambda found: found.group().replace(" ", HOLD), " ".join(words.split()))
    words = MARK.sub(HOLD, words)
    lines, line = [], first
    for word in words.split(" "):
        if len(line) > len(first if not lines else later) and len(line) + len(word) >= WIDTH + (line[-1] == " "):
            lines.append(line.rstrip())
            line = later
        line += word if line in (first, later) else f" {word}"
    return [text.replace(HOLD, " ") for text in [*lines, line]]


def paragraphs(lines):
    """Runs of lines, each with whether it is prose: one paragraph, or one item of a list."""
    run, prose, fence = [], False, None
    for line in lines:
        mark = line.strip()[:3]
        if fence or mark in ("```", "~~~"):
            if run and not fence:
                yield prose, run
                run = []
            fence = None if fence == mark else fence or mark
            yield False, [line]
            continue
        begins = not line.strip() or OTHER.match(line) or ITEM.match(line) or (not run and line.startswith("    "))
        if begins and run:
            yield prose, run
            run = []
        if not line.strip() or OTHER.match(line) or (not run and line.startswith("    ") and not ITEM.match(line)):
            yield False, [line]
            continue
        prose = True
        run.append(line)
    if run:
        yield prose, run


def rewrap(lines, before=""):
    """The lines with every paragraph wrapped that has one too long; `before` stands before each."""
    out = []
    for prose, run in paragraphs(lines):
        if not prose or all(len(before + line) <= WIDTH for line in run) or any(line.endswith("  ") for line in run):
            out += [(before + line).rstrip() for line in run]
            continue
        item = ITEM.match(run[0])
        indent = re.match(r"\s*", run[0]).group()
        first = item.group() if item else indent
        later = " " * len(first) if item else indent
        text = " ".join([run[0][len(first) :], *(line.strip() for line in run[1:])])
        out += wrapped(text, before + first, before + later)
    return out


def page(text):
    """A page of Markdown, wrapped."""
    return "\n".join(rewrap(text.split("\n")))


def comment_starts(text):
    """Where comments start, by line: the column of each; lines inside a longer text have none."""
    starts, inside = {}, set()
    for token in RUST.finditer(text):
        line = text.count("\n", 0, token.start())
        if token.group().startswith("//"):
            starts[line] = token.start() - (text.rfind("\n", 0, token.start()) + 1)
        elif "\n" in token.group():
            inside.update(range(line, line + token.group().count("\n") + 1))
    return {line: column for line, column in starts.items() if line not in inside}


def source(text):
    """A Rust source with its comments wrapped. A comment after code that is too long goes before
    it."""
    lines, starts, out, block = text.split("\n"), comment_starts(text), [], []

    def flush():
        if block:
            indent, mark, _, _ = COMMENT.match(block[0]).groups()
            inner = [line[len(indent) + len(mark) :].removeprefix(" ") for line in block]
            out.extend(line.rstrip() for line in rewrap(inner, f"{indent}{mark} "))
            block.clear()

    for number, line in enumerate(lines):
        column = starts.get(number)
        whole = column is not None and not line[:column].strip()
        same = whole and block and COMMENT.match(line).groups()[:2] == COMMENT.match(block[0]).groups()[:2]
        if block and not same:
            flush()
        if whole:
            block.append(line)
        elif column is not None and len(line) > WIDTH:
            indent = re.match(r" *", line).group()
            words = line[column + 2 :].strip()
            out.extend(wrapped(words, f"{indent}// ", f"{indent}// "))
            out.append(line[:column].rstrip())
        else:
            out.append(line)
    flush()
    return "\n".join(out)


def docstrings(text):
    """The first and last line of each docstring."""
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(text)):
        first = node.body[0] if isinstance(node, owners) and node.body else None
        if isinstance(first, ast.Expr) and isinstance(getattr(first.value, "value", None), str):
            yield first.lineno - 1, first.end_lineno - 1


def commands(lines, text):
    """Lines of docstrings that are commands: after an empty line, and deeper than the docstring."""
    for first, last in docstrings(text):
        depth, deep = len(lines[first]) - len(lines[first].lstrip()), False
        for i in range(first + 1, last + 1):
            begins = deep or not lines[i - 1].strip()
            deep = begins and lines[i].startswith(" " * (depth + 4))
            if deep:
                yield i


def python(text):
    """A Python source with its docstrings and the comments on lines of their own wrapped."""
    lines = text.split("\n")
    prose = {i for first, last in docstrings(text) for i in range(first, last + 1)}
    prose -= set(commands(lines, text))
    out, block = [], []

    def flush():
        if block and any(len(line) > WIDTH for line in block):
            head = HEAD.match(block[0]).group()
            later = head.replace('r"""', "").replace('"""', "")
            words = " ".join([block[0][len(head) :], *(line[len(later) :] for line in block[1:])])
            out.extend(wrapped(words, head, later))
        else:
            out.extend(block)
        block.clear()

    for i, line in enumerate(lines):
        comment = i not in prose and line.lstrip().startswith("# ")
        if not (comment or i in prose) or STAYS.match(line):
            flush()
            out.append(line)
            continue
        # A run of lines with one indent is a paragraph, and each item of a list is its own.
        indent = HEAD.match(line).group().replace('r"""', "").replace('"""', "")
        if block and (indent != HEAD.match(block[-1]).group().replace('r"""', "").replace('"""', "") or ITEM.match(line)):
            flush()
        block.append(line)
    flush()
    return "\n".join(out)


def files(tree):
    """Sources and pages that are held to the width, each with what wraps it."""
    for file in sorted(tree.files):
        if file.endswith(".rs"):
            yield file, source
        elif file.endswith(".py"):
            yield file, python
        elif file.endswith(".md") and not file.startswith(("bench/", "docs/reproduction/")):
            yield file, page


def check(tree):
    """Every file with a line that should be wrapped, by its first one."""
    for file, wrap in files(tree):
        text = tree.text(file)
        new = wrap(text)
        if new != text:
            pairs = zip(text.split("\n"), new.split("\n"), strict=False)
            line = next((i for i, (a, b) in enumerate(pairs, 1) if a != b), 1)
            yield f"{file}:{line}: a comment or paragraph is wider than {WIDTH} columns: `cargo xtask docs --wrap`"


def write(tree):
    """Wraps every file; the names of those that changed."""
    for file, wrap in files(tree):
        text = tree.text(file)
        new = wrap(text)
        if new != text:
            (tree.root / file).write_text(new)
            yield file
