#!/usr/bin/env python3
"""Lines and curves on the shared tables, through the built command's defaults.

    cargo build --release --bin reticent
    pip install -r bench/additive/requirements.txt        (in an environment of its own, for --peers)
    python3 bench/additive/run.py [--data DIR] [--seeds N] [--tables A,B] [--epsilons 0.1,1] [--peers] [--again]

Every fifth row, or the table's own test file, is held out. Each cell is a mean over fits with fresh
noise: accuracy, AUC, log loss, calibration slope and the mean predicted probability over the true
share of the positive class; R2 and the mean error over the standard deviation of the target in
regression. Replace-one, delta 1e-6. With --peers the models of `peers.py` run on the same split.
Every cell is kept in results.jsonl as soon as it is measured, so that an interrupted run goes on
where it stopped and --again begins again. Writes RESULTS.md. Needs NumPy. The planner's cache is
off, so that every cell is of this build.
"""
import argparse
import csv
import functools
import gzip
import json
import os
import pathlib
import subprocess
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CLASSES = ("adult", "bank_full", "credit_default", "telco_churn", "support2")
NUMBERS = ("bike_hour", "california_housing", "hotel_rates", "nls_wages", "doctor_visits", "wine_quality")
CELLS = HERE / "results.jsonl"
DECLARED = ("name", "task", "target", "positive_class", "columns")


def main():
    """Measures every cell and writes the page."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tables", default=",".join(CLASSES + NUMBERS))
    parser.add_argument("--epsilons", default="0.1,0.5,1,2,4")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--again", action="store_true")
    asked = parser.parse_args()
    if asked.again:
        CELLS.unlink(missing_ok=True)
    known = cells()
    for name in asked.tables.split(","):
        with tempfile.TemporaryDirectory() as folder:
            table = Table(name, asked.data, pathlib.Path(folder), binary())
            for epsilon, model, measure in table.wanted(asked.epsilons.split(","), asked.seeds, asked.peers):
                if (name, epsilon, model) in known:
                    continue
                chosen, scores = measure()
                line = {"table": name, "epsilon": epsilon, "model": model, "chosen": chosen, "seeds": len(scores), **mean(scores),
                        "spread": spread(scores)}
                with CELLS.open("a") as file:
                    file.write(json.dumps(line) + "\n")
                print(line, flush=True)
    (HERE / "RESULTS.md").write_text(page(list(cells().values())))


def cells():
    """The measured cells."""
    lines = map(json.loads, CELLS.read_text().splitlines()) if CELLS.exists() else ()
    return {(line["table"], line["epsilon"], line["model"]): line for line in lines}


def binary():
    """The built command."""
    return os.environ.get("RETICENT", str(ROOT / "target" / "release" / "reticent"))


class Table:
    """A table, split, with its declaration."""

    def __init__(self, name, data, folder, binary):
        schema = json.loads((data / f"{name}.schema.json").read_text())
        self.folder, self.binary, self.target = folder, binary, schema["target"]
        self.cache = "off"
        (folder / "schema.json").write_text(json.dumps({k: schema[k] for k in DECLARED if k in schema}))
        if (data / f"{name}_train.csv.gz").exists():
            head, *train = read(data / f"{name}_train.csv.gz")
            test = read(data / f"{name}_test.csv.gz")[1:]
        else:
            head, *rows = read(data / f"{name}.csv.gz")
            train = [row for i, row in enumerate(rows) if i % 5 != 4]
            test = rows[4::5]
        for part, rows in (("train", train), ("test", test)):
            with (folder / f"{part}.csv").open("w", newline="") as file:
                csv.writer(file).writerows([head, *rows])
        column = head.index(self.target)
        self.truth = [row[column] for row in test]
        self.head, self.learned, self.held, self.columns = head, train, test, schema["columns"]

    def wanted(self, epsilons, seeds, peers):
        """All cells of the table: epsilon, model, and what measures it."""
        for epsilon in epsilons:
            for model, flags in (("lines", ["--linear"]), ("default", [])):
                yield epsilon, model, functools.partial(self.cell, epsilon, flags, seeds)
        if peers:
            yield from self.peers(epsilons, seeds)

    def peers(self, epsilons, seeds):
        """The cells of the other libraries."""
        import peers

        columns = peers.Columns(self.columns, self.target)
        classes = [str(c) for c in columns.target.get("categories", [])]
        place = self.head.index(self.target)
        known = [row for row in self.learned if row[place] in classes or (not classes and row[place] != "")]
        labels = np.array([classes.index(row[place]) if classes else float(row[place]) for row in known])
        split = columns.values(self.head, known), labels, columns.values(self.head, self.held)

        def scores(name, epsilon, times):
            def once():
                answers = peers.answers(name, columns, split, classes, epsilon)
                return probabilities(answers, classes, self.truth) if classes else numbers(answers, self.truth)
            return "", [once() for _ in range(times)]

        for name in peers.OPEN:
            yield "none", name, functools.partial(scores, name, None, 1)
        for epsilon in epsilons:
            for name in peers.PRIVATE:
                yield epsilon, name, functools.partial(scores, name, float(epsilon), seeds)

    def cell(self, epsilon, flags, seeds):
        """The scores of some fits, and what was chosen."""
        scores = [self.fit(epsilon, flags) for _ in range(seeds)]
        model = json.loads((self.folder / "model.json").read_text())
        knots = model["task"]["encoding"].get("knots")
        chosen = f"{model['certificate']['plan']['algorithm']}, {f'{knots} knots' if knots else 'lines'}"
        return chosen, scores

    def fit(self, epsilon, flags):
        """One fit's scores on the held-out rows."""
        model, answers = self.train(epsilon, flags), self.folder / "answers.csv"
        answers.unlink(missing_ok=True)
        self.run("predict", "--model", model, "--data", self.folder / "test.csv", "--out", answers)
        with answers.open() as file:
            head, *rows = csv.reader(file)
        if len(head) == 1:
            return numbers([float(row[0]) for row in rows], self.truth)
        classes = [name.removeprefix("probability ") for name in head[1:]]
        return probabilities(np.array([[float(x) for x in row[1:]] for row in rows]), classes, self.truth)

    def train(self, epsilon, flags):
        """One fit; where its model is."""
        model = self.folder / "model.json"
        model.unlink(missing_ok=True)
        self.run("fit", "--data", self.folder / "train.csv", "--schema", self.folder / "schema.json",
                 "--epsilon", epsilon, "--delta", "1e-6", "--out", model, *flags)
        return model

    def run(self, *words):
        """Runs the command, without the planner's cache unless a folder is named for it."""
        environment = {**os.environ, "RETICENT_CACHE": str(self.cache)}
        subprocess.run([self.binary, *map(str, words)], check=True, capture_output=True, env=environment)


