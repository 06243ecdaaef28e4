"""The order of the site's pages: that of docs/README.md, then what it does not name.

A page of a folder stands below the page that the folder's README is; the order there is that in
which the README links them.
"""

import posixpath
import re

from documents.pages import Page

INDEX = "docs/index.md"
# Folders of pages that the index names by one page, and the heading of those that it does not name.
GALLERY = ("docs/gallery.md", "python/examples/gallery")
BELOW = {f"docs/{name}/index.md": f"docs/{name}" for name in ("guide", "reproduction", "decisions")}
LINKED = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")


def make(made):
    """The text of the summary, for the pages that were made."""
    left = {page for page in made if page.endswith(".md")}
    lines = ["# Summary", "", "[Reticent](index.md)", f"[Contents]({INDEX})", ""]
    left -= {"index.md", INDEX}
    for name, page in linked(INDEX, made):
        if page in left:
            lines += entry(name, page, made, left)
    lines += ["", "# Measurements", ""]
    for page in sorted(left, key=lambda page: (not page.startswith("bench/"), page)):
        lines += entry(title(made[page]), page, made, left)
    return "\n".join(lines) + "\n"


def entry(name, page, made, left):
    """A page's line, and those of the pages below it."""
    left.discard(page)
    lines = [f"- [{name}]({page})"]
    folder = GALLERY[1] if page == GALLERY[0] else BELOW.get(page)
    if folder:
        named = [below for _, below in linked(page, made) if below.startswith(f"{folder}/")]
        rest = sorted(below for below in left if posixpath.dirname(below) == folder)
        for below in dict.fromkeys([*named, *rest]):
            if below in left:
                left.discard(below)
                lines.append(f"  - [{title(made[below])}]({below})")
    return lines


def linked(page, made):
    """Names and pages that a page links to, in their order."""
    for name, target in LINKED.findall(Page(page, made[page]).prose()):
        path = target.partition("#")[0]
        there = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
        if path.endswith(".md") and there in made:
            yield name.replace("`", ""), there


def title(text):
    """The first heading of a page."""
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    return re.sub(r"[`\[\]]", "", found.group(1)) if found else "Untitled"
