"""Private intervals beside the coefficients of statsmodels, which are not private, on two tables.

    cargo build --release && python3 bench/intervals/beside_statsmodels.py [--seeds 5] [--data ../shared/data] [--binary FILE]

Needs statsmodels and pandas. Writes `bench/intervals/STATSMODELS.md`. Standard errors of
statsmodels are robust ones (HC0). Columns that are nearly constant within their bounds, or nearly
repeat others, are left out: while they are in, no coefficient is determined.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import tempfile
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.api as sm

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLES = {
    "adult": ("adult_train", ["age", "education-num", "sex", "hours-per-week"], "0.5,1,2,4"),
    "california_housing": ("california_housing", ["housing_median_age", "median_income", "latitude"], "1,2,4,8"),
}


def declared(schema: dict[str, Any], kept: list[str]) -> dict[str, Any]:
    """The declaration of these columns and of the target; others are in the file and no
    features."""
    target = next(c["name"] for c in schema["columns"] if c.get("role") == "target" or c["name"] == schema.get("target"))
    columns = [c if c["name"] in (*kept, target) else {"name": c["name"], "role": "id", "type": "text"} for c in schema["columns"]]
    return {**schema, "target": target, "columns": columns}


def non_private(table: pd.DataFrame, schema: dict[str, Any], kept: list[str]) -> dict[str, tuple[float, float]]:
    """Coefficients and robust errors by name."""
    fields = {c["name"]: c for c in schema["columns"]}
    columns = {}
    for name in kept:
        if fields[name]["type"] == "categorical":
            for category in fields[name]["categories"][1:]:
                columns[f"{name}={category}"] = (table[name].astype(str).str.strip() == category).astype(float)
        else:
            bounds = fields[name]["bounds"]
            columns[name] = table[name].astype(float).clip(bounds["min"], bounds["max"])
    X = sm.add_constant(pd.DataFrame(columns))
    target = fields[schema["target"]]
    if target["type"] == "categorical":
        y = (table[target["name"]].astype(str).str.strip() == target.get("positive_class", target["categories"][1])).astype(float)
        found = sm.GLM(y, X, family=sm.families.Binomial()).fit(cov_type="HC0")
        return {name: (found.params[name], found.bse[name]) for name in columns}
    bounds = target["bounds"]
    middle, half = 0.5 * (bounds["max"] + bounds["min"]), 0.5 * (bounds["max"] - bounds["min"])
    y = (table[target["name"]].astype(float).clip(bounds["min"], bounds["max"]) - middle) / half
    return {name: (half * b, half * e) for name, (b, e) in huber(X, y).items() if name != "const"}


def huber(X: pd.DataFrame, y: pd.Series, threshold: float = 0.5) -> dict[str, tuple[float, float]]:
    """The Huber fit with a fixed threshold, by reweighting of statsmodels' WLS, and its
    sandwich."""
    weights = np.ones(len(y))
    for _ in range(100):
        found = sm.WLS(y, X, weights=weights).fit()
        residuals = (y - X @ found.params).to_numpy()
        weights = threshold / np.maximum(np.abs(residuals), threshold)
    x = X.to_numpy()
    bend = np.linalg.inv((x * (np.abs(residuals) < threshold)[:, None]).T @ x)
    scores = x * np.clip(residuals, -threshold, threshold)[:, None]
    errors = np.sqrt(np.diag(bend @ scores.T @ scores @ bend))
    return {name: (found.params[name], error) for name, error in zip(X.columns, errors, strict=True)}


def private(binary: str, data: pathlib.Path, schema: pathlib.Path, epsilon: str, seed: int) -> dict[str, dict[str, Any]]:
    """The rows of the table of one fit, by name."""
    out = schema.parent / "model.json"
    fit = ["fit", "--data", data, "--schema", schema, "--epsilon", epsilon, "--delta", "1e-6", "--intervals", "95"]
    more = ["--out", out, "--force"]
    subprocess.run([binary, *map(str, fit), *map(str, more)], check=True, capture_output=True)
    found = subprocess.run([binary, "coefficients", str(out), "--json"], check=True, capture_output=True, text=True)
    return {row["name"]: row for row in json.loads(found.stdout)["rows"]}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--binary", default=str(ROOT / "target" / "release" / "reticent"))
    asked = parser.parse_args()
    lines = [
        "# Private intervals beside statsmodels",
        "",
        f"Written by `python3 bench/intervals/beside_statsmodels.py --seeds {asked.seeds}`: delta 1e-6, so many seeds of each epsilon.",
        '"Inside" counts the intervals that hold the coefficient of statsmodels, which has the same sampling error: nearly all',
        "should. What separates both is noise alone, so the distance over the privacy error should have the size of a normal number:",
        "a root mean square of 1.",
        "",
    ]
    for name, (part, kept, epsilons) in TABLES.items():
        schema = declared(json.loads((asked.data / f"{name}.schema.json").read_text()), kept)
        data = asked.data / f"{part}.csv.gz"
        truth = non_private(pd.read_csv(data), schema, kept)
        lines += [f"## {name}", "", "| epsilon | determined | inside | distance over privacy error | one fit beside statsmodels |"]
        lines += ["| --- | --- | --- | --- | --- |"]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "schema.json"
            path.write_text(json.dumps(schema))
            for epsilon in epsilons.split(","):
                count, inside, distances, shown = 0, 0, [], ""
                for seed in range(asked.seeds):
                    rows = private(asked.binary, data, path, epsilon, seed)
                    for coefficient, (estimate, error) in truth.items():
                        count += 1
                        interval = rows[coefficient]["interval"]
                        if interval is None:
                            continue
                        own = rows[coefficient]["estimate"]
                        inside += interval["low"] <= estimate <= interval["high"]
                        distances.append((own - estimate) / interval["privacy_error"])
                        if seed == 0:
                            shown += f"{coefficient}: {own:.4g} ± {interval['standard_error']:.2g} and {estimate:.4g} ± {error:.2g}; "
                known = len(distances)
                size = f"{np.sqrt(np.mean(np.square(distances))):.2f}" if known else "-"
                share = f"{inside} of {known}" if known else "-"
                lines.append(f"| {epsilon} | {known} of {count} | {share} | {size} | {shown.rstrip('; ') or '-'} |")
                print(lines[-1], flush=True)
        lines.append("")
    (ROOT / "bench" / "intervals" / "STATSMODELS.md").write_text("\n".join(lines))


if __name__ == "__main__":
    main()
