"""The noise in the weights is the noise of the certificate.

Each law is drawn 300 times from fixed seeds, so the tests decide the same way every time. False
alarms over seeds stand beside each check, by the normal approximation where no exact law is named.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

FITS = 300
SETTINGS = ("--linear", "--steps", 5, "--ridge", 0.1, "--data", "table.csv", "--schema", "schema.json")


@pytest.fixture
def tiny(reticent):
    """Ten rows, three numbers and an intercept."""
    rng = np.random.default_rng(3)
    table = {name: rng.integers(0, 10, 10) for name in "abc"}
    reticent.write_csv({**table, "y": rng.integers(0, 2, 10)})
    numbers = [{"name": n, "type": "real", "bounds": {"min": 0, "max": 9}} for n in "abc"]
    target = {"name": "y", "type": "categorical", "categories": [0, 1]}
    reticent.write_schema([*numbers, target], target="y")
    return reticent


def noise_of(reticent, *flags):
    """The plan, and what was added to the weights in each of the fits."""
    bare = reticent.fit("--epsilon", "inf", *SETTINGS)
    exact = np.array(bare["weights"][0])

    def one(seed):
        out = f"model{seed}.json"
        return reticent.json("fit", "--insecure-seed", seed, "--out", out, *SETTINGS, *flags), out

    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(one, range(FITS)))
    plans = [run["certificate"]["plan"] for run, _ in runs]
    assert all(plan == plans[0] for plan in plans), "a plan depends on no seed"
    noisy = np.array([reticent.model(out)["weights"][0] for _, out in runs])
    return plans[0], noisy - exact


def check_mean_and_correlation(noise, deviation):
    """Each coordinate has mean zero, and no two go together, within five standard errors: false
    alarm 6e-6."""
    error = 5 * deviation / np.sqrt(FITS)
    assert np.abs(noise.mean(axis=0)).max() < error
    correlation = np.corrcoef(noise.T)[np.triu_indices(noise.shape[1], 1)]
    assert np.abs(correlation).max() < 5 / np.sqrt(FITS)


def test_gaussian_noise_has_the_stated_deviation(tiny):
    plan, noise = noise_of(tiny, "--epsilon", 1, "--delta", 1e-6, "--noise", "gaussian")
    sigma = plan["noise"]["sigma"]
    assert sigma == pytest.approx(plan["noise"]["noise_multiplier"] * plan["sensitivity"], rel=1e-6)
    assert np.sqrt((noise**2).mean()) == pytest.approx(sigma, rel=0.1)  # chi-square of 1200: 1e-6
    assert noise.std(axis=0) == pytest.approx(sigma, rel=0.2)  # four of 299: 4e-6
    check_mean_and_correlation(noise, sigma)
    # Four normal coordinates: the squared norm over sigma^2 has mean 4 and variance 8; false alarm
    # 1e-4.
    squared = (noise**2).sum(axis=1) / sigma**2
    assert squared.var() == pytest.approx(8, rel=0.5)


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_ball_noise_has_the_stated_second_moment(tiny, delta):
    epsilon = 2
    plan, noise = noise_of(tiny, "--epsilon", epsilon, "--delta", delta, "--noise", "ball")
    d = noise.shape[1]
    scale = plan["noise"]["scale"]
    assert scale == pytest.approx(plan["sensitivity"] / epsilon, rel=1e-6)
    deviation = scale * np.sqrt(d + 1)
    assert np.sqrt((noise**2).mean()) == pytest.approx(deviation, rel=0.1)  # 3.3 standard errors: 1e-3
    check_mean_and_correlation(noise, deviation)
    # The radius is Gamma(d): mean d and variance d, in units of the scale; false alarms 6e-7 and
    # 4e-6.
    radius = np.linalg.norm(noise, axis=1) / scale
    assert radius.mean() == pytest.approx(d, abs=5 * np.sqrt(d / FITS))
    assert radius.var() == pytest.approx(d, rel=0.5)