def mean(scores):
    """The mean of each score over fits."""
    return {key: float(np.mean([s[key] for s in scores])) for key in scores[0]}


def spread(scores):
    """The standard error of the mean of each score; none of a single fit."""
    if len(scores) < 2:
        return {}
    return {key: float(np.std([s[key] for s in scores], ddof=1) / len(scores) ** 0.5) for key in scores[0]}


def read(path):
    """The rows of a packed table, header first."""
    with gzip.open(path, "rt", newline="") as file:
        return list(csv.reader(file))


def numbers(answers, truth):
    """R2, and the mean error over the deviation of the target."""
    pairs = np.array([(a, float(y)) for a, y in zip(answers, truth) if y != ""])
    off, target = pairs[:, 0] - pairs[:, 1], pairs[:, 1]
    return {"R2": 1 - (off**2).sum() / ((target - target.mean()) ** 2).sum(), "mean error": off.mean() / target.std()}


def probabilities(shares, classes, truth):
    """Scores of classes; of two the second one is positive, of more each in its turn."""
    def place(label):
        return next(i for i, c in enumerate(classes) if c == label or number(c) == number(label) is not None)
    places = {label: place(label) for label in set(truth)}
    labels = np.array([places[label] for label in truth])
    scores = {"accuracy": (shares.argmax(1) == labels).mean()}
    loss = -np.log(np.maximum(shares[np.arange(len(labels)), labels], 1e-12)).mean()
    if len(classes) > 2:
        present = [k for k in range(len(classes)) if 0 < (labels == k).sum() < len(labels)]
        return {**scores, "AUC": np.mean([auc(shares[:, k], labels == k) for k in present]), "log loss": loss}
    positive, share = labels == 1, shares[:, 1]
    log_odds = np.log(np.clip(share, 1e-9, 1 - 1e-9) / np.clip(1 - share, 1e-9, 1 - 1e-9))
    return {
        **scores,
        "AUC": auc(share, positive),
        "log loss": loss,
        "slope": slope(log_odds, positive),
        "share": share.mean() / positive.mean(),
    }


