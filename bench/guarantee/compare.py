"""Noise for the same guarantee, of two builds: python bench/guarantee/compare.py OLD NEW DATA

OLD and NEW are `reticent` commands, DATA a folder with the schemas of the four tables. Plans read
no rows. For every algorithm, table and epsilon the standard deviation of the noise is compared
(per weight, or per coordinate of a step's sum), at delta = 1e-6 and replace-one adjacency. Prints a
table in Markdown and fails if any noise is larger than before by more than a part in 10^4.
"""

import json
import subprocess
import sys
from pathlib import Path

TABLES = {"adult": 32561, "bank_full": 45211, "wine_quality": 6497, "california_housing": 20640}
EPSILONS = ("0.3", "1", "3")
# The flags that an algorithm needs to have a plan, besides the table.
CASES = {
    "clipped-sgd": "",
    "objective": "",
    "objective, ridge 1e-9": "--ridge 1e-9",
    "output-gd": "",
    "output-gd, radius 0.5": "--radius 0.5",
    "output-sgd": "",
    "output-sgd, radius 0.5": "--radius 0.5",
    "permuted-sgd": "",
    "gradient-sgd": "--radius 2",
    "random-round": "",
    "noisy-sgd": "--radius 2",
    "phased": "--radius 2",
    "mirror": "--radius 0.5",
    "truncated-mirror": "--radius 2",
    "shuffled-mirror": "--radius 2",
    "coordinate-mean": "--radius 0.5",
    "least-squares": "--loss squared",
}


def deviation(command, table, rows, epsilon, algorithm, flags, data):
    """The noise of the plan and its number of steps, or why there is none."""
    schema = str(Path(data) / f"{table}.schema.json")
    words = [command, "plan", "--n", str(rows), "--schema", schema, "--epsilon", epsilon]
    words += ["--delta", "1e-6", "--algorithm", algorithm, "--json", *flags.split()]
    run = subprocess.run(words, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        return None
    best = json.loads(run.stdout)["ranking"][0]
    return best.get("noise_deviation"), best["plan"].get("steps")


def main():
    old, new, data = sys.argv[1:]
    larger = []
    heads = [f"{table} {epsilon}" for table in TABLES for epsilon in EPSILONS]
    print("| algorithm | " + " | ".join(heads) + " |")
    print("| --- |" + " --- |" * len(heads))
    for case, flags in CASES.items():
        cells = []
        for table, rows in TABLES.items():
            for epsilon in EPSILONS:
                asked = (table, rows, epsilon, case.split(",")[0], flags, data)
                before, after = deviation(old, *asked), deviation(new, *asked)
                if not before or not after or not before[0]:
                    cells.append("–")
                    continue
                ratio = after[0] / before[0]
                same = before[1] == after[1]
                cells.append(f"{ratio:.4g}" + ("" if same else " (other steps)"))
                if same and ratio > 1.0001:
                    larger.append((case, table, epsilon, ratio))
        print(f"| {case} | " + " | ".join(cells) + " |", flush=True)
    if larger:
        sys.exit(f"larger than before: {larger}")


if __name__ == "__main__":
    main()
