#!/usr/bin/env python3
"""Named pairs on bike_hour, through the built command: the table of docs/curves.md, and the rule
for knots beside pairs.

    cargo build --release --bin reticent
    python3 bench/additive/pairs.py [--data DIR] [--seeds N]

Every fifth row is held out; each cell is a mean R2 over fits with fresh noise. Replace-one, delta
1e-6. Writes PAIRS.md.
"""
import argparse
import json
import pathlib
import tempfile

from run import HERE, ROOT, Table, binary, mean

MODELS = (
    ("lines", ["--linear"]),
    ("curves", []),
    ("hr:workingday", ["--pairs", "hr:workingday"]),
    ("hr:workingday, yr:hr", ["--pairs", "hr:workingday,yr:hr"]),
    ("hr:workingday, yr:hr, hr:weathersit", ["--pairs", "hr:workingday,yr:hr,hr:weathersit"]),
    ("the same with 4 knots", ["--knots", "4", "--pairs", "hr:workingday,yr:hr,hr:weathersit"]),
    ("hr:mnth, hr:weekday", ["--pairs", "hr:mnth,hr:weekday"]),
    ("the same with 4 knots", ["--knots", "4", "--pairs", "hr:mnth,hr:weekday"]),
    ("the same with 8 knots", ["--knots", "8", "--pairs", "hr:mnth,hr:weekday"]),
)
EPSILONS = ("0.4", "1")


def main():
    """Measures every cell and writes the page."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args()
    lines = ["# Named pairs on bike_hour", "", "    python3 bench/additive/pairs.py", ""]
    lines += [f"Mean R2 of {asked.seeds} fits on held-out rows, with the number of weights; replace-one, delta 1e-6.", ""]
    lines += ["| model | " + " | ".join(f"epsilon {e}" for e in EPSILONS) + " |", "| --- " * (1 + len(EPSILONS)) + "|"]
    with tempfile.TemporaryDirectory() as folder:
        table = Table("bike_hour", asked.data, pathlib.Path(folder), binary())
        for name, flags in MODELS:
            cells = [cell(table, epsilon, flags, asked.seeds) for epsilon in EPSILONS]
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
            print(lines[-1], flush=True)
    (HERE / "PAIRS.md").write_text("\n".join(lines) + "\n")


def cell(table, epsilon, flags, seeds):
    """The mean R2, and the weights."""
    _, scores = table.cell(epsilon, flags, seeds)
    weights = len(json.loads((table.folder / "model.json").read_text())["features"])
    return f"{mean(scores)['R2']:.3f} ({weights})"


if __name__ == "__main__":
    main()
