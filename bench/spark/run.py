"""Measure where the time of a fit on Spark goes.

    python bench/spark/run.py [--algorithm NAME] [--rows N] [--columns D] [--steps T] [--exchange] [--record]

A simulated table of doubles on `local-cluster[2,1,1536]`: two executors on this machine. Needs the
wheel, pyspark and Java. With `--exchange` questions are broadcast and sums meet among the
executors, as they do for models too large for the driver. Without `--steps` the plan decides. Plans
are made before the clock starts, once for each side, as they are remembered afterwards. `--record`
adds the run to results.jsonl and writes RESULTS.md.
"""

import argparse
import json
import os
import pathlib
import sys
import time

import numpy as np
import pandas as pd


def main():
    """Fits once on the cluster and once in memory, and prints the seconds of each part."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--algorithm", default="auto")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--exchange", action="store_true")
    asked = parser.parse_args()
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F

    import reticent
    from reticent.spark import _cluster, fit

    if asked.exchange:
        _cluster.SHORT = -1
    session = (
        SparkSession.builder.master("local-cluster[2,1,1536]")
        .config("spark.executor.memory", "1g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "FATAL")
        .getOrCreate()
    )
    names = [f"x{j}" for j in range(asked.columns)]
    columns = [(F.rand(seed=j) - 0.5).alias(name) for j, name in enumerate(names)]
    frame = session.range(asked.rows).select(*columns)
    frame = frame.withColumn("y", (F.col("x0") + F.col("x1") > 0).cast("int")).persist()
    frame.count()
    parts = {}

    def timed(name):
        original = getattr(_cluster.Cluster, name)

        def run(self, *given):
            since = time.perf_counter()
            try:
                return original(self, *given)
            finally:
                parts.setdefault(name, []).append(time.perf_counter() - since)

        setattr(_cluster.Cluster, name, run)

    for name in ("check_package", "encode", "ask"):
        timed(name)
    settings = {"algorithm": asked.algorithm, "epsilon": 1.0, "feature_norm": 1.5, "classes": [0, 1]}
    if asked.steps is not None:
        settings["settings"] = {"steps": asked.steps}
    spread, there = measured(lambda model: fit(model, frame, target="y", features=names), reticent.LogisticRegression(**settings), parts)
    for name, seconds in parts.items():
        print(f"{name}: {len(seconds)} times, {sum(seconds):.1f} s in all, median {np.median(seconds):.3f} s")
    print(f"on the cluster: {spread:.1f} s, {there}")
    draw = np.random.default_rng(0)
    X = pd.DataFrame(draw.random((asked.rows, asked.columns)) - 0.5, columns=names)
    y = (X["x0"] + X["x1"] > 0).astype(int)
    local, here = measured(lambda model: model.fit(X, y), reticent.LogisticRegression(**settings), {})
    print(f"in memory: {local:.1f} s, {here}")
    session.stop()
    if asked.record:
        record(
            {
                "rows": asked.rows,
                "columns": asked.columns,
                "asked": asked.algorithm,
                "exchange": asked.exchange,
                "cluster": round(spread, 1),
                "on_cluster": there,
                "questions": len(parts["ask"]),
                "encode": round(sum(parts["encode"]), 1),
                "median_question": round(float(np.median(parts["ask"])), 3),
                "memory": round(local, 1),
                "in_memory": here,
                "load": round(os.getloadavg()[0], 1),
            }
        )


def measured(run, model, parts):
    """Seconds of a second fit, whose plan is remembered, and what ran."""
    run(model)
    parts.clear()
    since = time.perf_counter()
    run(model)
    seconds = time.perf_counter() - since
    return seconds, f"{model.plan_['algorithm']}, {model.plan_['steps']} steps" if "steps" in model.plan_ else model.plan_["algorithm"]


HEAD = """# On a cluster: figures

    python bench/spark/run.py --record

Seconds of one fit each, of a logistic regression on a simulated table of doubles, with the plan remembered: on `local-cluster[2,1,1536]`
(two executors, the driver and the shuffle share one machine, so nothing is gained by spreading) and in memory. What a cluster adds is
the time until rows are blocks, and a job for each question.

| rows x columns | asked for | cluster | ran there | rows to blocks | questions, median | in memory | ran there | load |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""


def record(run):
    """Adds a run, and writes the page from all."""
    folder = pathlib.Path(__file__).parent
    runs = folder / "results.jsonl"
    with open(runs, "a", encoding="utf-8") as file:
        file.write(json.dumps(run) + "\n")
    lines = []
    for one in map(json.loads, runs.read_text(encoding="utf-8").splitlines()):
        asked = one["asked"] + (", sums among executors" if one["exchange"] else "")
        lines.append(
            f"| {one['rows']:,} x {one['columns']} | {asked} | {one['cluster']} s | {one['on_cluster']} | {one['encode']} s "
            f"| {one['questions']}, {one['median_question']} s | {one['memory']} s | {one['in_memory']} | {one['load']} |\n"
        )
    (folder / "RESULTS.md").write_text(HEAD + "".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
