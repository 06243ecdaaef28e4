"""Noise with today's charge over noise with the one before: python by_event.py COMMAND DATA

COMMAND is a `reticent` command, DATA a folder with the schemas of the four tables. Plans read no
rows. The charge before is worked out from the plan itself, with the same steps and the same budget:

- a row that is replaced moved a sum by 2L, twice the longest gradient on the set, where it is
  charged G, the largest distance of two gradients; noise is in proportion;
- coordinate-mean charged 2 tau sqrt(d) alone;
- random-round was charged for all its rounds;
- clipped-sgd charged preconditioning with squared distance 8 B^2, and the percentile of gradient
  norms with a tenth of epsilon: the event with these numbers is calibrated again by `explain`.

Prints a page in Markdown and fails if any noise is larger than before. Algorithms whose charge did
not change are not listed.
"""

import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

TABLES = {"adult": 32561, "bank_full": 45211, "wine_quality": 6497, "california_housing": 20640}
EPSILONS = ("0.3", "1", "3")
DELTA = 1e-6
HEAD = """# Noise for the same guarantee

Noise with today's charge over noise with the charge before, by table and epsilon, at delta = 1e-6
under replace-one adjacency. `by_event.py` makes this page from plans alone and says what each
charge was before; it fails if a number is above 1. Regression has Huber loss, whose gradients can
be twice the longest apart on any set: there nothing is saved by G. What `output-gd` saves by
following its trajectory comes on top. The charges of `gradient-sgd`, `noisy-sgd`, `objective`,
`truncated-mirror`, `shuffled-mirror` and `least-squares` did not change, and neither did that of
`clipped-sgd` without preconditioning. With `--ridge 1e-9` `objective` had 54 % more noise than it
has (decision 0084). What `tune` leaves to a run is printed by `tune.py` and stands in
`docs/tuning.md`. Accuracy was not measured here.
"""
PRECONDITIONED = "--adaptive-step --precondition 0.3"


def twice_the_gradient(plan, constants, _):
    """G over 2L."""
    return constants["gradient_difference"] / (2 * constants["lipschitz"])


def clipped_entries(plan, constants, _):
    """The sensitivity over what the clip alone allows."""
    weights = plan["problem"]["features"]
    return plan["noise"]["sensitivity"] / (2 * plan["clip"] * math.sqrt(weights))


def all_rounds(plan, _, ask):
    """The mean over the round at which it stops, against all of them."""
    step = innermost(plan["event"], "random-stop")
    one = innermost(step["event"], "poisson-gaussian")
    words = ["calibrate", "--epsilon", str(plan["budget"]["epsilon"]), "--delta", str(DELTA)]
    words += ["--q", str(one["sample_rate"]), "--steps", str(step["rounds"])]
    words += ["--sampling", "poisson"]
    before = ask(words)["sigma"]
    return one["noise_multiplier"] / before


def before_the_steps(plan, _, ask):
    """The release before the steps costs less, so the steps get more."""
    epsilon, bounds = plan["budget"]["epsilon"], plan["problem"]["bounds"]
    parts = plan["event"]["events"]

    def cost(factor):
        old = json.loads(json.dumps(parts))
        for part in old[:-1]:
            if part["kind"] == "bounded-range":
                part["epsilon"] = epsilon / 10
            else:
                # The squared joint distance of two rows' first and second moments.
                square = bounds.get("replaced") or 4.6229 * bounds["norm"] ** 2
                part["noise_multiplier"] *= math.sqrt(square / (8 * bounds["norm"] ** 2))
        old[-1]["noise_multiplier"] *= factor
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"kind": "composed", "events": old}, file)
            file.flush()
            return ask(["explain", "--event", file.name, "--delta", str(DELTA)])["epsilon_upper"]

    low, high = 1.0, 1.0
    while cost(high) > epsilon:
        low, high = high, high * 1.2
    while high - low > 1e-4:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if cost(middle) > epsilon else (low, middle)
    return 1 / high


# The flags that an algorithm needs to have a plan, besides the table, and its former charge.
CASES = {
    "clipped-sgd, preconditioned": (PRECONDITIONED, before_the_steps),
    "output-gd": ("", twice_the_gradient),
    "output-gd, radius 0.5": ("--radius 0.5", twice_the_gradient),
    "output-sgd, radius 0.5": ("--radius 0.5", twice_the_gradient),
    "permuted-sgd, radius 0.5": ("--radius 0.5", twice_the_gradient),
    "mirror, radius 0.5": ("--radius 0.5", twice_the_gradient),
    "phased, radius 0.5": ("--radius 0.5", twice_the_gradient),
    "coordinate-mean, radius 0.5": ("--radius 0.5", clipped_entries),
    "random-round": ("", all_rounds),
}


def innermost(event, kind):
    """The event of this kind inside distances and repetitions."""
    while event["kind"] != kind:
        event = event.get("inner") or event.get("event")
    return event


def main():
    command, data = sys.argv[1:]

    def ask(words):
        words = [command, *words, "--json"]
        run = subprocess.run(words, capture_output=True, text=True, check=False)
        return json.loads(run.stdout) if run.returncode == 0 else None

    def plan(case, flags, table, epsilon):
        schema = str(Path(data) / f"{table}.schema.json")
        words = ["plan", "--n", str(TABLES[table]), "--schema", schema, "--epsilon", epsilon]
        words += ["--delta", str(DELTA), "--algorithm", case.split(",")[0], *flags.split()]
        numbers = table in ("wine_quality", "california_housing")
        if flags == PRECONDITIONED and numbers:
            words += ["--clip-quantile-multiple", "1"]
        answer = ask(words)
        return answer["ranking"][0]["plan"] if answer else None

    larger, rows = [], []
    for case, (flags, share) in CASES.items():
        cells = []
        for table in TABLES:
            # The constants of the loss on this set, which plans with noise on the output state.
            stated = plan("output-gd", flags, table, "1") if share is twice_the_gradient else None
            for epsilon in EPSILONS:
                found = plan(case, flags, table, epsilon)
                if found is None or (share is twice_the_gradient and stated is None):
                    cells.append("–")
                    continue
                ratio = share(found, stated and stated["regularity"], ask)
                cells.append(f"{ratio:.3f}")
                if ratio > 1.0001:
                    larger.append((case, table, epsilon, ratio))
        rows.append(f"| {case} | " + " | ".join(cells) + " |")
        print(rows[-1], file=sys.stderr, flush=True)
    heads = [f"{table} {epsilon}" for table in TABLES for epsilon in EPSILONS]
    print(HEAD)
    print("| algorithm | " + " | ".join(heads) + " |")
    print("| --- |" + " --- |" * len(heads))
    print("\n".join(rows))
    if larger:
        sys.exit(f"larger than before: {larger}")


if __name__ == "__main__":
    main()
