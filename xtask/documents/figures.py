"""Figures with a source: a comment behind a number says where it comes from, and rewrites it.

    97<!-- = bench/planner/RESULTS.md: `auto` reaches {} % or more -->    the number in that place
    0.9<!-- = bench/planner/RESULTS.md: \\| adult \\| * \\| {} -->             the number in a table
    14<!-- = count docs/algorithms/*.md -->                               how many files there are
    1<!-- = const SLACK | percent -->                                     a constant of the code

A paragraph that cites a page of measurements may use only numbers that this page or the data beside
it has. The front page may state no figure without a source.
"""

import fnmatch
import re

NUMBER = r"(?<![\w.-])[-−]?(?:\d[\d,]*\d|\d)(?:\.\d+)?(?:e-?\d+)?"
MARK = re.compile(rf"({NUMBER})( ?)<!-- = (.+?) -->", re.DOTALL)
CITED = re.compile(r"bench(?:/\w+)*(?:/RESULTS\.md|(?=[`)\]]))")
FRONT = "README.md"
# Pages that measure, and records of what was measured when they were written.
MEASURES = ("bench/", "docs/decisions/", "docs/reproduction/", "CHANGELOG.md")


class NoSource(ValueError):
    """A source that gives no number."""


def check(page, tree):
    """Every fault of a page's figures, as `page:line: what`."""
    faults = []
    for found in MARK.finditer(page.text):
        try:
            right = figure(found.group(3), tree, found.group(1))
        except NoSource as error:
            faults.append((found.start(), str(error)))
            continue
        if right != found.group(1):
            faults.append((found.start(), f"{found.group(1)} is stated, {found.group(3)} has {right}"))
    if page.path == FRONT:
        faults += unmarked(page)
    if not page.path.startswith(MEASURES):
        faults += uncited(page, tree)
    return [f"{page.path}:{page.line(place)}: {fault}" for place, fault in faults]


def rewrite(text, tree):
    """The text with every marked figure as its source has it."""
    return MARK.sub(lambda found: figure(found.group(3), tree, found.group(1)) + found.group()[len(found.group(1)) :], text)


def figure(source, tree, shown):
    """The number that a source gives, with as many decimals as its text or, in percent, as is
    shown."""
    source, _, form = (part.strip() for part in " ".join(source.split()).partition(" | "))
    kind, _, rest = source.partition(" ")
    if kind == "count":
        return str(sum(fnmatch.fnmatch(file, rest) and not file.endswith("README.md") for file in tree.files))
    if kind == "const":
        values = tree.constant(rest)
    else:
        values = in_file(source, tree)
    if len(values) != 1:
        raise NoSource(f"`{source}` gives {len(values)} numbers, not one")
    (value,) = values
    if form == "percent":
        decimals = len(shown.partition(".")[2])
        value = f"{100 * float(value.replace(',', '')):.{decimals}f}"
    elif form:
        raise NoSource(f"`{form}` is no form of a number: write percent or nothing")
    return value


def in_file(source, tree):
    """The numbers that stand at `{}` in a file."""
    file, colon, pattern = source.partition(": ")
    if not colon or "{}" not in pattern:
        raise NoSource(f"`{source}` is no source: write count GLOB, const NAME or FILE: text with {{}}")
    if file not in tree.files:
        raise NoSource(f"the tree has no `{file}`")
    before, after = (expression(part) for part in pattern.split("{}", 1))
    return set(re.findall(rf"{before}({NUMBER}){after}", tree.text(file)))


def expression(part):
    """A pattern for the text around a number: in a table `*` is the content of any one cell, and
    `\\|` the bar between cells."""
    cells = [re.escape(text).replace(r"\ ", r"\s+") for text in part.replace("\\|", "|").split("*")]
    return r"[^|\n]*".join(cells)


def unmarked(page):
    """Figures in the prose of the front page that name no source; single digits are no figures."""
    marked = {found.start() for found in MARK.finditer(page.text)}
    prose = plain(page)
    for found in re.finditer(NUMBER, prose):
        if found.start() not in marked and not re.fullmatch(r"\d", found.group()):
            yield found.start(), f"{found.group()} has no source: put `<!-- = ... -->` behind it"


def uncited(page, tree):
    """Numbers of a paragraph that the page of measurements which it cites does not have."""
    prose = plain(page, links=True)
    for paragraph in re.finditer(r"[^\n]+(?:\n[^\n]+)*", prose):
        folders = {cited.group().removesuffix("/RESULTS.md") for cited in CITED.finditer(paragraph.group())}
        folders = {folder for folder in folders if f"{folder}/RESULTS.md" in tree.files}
        if not folders:
            continue
        have = {value for folder in folders for value in measured(folder, tree)}
        for found in re.finditer(rf"{NUMBER}(?![⁰-⁹\w/]|\)\.md)( ?%)?", plain_links(paragraph.group())):
            number = found.group().removesuffix("%").strip()
            if not re.fullmatch(r"\d", number) and not matches(number, bool(found.group(1)), have):
                place = paragraph.start() + found.start()
                yield place, f"{number} is not in {' or '.join(sorted(folders))}, which is cited for it"


def plain(page, links=False):
    """The prose without blocks, spans of code and, if asked, with its links."""
    text = re.sub(r"^ {4}.*$", blanks, page.prose(), flags=re.MULTILINE)
    if links:
        return text
    return plain_links(re.sub(r"`[^`]*`", blanks, text))


def plain_links(text):
    """The text without the targets of links and without code."""
    return re.sub(r"`[^`]*`|\]\([^)]*\)", blanks, text)


def blanks(found):
    """As many blanks."""
    return re.sub(r"[^\n]", " ", found.group())


def measured(folder, tree):
    """Every number of the files with measurements in a folder."""
    for file in tree.files:
        if re.fullmatch(rf"{folder}/(RESULTS\.md|\w+\.jsonl?)", file):
            yield from (value(number) for number in re.findall(NUMBER, tree.text(file)))


def matches(number, percent, have):
    """Whether a number is one of those, rounded to the digits it shows."""
    decimals = len(number.partition(".")[2])
    half = 0.5 * 10.0**-decimals + 1e-12
    sought = value(number)
    return any(abs(sought - v) <= half or percent and abs(sought - 100 * v) <= half for v in have)


def value(number):
    """The number that a text spells."""
    return float(number.replace(",", "").replace("−", "-"))
