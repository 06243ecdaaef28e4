#!/usr/bin/env python3
"""An epoch of clipped DP-SGD against Opacus, PyTorch by hand and the machine's limit; writes
RESULTS.md beside this file.

usage: run.py [--by wall|cpu] [--rounds 2] [--again] Wall seconds are right on a quiet machine. On a
shared one compare processor seconds (--by cpu): a thread that waits for the processor does not
count. Every measurement is kept in results.jsonl as soon as it is made, so an interrupted run goes
on where it stopped; --again begins again. Each is made in every round, one after the other, and the
least of all rounds counts.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CELLS = HERE / "results.jsonl"
VENV = ROOT / "target" / "bench" / "dpsgd-venv"
# features, classes, rows, hidden
SHAPES = [(784, 10, 60_000, 0), (512, 257, 24_000, 0), (784, 10, 60_000, 128)]
NAMES = {"opacus": "Opacus, as documented", "ghost": "Opacus, ghost clipping, tensors fed directly", "hand": "PyTorch by hand"}
# How many times faster than each other, at most how many times the limit.
TARGETS = {
    (784, 10, 0): {"opacus": 10, "ghost": 4, "hand": 2, "limit": 3},
    (512, 257, 0): {"opacus": 20, "ghost": 2, "hand": 1.3, "limit": 2},
    (784, 10, 128): {"opacus": 5},
}


def python():
    binary = VENV / "bin" / "python"
    if not binary.exists():
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    have = subprocess.run([str(binary), "-c", "import torch, opacus"], capture_output=True)
    if have.returncode:
        pip = [str(binary), "-m", "pip", "install", "--quiet", "-r", str(HERE / "requirements.txt")]
        subprocess.run(pip, check=True)
    return str(binary)


def rust():
    command = ["cargo", "bench", "--workspace", "--bench", "dpsgd", "--no-run", "--message-format=json"]
    out = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for line in out.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["target"]["name"] == "dpsgd":
            return message["executable"]
    raise SystemExit("cargo built no benchmark")


def measure(command, threads, by):
    env = dict(os.environ, OMP_NUM_THREADS=str(threads))
    if by == "cpu":
        env["OMP_WAIT_POLICY"] = "passive"  # threads that wait sleep: else waiting would count as work
    out = subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout
    return json.loads(out.strip().splitlines()[-1])


def key(cell):
    return tuple(cell[k] for k in ("who", "features", "classes", "rows", "hidden", "threads"))


def cells(rounds, by):
    """All measurements: those that are kept, and those that are missing."""
    kept = {}
    for line in CELLS.read_text().splitlines() if CELLS.exists() else []:
        cell = json.loads(line)
        kept.setdefault(key(cell), []).append(cell)
    wanted = [
        (who, *shape, threads) for shape in SHAPES for threads in (1, 2) for who in ("reticent", *NAMES)
        if not (who == "hand" and shape[3])]
    missing = [(r, cell) for r in range(rounds) for cell in wanted if len(kept.get(cell, ())) <= r]
    if missing:
        others, ours = python(), rust()
        for _, cell in missing:
            who, arguments = cell[0], [str(v) for v in cell[1:]]
            command = [ours, *arguments] if who == "reticent" else [others, str(HERE / "peers.py"), who, *arguments]
            load = os.getloadavg()[0]
            result = dict(measure(command, cell[-1], by), load=round(load, 1))
            with CELLS.open("a") as file:
                file.write(json.dumps(result) + "\n")
            kept.setdefault(cell, []).append(result)
    return kept


def verdict(met):
    return "met" if met else "**missed**"


def compared(kept, by, shape):
    """Reticent beside the others and the limit."""
    d, k, _, hidden = shape
    targets = TARGETS[d, k, hidden]
    lines = [
        "| threads | who | wall s | processor s | times Reticent | target | | peak MB | times Reticent's | load |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for threads in (1, 2):
        loads = {who: min(kept[who, *shape, threads], key=lambda c: c[by])["load"] for who in ("reticent", *NAMES) if (who, *shape, threads) in kept}
        least = {
            who: {name: min(c[name] for c in kept[who, *shape, threads]) for name in ("wall", "cpu", "memory_mb")}
            for who in ("reticent", *NAMES) if (who, *shape, threads) in kept}
        mine = least.pop("reticent")
        lines.append(f"| {threads} | **Reticent** | {mine['wall']:.4f} | {mine['cpu']:.4f} | 1 | | | {mine['memory_mb']:.0f} | 1 | {loads['reticent']} |")
        for who, its in least.items():
            ratio, target = its[by] / mine[by], targets.get(who)
            memory = its["memory_mb"] / mine["memory_mb"]
            said = "|  |  " if target is None else f"| >= {target} | {verdict(ratio >= target)} "
            full = f"{memory:.1f} ({verdict(memory >= 4)}, >= 4)" if who == "opacus" else f"{memory:.1f}"
            lines.append(
                f"| {threads} | {NAMES[who]} | {its['wall']:.4f} | {its['cpu']:.4f} | {ratio:.1f} {said}| {its['memory_mb']:.0f} | {full} | {loads[who]} |")
        # Every run measures the limit for itself: the least of them is the limit.
        limit = min(c["limit"] for c in kept["reticent", *shape, threads])
        over, target = mine[by] / (limit * (threads if by == "cpu" else 1)), targets.get("limit")
        said = "|  |  " if target is None else f"| <= {target} times the limit | {verdict(over <= target)} "
        lines.append(f"| {threads} | the machine's limit | {limit:.4f} | {limit * threads:.4f} | 1/{over:.2f} {said}| | | |")
    return lines


def parts(kept, by, shape):
    """Where the time of a step goes."""
    steps = -(-shape[2] // 500)
    lines = [
        "| threads | draw | gather | products | clip | noise | update, copies, waiting | step | gather, products, noise at the limit |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    notes = []
    for threads in (1, 2):
        best = min(kept["reticent", *shape, threads], key=lambda c: c[by])
        step = best["cpu"] * 1e3 / steps
        # Each part on its own: the least of all runs, as with the whole.
        names = ("draw_ms", "gather_ms", "products_ms", "clip_ms", "noise_cpu_ms")
        known = [min(c[name] for c in kept["reticent", *shape, threads]) for name in names]
        limits = ", ".join(f"{threads * part:.3f}" for part in best["limit_parts_ms"])
        shown = " | ".join(f"{part:.3f}" for part in (*known, step - sum(known), step))
        lines.append(f"| {threads} | {shown} | {limits} |")
        notes.append(
            f"{threads} thread{'s' * (threads > 1)}: reading in order {best['read_gbps']:.1f} GB/s, multiplication "
            f"{best['peak_gflops']:.0f} GFLOP/s a core, rounding adds {best['rounding']:.1e} to the noise.")
    return [*lines, "", *notes]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--by", choices=("wall", "cpu"), default="wall")
    options.add_argument("--rounds", type=int, default=2)
    options.add_argument("--again", action="store_true")
    options = options.parse_args()
    if options.again:
        CELLS.unlink(missing_ok=True)
    by = options.by
    kept = cells(options.rounds, by)
    loads = [c["load"] for all in kept.values() for c in all]
    text = [
        "# An epoch of clipped DP-SGD", "",
        f"    python3 bench/dpsgd/run.py --by {by} --rounds {options.rounds}", "",
        "Softmax regression with intercept (and behind a tanh layer), random data, expected Poisson batch 500, clip norm 1, rows in single "
        f"precision. Seconds an epoch, the least of several epochs in each of at least {options.rounds} rounds; ratios are of "
        f"{'wall' if by == 'wall' else 'processor'} seconds. {platform.machine()}, {os.cpu_count()} cores, load {min(loads)} to {max(loads)} "
        "(mean of the last minute, so it lags) in the course of all rounds; the last column is that of the run that counts. With other work "
        "on the machine wall seconds are too many, above all at two threads; processor seconds at two threads hide what waiting costs.", "",
        "The limit is max(bytes of the batch / bandwidth of reading in order, multiplications / rate of fused single-precision "
        "multiplication) + noise at the generator's own rate, with the threads of the row, measured in the same process as the epoch. "
        "Reticent's noise is from a cryptographic source and exact, the others' is neither.", "",
        "Under each table: processor milliseconds of a step by part, all threads together. Products are rows times weights and residuals "
        "times rows; clip is everything from margins to clipped residuals; in the last column what the limit allows for.", "",
    ]
    for shape in SHAPES:
        d, k, n, hidden = shape
        text += [f"## {d} features, {k} classes, {n:,} rows" + (f", {hidden} tanh units" if hidden else ""), ""]
        text += [*compared(kept, by, shape), "", *parts(kept, by, shape), ""]
    (HERE / "RESULTS.md").write_text("\n".join(text).rstrip() + "\n")


main()
