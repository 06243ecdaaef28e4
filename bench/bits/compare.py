#!/usr/bin/env python3
"""Whether two builds of the command train the same models, to the bit.

    python3 bench/bits/compare.py --old old/reticent --new target/release/reticent

Makes small tables of every kind, fits each with both builds from the same seed, with every
algorithm, loss, source of rows and layout that serves them, and compares the weights. A difference
is listed; what only one build can fit is listed too. Exit code 1 if anything differs.
"""

import argparse
import json
import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path

ROWS = 1500


def tables(folder: Path) -> None:
    """Two classes, three classes and a number to predict, from two numbers and a category."""
    rng = random.Random(1)
    rows = []
    for _ in range(ROWS):
        age, visits, ward = rng.uniform(0, 100), rng.randrange(10), rng.choice("abc")
        signal = age / 50 - 1 + 0.3 * visits - (ward == "b") + rng.gauss(0, 0.7)
        kind = "low" if signal < 0 else "mid" if signal < 1.2 else "high"
        rows.append((age, visits, ward, "yes" if signal > 0.8 else "no", kind, signal))
    features = [
        {"name": "age", "type": "real", "bounds": {"min": 0, "max": 100}},
        {"name": "visits", "type": "integer", "bounds": {"min": 0, "max": 9}},
        {"name": "ward", "type": "categorical", "categories": ["a", "b", "c"]},
    ]
    targets = {
        "two": ({"type": "categorical", "categories": ["no", "yes"]}, 3),
        "three": ({"type": "categorical", "categories": ["low", "mid", "high"]}, 4),
        "number": ({"type": "real", "bounds": {"min": -3, "max": 6}}, 5),
    }
    for name, (target, place) in targets.items():
        schema = {
            "name": name,
            "target": "y",
            "columns": [*features, {"name": "y", "role": "target", **target}],
        }
        (folder / f"{name}.json").write_text(json.dumps(schema))
        lines = ["age,visits,ward,y"]
        lines += [",".join(map(str, (*row[:3], row[place]))) for row in rows]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")


SGD = "--steps 60 --batch 50"
TWO = [
    "--algorithm objective",
    "--algorithm output-gd",
    "--algorithm output-gd --loss sigmoid --radius 2",
    "--algorithm output-sgd --radius 2",
    "--algorithm permuted-sgd --radius 2",
    "--algorithm gradient-sgd --radius 2 --steps 400",
    "--algorithm gradient-sgd --radius 2 --steps 100 --batch 40",
    "--algorithm gradient-sgd --loss hinge --radius 2 --steps 400",
    "--algorithm random-round --radius 2 --steps 80",
    "--algorithm noisy-sgd --radius 2 --steps 80 --batch 30",
    f"--algorithm clipped-sgd {SGD}",
    f"--algorithm clipped-sgd {SGD} --clip 0.3 --output average",
    f"--algorithm clipped-sgd {SGD} --clip-selection 0.2 --output random",
    f"--algorithm clipped-sgd {SGD} --precondition 0.3",
    f"--algorithm clipped-sgd {SGD} --adaptive-step",
    f"--algorithm clipped-sgd {SGD} --hidden 5",
    f"--algorithm clipped-sgd {SGD} --adjacency add-remove-one --rows {ROWS}",
    f"--algorithm clipped-sgd {SGD} --loss hinge",
    "--algorithm mirror --radius 2 --steps 20",
    "--algorithm mirror --radius 2 --set l1 --steps 20",
    "--algorithm phased --radius 2",
    "--algorithm truncated-mirror --radius 2",
    "--algorithm coordinate-mean --radius 2 --steps 20",
    "--algorithm shuffled-mirror --radius 2",
    "--algorithm objective --kernel gaussian --features 64",
    f"--algorithm clipped-sgd {SGD} --kernel gaussian --features 64",
    "--algorithm output-sgd --radius 2 --kernel gaussian --features 32",
    "",
]
THREE = [
    "--algorithm objective",
    "--algorithm output-gd",
    "--algorithm output-sgd --radius 2",
    "--algorithm gradient-sgd --radius 2 --steps 200 --batch 5",
    f"--algorithm clipped-sgd {SGD}",
    f"--algorithm clipped-sgd {SGD} --hidden 4",
    "--algorithm mirror --radius 2 --steps 20",
    "--algorithm coordinate-mean --radius 2 --steps 20",
    "--algorithm least-squares --loss one-hot",
    "",
]
NUMBER = [
    "--algorithm objective --loss huber",
    "--algorithm output-gd --loss huber",
    "--algorithm output-gd --loss squared --radius 1",
    "--algorithm least-squares --loss squared",
    "--algorithm least-squares --loss squared --order full --steps 30",
    "--algorithm output-sgd --loss huber --radius 2",
    "--algorithm gradient-sgd --loss huber --radius 2 --steps 200",
    f"--algorithm clipped-sgd --loss huber {SGD}",
    f"--algorithm clipped-sgd --loss squared {SGD} --precondition 0.4 --clip-quantile-multiple 1",
    "--algorithm coordinate-mean --loss welsch --radius 2 --steps 20",
    "--algorithm coordinate-mean --loss cauchy --radius 2 --steps 20",
    "--algorithm truncated-mirror --loss huber --radius 2",
    "",
]
WAYS = ["", "--precision f32", "--precision sparse", "--memory 256MB"]


def weights(command: str, folder: Path, fit: str):
    """The weights of a fit as text; none if the build refuses."""
    out = folder / "model.json"
    out.unlink(missing_ok=True)
    line = [command, *fit.split(), "--out", str(out), "--insecure-seed", "7", "--threads", "2", "--json"]
    run = subprocess.run(line, cwd=folder, capture_output=True, text=True)
    if run.returncode != 0:
        return None, run.stderr.strip().splitlines()[-1:] or run.stdout.strip()[:200]
    return json.dumps(json.loads(out.read_text())["weights"]), None


def main() -> int:
    """Compares all fits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--old", required=True, help="the command of the old build")
    parser.add_argument("--new", required=True, help="the command of the new build")
    args = parser.parse_args()
    same = differ = refused = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tables(folder)
        for table, fits in (("two", TWO), ("three", THREE), ("number", NUMBER)):
            for flags in fits:
                for way in WAYS:
                    fit = f"fit --data {table}.csv --schema {table}.json --epsilon 2 {flags} {way}"
                    (old, why), (new, other) = (
                        weights(str(Path(c).resolve()), folder, fit) for c in (args.old, args.new)
                    )
                    if old is None and new is None:
                        refused += 1
                    elif old is None or new is None:
                        differ += 1
                        print(f"{table} {flags} {way}: only one serves it: {why or other}")
                    elif old == new:
                        same += 1
                    else:
                        differ += 1
                        pairs = list(zip(flat(old), flat(new), strict=False))
                        far = max((abs(a - b) for a, b in pairs), default=math.nan)
                        print(f"{table} {flags} {way}: differ by up to {far:.2e}")
    print(f"{same} fits have the same bits, {differ} differ, {refused} are refused by both")
    return 1 if differ else 0


def flat(text: str):
    """All numbers of nested lists."""
    stack = [json.loads(text)]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
        elif isinstance(value, (int, float)):
            yield float(value)


if __name__ == "__main__":
    sys.exit(main())
