"""Time and memory of a fit, command and all, on a simulated table of a given size: python
bench/scale/run.py ROWS..."""

import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
COLUMNS = 20


def table(path, rows):
    """Twenty numbers and a class that depends on the first three."""
    with path.open("w") as file:
        file.write(",".join([f"x{j}" for j in range(COLUMNS)] + ["y"]) + "\n")
        for i in range(rows):
            cells = [(i * (j * 2 + 7919) + j * 101) % 1000 for j in range(COLUMNS)]
            file.write(",".join(map(str, cells)) + (",a\n" if cells[0] + cells[1] > cells[2] + 300 else ",b\n"))


def main():
    """Prints a line of the table in docs/scale.md for each size."""
    binary = os.environ.get("RETICENT", ROOT / "target" / "release" / "reticent")
    columns = [{"name": f"x{j}", "type": "integer", "bounds": {"min": 0, "max": 1000}} for j in range(COLUMNS)]
    columns.append({"name": "y", "type": "categorical", "categories": ["a", "b"]})
    for rows in map(int, sys.argv[1:]):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            table(folder / "t.csv", rows)
            (folder / "s.json").write_text(json.dumps({"target": "y", "columns": columns}))
            start = time.perf_counter()
            command = [binary, "fit", "--data", "t.csv", "--schema", "s.json", "--epsilon", "1", "--out", "m.json"]
            subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
            seconds = time.perf_counter() - start
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
            size = (folder / "t.csv").stat().st_size / 2**20
            print(f"| {rows:,} | {size:,.0f} | {seconds:.1f} | {peak:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
