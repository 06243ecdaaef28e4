"""Measure the ordinal loss on the grades of wines against proportional odds without privacy, and
write RESULTS.md.

    python bench/ordinal/run.py [--data DIR] [--seeds N]

Every fifth row of wine_quality is held out. The reference learns its thresholds and weights by
maximum likelihood, on the columns as they are. Needs numpy, scipy and the release build of the
command, or another one in the variable RETICENT.
"""

import argparse
import csv
import gzip
import json
import os
import pathlib
import subprocess
import tempfile

import numpy as np
from scipy.optimize import minimize

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DECLARED = ("name", "task", "target", "columns")
# About what the owner of such a table knows, and a rough guess.
SHARES = {"of the white wines": (0, 0, 0, 0.4, 3.3, 29.7, 44.9, 18, 3.6, 0.1, 0), "a rough guess": (0, 0, 0, 1, 5, 30, 40, 20, 4, 0, 0)}


def main():
    """Measures everything and writes the page."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--seeds", type=int, default=5)
    asked = parser.parse_args()
    binary = os.environ.get("RETICENT", str(ROOT / "target" / "release" / "reticent"))
    with gzip.open(asked.data / "wine_quality.csv.gz", "rt", newline="") as file:
        head, *rows = csv.reader(file)
    parts = {"train": [row for i, row in enumerate(rows) if i % 5 != 4], "test": rows[4::5]}
    reference = without_privacy(head, parts)
    print("reference", reference, flush=True)
    lines = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        schema = json.loads((asked.data / "wine_quality.schema.json").read_text())
        (folder / "schema.json").write_text(json.dumps({key: schema[key] for key in DECLARED if key in schema}))
        for part, chosen in parts.items():
            with (folder / f"{part}.csv").open("w", newline="") as file:
                csv.writer(file).writerows([head, *chosen])
        for word, shares in SHARES.items():
            for epsilon in ("inf", "4", "1"):
                found = [fit(binary, folder, shares, epsilon, seed) for seed in range(1 if epsilon == "inf" else asked.seeds)]
                lines.append((word, epsilon, {key: (np.mean([f[key] for f in found]), np.std([f[key] for f in found])) for key in NAMES}))
                print(*lines[-1], flush=True)
    (HERE / "RESULTS.md").write_text(page(reference, lines, asked.seeds))


NAMES = ("log_loss", "accuracy", "mae")


def fit(binary, folder, shares, epsilon, seed):
    """The metrics on held-out rows of one fit."""

    def run(*words):
        environment = {**os.environ, "RETICENT_CACHE": "off"}
        done = subprocess.run([binary, "--json", *words], cwd=folder, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(done.stdout + done.stderr)
        return json.loads(done.stdout)

    given = ["--data", "train.csv", "--schema", "schema.json", "--loss", "ordinal", "--shares", ",".join(map(str, shares))]
    budget = ["--epsilon", epsilon, "--delta", "0" if epsilon == "inf" else "1e-6", "--insecure-seed", str(seed)]
    run("fit", *given, *budget, "--out", "model.json", "--force")
    found = run("evaluate", "--model", "model.json", "--data", "test.csv")
    return found.get("metrics") or found


def without_privacy(head, parts):
    """The same metrics of proportional odds by maximum likelihood, and the log loss of the
    shares."""
    place = head.index("quality")

    def numbers(rows):
        cells = [[float(cell == "red") if name == "color" else float(cell) for name, cell in zip(head, row, strict=True)] for row in rows]
        table = np.array(cells)
        return np.delete(table, place, axis=1), table[:, place].astype(int)

    (x, y), (held, truth) = numbers(parts["train"]), numbers(parts["test"])
    mean, deviation = x.mean(axis=0), x.std(axis=0)
    x, held = (x - mean) / deviation, (held - mean) / deviation
    low, count = y.min(), y.max() - y.min() + 1

    def probabilities(given, x):
        thresholds = np.cumsum([given[0], *np.exp(given[1 : count - 1])])
        below = 1 / (1 + np.exp((x @ given[count - 1 :])[:, None] - thresholds))
        return np.diff(np.column_stack([np.zeros(len(x)), below, np.ones(len(x))]), axis=1)

    def loss(given):
        return -np.log(np.maximum(probabilities(given, x)[np.arange(len(y)), y - low], 1e-300)).mean()

    start = np.concatenate([[-5.0], np.zeros(count - 2), np.zeros(x.shape[1])])
    found = minimize(loss, start, method="L-BFGS-B", options={"maxiter": 2000, "maxfun": 10**6}).x
    p = probabilities(found, held)
    shares = np.bincount(y - low, minlength=count) / len(y)
    return {
        "log_loss": -np.log(p[np.arange(len(truth)), truth - low]).mean(),
        "accuracy": (p.argmax(axis=1) + low == truth).mean(),
        "mae": np.abs(p @ np.arange(low, low + count) - truth).mean(),
        "constant": -np.log(shares[truth - low]).mean(),
    }


def page(reference, lines, seeds):
    """The results as a page."""
    text = ["# Ordered levels", "", "The grades of wine_quality, declared from 0 to 10, on every fifth row, which is held out: mean and standard deviation of"]
    text += [f"{seeds} fits. The shares of the grades have a log loss of {reference['constant']:.3f}.", ""]
    text += ["| shares given | epsilon | log loss | accuracy | MAE of the mean |", "| --- | --- | --- | --- | --- |"]
    text.append(f"| proportional odds, learned thresholds | no privacy | {reference['log_loss']:.3f} | {reference['accuracy']:.3f} | {reference['mae']:.3f} |")
    for word, epsilon, found in lines:
        cells = [f"{mean:.3f}" + (f" ± {deviation:.3f}" if epsilon != "inf" else "") for mean, deviation in found.values()]
        text.append(f"| {word} | {epsilon} | " + " | ".join(cells) + " |")
    return "\n".join([*text, "", "Written by `bench/ordinal/run.py`."]) + "\n"


if __name__ == "__main__":
    main()
