"""Measures what bench/RESULTS.md reports, each ratio within one run, and writes
bench/results.jsonl.

usage: cargo xtask bench      (needs ../shared/data for the Adult table; without it that part is left out)
"""
import gzip
import json
import os
import pathlib
import subprocess
import time

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data"
STEPS = 200
LINES = []


def emit(**line):
    LINES.append(line)
    print(json.dumps(line), flush=True)


def cargo_bench(name, *arguments, **environment):
    command = ["cargo", "bench", "--quiet", "--workspace", "--bench", name, "--", *map(str, arguments)]
    out = subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, check=True, capture_output=True, text=True)
    return [json.loads(line) for line in out.stdout.splitlines() if line.startswith("{")]


def best(work, repeats=7):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def adult():
    """The Adult table encoded as the declaration says: numbers to [0, 1], one column a category, a
    constant."""
    schema = json.loads((DATA / "adult.schema.json").read_text())
    with gzip.open(DATA / "adult_train.csv.gz", "rt") as file:
        header, *rows = (line.rstrip("\n").split(",") for line in file)
    columns = list(zip(*rows))
    blocks = []
    for column in schema["columns"]:
        cells = columns[header.index(column["name"])]
        if column["role"] == "target":
            y = np.array([1 if cell == schema["positive_class"] else 0 for cell in cells])
        elif column["type"] == "categorical":
            blocks.append(np.array([[cell == c for c in column["categories"]] for cell in cells], dtype=np.float64))
        else:
            low, high = column["bounds"]["min"], column["bounds"]["max"]
            blocks.append((np.clip(np.array(cells, dtype=np.float64), low, high)[:, None] - low) / (high - low))
    return np.hstack(blocks), y


def against_sklearn():
    ours = cargo_bench("adult_fit", DATA / "adult_train.csv.gz", DATA / "adult.schema.json", STEPS)
    x, y = adult()
    theirs = {}
    for threads in (1, 2):
        with threadpool_limits(threads):
            for name, matrix in (("dense", x), ("sparse", sp.csr_matrix(x))):
                seconds = best(lambda: LogisticRegression(max_iter=1000).fit(matrix, y))
                theirs[name, threads] = seconds
                emit(bench="sklearn_fit", rows=name, threads=threads, seconds=round(seconds, 4), columns=x.shape[1])
    for line in ours:
        kind = "sparse" if line["rows"] == "sparse" else "dense"
        peer = min(theirs[kind, 1], theirs[kind, 2])
        emit(**line, sklearn_seconds=round(peer, 4), ratio=round(line["seconds"] / peer, 3))


def main():
    for threads in (1, 2):
        for line in cargo_bench("gradient_pass", THREADS=str(threads)):
            emit(**line)
    if DATA.exists():
        against_sklearn()
    else:
        print("skipped: ../shared/data is absent, so there is no Adult table to fit")
    (ROOT / "bench" / "results.jsonl").write_text("".join(json.dumps(line) + "\n" for line in LINES))


if __name__ == "__main__":
    main()
