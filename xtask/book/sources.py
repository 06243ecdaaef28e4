"""The sources of the site: every page of the documents where it stands in the tree, and what the
pages link to.

Links between pages stay as they are. A page is made of each worked example; other files that a page
links to are copied, program texts as plain text, and folders become lists of their files. Comments
for machines are left out.
"""

import ast
import posixpath
import re

from documents.pages import COMMENT, FENCE, Page

PAGES = re.compile(r"(docs|bench)/.*\.md|(README|SECURITY|CONTRIBUTING|CHANGELOG)\.md|r/README\.md|crates/reticent/README\.md")
EXAMPLES = re.compile(r"python/examples/gallery/\w+\.py")
# Files that a browser shows under their own names.
SHOWN = (".png", ".svg", ".json", ".txt", ".html")
# The libraries' own pages, which `cargo doc` writes, as a folder of the site.
LIBRARIES = "rust"


class Faulty(ValueError):
    """A page that cannot be part of the site."""


def make(tree):
    """Every file of the site's sources but the summary, by its path: texts of pages, and paths of
    files to copy."""
    pages = {file: tree.text(file) for file in sorted(tree.files) if PAGES.fullmatch(file)}
    made, copied = {}, {}
    for file, text in pages.items():
        made[placed(file)] = rewritten(Page(file, text), tree, pages, made, copied)
    for file in sorted(tree.files):
        if EXAMPLES.fullmatch(file):
            made[example_page(file)] = example(tree.text(file))
    made[f"{LIBRARIES}.md"] = libraries(tree)
    return made, copied


def rewritten(page, tree, pages, made, copied):
    """A page's text with links that lead somewhere on the site, without comments."""
    pieces, end = [], 0
    for place, target in page.links():
        start = page.text.index(target, place)
        pieces += [page.text[end:start], goal(page.path, target, tree, pages, made, copied)]
        end = start + len(target)
    return without_comments("".join([*pieces, page.text[end:]]))


def goal(page, target, tree, pages, made, copied):
    """Where a link leads on the site; what it needs there is made or copied."""
    if re.match(r"[a-z]+:", target) or target.startswith("#"):
        return target
    path, mark, anchor = target.partition("#")
    folder = posixpath.dirname(page)
    file = posixpath.normpath(posixpath.join(folder, path))
    if file in pages:
        return placed(path) + mark + anchor
    if EXAMPLES.fullmatch(file):
        there = example_page(file)
    elif file == "docs/api":
        there = f"{LIBRARIES}.md"
    elif file in tree.folders:
        there = f"{file}/index.md"
        if f"{file}/README.md" not in pages:
            made[there] = listing(file, tree, pages, copied)
    elif file in tree.files:
        there = file if file.endswith(SHOWN) else f"{file}.txt"
        copied[there] = file
    else:
        raise Faulty(f"{page}: the link `{target}` leads nowhere")
    return posixpath.relpath(there, folder or ".") + mark + anchor


def placed(path):
    """Where a page stands on the site: the first page of a folder has the name that browsers
    open."""
    return re.sub(r"(^|/)README\.md$", r"\1index.md", path)


def listing(folder, tree, pages, copied):
    """A page with the files of a folder."""
    lines = [f"# `{folder}`\n"]
    for file in sorted(tree.files):
        if posixpath.dirname(file) == folder:
            there = file if file in pages or file.endswith(SHOWN) else f"{file}.txt"
            if file not in pages:
                copied[there] = file
            lines.append(f"- [{posixpath.basename(file)}]({posixpath.basename(there)})")
    return "\n".join(lines) + "\n"


def without_comments(text):
    """The text without comments outside of blocks of code."""
    blocks = [found.span() for found in FENCE.finditer(text)]
    pieces, end = [], 0
    for found in COMMENT.finditer(text):
        if not any(start <= found.start() < stop for start, stop in blocks):
            pieces.append(text[end : found.start()])
            end = found.end()
    return "".join([*pieces, text[end:]])


def example_page(file):
    """The page of a worked example."""
    return f"{file.removesuffix('.py')}.md"


def example(text):
    """A worked example as a page: its docstring in prose, then the script."""
    syntax = ast.parse(text)
    title, _, prose = (ast.get_docstring(syntax) or "").partition("\n")
    code = "\n".join(text.splitlines()[syntax.body[0].end_lineno :]).strip("\n")
    return f"# {title.rstrip('.')}\n\n{prose.strip()}\n\n```python\n{code}\n```\n"


def libraries(tree):
    """The page that leads to the libraries' own pages."""
    lines = ["# The Rust libraries", "", "Every public item with its text, as `cargo doc` writes it:", ""]
    for file in sorted(tree.files):
        if re.fullmatch(r"docs/api/[\w-]+\.txt", file):
            name = posixpath.basename(file).removesuffix(".txt")
            lines.append(f"- [{name}]({LIBRARIES}/{name.replace('-', '_')}/index.html)")
    return "\n".join(lines) + "\n"