def number(text):
    """The number that a text spells, if it does."""
    try:
        return float(text)
    except ValueError:
        return None


def auc(scores, positive):
    """The chance that a positive row has the higher score; half of the ties."""
    _, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - (count - 1) / 2)[place]
    ones = positive.sum()
    return (ranks[positive].sum() - ones * (ones + 1) / 2) / (ones * (len(positive) - ones))


def slope(log_odds, positive):
    """The slope of a logistic regression of the truth on the log-odds, by Newton's method; NaN
    where it does not settle."""
    design, weights = np.c_[np.ones(len(log_odds)), log_odds], np.array([0.0, 1.0])
    for _ in range(30):
        share = 1 / (1 + np.exp(-np.clip(design @ weights, -40, 40)))
        curvature = design.T @ (design * (share * (1 - share))[:, None])
        weights = weights + np.linalg.solve(curvature + 1e-9 * np.eye(2), design.T @ (positive - share))
    return weights[1] if abs(weights[1]) < 100 else float("nan")


def page(lines):
    """The results as a page."""
    text = ["# Lines and curves", "", "    python3 bench/additive/run.py --peers", "",
            "Means of fits with fresh noise (column *fits*: models without privacy are fitted once), replace-one (DP-EBM: add or "
            "remove), delta 1e-6, held-out rows; `default` is what `fit` chooses. *Slope* is the calibration slope and *share* the mean "
            "predicted probability over the true share, both best at 1; *mean error* is over the deviation of the target. The last "
            "columns are standard errors over fits; they say nothing of the choice of held-out rows."]
    for keys, spreads in ((("accuracy", "AUC", "log loss", "slope", "share"), ("AUC", "log loss")), (("R2", "mean error"), ("R2",))):
        heads = [*keys, *(f"± {k}" for k in spreads)]
        text += ["", "| table | epsilon | model | chosen | fits | " + " | ".join(heads) + " |", "| --- " * (5 + len(heads)) + "|"]
        for line in lines:
            if keys[0] in line:
                row = [line["table"], line["epsilon"], line["model"], line["chosen"], str(line["seeds"])]
                row += [f"{line[k]:.3f}" if k in line else "" for k in keys]
                row += [f"{line['spread'][k]:.3f}" if k in line.get("spread", {}) else "" for k in spreads]
                text.append("| " + " | ".join(row) + " |")
    return "\n".join(text + ["", *summary(lines)]) + "\n"


def summary(lines):
    """Where the default is behind, in R2 or AUC and in log loss."""
    by = {}
    for line in lines:
        by.setdefault((line["table"], line["epsilon"]), {})[line["model"]] = line
    cells = [(key, models) for key, models in by.items() if "default" in models]
    text = ["## Beside the default", "", "| model | cells | R2 or AUC ahead of it in | log loss ahead of it in |", "| --- | --- | --- | --- |"]
    for model in sorted({m for _, models in cells for m in models} - {"default"}):
        pairs = [(models["default"], models[model]) for _, models in cells if model in models]
        better = sum(theirs[k] > ours[k] for ours, theirs in pairs for k in ("R2", "AUC") if k in ours)
        sharper = sum(theirs["log loss"] < ours["log loss"] for ours, theirs in pairs if "log loss" in ours)
        text.append(f"| {model} | {len(pairs)} | {better} | {sharper} |")
    return text


if __name__ == "__main__":
    main()
