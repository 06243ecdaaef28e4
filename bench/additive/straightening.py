#!/usr/bin/env python3
"""Curves as the walk left them and straightened, of the same walks; beside them lines.

    cargo build --release --bin reticent
    python3 bench/additive/straightening.py [--data DIR] [--seeds N] [--epsilons 0.1,1] [--places "A;B"] [--page]

Fits with the number of knots that `fit` chooses, twice with each seed: with `--straightening 0` and
with the default. Both have the same walk and the same noise, so that their difference is that of
straightening alone. The gain is R2, or the share of a constant answer's log loss that is saved, on
held-out rows; places are those of knots.py. The constants were chosen on CHOSEN_ON, in a prototype,
and on simulated tables. Every cell is kept in straightening.jsonl as soon as it is measured; --page
only writes the page, STRAIGHTENING.md. Needs NumPy.
"""
import argparse
import json
import pathlib
import tempfile

import knots
import numpy as np
import run

HERE = pathlib.Path(__file__).resolve().parent
CELLS = HERE / "straightening.jsonl"
CHOSEN_ON = ("adult", "bike_hour", "california_housing", "hotel_rates", "support2")
WAYS = {"lines": ["--linear"], "bent": ["--straightening", "0"], "straightened": []}


def main():
    """Measures every cell and writes the page."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=run.ROOT.parent / "shared" / "data")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epsilons", default="0.1,1")
    parser.add_argument("--places")
    parser.add_argument("--page", action="store_true")
    asked = parser.parse_args()
    places = [*run.CLASSES, *run.NUMBERS, *(f"{world}, {rows}" for rows in knots.SIZES for world in knots.WORLDS)]
    for place in () if asked.page else asked.places.split(";") if asked.places else places:
        measure(place, asked)
    (HERE / "STRAIGHTENING.md").write_text(page(list(cells().values())))


def measure(place, asked):
    """The cells of a table or world that are not known yet."""
    epsilons = [e for e in asked.epsilons.split(",") if (place, e) not in cells()]
    if not epsilons:
        return
    with tempfile.TemporaryDirectory() as folder:
        table = (knots.World if ", " in place else run.Table)(place, asked.data, pathlib.Path(folder), run.binary())
        table.cache = pathlib.Path(folder) / "plans"
        for epsilon in epsilons:
            line = {"place": place, "epsilon": epsilon, "seeds": asked.seeds}
            for way, flags in WAYS.items():
                scores = [table.fit(epsilon, [*flags, "--insecure-seed", seed]) for seed in range(asked.seeds)]
                line[way] = [knots.gain(score, table) for score in scores]
                line |= {f"{way} {key}": float(np.mean([s[key] for s in scores])) for key in ("AUC", "accuracy") if key in scores[0]}
            model = json.loads((table.folder / "model.json").read_text())
            plan = model["certificate"]["plan"]
            line |= {"knots": model["task"]["encoding"].get("knots"), "straightens": plan["settings"].get("straightening") is not None}
            with CELLS.open("a") as file:
                file.write(json.dumps(line) + "\n")
            print(line, flush=True)


def cells():
    """The measured cells."""
    lines = map(json.loads, CELLS.read_text().splitlines()) if CELLS.exists() else ()
    return {(line["place"], line["epsilon"]): line for line in lines}


def page(lines):
    """The results as a page."""
    text = ["# Straightening", "", "    python3 bench/additive/straightening.py", "",
            "The gain on held-out rows (R2, or the share of a constant answer's log loss that is saved): of lines, and of curves with "
            "the knots that `fit` chooses, as the walk left them (*bent*) and as they are released (*straightened*), means over so "
            "many seeds of the same walks. *more* is what straightening adds, with the standard error of its mean over seeds; *behind "
            "lines* what the released curves lose of the gain of lines. Constants were chosen on the tables with a star, and on "
            "simulated ones.", "",
            "| place | epsilon | seeds | knots | lines | bent | straightened | more | AUC more | behind lines |", "| --- " * 10 + "|"]
    for line in sorted(lines, key=lambda line: (", " in line["place"], line["place"], float(line["epsilon"]))):
        bent, straight, plain = (np.array(line[way]) for way in ("bent", "straightened", "lines"))
        more = straight - bent
        error = more.std(ddof=1) / len(more) ** 0.5 if len(more) > 1 else 0.0
        area = f"{line['straightened AUC'] - line['bent AUC']:.4f}" if "bent AUC" in line else ""
        behind = max(0.0, 1 - straight.mean() / plain.mean()) if plain.mean() > 0.01 else 0.0
        star = "*" if line["place"] in CHOSEN_ON else ""
        row = [line["place"] + star, line["epsilon"], str(line["seeds"]), str(line["knots"] or "lines"), f"{plain.mean():.4f}", f"{bent.mean():.4f}",
               f"{straight.mean():.4f}", f"{more.mean():.4f} ± {error:.4f}", area, f"{100 * behind:.1f} %"]
        text.append("| " + " | ".join(row) + " |")
    return "\n".join(text) + "\n"


if __name__ == "__main__":
    main()
