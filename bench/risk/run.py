"""Noise for a risk: `reticent calibrate` beside riskcal, on the examples of riskcal's own
documentation.

    python -m venv v && v/bin/pip install riskcal==1.5.1
    v/bin/python bench/risk/run.py target/release/reticent

For each question: the noise multipliers, the risk that Reticent's accountant proves for its own,
and the seconds of processor time that each took, the start of the command included, the import of
riskcal left out. Both speak of Poisson samples with a row added or removed. riskcal stops within a
tolerance of the target, on either side of it. Writes RESULTS.md.
"""

import json
import pathlib
import resource
import subprocess
import sys
import time

from riskcal.calibration.dpsgd import find_noise_multiplier_for_advantage, find_noise_multiplier_for_err_rates

# Sample rate, steps, and the risk: (advantage,) or (true-positive rate, false-positive rate).
QUESTIONS = [
    (0.002, 10_000, (0.1,)),
    (0.001, 10_000, (0.1,)),
    (0.01, 1_000, (0.2,)),
    (0.001, 10_000, (0.25, 0.1)),
    (0.01, 1_000, (0.05, 0.01)),
]


PAGE = """# Noise for a risk, beside riskcal

    v/bin/python bench/risk/run.py target/release/reticent

The least noise multiplier for which the accountant proves the risk, with riskcal 1.5.1 on the examples of its documentation:
Poisson samples, a row added or removed. Seconds are of processor time, the start of the command included, the import of riskcal
left out. riskcal stops within a tolerance of the target, on either side of it; "risk kept" is what Reticent's accountant proves
for its own noise, from above.

| sample rate | steps | risk | reticent | risk kept | s | riskcal | s | difference |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""


def ours(command, rate, steps, risk):
    flags = ["--max-advantage", risk[0]] if len(risk) == 1 else ["--max-tpr", risk[0], "--at-fpr", risk[1]]
    scheme = ["--q", rate, "--steps", steps, "--sampling", "poisson", "--adjacency", "add-remove-one"]
    words = [command, "calibrate", "--json", *flags, *scheme]
    start = children()
    found = json.loads(subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True).stdout)
    return found["sigma"], found["risk_upper"], children() - start


def children():
    """Processor seconds of the commands so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def theirs(rate, steps, risk):
    start = time.process_time()
    if len(risk) == 1:
        sigma = find_noise_multiplier_for_advantage(advantage=risk[0], sample_rate=rate, num_steps=steps)
    else:
        sigma = find_noise_multiplier_for_err_rates(alpha=risk[1], beta=1 - risk[0], sample_rate=rate, num_steps=steps)
    return float(sigma), time.process_time() - start


def main(command):
    lines = []
    for rate, steps, risk in QUESTIONS:
        sigma, kept, seconds = ours(command, rate, steps, risk)
        other, longer = theirs(rate, steps, risk)
        name = f"advantage {risk[0]}" if len(risk) == 1 else f"TPR {risk[0]} at FPR {risk[1]}"
        lines.append(
            f"| {rate} | {steps} | {name} | {sigma:.5f} | {kept:.6f} | {seconds:.2f} | {other:.5f} | {longer:.2f} |"
            f" {100 * (sigma / other - 1):+.2f} % |"
        )
        print(lines[-1], flush=True)
    pathlib.Path(__file__).with_name("RESULTS.md").write_text(PAGE + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
