"""Weights of rows and classes: what is declared, and equality with scikit-learn without noise."""

import numpy as np
import pandas as pd
import pytest
from sklearn import linear_model
from sklearn.ensemble import BaggingClassifier

import reticent

ROWS = 600
RNG = np.random.default_rng(3)
X = RNG.uniform(-0.6, 0.6, (ROWS, 3))
Y = (X @ [3.0, -2.0, 0.5] + RNG.logistic(0, 0.5, ROWS) > 0).astype(int)
WEIGHTS = RNG.uniform(0.0, 3.0, ROWS)
EXACT = {"epsilon": float("inf"), "algorithm": "output-gd", "ridge": 0.01, "settings": {"steps": 3_000}}
SEEDED = {"epsilon": 2.0, "algorithm": "clipped-sgd", "random_state": 5}


def logistic(**more):
    return reticent.LogisticRegression(**{"feature_norm": 2.0, "classes": [0, 1], **more})


def augmented():
    return np.column_stack([X, np.ones(ROWS)])


def test_weights_without_noise_are_those_of_scikit_learn():
    model = logistic(**EXACT, max_weight=2.0).fit(X, Y, sample_weight=WEIGHTS)
    theirs = linear_model.LogisticRegression(C=1 / (ROWS * 2.0 * 0.01), fit_intercept=False, tol=1e-12, solver="newton-cholesky")
    theirs.fit(augmented(), Y, sample_weight=np.minimum(WEIGHTS, 2.0))
    np.testing.assert_allclose([*model.coef_[0], model.intercept_[0]], theirs.coef_[0], atol=1e-5)


def test_class_weights_without_noise_are_those_of_scikit_learn():
    model = logistic(**EXACT, class_weight={1: 4.0}).fit(X, Y)
    theirs = linear_model.LogisticRegression(
        C=1 / (ROWS * 4.0 * 0.01), fit_intercept=False, tol=1e-12, solver="newton-cholesky", class_weight={1: 4.0}
    )
    theirs.fit(augmented(), Y)
    np.testing.assert_allclose([*model.coef_[0], model.intercept_[0]], theirs.coef_[0], atol=1e-5)


def test_rates_with_weights_are_the_poisson_regression_of_scikit_learn():
    exposure = RNG.uniform(0.2, 1.0, ROWS)
    counts = RNG.poisson(exposure * np.exp(0.5 + X @ [1.0, -1.0, 0.0]))
    rates, ridge = np.minimum(counts / exposure, 20.0), 1e-4
    exact = {**EXACT, "ridge": ridge}
    model = reticent.GeneralizedLinearRegressor(loss="poisson", feature_norm=2.0, label_bound=(0.0, 20.0), max_weight=1.0, **exact)
    model.fit(X, rates, sample_weight=exposure)
    theirs = linear_model.PoissonRegressor(alpha=ridge * 20.0 * ROWS / exposure.sum(), tol=1e-10, max_iter=10_000)
    theirs.fit(X, rates, sample_weight=exposure)
    # The penalty on the intercept and the scale of the labels differ, and matter little at this
    # ridge.
    np.testing.assert_allclose(model.predict(X), theirs.predict(X), rtol=0.02)


@pytest.mark.filterwarnings("ignore::reticent.SeedWarning")
def test_the_same_weights_by_every_way_give_the_same_bits():
    of_class = np.where(Y == 1, 4.0, 1.0)
    by_class = logistic(**SEEDED, class_weight={1: 4, 0: 1}).fit(X, Y)
    by_row = logistic(**SEEDED, max_weight=4.0).fit(X, Y, sample_weight=of_class)
    np.testing.assert_array_equal(by_class.coef_, by_row.coef_)
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=Y, times=WEIGHTS)
    columns = [{"name": name, "type": "real", "bounds": {"min": -1, "max": 1}} for name in "abc"]
    target = {"name": "y", "role": "target", "type": "categorical", "categories": [0, 1]}
    weight = {"name": "times", "role": "weight", "type": "real", "bounds": {"min": 0, "max": 2}}
    declared = reticent.LogisticRegression(**SEEDED, declaration={"columns": [*columns, weight, target]}).fit(table)
    beside = reticent.LogisticRegression(**SEEDED, declaration={"columns": [*columns, target]}, max_weight=2.0)
    np.testing.assert_array_equal(declared.coef_, beside.fit(table, sample_weight=WEIGHTS).coef_)
    plain = logistic(**SEEDED).fit(X, Y)
    assert "weighted" not in plain.plan_["problem"]
    unused = logistic(**SEEDED, max_weight=4.0).fit(X, Y)
    np.testing.assert_array_equal(plain.coef_, unused.coef_)
    assert declared.predict(table[["a", "b", "c"]]).shape == (ROWS,)
    with pytest.raises(ValueError, match="second source"):
        reticent.LogisticRegression(**SEEDED, declaration={"columns": [*columns, weight, target]}, max_weight=1.0).fit(
            table, sample_weight=WEIGHTS
        )
    with pytest.raises(ValueError, match="has no column names"):
        reticent.LogisticRegression(**SEEDED, declaration={"columns": [*columns, weight, target]}).fit(X, Y)


