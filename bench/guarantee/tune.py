"""The part of epsilon that a run of `tune` gets: python bench/guarantee/tune.py

For a run that is one Gaussian release, at delta = 1e-6, from the closed forms alone: a second
derivation of what docs/tuning.md says. The cost by profiles is `s + e(delta / E K)` with `s` the
root of `(1 - g) d(s) = g (exp(s) - 1)`; the cost by Renyi orders is that of Papernot and Steinke.
"""

import math

DELTA = 1e-6


def root(f, low, high):
    """Where f changes its sign, from plus to minus."""
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if f(middle) > 0 else (low, middle)
    return high


def phi(x):
    return 0.5 * math.erfc(-x / math.sqrt(2))


def delta_of(epsilon, mu):
    return phi(mu / 2 - epsilon / mu) - math.exp(epsilon) * phi(-mu / 2 - epsilon / mu)


def by_profiles(mu, gamma, mean):
    shift = root(lambda e: (1 - gamma) * delta_of(e, mu) - gamma * math.expm1(e), 0.0, 60.0)
    return shift + root(lambda e: delta_of(e, mu) - DELTA / mean, 0.0, 60.0)


def by_orders(mu, gamma, mean):
    def curve(a):
        return 0.5 * a * mu * mu

    def converted(a):
        return math.log1p(-1 / a) - (math.log(DELTA) + math.log(a)) / (a - 1)

    orders = [1 + 10 ** (k / 40) for k in range(-80, 161)]
    extra = min((1 - 1 / b) * curve(b) - math.log(gamma) / b for b in orders)
    return min(curve(a) + extra + math.log(mean) / (a - 1) + converted(a) for a in orders)


def main():
    print("| mean of K | epsilon of a run | by profiles | by orders |")
    print("| --- | --- | --- | --- |")
    for mean in (4, 16, 64):
        gamma = root(lambda g: (1 / g - 1) / math.log(1 / g) - mean, 1e-9, 0.999)
        for epsilon in (0.1, 1.0, 8.0):
            mu = root(lambda m: DELTA - delta_of(epsilon, m), 1e-3, 10.0)
            parts = [epsilon / cost(mu, gamma, mean) for cost in (by_profiles, by_orders)]
            print(f"| {mean} | {epsilon:g} | {parts[0]:.1%} | {parts[1]:.1%} |")


if __name__ == "__main__":
    main()
