"""Checks of the site: every link leads somewhere, every page is in the summary once, no comment is
left."""

import html.parser
import pathlib
import posixpath
import re
import urllib.parse

from documents.pages import COMMENT, FENCE, Page

from .sources import LIBRARIES
from .summary import LINKED


def faults(made, copied, summary):
    """Every fault of the sources."""
    found = []
    headings = {page: Page(page, text).headings() for page, text in made.items()}
    for page, text in made.items():
        for _, target in Page(page, text).links():
            found += [f"{page}: {fault}" for fault in link_faults(page, target, headings, copied)]
        if COMMENT.search(FENCE.sub("", text)):
            found.append(f"{page}: a comment is left")
    listed = [target for _, target in LINKED.findall(summary)]
    found += [f"the summary lists `{page}` twice" for page in sorted(set(listed)) if listed.count(page) > 1]
    found += [f"the summary lists no `{page}`" for page in sorted(set(made) - set(listed))]
    found += [f"the summary lists `{page}`, which is not there" for page in sorted(set(listed) - set(made))]
    return found


def link_faults(page, target, headings, copied):
    """The faults of one link of a page."""
    if re.match(r"[a-z]+:", target) or target.startswith(f"{LIBRARIES}/"):
        return []
    path, _, anchor = target.partition("#")
    goal = posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page
    if goal not in headings and goal not in copied:
        return [f"the link `{target}` leads nowhere"]
    if anchor and anchor not in headings.get(goal, {anchor}):
        return [f"`{goal}` has no heading for the link `{target}`"]
    return []


class Rendered(html.parser.HTMLParser):
    """The links of a page of HTML, and the places in it that can be linked to."""

    def __init__(self, text):
        super().__init__()
        self.links, self.places = [], {""}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        """Collects targets and places."""
        given = dict(attrs)
        self.places.add(given.get("id") or given.get("name") or "")
        if tag in ("a", "img", "script", "link"):
            self.links += [given[key] for key in ("href", "src") if given.get(key)]


def rendered_faults(folder):
    """Every link of the rendered site that leads nowhere. The libraries' own pages are checked by
    their own tool."""
    folder = pathlib.Path(folder)
    files = [file for file in folder.rglob("*.html") if file.relative_to(folder).parts[0] != LIBRARIES]
    pages = {file.resolve(): Rendered(file.read_text(encoding="utf-8")) for file in files}
    has_libraries = (folder / LIBRARIES).is_dir()
    found = []
    for file, page in sorted(pages.items()):
        for link in page.links:
            path, _, anchor = link.partition("#")
            if re.match(r"[a-z]+:|//", link) or file.name in ("404.html", "toc.html"):
                continue
            goal = (file.parent / urllib.parse.unquote(path)).resolve() if path else file
            inside = goal.is_relative_to(folder.resolve())
            if inside and goal.relative_to(folder.resolve()).parts[:1] == (LIBRARIES,) and not has_libraries:
                continue
            name = file.relative_to(folder.resolve())
            if not inside or not goal.exists():
                found.append(f"{name}: the link `{link}` leads nowhere")
            elif anchor and goal in pages and urllib.parse.unquote(anchor) not in pages[goal].places:
                found.append(f"{name}: `{link}` has no such place")
    return found
