"""Measure what a guarantee for persons costs, against what a user could do without one, and write
RESULTS.md.

    python bench/units/run.py [--data DIR] [--seeds N]

The table is nls_wages: 4,711 women with up to 15 rows each, told apart by `idcode`, of whom every
fifth is held out. Needs numpy and the release build of the command, or another one in the variable
RETICENT.
"""

import argparse
import csv
import gzip
import json
import os
import pathlib
import random
import resource
import subprocess
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DECLARED = ("name", "task", "target", "columns")
PERSON, MOST = "idcode", 15
BY_PERSON = ["--unit", PERSON, "--max-rows", str(MOST)]
# The models whose epochs are measured: classes, flags of both runs, and the share of cells that are
# not zero.
MODELS = {
    "two classes": (2, [], 1.0),
    "two classes, sparse": (2, ["--precision", "sparse"], 0.1),
    "two classes, 200 random features": (2, ["--kernel", "gaussian", "--bandwidth", "3", "--features", "200"], 1.0),
    "10 classes": (10, [], 1.0),
    "two classes, 32 hidden": (2, ["--hidden", "32"], 1.0),
    "10 classes, 32 hidden": (10, ["--hidden", "32"], 1.0),
}


def main():
    """Measures everything and writes the page."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--epsilons", default="0.5,1,2")
    asked = parser.parse_args()
    binary = os.environ.get("RETICENT", str(ROOT / "target" / "release" / "reticent"))
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(asked.data, pathlib.Path(folder), binary)
        lines = []
        constant = bench.constant()
        for epsilon in map(float, asked.epsilons.split(",")):
            cells = {
                "all rows, by person": [bench.fit("train", epsilon, BY_PERSON) for _ in range(asked.seeds)],
                "one random row of each": [bench.one_row(epsilon, seed) for seed in range(asked.seeds)],
                f"epsilon / {MOST}": [bench.fit("train", epsilon / MOST, []) for _ in range(asked.seeds)],
                "by row (weaker)": [bench.fit("train", epsilon, []) for _ in range(asked.seeds)],
            }
            lines.append((epsilon, cells))
            print(epsilon, {name: np.round(np.mean(found), 3) for name, found in cells.items()}, flush=True)
        epochs = {}
        for name, model in MODELS.items():
            epochs[name] = bench.epochs(*model)
            print(name, epochs[name], flush=True)
        same = bench.same_bits()
        print("same bits:", same, flush=True)
    (HERE / "RESULTS.md").write_text(page(lines, constant, asked.seeds, epochs, same))


class Bench:
    """The table, split by person, and the command."""

    def __init__(self, data, folder, binary):
        self.folder, self.binary = folder, binary
        schema = json.loads((data / "nls_wages.schema.json").read_text())
        (folder / "schema.json").write_text(json.dumps({key: schema[key] for key in DECLARED if key in schema}))
        with gzip.open(data / "nls_wages.csv.gz", "rt", newline="") as file:
            self.head, *rows = csv.reader(file)
        place = self.head.index(PERSON)
        persons = sorted({row[place] for row in rows})
        random.Random(0).shuffle(persons)
        held = set(persons[::5])
        self.train = [row for row in rows if row[place] not in held]
        self.place = place
        self.write("train", self.train)
        self.write("test", [row for row in rows if row[place] in held])

    def write(self, name, rows):
        """Writes some rows as a table."""
        with (self.folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([self.head, *rows])

    def run(self, *words):
        """The JSON output of the command, parsed."""
        environment = {**os.environ, "RETICENT_CACHE": "off"}
        done = subprocess.run([self.binary, "--json", *words], cwd=self.folder, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(done.stdout + done.stderr)
        return json.loads(done.stdout)

    def fit(self, table, epsilon, flags):
        """R2 on the held-out persons' rows of one fit."""
        given = ["--data", f"{table}.csv", "--schema", "schema.json", "--epsilon", str(epsilon), "--delta", "1e-6"]
        self.run("fit", *given, *flags, "--out", "model.json", "--force")
        found = self.run("evaluate", "--model", "model.json", "--data", "test.csv")
        return (found.get("metrics") or found)["r2"]

    def one_row(self, epsilon, seed):
        """The same of one random row of each person, with a guarantee for rows, which is one for
        persons here."""
        chosen, draw = {}, random.Random(seed)
        for row in self.train:
            chosen.setdefault(row[self.place], []).append(row)
        self.write("one", [draw.choice(rows) for rows in chosen.values()])
        return self.fit("one", epsilon, [])

    def constant(self):
        """R2 on the held-out persons' rows of the mean of the others' rows, which is not
        private."""
        target = json.loads((self.folder / "schema.json").read_text())["target"]
        place = self.head.index(target)
        train = np.array([float(row[place]) for row in self.train])
        with (self.folder / "test.csv").open(newline="") as file:
            test = np.array([float(row[place]) for row in list(csv.reader(file))[1:]])
        return 1 - np.mean((test - train.mean()) ** 2) / np.var(test)

    def epochs(self, classes, flags_of_both, filled, units=20_000, rows=4, features=60, steps=200):
        """Processor seconds of clipped steps over the same rows, by unit and by row, on one thread,
        reading the table taken off."""
        draw = np.random.default_rng(0)
        x = (draw.random((units * rows, features)) * (draw.random((units * rows, features)) < filled)).round(3)
        y = (x @ draw.normal(size=(features, classes)) + draw.normal(size=(len(x), classes))).argmax(axis=1)
        columns = [{"name": f"x{j}", "type": "real", "bounds": {"min": 0, "max": 1}} for j in range(features)]
        columns += [{"name": "id", "role": "id", "type": "integer"}, {"name": "y", "type": "integer", "categories": list(range(classes))}]
        (self.folder / "wide.json").write_text(json.dumps({"target": "y", "columns": columns}))
        with (self.folder / "wide.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([c["name"] for c in columns])
            writer.writerows([*map(str, x[i]), i // rows, y[i]] for i in range(len(x)))
        common = ["--data", "wide.csv", "--schema", "wide.json", "--epsilon", "1", "--algorithm", "clipped-sgd"]
        common += [] if "--kernel" in flags_of_both else ["--linear"]
        common += ["--clip", "1", "--out", "wide-model.json", "--force", *flags_of_both]
        common += [] if "--precision" in flags_of_both else ["--precision", "f32"]
        seconds = {}
        for name, flags, batch in (("by row", [], 1000 * rows), ("by unit", ["--unit", "id", "--max-rows", str(rows)], 1000)):
            taken = {}
            for count in (1, steps):
                times = []
                for _ in range(2):
                    begun = processor_seconds()
                    self.run("fit", *common, *flags, "--batch", str(batch), "--steps", str(count), "--threads", "1")
                    times.append(processor_seconds() - begun)
                taken[count] = min(times)
            seconds[name] = (taken[steps] - taken[1]) / (steps - 1) * (units // 1000)
        return seconds

    def same_bits(self):
        """Whether units of one row each give the weights of rows, with the same seed."""
        one = {row[self.place]: row for row in self.train}
        self.write("one", one.values())
        given = ["--data", "one.csv", "--schema", "schema.json", "--epsilon", "1", "--delta", "1e-6", "--insecure-seed", "7"]
        found = []
        for flags in ([], ["--unit", PERSON, "--max-rows", "1"]):
            self.run("fit", *given, *flags, "--algorithm", "clipped-sgd", "--out", "same.json", "--force")
            found.append(json.loads((self.folder / "same.json").read_text())["weights"])
        return found[0] == found[1]


def processor_seconds():
    """The processor time of ended child processes: other work on the machine does not count."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def page(lines, constant, seeds, epochs, same):
    """The results as a page."""
    names = list(lines[0][1])
    text = ["# What a guarantee for persons costs", ""]
    text += [f"R2 on held-out women of nls_wages, mean of {seeds} fits and its standard error. The first three protect all rows of one"]
    text += [f"woman (up to {MOST}); the last protects one row and is shown for comparison only.", ""]
    text += ["| epsilon | " + " | ".join(names) + " |", "| --- |" + " --- |" * len(names)]
    for epsilon, cells in lines:
        shown = [f"{np.mean(found):.3f} ± {np.std(found, ddof=1) / len(found) ** 0.5:.3f}" for found in cells.values()]
        text.append(f"| {epsilon:g} | " + " | ".join(shown) + " |")
    text += ["", f"The mean of the training rows, which is not private, has {constant:.3f}. The gain over it by person, as a share of that"]
    text += ["by row:", "", "| epsilon | gain by person | gain by row | share |", "| --- | --- | --- | --- |"]
    for epsilon, cells in lines:
        ours, weaker = (np.mean(cells[name]) - constant for name in (names[0], names[-1]))
        text.append(f"| {epsilon:g} | {ours:.3f} | {weaker:.3f} | {100 * ours / weaker:.1f} % |")
    text += ["", "An epoch of clipped-sgd over 80,000 rows of 61 features, 20,000 units of 4 rows, in seconds of one processor:", ""]
    text += ["| model | by row | by unit | ratio |", "| --- | --- | --- | --- |"]
    for name, seconds in epochs.items():
        row, unit = seconds["by row"], seconds["by unit"]
        text.append(f"| {name} | {row:.3f} s | {unit:.3f} s | {unit / row:.2f} |")
    text += ["", f"Units of one row each give the weights of the row-level run with the same seed: {'yes' if same else 'NO'}.", ""]
    text += ["Written by `bench/units/run.py`."]
    return "\n".join(text) + "\n"


if __name__ == "__main__":
    main()
