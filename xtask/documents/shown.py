"""The output of the command in the course of a fit, with its numbers masked: the same from run to
run."""

import functools
import html
import itertools
import pathlib
import re
import tempfile

from . import clinic, outputs

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIT = "reticent fit --data clinic.csv --schema clinic.schema.json --epsilon 1"
# Typed in this order, in a folder with the table of the guide.
TYPED = (
    "reticent schema check clinic.schema.json",
    "reticent plan --n 4000 --schema clinic.schema.json --epsilon 1",
    "reticent plan --n 4000 --schema clinic.schema.json --epsilon 1 --verbose",
    "reticent plan --n 4000 --schema clinic.schema.json --epsilon 0.1,1",
    "reticent data check --data clinic.csv --schema clinic.schema.json",
    "reticent ledger init clinic.ledger --epsilon 2 --delta 1e-6",
    f"{FIT} --delta 1e-7 --ledger clinic.ledger --out model.json",
    f"{FIT} --algorithm objective --intervals 95 --verbose --out wide.json",
    f"{FIT} --algorithm clipped-sgd --adjacency add-remove-one --rows 4000 --out removed.json",
    "reticent verify model.json --ledger clinic.ledger",
    "reticent ledger show clinic.ledger",
    "reticent evaluate --model model.json --data clinic.csv",
    "reticent coefficients wide.json",
    "reticent report model.json --out model.html",
    "reticent report wide.json --out wide.html",
    "reticent report removed.json --out removed.html",
    "reticent report removed.json --format card --out removed.md",
    "reticent account --sigma 2 --q 0.01 --steps 1000 --delta 1e-6",
    "reticent calibrate --epsilon 1 --delta 1e-6 --q 0.01 --steps 1000",
    "reticent explain --model model.json",
)
PAGES = ("model.html", "wide.html", "removed.html", "removed.md")
STAMP = re.compile(r"\d{4}-\d\d-\d\d(?:T[\d:]+Z)?")
NUMBER = re.compile(r"[-−]?\b\d[\d.,:]*(?:e[-−]?\d+)?\b|\b(?=[a-f]*\d)[0-9a-f]{8,}\b|\binf(inity)?\b")
# Numbers in a row, as many as there are; the bars of a picture; columns of a table.
SEVERAL = re.compile(r"#(?:(?:,? |–|/)#)+")
BARS = re.compile(r"[▏▎▍▌▋▊▉█]+")
# Which columns a release does not determine, and in which order they stand, follows from its noise.
LOST = re.compile(r"(?<=the curvature of ).*?(?= is lost in the noise)")
BLANKS = re.compile(r"\s{2,}")
TAG = re.compile(r"<(style|script)\b.*?</\1>|</?(?:b|i|em|strong|code|span|a|sup|sub|tspan)\b[^>]*>", re.DOTALL)


def masked(line):
    """A line whose numbers, bars and columns do not vary."""
    line = LOST.sub("...", BARS.sub("", NUMBER.sub("#", STAMP.sub("#", line))))
    return SEVERAL.sub("#", BLANKS.sub("  ", line)).strip()


def lines_of(page):
    """The distinct lines of a page, in the order of the alphabet: weights are listed by their
    size."""
    text = re.sub(r"<[^>]+>", "\n", TAG.sub("", page)) if page.startswith("<!") else page
    lines = {masked(line) for line in html.unescape(text).split("\n")}
    # A plan and an event stand there as JSON too: fields, and no words.
    return sorted(line for line in lines if re.search(r"^[^\"{}]*[A-Za-z]{2,}", line))


@functools.cache
def printed(binary):
    """Each command with what it prints, and each page that was written."""
    return tuple(typed(binary))


def typed(binary):
    """The same, one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        clinic.prepare(folder, binary)
        session = outputs.Session(folder, binary)
        for command in TYPED:
            lines = [masked(line) for line in session.type(command)]
            yield f"$ {command}", [line for line, _ in itertools.groupby(lines)]
        for page in PAGES:
            yield page, lines_of((folder / page).read_text())
