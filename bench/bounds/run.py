#!/usr/bin/env python3
"""The cost of feature bounds that are too wide: fits of the shared tables with bounds as declared
and ten times as wide.

    cargo build --release --bin reticent
    python3 bench/bounds/run.py [--data DIR] [--seeds N] [--tables A,B] [--epsilons 1] [--again]

Every feature with bounds gets an interval ten times as long, upwards from its lower bound or around
its middle; the target keeps its own. A column of integer codes is no code any more, having too many
values. Scores are those of `bench/additive/run.py`, on held-out rows. Every cell is kept in
results.jsonl as soon as it is measured. Writes RESULTS.md. Needs NumPy.
"""
import argparse
import json
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "additive"))

import run  # noqa: E402

CELLS = HERE / "results.jsonl"
TABLES = ("california_housing", "bike_hour", "adult", "credit_default")
# How far the lower bound goes down and the upper one up, in widths of the declared interval.
WIDER = {"as declared": (0, 0), "10 times, upwards": (0, 9), "10 times, both ways": (4.5, 4.5)}


def main():
    """Measures every cell and writes the page."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=run.ROOT.parent / "shared" / "data")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--epsilons", default="1")
    parser.add_argument("--again", action="store_true")
    asked = parser.parse_args()
    if asked.again:
        CELLS.unlink(missing_ok=True)
    for name in asked.tables.split(","):
        with tempfile.TemporaryDirectory() as folder:
            table = run.Table(name, asked.data, pathlib.Path(folder), run.binary())
            for epsilon in asked.epsilons.split(","):
                measure(table, name, epsilon, asked.seeds)
    (HERE / "RESULTS.md").write_text(page(cells()))


def measure(table, name, epsilon, seeds):
    """The cells of a table and an epsilon that are not known yet."""
    schema = json.loads((table.folder / "schema.json").read_text())
    for bounds, ways in WIDER.items():
        for model, flags in (("lines", ["--linear"]), ("default", [])):
            if (name, epsilon, model, bounds) in cells():
                continue
            (table.folder / "schema.json").write_text(json.dumps(widened(schema, *ways)))
            chosen, scores = table.cell(epsilon, flags, seeds)
            line = {"table": name, "epsilon": epsilon, "model": model, "bounds": bounds, "chosen": chosen, "seeds": seeds,
                    **run.mean(scores)}
            with CELLS.open("a") as file:
                file.write(json.dumps(line) + "\n")
            print(line, flush=True)
    (table.folder / "schema.json").write_text(json.dumps(schema))


def widened(schema, down, up):
    """The declaration with wider bounds of features."""
    columns = [dict(c) for c in schema["columns"]]
    for column in columns:
        bounds = column.get("bounds")
        if column["role"] == "feature" and isinstance(bounds, dict) and column["type"] in ("real", "integer"):
            width = bounds["max"] - bounds["min"]
            column["bounds"] = {"min": bounds["min"] - down * width, "max": bounds["max"] + up * width}
    return {**schema, "columns": columns}


def cells():
    """The measured cells."""
    lines = map(json.loads, CELLS.read_text().splitlines()) if CELLS.exists() else ()
    return {(line["table"], line["epsilon"], line["model"], line["bounds"]): line for line in lines}


def page(known):
    """The results as a page."""
    text = ["# Bounds that are too wide", "", "    python3 bench/bounds/run.py", "",
            "R2 or AUC and log loss on held-out rows, means of fits with fresh noise, with the bounds of all features as declared and "
            "ten times as wide; replace-one, delta 1e-6.", "",
            "| table | epsilon | model | bounds | chosen | fits | R2 or AUC | log loss |", "| --- " * 8 + "|"]
    for line in known.values():
        score = line["R2"] if "R2" in line else line["AUC"]
        loss = f"{line['log loss']:.3f}" if "log loss" in line else ""
        row = [line["table"], line["epsilon"], line["model"], line["bounds"], line["chosen"], str(line["seeds"]), f"{score:.3f}", loss]
        text.append("| " + " | ".join(row) + " |")
    return "\n".join(text) + "\n"


if __name__ == "__main__":
    main()
