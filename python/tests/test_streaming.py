"""Tables larger than memory train under a hard cap, and give what the table in memory gives."""

import resource
import subprocess

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

FEATURES = 40
MEGABYTE = 1 << 20


def write(folder, groups, units=False, rows=100_000):
    """A Parquet file of so many row groups of so many rows, all alike, with a schema; the number of
    all rows.

    With units a third of all rows is one unit's, and the others have one in each group.
    """
    rng = np.random.default_rng(0)
    x = rng.integers(0, 16, (rows, FEATURES)) / 15
    y = ((x - 0.5) @ rng.normal(size=FEATURES) > 0).astype(np.int8)
    columns = {f"x{j}": pa.array(x[:, j]) for j in range(FEATURES)} | {"y": pa.array(y)}
    if units:
        columns["who"] = pa.array([0 if i % 3 == 0 else i for i in range(rows)])
    table = pa.table(columns)
    with pq.ParquetWriter(folder / "table.parquet", table.schema) as out:
        for _ in range(groups):
            out.write_table(table)
    return rows * groups


@pytest.fixture
def streamed(reticent):
    """The command with the schema of the tables here."""
    number = {"type": "real", "bounds": {"min": 0, "max": 1}}
    columns = [{"name": f"x{j}", **number} for j in range(FEATURES)]
    columns.append({"name": "y", "type": "categorical", "categories": ["0", "1"]})
    reticent.write_schema(columns, target="y")
    return reticent


def arguments(*more):
    return ["fit", "--data", "table.parquet", "--schema", "schema.json", "--epsilon", "1", "--threads", "2", *more]


def capped(streamed, limit, *more):
    """A fit under a hard cap of so many megabytes."""
    cap = limit * MEGABYTE
    return subprocess.run(
        [str(streamed.binary), *arguments("--algorithm", "output-gd", "--steps", "1", "--out", "model.json", "--force", *more)],
        cwd=streamed.folder,
        capture_output=True,
        text=True,
        check=False,
        # A second arena sets 64 MB of addresses aside, which the cap would count as memory.
        env={"MALLOC_ARENA_MAX": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (cap, cap)),
    )


def test_a_table_ten_times_the_limit_trains_under_a_hard_cap(streamed):
    rows = write(streamed.folder, 40)
    assert rows * (FEATURES + 1) * 8 >= 10 * 120 * MEGABYTE, "encoded, it is ten times as large"
    # With the larger limit the columns are unpacked on threads of their own.
    for limit in (120, 256):
        run = capped(streamed, limit, "--memory", f"{limit}MB")
        assert run.returncode == 0, run.stderr
        assert "PASS" in streamed("verify", "model.json")
        # The cap is real: read whole, the same table does not fit.
        assert capped(streamed, limit).returncode != 0


def test_units_of_twice_the_limit_are_brought_together_under_a_hard_cap(streamed):
    rows = write(streamed.folder, 8, units=True)
    assert rows * (FEATURES + 1) * 8 >= 2 * 120 * MEGABYTE, "encoded, it is twice as large"
    unit = ("--unit", "who", "--max-rows", "30")
    run = capped(streamed, 120, "--memory", "120MB", *unit)
    assert run.returncode == 0, run.stderr
    assert "all rows of one `who`" in streamed("verify", "model.json")
    assert capped(streamed, 120, *unit).returncode != 0


def test_streamed_and_in_memory_agree(streamed):
    write(streamed.folder, 2, rows=10_000)
    for algorithm in (["objective"], ["output-gd", "--steps", "4"], ["clipped-sgd", "--steps", "6", "--batch", "500"]):
        line = arguments("--insecure-seed", "5", "--algorithm", *algorithm)
        streamed(*line, "--out", "whole.json", "--force")
        streamed(*line, "--memory", "200MB", "--out", "streamed.json", "--force")
        whole, blocks = (streamed.model(f"{name}.json") for name in ("whole", "streamed"))
        assert whole["certificate"]["plan"] == blocks["certificate"]["plan"]
        # The same noise; sums agree up to rounding, which may move a weight by a cell of the grid.
        np.testing.assert_allclose(blocks["weights"], whole["weights"], rtol=1e-6, atol=1e-7)


def test_curves_and_pairs_streamed_and_in_memory_agree(streamed):
    write(streamed.folder, 2, rows=10_000)
    curves = ["--knots", "4", "--pairs", "x0:x1,x2:x3"]
    for algorithm in (["objective"], ["output-gd", "--steps", "4"], ["clipped-sgd", "--steps", "6", "--batch", "500"]):
        line = arguments("--insecure-seed", "5", *curves, "--algorithm", *algorithm)
        streamed(*line, "--out", "whole.json", "--force")
        streamed(*line, "--memory", "200MB", "--out", "streamed.json", "--force")
        whole, blocks = (streamed.model(f"{name}.json") for name in ("whole", "streamed"))
        assert whole["task"] == blocks["task"]
        assert any("@" in name and "*" in name for name in whole["features"])
        assert whole["certificate"]["plan"] == blocks["certificate"]["plan"]
        np.testing.assert_allclose(blocks["weights"], whole["weights"], rtol=1e-6, atol=1e-7)


def test_single_row_steps_and_too_little_memory_are_refused(streamed):
    write(streamed.folder, 2, rows=10_000)
    for more, word in (
        (["--memory", "1MB"], "`memory` must be at least"),
        (["--memory", "many"], "512MB"),
        (["--memory", "200MB", "--algorithm", "permuted-sgd", "--radius", "1"], "in order"),
    ):
        run = subprocess.run(
            [str(streamed.binary), *arguments(*more)],
            cwd=streamed.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 2, run.stderr
        assert word in run.stderr, run.stderr
