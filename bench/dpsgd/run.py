#!/usr/bin/env python3
"""An epoch of clipped DP-SGD against Opacus, PyTorch by hand and the machine's limit; writes RESULTS.md beside this file.

usage: run.py [--by wall|cpu]
Wall seconds are right on a quiet machine. On a shared one compare processor seconds (--by cpu): a thread that waits for the
processor does not count.
"""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
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


def measure(command, threads):
    env = dict(os.environ, OMP_NUM_THREADS=str(threads))
    out = subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout
    return json.loads(out.strip().splitlines()[-1])


def main():
    by = sys.argv[sys.argv.index("--by") + 1] if "--by" in sys.argv else "wall"
    others, ours = python(), rust()
    text = [
        "# An epoch of clipped DP-SGD", "",
        f"    python3 bench/dpsgd/run.py --by {by}", "",
        f"Softmax regression with intercept (and a tanh layer), random data, expected Poisson batch 500, clip norm 1, single precision rows. "
        f"Seconds an epoch ({'wall' if by == 'wall' else 'processor time'}), the least of several. {platform.machine()}, {os.cpu_count()} cores, "
        f"load {os.getloadavg()[0]:.1f} at the start. The limit is max(bytes read once / bandwidth, multiplications / rate of fused "
        "single-precision multiplication) + noise at the generator's rate, all measured in the same process. Reticent's noise is from a "
        "cryptographic source and exact, the others' is neither.", "",
    ]
    for shape in SHAPES:
        d, k, n, hidden = shape
        targets = TARGETS[d, k, hidden]
        text += [f"## {d} features, {k} classes, {n:,} rows" + (f", {hidden} tanh units" if hidden else ""), ""]
        text += ["| threads | who | seconds | times Reticent | target | | peak MB |", "| --- | --- | --- | --- | --- | --- | --- |"]
        where = []
        for threads in (1, 2):
            arguments = [str(v) for v in (*shape, threads)]
            mine = measure([ours, *arguments], threads)
            text.append(f"| {threads} | Reticent | {mine[by]:.4f} | 1 | | | {mine['memory_mb']:.0f} |")
            for who in NAMES:
                if hidden and who == "hand":
                    continue
                its = measure([others, str(HERE / "peers.py"), who, *arguments], threads)
                ratio, target = its[by] / mine[by], targets.get(who)
                verdict = "" if target is None else "met" if ratio >= target else "**missed**"
                text.append(
                    f"| {threads} | {NAMES[who]} | {its[by]:.4f} | {ratio:.1f} | {'' if target is None else f'>= {target}'} | {verdict} "
                    f"| {its['memory_mb']:.0f} ({its['memory_mb'] / mine['memory_mb']:.1f} times) |")
            limit = mine["limit"] * (threads if by == "cpu" else 1)
            over, target = mine[by] / limit, targets.get("limit")
            verdict = "" if target is None else "met" if over <= target else "**missed**"
            text.append(f"| {threads} | the machine's limit | {limit:.4f} | 1/{over:.1f} | {'' if target is None else f'<= {target}'} | {verdict} | |")
            steps = -(-n // 500)
            rest = mine["cpu"] * 1e3 / steps - mine["draw_ms"] - mine["sum_cpu_ms"] - mine["noise_cpu_ms"]
            where.append(
                f"{threads} thread{'s' if threads > 1 else ''}, processor milliseconds a step: draw {mine['draw_ms']:.3f}, gather, products and clip "
                f"{mine['sum_cpu_ms']:.3f}, noise {mine['noise_cpu_ms']:.3f}, update and the rest {rest:.3f}. Reading {mine['read_gbps']:.1f} GB/s, "
                f"multiplication {mine['peak_gflops']:.0f} GFLOP/s a core; the noise is larger by {mine['rounding']:.1e} for rounding.")
        text += ["", *where, ""]
    (HERE / "RESULTS.md").write_text("\n".join(text))


main()
