#!/usr/bin/env python3
"""Lines, 4, 8 or 16 knots: fits on the shared tables and on simulated ones, held against the
planner's rule.

    cargo build --release --bin reticent
    python3 bench/additive/knots.py [--data DIR] [--seeds N] [--epsilons 0.1,1,4] [--places A,B] [--page]

Each cell is a mean over fits through the built command with fresh noise; its gain is R2, or the
share of a constant answer's log loss that is saved, on held-out rows. A simulated world has eight
numbers that fill their bounds and a target whose effects are linear, curved, saturating, periodic
or stepped; weak worlds explain little, rare ones have one event in fifty rows. Every cell is kept
in knots.jsonl as soon as it is measured; --page only writes the page, KNOTS.md. Needs NumPy. Plans
are cached in a folder of the run's own, so that every cell is of this build.
"""
import argparse
import csv
import json
import math
import pathlib
import re
import tempfile

import numpy as np
import run

HERE = pathlib.Path(__file__).resolve().parent
CELLS = HERE / "knots.jsonl"
KNOTS = (None, 4, 8, 16)
COLUMNS, HELD = 8, 10000
SHAPES = {
    "linear": lambda u: u,
    "curved": lambda u: (u - 0.4) ** 2,
    "saturating": lambda u: 1 - np.exp(-5 * u),
    "periodic": lambda u: np.sin(9 * u),
    "stepped": lambda u: 1.0 * (u > 0.4),
}
# Shape, the share of the variance that is explained, and the share of the positive class (none: a
# number is learned).
WORLDS = {
    **{f"{shape} number": (shape, 0.5, None) for shape in SHAPES},
    "weak linear number": ("linear", 0.08, None),
    **{f"{shape} classes": (shape, 0.5, 0.5) for shape in SHAPES},
    "weak linear classes": ("linear", 0.08, 0.5),
    "rare linear classes": ("linear", 0.5, 0.02),
}
SIZES = (3000, 24000)


def main():
    """Measures every cell and writes the page."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=run.ROOT.parent / "shared" / "data")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--epsilons", default="0.1,1,4")
    parser.add_argument("--places")
    parser.add_argument("--page", action="store_true")
    asked = parser.parse_args()
    places = [*run.CLASSES, *run.NUMBERS, *(f"{world}, {rows}" for rows in SIZES for world in WORLDS)]
    chosen = asked.places.split(";") if asked.places else places
    for place in () if asked.page else chosen:
        measure(place, asked)
    (HERE / "KNOTS.md").write_text(page(list(cells().values())))


def measure(place, asked):
    """All cells of a table or world that are not known yet."""
    known = cells()
    epsilons = [e for e in asked.epsilons.split(",") if not all((place, e, k) in known for k in KNOTS)]
    if not epsilons:
        return
    with tempfile.TemporaryDirectory() as folder:
        table = (World if ", " in place else run.Table)(place, asked.data, pathlib.Path(folder), run.binary())
        table.cache = pathlib.Path(folder) / "plans"
        for epsilon in epsilons:
            for knots in KNOTS:
                if (place, epsilon, knots) in known:
                    continue
                flags = ["--linear"] if knots is None else ["--knots", knots]
                scores = [table.fit(epsilon, flags) for _ in range(asked.seeds)]
                model = json.loads((table.folder / "model.json").read_text())
                plan = model["certificate"]["plan"]
                line = {"place": place, "epsilon": epsilon, "knots": knots, "seeds": asked.seeds, "rows": len(table.learned),
                        "weights": len(model["weights"][0]), "coded": coded(table.columns), "algorithm": plan["algorithm"], "gains": [gain(s, table) for s in scores]}
                with CELLS.open("a") as file:
                    file.write(json.dumps(line) + "\n")
                print(line, flush=True)


def cells():
    """The measured cells."""
    lines = map(json.loads, CELLS.read_text().splitlines()) if CELLS.exists() else ()
    return {(line["place"], line["epsilon"], line["knots"]): line for line in lines}


def gain(scores, table):
    """R2, or the share of a constant answer's log loss that is saved."""
    if "R2" in scores:
        return scores["R2"]
    share = np.unique(table.truth, return_counts=True)[1] / len(table.truth)
    return 1 - scores["log loss"] / -(share * np.log(share)).sum()


