"""The pages, and what stands in them: code spans, code blocks, links and headings."""

import dataclasses
import re

FENCE = re.compile(r"^( *)(```+)([\w-]*)[^\n]*\n(.*?)^\1\2 *$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


@dataclasses.dataclass(frozen=True)
class Page:
    """One page of Markdown."""

    path: str
    text: str

    def line(self, place):
        """The line of a place in the text."""
        return self.text.count("\n", 0, place) + 1

    def blocks(self):
        """Blocks of code: where they start, their language, what they hold."""
        for found in FENCE.finditer(self.text):
            yield found.start(4), found.group(3), found.group(4)
        for found in re.finditer(r"(?:^\n|\A)((?: {4}[^\n]*\n)+)", self.prose(), re.MULTILINE):
            yield found.start(1), "", found.group(1)

    def prose(self):
        """The text with fenced blocks and comments blank, every character in its place."""
        without = FENCE.sub(lambda found: blank(found.group()), self.text)
        return COMMENT.sub(lambda found: blank(found.group()), without)

    def spans(self):
        """Code in the prose, between backticks."""
        for found in SPAN.finditer(self.prose()):
            if "\n\n" not in found.group(2):
                yield found.start(), " ".join(found.group(2).split())

    def links(self):
        """Targets of links."""
        for found in LINK.finditer(self.prose()):
            yield found.start(), found.group(1)

    def headings(self):
        """The anchors of the headings."""
        titles = re.findall(r"^#+ (.+)$", self.prose(), re.MULTILINE)
        return {re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-") for title in titles}


def blank(text):
    """As many blanks, on as many lines."""
    return re.sub(r"[^\n]", " ", text)


def pages(tree):
    """Every page that speaks of the tree; of the changelog the part that is not released."""
    for file in sorted(tree.files):
        if not file.endswith(".md") or file.startswith(("python/tests/", "target/")):
            continue
        text = tree.text(file)
        if file == "CHANGELOG.md":
            text = unreleased(text)
        yield Page(file, text)


def unreleased(text):
    """The changelog up to the first released version."""
    parts = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    keep = 2 if len(parts) > 1 and parts[1].startswith("## Unreleased") else 1
    return "".join(parts[:keep])
