#!/usr/bin/env python3
"""The most that a recalibration could gain: a slope and an offset for the released log-odds.

    python3 bench/additive/recalibration.py [--data DIR] [--seeds N] [--epsilons 1,4]

Fits the default on each table of two classes, and finds the slope and the offset with the least log
loss on the held-out rows themselves, without noise: a private recalibration gains less. Writes
RECALIBRATION.md. Needs NumPy; RETICENT names the command.
"""
import argparse
import csv
import pathlib
import tempfile

import numpy as np
from run import ROOT, Table, binary

HERE = pathlib.Path(__file__).resolve().parent
TABLES = ("adult", "bank_full", "credit_default", "telco_churn", "support2")
PAGE = """# What a recalibration could gain

    python3 bench/additive/recalibration.py

Log loss of the default on held-out rows, and with the slope and the offset of the log-odds that are best on these very rows, without
noise, which no private recalibration reaches: means of {seeds} fits each, replace-one, delta 1e-6.

| table | epsilon | log loss | best slope and offset | gain at most |
| --- | --- | --- | --- | --- |
"""


def losses(log_odds, positive):
    """The log loss as it is, and the least by a slope and an offset (Newton's method)."""
    rows, at = np.column_stack([log_odds, np.ones(len(log_odds))]), np.array([1.0, 0.0])
    loss = lambda at: np.logaddexp(0, np.where(positive, -1, 1) * (rows @ at)).mean()
    given = loss(at)
    for _ in range(50):
        share = 1 / (1 + np.exp(-rows @ at))
        curvature = (rows * (share * (1 - share))[:, None]).T @ rows
        at = at - np.linalg.solve(curvature, rows.T @ (share - positive))
    return given, loss(at)


def fit(table, epsilon):
    """Both losses of one fit."""
    model, answers = table.train(epsilon, []), table.folder / "answers.csv"
    answers.unlink(missing_ok=True)
    table.run("predict", "--model", model, "--data", table.folder / "test.csv", "--out", answers)
    with answers.open() as file:
        head, *rows = csv.reader(file)
    share = np.clip([float(row[2]) for row in rows], 1e-9, 1 - 1e-9)
    second = head[2].removeprefix("probability ")
    return losses(np.log(share / (1 - share)), np.array([truth == second for truth in table.truth]))


def main():
    """Measures all cells and writes the page."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epsilons", default="1,4")
    asked = parser.parse_args()
    lines = []
    for name in TABLES:
        with tempfile.TemporaryDirectory() as folder:
            table = Table(name, asked.data, pathlib.Path(folder), binary())
            for epsilon in asked.epsilons.split(","):
                given, least = np.mean([fit(table, epsilon) for _ in range(asked.seeds)], axis=0)
                lines.append(f"| {name} | {epsilon} | {given:.4f} | {least:.4f} | {1 - least / given:.1%} |")
                print(lines[-1], flush=True)
    (HERE / "RECALIBRATION.md").write_text(PAGE.format(seeds=asked.seeds) + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
