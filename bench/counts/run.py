#!/usr/bin/env python3
"""Counts: the default private Poisson fit beside scikit-learn's non-private PoissonRegressor.

    cargo build --release --bin reticent
    python3 bench/counts/run.py [--data DIR] [--fits N] [--epsilons 0.3,1,4]

`doctor_visits`, every fifth row held out. Deviance explained on the held-out rows (D2,
scikit-learn's `d2_tweedie_score` with power 1), of each fit with fresh noise. PoissonRegressor gets
the same columns on [0, 1] and one-hot, and no regularisation. Writes RESULTS.md. Needs pandas and
scikit-learn. The planner's cache is off.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

import pandas as pd
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import d2_tweedie_score

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DECLARED = ("name", "task", "target", "columns")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--fits", type=int, default=5)
    parser.add_argument("--epsilons", default="0.3,1,4")
    asked = parser.parse_args()
    schema = json.loads((asked.data / "doctor_visits.schema.json").read_text())
    schema = {key: schema[key] for key in DECLARED if key in schema}
    table = pd.read_csv(asked.data / "doctor_visits.csv.gz", dtype=str)
    test = table.index % 5 == 4
    truth = table.loc[test, schema["target"]].astype(float)
    without = d2_tweedie_score(truth, not_private(schema, table, test), power=1)
    lines = [f"| without privacy | PoissonRegressor | {without:.3f} | | | |"]
    for epsilon in asked.epsilons.split(","):
        found, chosen = private(schema, table, test, truth, epsilon, asked.fits)
        mean = statistics.mean(found)
        lines.append(f"| {epsilon} | {chosen} | {mean:.3f} | {min(found):.3f} | {max(found):.3f} | {100 * mean / without:.0f} % |")
        print(lines[-1], flush=True)
    (HERE / "RESULTS.md").write_text(page(lines, len(table) - test.sum(), test.sum(), asked.fits))


def not_private(schema, table, test):
    """The predictions of scikit-learn for the held-out rows."""
    parts = []
    for column in schema["columns"]:
        name, bounds = column["name"], column.get("bounds")
        if name == schema["target"] or column.get("role") not in (None, "feature"):
            continue
        if bounds is None:
            parts.append(pd.get_dummies(table[name], prefix=name, dtype=float))
        else:
            low, high = bounds["min"], bounds["max"]
            numbers = table[name].replace({"True": "1", "False": "0"}).astype(float)
            parts.append((numbers.clip(low, high) - low) / (high - low))
    columns = pd.concat(parts, axis=1).fillna(0.0)
    model = PoissonRegressor(alpha=0, max_iter=2000).fit(columns[~test], table.loc[~test, schema["target"]].astype(float))
    return model.predict(columns[test])


def private(schema, table, test, truth, epsilon, fits):
    """The deviance that each private fit explains, and what the planner chose."""
    command = os.environ.get("RETICENT", str(ROOT / "target" / "release" / "reticent"))
    environment = {**os.environ, "RETICENT_CACHE": "off"}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "s.json").write_text(json.dumps(schema))
        table[~test].to_csv(folder / "train.csv", index=False)
        table[test].to_csv(folder / "test.csv", index=False)

        def run(*words):
            subprocess.run([command, *map(str, words)], cwd=folder, env=environment, check=True, capture_output=True)

        found = []
        for _ in range(fits):
            budget = ("--epsilon", epsilon, "--delta", "1e-6")
            run("fit", "--data", "train.csv", "--schema", "s.json", "--loss", "poisson", *budget, "--out", "m.json", "--force")
            run("predict", "--model", "m.json", "--data", "test.csv", "--out", "p.csv")
            predicted = pd.read_csv(folder / "p.csv")["prediction"].clip(lower=1e-9)
            found.append(d2_tweedie_score(truth, predicted, power=1))
        plan = json.loads((folder / "m.json").read_text())["certificate"]["plan"]
    return found, plan["algorithm"]


def page(lines, rows, held_out, fits):
    table = "\n".join(lines)
    return f"""# Counts

    python3 bench/counts/run.py

`doctor_visits`: {rows} rows for training, {held_out} held out. Deviance explained on the held-out rows (D2); private fits are
`reticent fit --loss poisson` with its defaults, {fits} each with fresh noise, replace-one, delta 1e-6.

| epsilon | model | D2, mean | least | largest | of scikit-learn's |
| --- | --- | --- | --- | --- | --- |
{table}
"""


if __name__ == "__main__":
    main()