class World(run.Table):
    """A simulated table, split, with its declaration."""

    def __init__(self, name, _, folder, binary):
        world, rows = name.split(", ")
        shape, explained, rare = WORLDS[world]
        random = np.random.default_rng(list(WORLDS).index(world))
        x = random.random((int(rows) + HELD, COLUMNS))
        parts = SHAPES[shape](x)
        signal = ((parts - parts.mean(0)) / parts.std(0)) @ (random.choice([-1, 1], COLUMNS) / np.sqrt(np.arange(1, COLUMNS + 1)))
        signal = signal / signal.std() * math.sqrt(explained / (1 - explained))
        columns = [{"name": f"x{j}", "type": "real", "role": "feature", "bounds": {"min": 0, "max": 1}} for j in range(COLUMNS)]
        if rare is None:
            y = np.clip(0.25 * (signal + random.standard_normal(len(x))), -1, 1)
            columns.append({"name": "y", "type": "real", "role": "target", "bounds": {"min": -1, "max": 1}})
        else:
            noisy = 1.7 * signal + random.logistic(size=len(x))
            y = (noisy > np.quantile(noisy, 1 - rare)).astype(int)
            columns.append({"name": "y", "type": "categorical", "role": "target", "categories": ["0", "1"]})
        schema = {"name": "world", "target": "y", "columns": columns}
        (folder / "schema.json").write_text(json.dumps(schema))
        lines = [[*(f"{v:.6g}" for v in row), f"{label:.6g}"] for row, label in zip(x, y)]
        head = [column["name"] for column in columns]
        for part, part_lines in (("train", lines[HELD:]), ("test", lines[:HELD])):
            with (folder / f"{part}.csv").open("w", newline="") as file:
                csv.writer(file).writerows([head, *part_lines])
        self.folder, self.binary, self.target, self.cache = folder, binary, "y", "off"
        self.head, self.learned, self.held, self.columns = head, lines[HELD:], lines[:HELD], columns
        self.truth = [line[-1] for line in self.held]


def coded(columns):
    """Whether a feature of whole numbers has more than four values and gets a knot for each."""
    widths = [c["bounds"]["max"] - c["bounds"]["min"] for c in columns if c["role"] == "feature" and c["type"] == "integer"]
    return any(4 <= width < 32 for width in widths)


def rule():
    """The planner's thresholds, from its source: for each number of knots those of measured and of
    coded columns."""
    source = (run.ROOT / "crates" / "reticent-optim" / "src" / "tuning.rs").read_text()
    step = r"KnotStep {{ knots: (\d+), measured: {0}, coded: {0} }}".format(r"\[([\d.]+), ([\d.]+)\]")
    return [(int(k), [float(a), float(b)], [float(c), float(d)]) for k, a, b, c, d in re.findall(step, source)]


def chosen(by_knots, classes):
    """The number of knots that the rule takes in a cell."""
    for knots, measured, of_codes in rule():
        line = by_knots[knots]
        least = (of_codes if line["coded"] else measured)[0 if classes else 1]
        if line["rows"] * min(float(line["epsilon"]), 4) >= least * line["weights"]:
            return knots
    return None


def spread(gains):
    """The standard error of their mean, as text; none of a single fit."""
    return f" ± {np.std(gains, ddof=1) / math.sqrt(len(gains)):.3f}" if len(gains) > 1 else ""


def page(lines):
    """The results as a page."""
    text = ["# How many knots", "", "    python3 bench/additive/knots.py", "",
            "The gain on held-out rows (R2, or the share of a constant answer's log loss that is saved) with lines and with 4, 8 and "
            "16 knots: single fits of curves as the walk left them, or means of several of straightened ones with the standard error "
            "behind ±; *rows/weight* is rows times epsilon (at most 4) for "
            "each weight at 16 knots, *rule* what the planner takes. What it loses is the gain against lines, where that is less, and "
            "against the best of the four, over that gain.", "",
            "| place | epsilon | rows/weight | lines | 4 | 8 | 16 | rule | behind lines | behind the best |", "| --- " * 10 + "|"]
    by = {}
    for line in lines:
        by.setdefault((line["place"], line["epsilon"]), {})[line["knots"]] = line
    behind = []
    for (place, epsilon), cell in by.items():
        if len(cell) < len(KNOTS):
            continue
        means = {k: float(np.mean(line["gains"])) for k, line in cell.items()}
        taken = chosen(cell, "classes" in place or place in run.CLASSES)
        best, lines_gain, own = max(means.values()), means[None], means[taken]
        lost = [max(0.0, 1 - own / x) if x > 0.01 else 0.0 for x in (lines_gain, best)]
        behind.append((place, lost))
        load = cell[16]["rows"] * min(float(epsilon), 4) / cell[16]["weights"]
        shown = [f"{means[k]:.3f}{spread(cell[k]['gains'])}" for k in KNOTS]
        row = [place, epsilon, f"{load:.0f}", *shown, str(taken or "lines"), *(f"{100 * x:.1f} %" for x in lost)]
        text.append("| " + " | ".join(row) + " |")
    tables = [lost for place, lost in behind if ", " not in place]
    means = 100 * np.mean(tables, axis=0) if tables else [0, 0]
    return "\n".join([*text, "", f"Over the cells of real tables the rule is {means[0]:.1f} % behind lines and {means[1]:.1f} % behind the "
                      "best of the four in the mean."]) + "\n"


if __name__ == "__main__":
    main()
