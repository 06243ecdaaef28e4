"""Measures single-row and noisy steps and writes bench/sgd/RESULTS.md.

usage: python3 bench/sgd/run.py
"""
import json
import os
import pathlib
import platform
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

HEAD = """# How fast SGD steps are

    python3 bench/sgd/run.py

runs `cargo bench --workspace --bench sgd` for about half a minute and writes this page. Machine: {machine}, one thread;
best of many short runs; load {load} on {cores} cores when they began (above the number of cores, all figures are too
high). Ratios carry over to other machines; absolute times do not.

## Single-row steps (output-sgd, permuted-sgd)

A step draws a secret row, takes its margin and slope, moves the iterate (a ball: projects it) and adds it to the average.
Rows have 50 features in double precision arithmetic, or 15 entries of 1,000. *Arithmetic* is a dot product, a scaled
addition and a sum on rows in the nearest cache: a step cannot do without. *Memory* is what reading one row's bytes takes at
the speed of reading the table in order; rows in random order cost the latency of the memory besides. The logistic loss
computes an exponential.

| table | rows held as | loss | set | order | ns a step | arithmetic, ns | memory, ns | million steps a second | 10^8 steps, seconds |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""

MIDDLE = """
## Noisy steps (gradient-sgd)

A step draws a secret batch, sums its clipped gradients, adds noise to every weight, moves the iterate, holds it in a ball and
adds it to the average; 2,000 rows in double precision, the hinge loss. *Noise* is what the normal generator alone takes for as
many numbers, and the noise's share is the ratio of the step to the generator's own rate. *Arithmetic* is a dot product and a
scaled addition for each row and one move and sum for the step, on rows in the nearest cache: a step cannot do without it, and
with 16 rows it takes half to nine tenths of the noise's time. The rest of a step is, row by row, drawing its number (about 8 ns), its norm,
which clipping needs, and reading it from a farther cache; and once, rounding the sum to the grid of the noise. Here the iterate
stays inside the ball; where every step scales it back, a step of 50 weights takes some 20 to 30 ns more. With AVX-512 the generator takes 2 ns
a number, half of what it takes with AVX2, so that the noise's share is less there although the steps are faster: with AVX2 (an AMD EPYC) it was
0.62, 0.74 and 0.77 for one row a step.

| weights | batch | ns a step | noise, ns | arithmetic, ns | noise's share | share of both | ns a weight | generator, ns | steps a second |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""


def machine():
    model = [line for line in open("/proc/cpuinfo") if line.startswith("model name")] if platform.system() == "Linux" else []
    return model[0].split(":")[1].strip() if model else platform.processor()


def main():
    command = ["cargo", "bench", "--quiet", "--workspace", "--bench", "sgd"]
    out = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    lines = [json.loads(line) for line in out.stdout.splitlines() if line.startswith("{")]
    page = HEAD.format(machine=machine(), load=round(os.getloadavg()[0], 1), cores=os.cpu_count())
    for line in lines:
        if line["bench"] == "walk":
            ns = line["ns_per_step"]
            page += (
                f"| {line['table']} | {line['layout']} | {line['loss']} | {line['set']} | {line['order']} | {ns} "
                f"| {line['arithmetic_ns']} | {line['memory_ns']} | {line['steps_per_second'] / 1e6:.1f} | {ns / 10:.1f} |\n"
            )
    page += MIDDLE
    for line in lines:
        if line["bench"] == "noisy_steps":
            page += (
                f"| {line['columns']} | {line['batch']} | {line['ns_per_step']} | {line['noise_ns']} | {line['arithmetic_ns']} "
                f"| {line['ratio']:.2f} | {line['both_ratio']:.2f} | {line['ns_per_weight']} | {line['generator_ns']} "
                f"| {line['steps_per_second']} |\n"
            )
    (ROOT / "bench" / "sgd" / "RESULTS.md").write_text(page)
    print(page)


if __name__ == "__main__":
    main()
