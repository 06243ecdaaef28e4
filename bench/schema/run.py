#!/usr/bin/env python3
"""Drafted bounds beside hand-written ones, at epsilon 1 in total.

    cargo build --release --bin reticent
    python3 bench/schema/run.py [--data DIR] [--seeds N] [--tables A,B] [--again]

Of each shared table the header alone is taken (`schema init`, with identifiers and leaking columns
left out), and whether classes or numbers are to be predicted. Types, bounds and categories are
bought by `schema draft`, with the least epsilon whose ranks are precise to 2 % of the rows and 0.2
at most; the fit gets the rest of epsilon 1. Delta is 2e-7 and 8e-7. Beside it the same command
learns with the table's hand-written schema at epsilon 1 and delta 1e-6. Every fifth row, or the
table's own test file, is held out. The gain is AUC above one half, or R2. Each cell is a mean over
drafts and fits with fresh noise, with its standard error. Every run is kept in results.jsonl as
soon as it is measured; --again starts over. Writes RESULTS.md. Needs NumPy.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "additive"))
from run import ROOT, Table, binary  # noqa: E402

TABLES = ("adult", "bank_full", "credit_default", "bike_hour", "california_housing", "hotel_rates")
RUNS = HERE / "results.jsonl"
MOST = 0.2


def main():
    """Measures every run and writes the page."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--again", action="store_true")
    asked = parser.parse_args()
    if asked.again:
        RUNS.unlink(missing_ok=True)
    known = [(run["table"], run["schema"], run["seed"]) for run in runs()]
    for seed in range(asked.seeds):
        for name in asked.tables.split(","):
            with tempfile.TemporaryDirectory() as folder:
                table = Drafted(name, asked.data, pathlib.Path(folder), binary())
                for schema, measure in (("hand-written", table.by_hand), ("drafted", table.drafted)):
                    if (name, schema, seed) in known:
                        continue
                    line = {"table": name, "schema": schema, "seed": seed, **measure()}
                    with RUNS.open("a") as file:
                        file.write(json.dumps(line) + "\n")
                    print(line, flush=True)
                    (HERE / "RESULTS.md").write_text(page(runs()))


def runs():
    """The measured runs."""
    return list(map(json.loads, RUNS.read_text().splitlines())) if RUNS.exists() else []


class Drafted(Table):
    """A table whose schema can be drafted."""

    def by_hand(self):
        """The gain with the schema that somebody wrote."""
        return {"rows": len(self.learned), "gain": self.gain("1", "1e-6")}

    def drafted(self):
        """The gain with a draft of types, bounds and categories, and what it cost."""
        data, out = ["--data", self.folder / "train.csv", "--target", self.target], self.folder / "schema.json"
        left_out = [c["name"] for c in self.columns if c.get("role") in ("id", "leakage", "ignore", "raw")]
        ignore = ["--ignore", ",".join(left_out)] if left_out else []
        # Whether this is classification or regression is known to anyone who asks for it.
        target = next(c for c in self.columns if c["name"] == self.target)
        kind = ["--categorical" if "categories" in target else "--numeric", self.target]
        draft = ["schema", "draft", *data, *ignore, *kind, "--delta", "2e-7", "--out", out, "--force", "--json"]
        advised = json.loads(self.say(*draft))["advised_epsilon"] or MOST
        epsilon = min(MOST, advised)
        found = json.loads(self.say(*draft, "--epsilon", epsilon))
        gain = self.gain(f"{1 - epsilon:.6g}", "8e-7")
        spent = json.loads((self.folder / "fit.json").read_text())["with_draft"]["epsilon"]
        return {"advised": advised, "epsilon": epsilon, "together": spent, "left out": len(found["remarks"]), "gain": gain}

    def gain(self, epsilon, delta):
        """AUC above one half, or R2, of one fit on the held-out rows."""
        scores = self.fit(epsilon, ["--delta", delta])
        return float(scores["AUC"] - 0.5 if "AUC" in scores else scores["R2"])

    def train(self, epsilon, flags):
        """One fit; where its model is."""
        model = self.folder / "model.json"
        model.unlink(missing_ok=True)
        told = self.say("fit", "--data", self.folder / "train.csv", "--schema", self.folder / "schema.json", "--epsilon", epsilon,
                        "--out", model, "--json", *flags)
        (self.folder / "fit.json").write_text(told)
        return model

    def say(self, *words):
        """The output of the command."""
        words = [self.binary, *map(str, words)]
        return subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def page(found):
    """The page of results."""
    lines = [
        "# Drafted bounds beside hand-written ones", "",
        "Written by `bench/schema/run.py`, which says what is measured. Epsilon is 1 in total on each",
        "side: with a draft its own and that of the fit add up to 1. Gain: AUC above one half, or R2;",
        "means over runs with fresh noise, with their standard errors.", "",
        "| table | rows | precise from epsilon | draft's epsilon | columns left out | gain, hand-written | gain, drafted | share kept |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in dict.fromkeys(run["table"] for run in found):
        own = {schema: [run for run in found if run["table"] == name and run["schema"] == schema]
               for schema in ("hand-written", "drafted")}
        if not all(own.values()):
            continue
        hand, drafted = (np.array([run["gain"] for run in own[schema]]) for schema in own)
        last, left_out = own["drafted"][-1], np.mean([run["left out"] for run in own["drafted"]])
        lines.append(f"| {name} | {own['hand-written'][0]['rows']} | {last['advised']} | {last['epsilon']} | {left_out:.1f} | "
                     f"{shown(hand)} | {shown(drafted)} | {100 * drafted.mean() / hand.mean():.1f} % |")
    return "\n".join(lines) + "\n"


def shown(gains):
    """A mean with its standard error."""
    error = f" ± {gains.std(ddof=1) / len(gains) ** 0.5:.4f}" if len(gains) > 1 else ""
    return f"{gains.mean():.4f}{error}"


if __name__ == "__main__":
    main()
