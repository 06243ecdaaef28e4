"""Coefficients with standard errors and intervals."""

import numpy as np
import pandas as pd
import pytest

import reticent

DECLARATION = {
    "target": "y",
    "columns": [
        {"name": "dose", "type": "real", "bounds": {"min": 0, "max": 2}},
        {"name": "ward", "type": "categorical", "categories": ["a", "b"]},
        {"name": "y", "type": "categorical", "categories": ["no", "yes"]},
    ],
}


def table(rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(3)
    dose, ward = rng.uniform(0, 2, rows), rng.choice(["a", "b"], rows)
    margin = dose - 1 + 0.5 * (ward == "b")
    y = np.where(rng.random(rows) < 1 / (1 + np.exp(-margin)), "yes", "no")
    return pd.DataFrame({"dose": dose, "ward": ward}), y


@pytest.fixture(scope="module")
def model() -> reticent.LogisticRegression:
    X, y = table(20_000)
    model = reticent.LogisticRegression(
        epsilon=2.0, declaration=DECLARATION, intervals=95, random_state=5
    )
    return model.fit(X, y)


def test_summary_intervals_and_errors_are_one_table(model: reticent.LogisticRegression) -> None:
    summary = model.summary()
    assert [row["name"] for row in summary.rows] == ["dose", "ward=b", "(intercept)"]
    assert summary.rows[1]["reference"] == "ward=a"
    ends, errors = model.conf_int(), model.bse_
    estimates = np.array([row["estimate"] for row in summary.rows])
    assert ends.shape == (3, 2) and np.all(errors > 0)
    assert np.all(ends[:, 0] < estimates) and np.all(estimates < ends[:, 1])
    # Five errors: a chance of 2e-6 for three coefficients, and the seed is fixed.
    assert np.all(np.abs(estimates - [1.0, 0.5, -1.0]) < 5 * errors)
    assert np.all(np.diff(model.conf_int(level=80)) < np.diff(ends))
    text, html = str(summary), summary._repr_html_()
    for word in ("dose", "ward=b (against ward=a)", "std err", "privacy"):
        assert word in text and word in html


def test_blocks_give_intervals_whose_errors_have_no_parts() -> None:
    X, y = table(20_000)
    model = reticent.LogisticRegression(
        epsilon=4.0,
        declaration=DECLARATION,
        intervals=95,
        settings={"interval_method": "blocks"},
        random_state=5,
    ).fit(X, y)
    rows = model.summary().rows
    assert all(row["interval"]["sampling_error"] is None for row in rows)
    # Six errors of ten blocks: a chance of 2e-4 for each, and the seed is fixed.
    estimates = np.array([row["estimate"] for row in rows])
    assert np.all(np.abs(estimates - [1.0, 0.5, -1.0]) < 6 * model.bse_)
    assert " - " in str(model.summary())


def test_a_model_without_intervals_says_how_to_get_them() -> None:
    X, y = table(500)
    model = reticent.LogisticRegression(epsilon=1.0, declaration=DECLARATION).fit(X, y)
    with pytest.raises(ValueError, match="--intervals 95"):
        model.summary()
    assert not hasattr(model, "bse_")


def test_a_level_is_given_once() -> None:
    X, y = table(500)
    model = reticent.LogisticRegression(epsilon=1.0, declaration=DECLARATION, intervals=95, settings={"intervals": 90})
    with pytest.raises(ValueError, match="given twice"):
        model.fit(X, y)


def test_curves_have_bands_and_a_summary() -> None:
    X, y = table(20_000)
    bounds = {"dose": (0.0, 2.0), "ward": ["a", "b"]}
    model = reticent.AdditiveClassifier(
        epsilon=8.0, bounds=bounds, classes=["no", "yes"], knots=3, intervals=95, random_state=5
    ).fit(X, y)
    band = model.curves_["dose"]["band"]
    assert band.shape == (3, 3) and abs(band[:, 0].sum()) < 1e-9
    # The truth is a line of slope 1 over [0, 2]: -1, 0, 1 at the knots. Five errors.
    errors = np.diff(band[:, 1:]).ravel() / 2 / 1.96
    assert np.all(errors > 0) and np.all(np.abs(band[:, 0] - [-1.0, 0.0, 1.0]) < 5 * errors)
    assert [row["name"] for row in model.summary().rows][-1] == "(intercept)"
    assert model.conf_int().shape == (len(model.bse_), 2)
