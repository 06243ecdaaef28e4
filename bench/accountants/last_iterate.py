"""Vectors of the last iterate's mu by a second derivation: python bench/accountants/last_iterate.py

Needs mpmath. Nothing of the closed form is used. Without a set, the process on the line that the
bound must cover is walked through step by step: its mean and its variance, in 50 digits. With a
set, all shifts of the last K steps are found from the recursion z_t = c z_{t-1} + s - a_t alone,
for every K: a_t = x c^(T-t), and x by making the last z zero. Prints entries for
crates/reticent-testkit/vectors/accounting.json.
"""

import json

from mpmath import mp, mpf, sqrt

mp.dps = 50


def line(steps, c, noise):
    apart, variance = mpf(0), mpf(0)
    for _ in range(steps):
        apart, variance = c * apart + 1, c * c * variance + noise**2
    return apart / sqrt(variance)


def shifted(steps, c, noise, start):
    """The root of the sum of squared shifts that lead from a distance of start to none."""

    def end(x):
        z, squares, weight = start, mpf(0), c ** (steps - 1) if steps > 1 else mpf(1)
        for t in range(steps):
            a = x * c ** (steps - 1 - t)
            z, squares = c * z + 1 / noise - a, squares + a * a
        return z, squares

    nothing, one = end(mpf(0))[0], end(mpf(1))[0]
    x = nothing / (nothing - one)
    left, squares = end(x)
    assert abs(left) < mpf(10) ** -35 * (1 + start)
    return sqrt(squares)


def entry(steps, c, noise, diameter=None):
    exact = line(steps, mpf(c), mpf(noise))
    inputs = {"steps": steps, "contraction": c, "noise_multiplier": noise}
    tolerance = 1e-12
    if diameter is not None:
        inputs["diameter"] = diameter
        found = [shifted(k, mpf(c), mpf(noise), mpf(diameter)) for k in range(1, steps + 1)]
        exact = min([exact, *found])
        # Only some numbers of last steps are tried.
        tolerance = 1e-4
    return {
        "formula": "last_iterate_mu",
        "inputs": inputs,
        "expected": float(exact),
        "rel_tol": tolerance,
    }


def main():
    cases = [(t, c, n) for c in (0.0, 0.5, 0.99, 0.999999, 1.0) for t, n in ((1, 3.0), (20, 0.7), (5000, 40.0))]
    entries = [entry(*case) for case in cases]
    for case in [(300, 1.0, 50.0, 0.4), (300, 1.0, 50.0, 3.0), (300, 1.0, 50.0, 100.0),
                 (200, 0.98, 30.0, 0.2), (200, 0.98, 30.0, 2.0), (40, 0.5, 10.0, 1.0), (1, 1.0, 2.0, 0.1)]:
        entries.append(entry(*case))
    print(",\n".join(json.dumps(e, indent=1).replace("\n", "\n ") for e in entries))


if __name__ == "__main__":
    main()
