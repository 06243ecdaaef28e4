"""Without noise the command solves the stated problem: its weights are those of scikit-learn, or of
a closed form.

The encoded matrix is built here from the documentation alone: numbers clamped and scaled to [0, 1],
a missing one in the middle, one feature for each category, a constant 1 at the end, the ridge on
every weight.
"""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

ROWS = 400
MU = 0.01
WARDS = ["surgery", "internal", "intensive", "other"]
TOLERANCE = {"f64": 1e-6, "sparse": 1e-6, "f32": 1e-5}


@pytest.fixture
def table():
    """Numbers, some outside their bounds and some missing, and categories, some undeclared."""
    rng = np.random.default_rng(7)
    age = rng.uniform(-5, 110, ROWS)
    dose = rng.normal(0, 2, ROWS)
    ward = rng.choice([*WARDS, "elsewhere"], ROWS)
    missing = rng.random(ROWS) < 0.1
    score = 0.03 * (age - 50) + 0.4 * dose - 0.8 * (ward == "surgery") + rng.logistic(0, 1, ROWS)
    return {
        "age": age,
        "dose": np.where(missing, "", dose.astype(str)),
        "ward": ward,
        "back": np.where(score > 0, "yes", "no"),
        "grade": np.digitize(score, [-1.0, 1.0]),
        "days": np.clip(10 + 4 * score, -3, 35),
    }


def encoded(table):
    """The matrix of features, by the documented rule."""
    age = (np.clip(table["age"], 0, 100) - 0) / 100
    dose = np.array([float(cell) if cell else 1.0 for cell in table["dose"]])
    dose = (np.clip(dose, -3, 5) + 3) / 8
    one_hot = table["ward"][:, None] == np.array(WARDS)
    return np.column_stack([age, dose, one_hot, np.ones(ROWS)])


def write(reticent, table, target):
    """Writes the table and a schema with this target."""
    reticent.write_csv(table)
    features = [
        {"name": "age", "type": "real", "bounds": {"min": 0, "max": 100}},
        {"name": "dose", "type": "real", "bounds": {"min": -3, "max": 5}},
        {"name": "ward", "type": "categorical", "categories": WARDS},
    ]
    targets = {
        "back": {"name": "back", "type": "categorical", "categories": ["no", "yes"]},
        "grade": {"name": "grade", "type": "categorical", "categories": [0, 1, 2]},
        "days": {"name": "days", "type": "real", "bounds": {"min": 0, "max": 30}},
    }
    reticent.write_schema([*features, targets[target]], target=target)


def fitted(reticent, precision, *flags):
    """The weights of a fit without noise."""
    model = reticent.fit(
        *("--data", "table.csv", "--schema", "schema.json", "--epsilon", "inf", "--linear"),
        *("--ridge", MU, "--steps", 20_000, "--precision", precision, *flags),
    )
    assert model["task"]["encoding"]["precision"] == precision
    return np.array(model["weights"])


def scaled_days(table):
    """The numeric target in [-1, 1]."""
    return np.clip(table["days"], 0, 30) / 15 - 1


@pytest.mark.parametrize("precision", TOLERANCE)
def test_logistic_is_the_ridged_logistic_regression_of_scikit_learn(reticent, table, precision):
    write(reticent, table, "back")
    model = LogisticRegression(
        C=1 / (ROWS * MU), fit_intercept=False, tol=1e-12, solver="newton-cholesky", max_iter=1000
    )
    model.fit(encoded(table), table["back"] == "yes")
    ours = fitted(reticent, precision)
    np.testing.assert_allclose(ours, model.coef_, rtol=0, atol=TOLERANCE[precision])


@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize("by_class", [False, True])
def test_weighted_rows_are_those_of_scikit_learn(reticent, table, precision, by_class):
    weights = np.random.default_rng(8).uniform(-0.5, 5.0, ROWS).round(2)
    reticent.write_csv({**table, "times": weights})
    columns = [
        {"name": "age", "type": "real", "bounds": {"min": 0, "max": 100}},
        {"name": "dose", "type": "real", "bounds": {"min": -3, "max": 5}},
        {"name": "ward", "type": "categorical", "categories": WARDS},
        {"name": "back", "type": "categorical", "categories": ["no", "yes"]},
        {"name": "times", "role": "weight", "type": "real", "bounds": {"min": 0, "max": 4}},
    ]
    reticent.write_schema(columns, target="back")
    of_class = {"no": 2.0, "yes": 0.5} if by_class else {}
    flags = [flag for name, weight in of_class.items() for flag in ("--class-weight", f"{name}={weight}")]
    largest = 4 * max(of_class.values(), default=1.0)
    model = LogisticRegression(
        C=1 / (ROWS * MU * largest),
        fit_intercept=False,
        tol=1e-12,
        solver="newton-cholesky",
        max_iter=1000,
        class_weight={name == "yes": weight for name, weight in of_class.items()} or None,
    )
    model.fit(encoded(table), table["back"] == "yes", sample_weight=np.clip(weights, 0, 4))
    ours = fitted(reticent, precision, *flags)
    np.testing.assert_allclose(ours, model.coef_, rtol=0, atol=TOLERANCE[precision])


