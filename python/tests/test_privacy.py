"""`reticent.privacy` against closed forms and against itself."""

import pickle

import numpy as np
import pytest
from scipy.stats import norm

import reticent
from reticent import privacy
from reticent.privacy import dp_accounting, opacus


def gaussian_delta(epsilon, mu):
    """Balle and Wang 2018, theorem 8."""
    return norm.cdf(mu / 2 - epsilon / mu) - np.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize("noise", [0.5, 1.0, 4.0])
def test_the_gaussian_profile(noise):
    epsilons = np.linspace(0.0, 3.0, 7)
    exact = gaussian_delta(epsilons, 1 / noise)
    np.testing.assert_allclose(privacy.delta_upper(privacy.gaussian(noise), epsilons), exact, rtol=1e-6, atol=1e-14)
    for delta in (1e-3, 1e-6):
        epsilon = privacy.epsilon_upper(privacy.gaussian(noise), delta)
        assert gaussian_delta(epsilon, 1 / noise) == pytest.approx(delta, rel=1e-6)
    rates = np.array([0.01, 0.1, 0.5])
    power = norm.cdf(norm.ppf(rates) + 1 / noise)
    found = privacy.true_positive_rate_upper(privacy.gaussian(noise), rates)
    assert (found >= power * (1 - 1e-9)).all() and (found <= power * 1.01).all()


def test_bounds_are_ordered_and_shapes_kept():
    event = privacy.poisson_gaussian(sample_rate=0.02, noise_multiplier=1.0, steps=300, adjacency="add-remove-one")
    deltas = np.array([[1e-5, 1e-6], [1e-7, 1e-8]])
    upper, lower = privacy.epsilon_upper(event, deltas), privacy.epsilon_lower(event, deltas)
    assert upper.shape == (2, 2) and (lower <= upper).all() and (upper <= 1.02 * lower).all()
    assert (privacy.rdp_epsilon_upper(event, deltas) >= upper).all()
    assert isinstance(privacy.epsilon_upper(event, 1e-6), float)
    assert pickle.loads(pickle.dumps(event)) == event


def test_calibration_meets_the_budget_and_not_by_far():
    sigma = privacy.noise_multiplier_for(epsilon=1.0, delta=1e-6, sample_rate=0.01, steps=1000, adjacency="add-remove-one")
    assert sigma == pytest.approx(1.56267, rel=5e-4)
    at = lambda s: privacy.epsilon_upper(  # noqa: E731
        privacy.poisson_gaussian(sample_rate=0.01, noise_multiplier=s, steps=1000, adjacency="add-remove-one"), 1e-6
    )
    assert at(sigma) <= 1.0 < at(sigma * 0.999)
    steps = privacy.steps_for(epsilon=1.0, delta=1e-6, noise_multiplier=sigma * 1.0001, sample_rate=0.01, adjacency="add-remove-one")
    assert 1000 <= steps <= 1010
    rate = privacy.sample_rate_for(epsilon=1.0, delta=1e-6, noise_multiplier=sigma, steps=1000, adjacency="add-remove-one")
    assert rate == pytest.approx(0.01, rel=1e-2)


def test_the_names_of_opacus():
    accountant = opacus.PRVAccountant()
    renyi = opacus.create_accountant("rdp")
    for _ in range(50):
        accountant.step(noise_multiplier=1.2, sample_rate=0.02)
        renyi.step(noise_multiplier=1.2, sample_rate=0.02)
    event = privacy.poisson_gaussian(sample_rate=0.02, noise_multiplier=1.2, steps=50, adjacency="add-remove-one")
    assert accountant.get_epsilon(1e-6) == pytest.approx(privacy.epsilon_upper(event, 1e-6), rel=1e-6)
    assert renyi.get_epsilon(delta=1e-6, alphas=[2, 3]) >= accountant.get_epsilon(1e-6)
    assert len(accountant) == 50 and accountant.history == [(1.2, 0.02, 50)]
    for word in ("prv", "rdp"):
        noise = opacus.get_noise_multiplier(
            target_epsilon=2.0, target_delta=1e-5, sample_rate=0.02, epochs=2, accountant=word
        )
        fresh = opacus.create_accountant(word)
        for _ in range(100):
            fresh.step(noise_multiplier=noise, sample_rate=0.02)
        assert 1.99 < fresh.get_epsilon(1e-5) <= 2.0
    with pytest.raises(ValueError, match="upper bound"):
        opacus.create_accountant("gdp")
    with pytest.raises(ValueError, match="either"):
        opacus.get_noise_multiplier(target_epsilon=1.0, target_delta=1e-5, sample_rate=0.1)


