#!/usr/bin/env python3
"""The command's own epoch beside the benchmark's; writes COMMAND.md beside this file.

    cargo build --release --bin reticent
    python3 bench/dpsgd/command.py [--rounds 3]

60,000 random rows of 784 numbers and 10 classes in NumPy files,
`--algorithm clipped-sgd --batch 500 --threads 1`. An epoch is 120 steps; its time is that of 3,720
steps less that of 120, over 30. Processor seconds: a process that waits for a core does not count.
The benchmark (`step.rs`) runs in each round beside the command, and the least of all rounds counts.
Needs NumPy.
"""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import tempfile

import numpy as np
from run import rust

HERE = pathlib.Path(__file__).resolve().parent
BINARY = os.environ.get("RETICENT", str(HERE.parents[1] / "target" / "release" / "reticent"))
ROWS, FEATURES, CLASSES, BATCH, FEW, MANY = 60_000, 784, 10, 500, 120, 3_720


def main():
    """Measures in rounds and writes the page."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    benchmark = [rust(), *map(str, (FEATURES, CLASSES, ROWS, 0, 1))]
    seconds = {"the benchmark's step": [], "auto": [], "f32": [], "f64": []}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        table(folder)
        for _ in range(rounds):
            line = subprocess.run(benchmark, check=True, capture_output=True, text=True).stdout
            seconds["the benchmark's step"].append(json.loads(line.strip().splitlines()[-1])["cpu"])
            for precision in ("auto", "f32", "f64"):
                few, many = (fit(folder, precision, steps) for steps in (FEW, MANY))
                seconds[precision].append((many - few) * FEW / (MANY - FEW))
            print(seconds, flush=True)
    (HERE / "COMMAND.md").write_text(page({name: min(found) for name, found in seconds.items()}, rounds))


def table(folder):
    """Writes the table and its schema."""
    law = np.random.default_rng(1)
    rows = law.random((ROWS, FEATURES), dtype=np.float32)
    labels = law.integers(0, CLASSES, ROWS)
    np.save(folder / "x.npy", rows)
    np.save(folder / "y.npy", labels)
    columns = [{"name": f"x{i}", "type": "real", "bounds": {"min": 0, "max": 1}} for i in range(FEATURES)]
    columns.append({"name": "y", "type": "categorical", "categories": list(range(CLASSES))})
    schema = {"target": "y", "task": "multiclass_classification", "columns": columns}
    (folder / "schema.json").write_text(json.dumps(schema))


def fit(folder, precision, steps):
    """Processor seconds of one fit."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [BINARY, "fit", "--data", folder / "x.npy", "--labels", folder / "y.npy", "--schema", folder / "schema.json",
         "--epsilon", "2", "--algorithm", "clipped-sgd", "--batch", str(BATCH), "--clip", "1", "--steps", str(steps),
         "--threads", "1", "--precision", precision, "--out", folder / "model.json", "--force"],
        check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def page(seconds, rounds):
    """The page."""
    step = seconds["the benchmark's step"]
    rows = "".join(f"| {name} | {found:.4f} | {found / step:.2f} |\n" for name, found in seconds.items())
    head = "# The command's own epoch\n\n    python3 bench/dpsgd/command.py\n\n"
    words = (
        f"Processor seconds of an epoch at one thread: {ROWS:,} rows of {FEATURES} numbers, {CLASSES} classes, expected batch\n"
        f"{BATCH}; the least of {rounds} rounds. The command is named by its `--precision`; its epoch is the difference between\n"
        f"{MANY:,} and {FEW} steps, so that reading, planning and writing do not count.\n\n")
    return f"{head}{words}| epoch | seconds | times the benchmark's |\n| --- | --- | --- |\n{rows}"


if __name__ == "__main__":
    main()