@pytest.mark.parametrize("precision", TOLERANCE)
def test_softmax_is_the_multinomial_regression_of_scikit_learn(reticent, table, precision):
    write(reticent, table, "grade")
    model = LogisticRegression(
        C=1 / (ROWS * MU), fit_intercept=False, tol=1e-12, solver="newton-cholesky", max_iter=1000
    )
    model.fit(encoded(table), table["grade"])
    ours = fitted(reticent, precision)
    np.testing.assert_allclose(ours, model.coef_, rtol=0, atol=TOLERANCE[precision])


@pytest.mark.parametrize("precision", TOLERANCE)
def test_squared_in_a_large_ball_is_ridge_regression(reticent, table, precision):
    write(reticent, table, "days")
    x, y = encoded(table), scaled_days(table)
    ridge = np.linalg.solve(x.T @ x / ROWS + MU * np.eye(x.shape[1]), x.T @ y / ROWS)
    assert np.linalg.norm(ridge) < 50
    ours = fitted(reticent, precision, "--loss", "squared", "--radius", 50)
    np.testing.assert_allclose(ours[0], ridge, rtol=0, atol=TOLERANCE[precision])


def test_squared_in_a_small_ball_ends_on_its_surface(reticent, table):
    write(reticent, table, "days")
    ours = fitted(reticent, "f64", "--loss", "squared", "--radius", 0.25)[0]
    assert np.linalg.norm(ours) == pytest.approx(0.25, rel=1e-9)
    x, y = encoded(table), scaled_days(table)
    gradient = x.T @ (x @ ours - y) / ROWS + MU * ours
    # The minimum over a ball: the gradient points straight inwards.
    assert gradient @ ours / np.linalg.norm(gradient) / 0.25 == pytest.approx(-1, abs=1e-9)


@pytest.mark.parametrize("precision", TOLERANCE)
def test_huber_is_the_minimum_of_its_objective(reticent, table, precision):
    write(reticent, table, "days")
    x, y = encoded(table), scaled_days(table)
    threshold = 0.2
    w = np.zeros(x.shape[1])
    for _ in range(200):  # Newton's method; the objective is piecewise quadratic
        residual = x @ w - y
        inside = np.abs(residual) <= threshold
        gradient = x.T @ np.clip(residual, -threshold, threshold) / ROWS + MU * w
        w -= np.linalg.solve(x[inside].T @ x[inside] / ROWS + MU * np.eye(len(w)), gradient)
    assert np.abs(gradient).max() < 1e-14
    assert 10 < inside.sum() < ROWS - 10, "both branches of the loss matter"
    ours = fitted(reticent, precision, "--loss", "huber", "--threshold", threshold)
    np.testing.assert_allclose(ours[0], w, rtol=0, atol=TOLERANCE[precision])


def test_clipped_rows_are_rows_scaled_to_the_bound(reticent, table):
    write(reticent, table, "back")
    x = encoded(table)
    x *= np.minimum(1, 1.2 / np.linalg.norm(x, axis=1, keepdims=True))
    model = LogisticRegression(
        C=1 / (ROWS * MU), fit_intercept=False, tol=1e-12, solver="newton-cholesky", max_iter=1000
    )
    model.fit(x, table["back"] == "yes")
    ours = fitted(reticent, "f64", "--feature-norm", 1.2)
    np.testing.assert_allclose(ours, model.coef_, rtol=0, atol=1e-6)


def test_predictions_are_those_of_scikit_learn(reticent, table):
    write(reticent, table, "grade")
    model = LogisticRegression(
        C=1 / (ROWS * MU), fit_intercept=False, tol=1e-12, solver="newton-cholesky", max_iter=1000
    )
    model.fit(encoded(table), table["grade"])
    fitted(reticent, "f64")
    rows = reticent.json("predict", "--model", "model.json", "--data", "table.csv")["predictions"]
    ours = np.array([row["probabilities"] for row in rows])
    np.testing.assert_allclose(ours, model.predict_proba(encoded(table)), atol=1e-6)
    assert [row["value"] for row in rows] == model.predict(encoded(table)).astype(str).tolist()
    metrics = reticent.json("evaluate", "--model", "model.json", "--data", "table.csv")["metrics"]
    assert metrics["accuracy"] == pytest.approx(model.score(encoded(table), table["grade"]))
