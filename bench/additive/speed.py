#!/usr/bin/env python3
"""How long a fit with curves takes beside one with lines, on adult, through the built command.

    cargo build --release --bin reticent
    python3 bench/additive/speed.py [--data DIR] [--repeats N] [--epsilon E]

Prints the median seconds of whole commands and their ratio: with planning, and with a plan that the
planner remembers (reading, training, writing), and writes SPEED.md. The seconds are the
processor's, of all threads, and the fits alternate, so that a busy machine disturbs neither. Exit
code 1 if a ratio is above 1.5.
"""
import argparse
import pathlib
import resource
import statistics
import tempfile

from run import HERE, ROOT, Table, binary

MOST = 1.5


def main():
    """Measures, prints, and says whether the limit holds."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--epsilon", default="1")
    asked = parser.parse_args()
    ratios, rows = [], ["# The time of a fit with curves", "", "    python3 bench/additive/speed.py", "",
                        f"Processor seconds of `reticent fit` on adult at epsilon {asked.epsilon}, medians of {asked.repeats} fits.",
                        "", "| | lines | curves | ratio |", "| --- | --- | --- | --- |"]
    with tempfile.TemporaryDirectory() as folder:
        table = Table("adult", asked.data, pathlib.Path(folder), binary())
        for name, cache in (("with planning", "off"), ("planned before", pathlib.Path(folder) / "plans")):
            table.cache = cache
            if cache != "off":
                measure(table, asked.epsilon, 1)
            lines, curves = measure(table, asked.epsilon, asked.repeats)
            ratios.append(curves / lines)
            print(f"adult, epsilon {asked.epsilon}, {name}: lines {lines:.2f} s, curves {curves:.2f} s, ratio {ratios[-1]:.2f}")
            rows.append(f"| {name} | {lines:.2f} | {curves:.2f} | {ratios[-1]:.2f} |")
    (HERE / "SPEED.md").write_text("\n".join([*rows, ""]))
    return max(ratios) > MOST


def measure(table, epsilon, repeats):
    """The median seconds of a fit with lines, and of one with curves."""
    seconds = ([], [])
    for _ in range(repeats):
        for place, flags in enumerate((["--linear"], [])):
            start = spent()
            table.train(epsilon, flags)
            seconds[place].append(spent() - start)
    return [statistics.median(times) for times in seconds]


def spent():
    """Processor seconds of the commands so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    raise SystemExit(main())