@pytest.mark.filterwarnings("ignore::reticent.SeedWarning")
def test_no_weight_raises_whatever_it_is():
    odd = WEIGHTS.astype(object)
    odd[:6] = [None, "many", float("nan"), -5.0, float("inf"), {}]
    model = logistic(**SEEDED, max_weight=2.0).fit(X, Y, sample_weight=odd)
    held = WEIGHTS.copy()
    held[:6] = [0.0, 0.0, 0.0, 0.0, 2.0, 0.0]
    np.testing.assert_array_equal(model.coef_, logistic(**SEEDED, max_weight=2.0).fit(X, Y, sample_weight=held).coef_)


@pytest.mark.parametrize(
    ("more", "sample_weight", "says"),
    [
        ({}, WEIGHTS, "declare `max_weight`"),
        ({"max_weight": 0.0}, WEIGHTS, "finite number > 0"),
        ({"max_weight": float("inf")}, WEIGHTS, "finite number > 0"),
        ({"max_weight": 1.0}, WEIGHTS[1:], "one weight for each row"),
        ({"max_weight": 1.0}, WEIGHTS[:, None], "1D"),
        ({"class_weight": "balanced"}, None, "counts of the classes, which are private"),
        ({"class_weight": {2: 1.0}}, None, "no declared class"),
        ({"class_weight": {0: -1.0}}, None, "finite number >= 0"),
        ({"class_weight": {0: 0.0, 1: 0.0}}, None, "positive weight"),
        ({"class_weight": [1.0, 2.0]}, None, "dictionary"),
    ],
)
def test_weights_that_are_not_declared_are_refused(more, sample_weight, says):
    with pytest.raises(ValueError, match=says):
        logistic(epsilon=1.0, **more).fit(X, Y, sample_weight=sample_weight)


def test_a_choice_and_an_ensemble_take_weights():
    found = reticent.tune(
        logistic(epsilon=4.0, delta=1e-5, max_weight=3.0),
        X,
        Y,
        sample_weight=WEIGHTS,
        tries=[{"algorithm": "objective", "ridge": 0.1}, {"algorithm": "objective", "ridge": 0.01}],
    )
    assert found.verify()["pass"] and found.plan_["problem"]["weighted"]
    with pytest.raises(ValueError, match="declare `max_weight`"), pytest.warns(reticent.SeedWarning):
        BaggingClassifier(logistic(epsilon=8.0), n_estimators=2).fit(X, Y)


def test_kernel_additive_and_network_models_take_weights():
    for model in (
        reticent.KernelClassifier(epsilon=4.0, feature_norm=2.0, classes=[0, 1], class_weight={1: 2.0}, max_weight=3.0, features=32),
        reticent.AdditiveClassifier(epsilon=4.0, bounds=(-1.0, 1.0), classes=[0, 1], class_weight={1: 2.0}, max_weight=3.0, knots=4),
        reticent.MLPClassifier(
            epsilon=4.0, feature_norm=2.0, classes=[0, 1], class_weight={1: 2.0}, max_weight=3.0, hidden=4, settings={"steps": 20}
        ),
    ):
        fitted = model.fit(X, Y, sample_weight=WEIGHTS)
        assert fitted.plan_["problem"]["weighted"] and fitted.verify()["pass"]