def test_the_names_of_dp_accounting():
    event = dp_accounting.SelfComposedDpEvent(
        dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(1.1)), 200
    )
    same = privacy.poisson_gaussian(sample_rate=0.01, noise_multiplier=1.1, steps=200, adjacency="add-remove-one")
    accountant = dp_accounting.PLDAccountant().compose(event)
    assert accountant.get_epsilon(1e-6) == pytest.approx(privacy.epsilon_upper(same, 1e-6), rel=1e-6)
    assert accountant.get_delta(1.0) == pytest.approx(privacy.delta_upper(same, 1.0), rel=1e-5)
    renyi = dp_accounting.RdpAccountant().compose(event)
    assert renyi.get_epsilon(1e-6) > accountant.get_epsilon(1e-6)
    assert renyi.get_delta(1.0) > accountant.get_delta(1.0)
    both = dp_accounting.ComposedDpEvent([event, dp_accounting.LaplaceDpEvent(10.0)])
    assert dp_accounting.PLDAccountant().compose(both, 2).get_epsilon(1e-6) > accountant.get_epsilon(1e-6)
    nested = dp_accounting.PoissonSampledDpEvent(0.1, dp_accounting.LaplaceDpEvent(1.0))
    assert not accountant.supports(nested) and accountant.supports(both)
    sigma = dp_accounting.calibrate_dp_mechanism(
        lambda: dp_accounting.PLDAccountant(dp_accounting.NeighboringRelation.REPLACE_SPECIAL),
        lambda s: dp_accounting.GaussianDpEvent(s),
        target_epsilon=1.0,
        target_delta=1e-5,
    )
    assert gaussian_delta(1.0, 1 / sigma) == pytest.approx(1e-5, rel=1e-4)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: privacy.gaussian(0.0), "noise_multiplier"),
        (lambda: privacy.gaussian(1.0, adjacency="swap"), "adjacency|swap"),
        (lambda: privacy.event({"kind": "magic"}), "magic"),
        (lambda: privacy.epsilon_upper(privacy.gaussian(1.0), -1.0), "delta"),
        (lambda: privacy.noise_multiplier_for(epsilon=1.0, delta=0.1, sampling="often"), "sampling"),
        (lambda: privacy.compose(privacy.gaussian(1.0), privacy.gdp(1.0, adjacency="zero-out")), "adjacenc"),
    ],
)
def test_bad_input_is_a_value_error(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_the_planner_and_the_audit():
    ranking = reticent.plan(n=2000, d=11, loss="huber", epsilon=1.0, feature_norm=2.0)
    assert 0.5 < ranking["kept"].iloc[0] <= 1.0
    assert ranking["kept"].iloc[0] >= ranking["kept"].max() - 0.05
    assert "without privacy" in ranking.attrs["outlook"] and ranking.attrs["split"][-1]["epsilon"] <= 1.0
    assert ranking["noise_place"].iloc[0].startswith("in each") and (ranking["bytes"].dropna() > 0).all()
    assert set(ranking["algorithm"]) == {a["name"] for a in reticent.algorithms()}
    served = ranking.dropna(subset=["noise_deviation"])
    assert (served["steps"] >= 1).all() and len(served) < len(ranking)
    for classes in (2, 3):
        of_classes = reticent.plan(n=2000, d=11, loss="one-hot", classes=classes, label_bound=classes - 1, epsilon=1.0)
        assert of_classes.dropna(subset=["noise_deviation"])["algorithm"].tolist() == ["least-squares"]
    only = reticent.plan(n=2000, d=11, epsilon=1.0, algorithm="output-gd", steps=10)
    assert only["steps"].tolist() == [10]
    with pytest.raises(ValueError, match="feature_norm"):
        reticent.plan(n=2000, d=11, epsilon=1.0, feature_norm=-1.0)
    # A loss that is linear near zero: there the attack shows much of what is claimed.
    telling = {"algorithm": "output-gd", "loss": "huber", "threshold": 0.1, "steps": 5, "ridge": 0.0, "epsilon": 4.0}
    found = reticent.audit(**telling, n=20, d=2, delta=1e-3, noise="gaussian", runs=4000, seed=3)
    assert not found["violated"] and 1.0 < found["epsilon_lower"] < found["epsilon_claimed"]
    assert all(point["delta_lower"] <= point["delta_claimed"] for point in found["profile"])
    once = reticent.audit(**telling, n=200, d=200, delta=1e-6, canaries=200, seed=3)
    assert not once["violated"] and 0.3 < once["epsilon_lower"] < once["epsilon_claimed"]
    assert once["correct"] > once["guesses"] / 2
    with pytest.raises(ValueError, match="canaries"):
        reticent.audit(algorithm="output-gd", n=20, d=2, epsilon=1.0, canaries=21)
