#!/usr/bin/env python3
"""Whether the default approaches the truth as a table grows: excess log loss on simulated rows.

    cargo build --release --bin reticent
    python3 bench/additive/consistency.py [--rows 10000,100000,1000000,10000000] [--epsilons 0.1,1] [--again]

Eight whole numbers from 0 to 999 with linear log-odds; in the rare world about one row in thirty is
positive. Each cell is one fit through the built command's defaults, replace-one, delta 1e-6; the
excess is the mean log loss of 20,000 held-out rows over that of the true probabilities. Every cell
is kept in consistency.jsonl as soon as it is measured. Writes CONSISTENCY.md. Needs NumPy; ten
million rows need about 4 GB of memory.
"""
import argparse
import csv
import json
import pathlib
import subprocess
import tempfile

import numpy as np
import run

HERE = pathlib.Path(__file__).resolve().parent
CELLS = HERE / "consistency.jsonl"
WEIGHTS = np.array([3.0, -2.0, 1.5, -1.0, 0.7, 0.5, -0.3, 0.0])
OFFSETS = {"even": 0.0, "rare": -4.0}
HELD = 20000
SCHEMA = {"target": "y", "columns": [
    *({"name": f"x{j}", "type": "real", "bounds": {"min": 0, "max": 999}} for j in range(len(WEIGHTS))),
    {"name": "y", "type": "categorical", "categories": [0, 1]}]}


def main():
    """Measures every cell and writes the page."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--rows", default="10000,100000,1000000,10000000")
    parser.add_argument("--epsilons", default="0.1,1")
    parser.add_argument("--again", action="store_true")
    asked = parser.parse_args()
    if asked.again:
        CELLS.unlink(missing_ok=True)
    for rows in map(int, asked.rows.split(",")):
        for world in OFFSETS:
            epsilons = [e for e in asked.epsilons.split(",") if (world, rows, e) not in cells()]
            if epsilons:
                measure(world, rows, epsilons)
    (HERE / "CONSISTENCY.md").write_text(page(cells()))


def measure(world, rows, epsilons):
    """The cells of a table."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "schema.json").write_text(json.dumps(SCHEMA))
        random = np.random.default_rng(1)
        write(folder / "train.csv", world, rows, random)
        held, truth = write(folder / "test.csv", world, HELD, random)
        for epsilon in epsilons:
            command(folder, "fit", "--data", "train.csv", "--schema", "schema.json", "--epsilon", epsilon, "--delta", "1e-6",
                    "--out", "model.json", "--force")
            (folder / "answers.csv").unlink(missing_ok=True)
            command(folder, "predict", "--model", "model.json", "--data", "test.csv", "--out", "answers.csv")
            with (folder / "answers.csv").open() as file:
                share = np.array([float(row[2]) for row in list(csv.reader(file))[1:]])
            model = json.loads((folder / "model.json").read_text())
            line = {"world": world, "rows": rows, "epsilon": epsilon, "knots": model["task"]["encoding"].get("knots"),
                    "excess": float((loss(share, held) - loss(truth, held)).mean()), "share": float(share.mean() / truth.mean())}
            with CELLS.open("a") as file:
                file.write(json.dumps(line) + "\n")
            print(line, flush=True)


def write(path, world, rows, random):
    """Writes a table; the labels and their probabilities."""
    labels, shares = [], []
    with path.open("w") as file:
        file.write(",".join([*(f"x{j}" for j in range(len(WEIGHTS))), "y"]) + "\n")
        for start in range(0, rows, 100000):
            x = random.integers(0, 1000, (min(100000, rows - start), len(WEIGHTS)))
            share = 1 / (1 + np.exp(-((x / 999 - 0.5) @ WEIGHTS + OFFSETS[world])))
            y = (random.random(len(x)) < share).astype(int)
            file.writelines(",".join(map(str, row)) + "\n" for row in np.c_[x, y].tolist())
            labels.append(y)
            shares.append(share)
    return np.concatenate(labels), np.concatenate(shares)


def loss(share, labels):
    """The log loss of each row."""
    share = np.clip(share, 1e-12, 1 - 1e-12)
    return -np.where(labels == 1, np.log(share), np.log1p(-share))


def command(folder, *words):
    """Runs the command there."""
    subprocess.run([pathlib.Path(run.binary()).resolve(), *words], check=True, capture_output=True, cwd=folder)


def cells():
    """The measured cells."""
    lines = map(json.loads, CELLS.read_text().splitlines()) if CELLS.exists() else ()
    return {(line["world"], line["rows"], line["epsilon"]): line for line in lines}


def page(known):
    """The results as a page."""
    text = ["# Consistency", "", "    python3 bench/additive/consistency.py", "",
            "Excess log loss of the default over the true probabilities on 20,000 held-out rows of simulated tables with linear "
            "log-odds, one fit each, replace-one, delta 1e-6; *share* is the mean predicted probability over the true one.", "",
            "| world | epsilon | rows | knots | excess | share |", "| --- " * 6 + "|"]
    for line in sorted(known.values(), key=lambda line: (line["world"], float(line["epsilon"]), line["rows"])):
        knots = line["knots"] or "lines"
        text.append(f"| {line['world']} | {line['epsilon']} | {line['rows']} | {knots} | {line['excess']:.5f} | {line['share']:.3f} |")
    return "\n".join(text) + "\n"


if __name__ == "__main__":
    main()
