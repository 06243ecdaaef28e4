"""Additive estimators: the command's rule, curves that add up, missing values, files, refusals."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import reticent
from reticent import AdditiveClassifier, AdditiveRegressor

rng = np.random.default_rng(11)
ROWS = 3000
X = rng.uniform(0.0, 1.0, (ROWS, 3))
WAVE = np.cos(6.0 * X[:, 0]) + 0.5 * X[:, 1]
LABELS = (np.abs(X[:, 0] - 0.5) < 0.25).astype(int)
WARDS = ["surgery", "internal", "other"]
TABLE = pd.DataFrame({"age": 100.0 * X[:, 0], "ward": rng.choice(WARDS, ROWS), "day": rng.integers(0, 7, ROWS)})
STAY = np.clip(TABLE["age"] / 10 + 3.0 * (TABLE["ward"] == "surgery") * (TABLE["day"] > 4), 0, 20).to_numpy()
BOUNDS = {"age": (0, 110), "ward": WARDS, "day": (0, 6)}
SCHEMA = {
    "target": "stay",
    "columns": [
        {"name": "age", "type": "real", "bounds": {"min": 0, "max": 110}},
        {"name": "ward", "type": "categorical", "categories": WARDS},
        {"name": "day", "type": "integer", "bounds": {"min": 0, "max": 6}},
        {"name": "stay", "type": "real", "bounds": {"min": 0, "max": 20}},
    ],
}
pytestmark = pytest.mark.filterwarnings("ignore::reticent.SeedWarning")


def at(curve, numbers):
    """A curve by its published knots and values, at numbers."""
    return np.interp(numbers, curve["knots"], curve["values"])


def test_curves_bend_where_lines_cannot():
    lines = AdditiveRegressor(epsilon=4.0, bounds=(0, 1), label_bound=2.0, knots=0, random_state=1).fit(X, WAVE)
    curves = AdditiveRegressor(epsilon=4.0, bounds=(0, 1), label_bound=2.0, random_state=1).fit(X, WAVE)
    fresh = rng.uniform(0.0, 1.0, (1000, 3))
    truth = np.cos(6.0 * fresh[:, 0]) + 0.5 * fresh[:, 1]
    assert lines.score(fresh, truth) < 0.6 and curves.score(fresh, truth) > 0.9
    assert [curve["kind"] for curve in lines.curves_.values()] == ["line"] * 3
    assert [curve["kind"] for curve in curves.curves_.values()] == ["tent"] * 3


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 8.0])
def test_the_number_of_knots_is_the_commands(reticent, epsilon):
    """One rule: the command with `auto` and the estimator choose alike, for a table with its
    schema."""
    reticent.write_schema(**SCHEMA)
    reticent.write_csv({**TABLE.to_dict("list"), "stay": STAY.tolist()})
    command = reticent.fit("--data", "table.csv", "--schema", "schema.json", "--epsilon", epsilon, "--insecure-seed", 5)
    model = AdditiveRegressor(epsilon=epsilon, declaration=SCHEMA, random_state=5).fit(TABLE, STAY)
    mine = model._model.to_dict()
    assert mine["task"]["encoding"] == command["task"]["encoding"]
    assert mine["certificate"]["plan"] == command["certificate"]["plan"]
    np.testing.assert_array_equal(mine["weights"], command["weights"])


def test_named_algorithms_have_curves_too():
    given = {"epsilon": 4.0, "bounds": (0, 1), "label_bound": 2.0, "random_state": 1}
    model = AdditiveRegressor(algorithm="clipped-sgd", settings={"steps": 20}, **given).fit(X, WAVE)
    assert len(model.curves_["x0"]["knots"]) == 16


def test_values_add_up_to_predictions():
    model = AdditiveRegressor(epsilon=4.0, bounds=(0, 1), label_bound=9.0, knots=5, random_state=1).fit(X, WAVE)
    total = model.intercept_ + sum(at(model.curves_[f"x{j}"], X[:, j]) for j in range(3))
    np.testing.assert_allclose(total, model.predict(X), atol=1e-9)
    two = AdditiveClassifier(epsilon=4.0, bounds=(0, 1), classes=[0, 1], random_state=1).fit(X, LABELS)
    total = two.intercept_ + sum(at(two.curves_[f"x{j}"], X[:, j]) for j in range(3))
    np.testing.assert_allclose(total, two.decision_function(X), atol=1e-9)
    three = AdditiveClassifier(epsilon=4.0, bounds=(0, 1), classes=[0, 1, 2], knots=4, random_state=1).fit(X, LABELS)
    values = np.array([three.curves_[f"x{j}"]["values"] for j in range(3)])
    assert values.shape == (3, 3, 4)
    total = three.intercept_ + sum(
        np.stack([np.interp(X[:, j], three.curves_[f"x{j}"]["knots"], values[j, k]) for k in range(3)], axis=1) for j in range(3)
    )
    np.testing.assert_allclose(total, three.decision_function(X), atol=1e-9)


def test_pairs_categories_and_missing_values_add_up():
    model = AdditiveRegressor(
        epsilon=8.0, bounds=BOUNDS, label_bound=(-20, 40), knots={"day": 7}, pairs=[("ward", "day")], missing="indicator", random_state=1
    ).fit(TABLE, STAY)
    assert list(model.feature_names_in_) == ["age", "ward", "day"] and model.n_features_in_ == 3
    assert list(model.surfaces_) == [("ward", "day")] and model.surfaces_["ward", "day"]["values"].shape == (3, 7)
    table = TABLE[:50].astype({"day": float}).copy()
    table.loc[3, "age"] = np.nan
    table.loc[4, "ward"] = None
    table.loc[5, "ward"] = "garden"
    table.loc[6, "day"] = np.nan
    table.loc[7, "age"] = 1e9
    table.loc[8, "age"] = -5.0
    by_hand = []
    for age, ward, day in table.itertuples(index=False):
        curve, wards, days = (model.curves_[name] for name in ("age", "ward", "day"))
        total = model.intercept_
        total += curve["missing"] if np.isnan(age) else at(curve, np.clip(age, 0, 110))
        total += wards["missing"] if pd.isna(ward) else dict(zip(wards["places"], wards["values"], strict=True)).get(ward, 0.0)
        total += days["missing"] if np.isnan(day) else days["values"][int(day)]
        if not pd.isna(ward) and ward in WARDS and not np.isnan(day):
            total += model.surfaces_["ward", "day"]["values"][WARDS.index(ward), int(day)]
        by_hand.append(total)
    np.testing.assert_allclose(by_hand, model.predict(table), atol=1e-9)


def test_noise_is_stated_where_the_release_knows_it():
    given = {"epsilon": 4.0, "bounds": {"a": (0, 1), "b": WARDS}, "classes": [0, 1], "knots": 4, "random_state": 1}
    table = pd.DataFrame({"a": X[:, 0], "b": TABLE["ward"]})
    known = AdditiveClassifier(algorithm="output-gd", **given).fit(table, LABELS)
    deviation = known.plan_["noise_deviation"]
    np.testing.assert_allclose(known.curves_["a"]["noise"], [deviation] * 4)
    np.testing.assert_allclose(known.curves_["b"]["noise"], [deviation] * 3)
    unknown = AdditiveClassifier(algorithm="clipped-sgd", settings={"steps": 5}, **given).fit(table, LABELS)
    assert unknown.curves_["a"]["noise"] is None


def test_bins_are_constant_and_own_knots_are_kept():
    model = AdditiveRegressor(
        epsilon=8.0, bounds=(0, 1), label_bound=9.0, basis="bins", knots={"x0": [0, 0.25, 1], "x1": 5, "x2": 0}, random_state=1
    ).fit(X, WAVE)
    assert [curve["kind"] for curve in model.curves_.values()] == ["bins", "bins", "line"]
    assert model.curves_["x0"]["knots"].tolist() == [0, 0.25, 1] and len(model.curves_["x0"]["values"]) == 2
    rows = np.full((4, 3), 0.5)
    rows[:, 0] = [0.0, 0.2499, 0.25, 1.0]
    low, also_low, high, also_high = model.predict(rows)
    assert low == also_low != high == also_high


def test_files_copies_and_pickles_hold_the_curves(tmp_path):
    model = AdditiveRegressor(epsilon=8.0, bounds=BOUNDS, label_bound=(0, 20), pairs=[("ward", "day")], missing="indicator", random_state=1)
    assert clone(model).get_params() == model.get_params()
    model.fit(TABLE, STAY)
    model.save(tmp_path / "model.json")
    for again in (reticent.load(tmp_path / "model.json"), pickle.loads(pickle.dumps(model))):
        assert isinstance(again, AdditiveRegressor)
        np.testing.assert_array_equal(again.predict(TABLE), model.predict(TABLE))
        np.testing.assert_array_equal(again.curves_["age"]["values"], model.curves_["age"]["values"])
        assert list(again.surfaces_) == [("ward", "day")]
    assert "What each column adds" in model.report()
    # The parameters of a loaded model plan the same columns again.
    again = reticent.load(tmp_path / "model.json").set_params(random_state=1, algorithm="auto", settings=None, delta=None)
    np.testing.assert_array_equal(again.fit(TABLE, STAY).predict(TABLE), model.predict(TABLE))


def test_linear_estimators_stay_linear_unless_declared():
    model = reticent.HuberRegressor(epsilon=8.0, declaration=SCHEMA, random_state=1).fit(TABLE, STAY)
    assert model.coef_.shape == (5,)
    bent = json.loads(json.dumps(SCHEMA))
    bent["columns"][0]["basis"] = {"knots": 4}
    assert reticent.HuberRegressor(epsilon=8.0, declaration=bent, random_state=1).fit(TABLE, STAY).coef_.shape == (8,)


def test_pictures(tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    model = AdditiveRegressor(epsilon=8.0, bounds=BOUNDS, label_bound=(0, 20), algorithm="output-gd", random_state=1).fit(TABLE, STAY)
    axes = model.plot_curves()
    assert [ax.get_xlabel() for ax in axes] == ["age", "ward", "day"]
    np.testing.assert_allclose(axes[0].lines[0].get_xydata()[:, 1], model.curves_["age"]["values"])
    assert len(axes[0].collections) == 1, "the band of known noise"
    assert [bar.get_height() for bar in axes[1].patches] == pytest.approx(model.curves_["ward"]["values"])
    assert len(model.plot_curves(["day"])) == 1
    with pytest.raises(ValueError, match="the model has age, ward, day"):
        model.plot_curves(["night"])


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"bounds": None}, "declare `bounds`"),
        ({"bounds": [(0, 1)]}, "a pair for each of 3"),
        ({"bounds": [(0, 1), (0, 1), 3]}, "`bounds` of `x2`"),
        ({"bounds": (1, 0)}, "x0"),
        ({"bounds": (0, float("inf"))}, "x0"),
        ({"knots": 1}, "knots"),
        ({"knots": "many"}, "`knots` must be"),
        ({"knots": True}, "`knots` must be"),
        ({"knots": {"x9": 4}}, "`knots` must name columns"),
        ({"basis": "spline"}, "`basis` must be one of tent, bins, linear"),
        ({"pairs": ["x0"]}, "`pairs` must be a list of pairs"),
        ({"pairs": [("x0", "x9")]}, "x9"),
        ({"declaration": SCHEMA}, "`bounds` and `declaration` exclude"),
        ({"declaration": SCHEMA, "bounds": None, "label_bound": None, "missing": "?"}, "`missing` and `declaration` exclude"),
        ({"label_bound": None}, "declare `label_bound`"),
    ],
)
def test_bad_parameters_are_refused_in_a_sentence(more, words):
    given = {"epsilon": 1.0, "bounds": (0, 1), "label_bound": 2.0, **more}
    with pytest.raises(ValueError, match=words):
        AdditiveRegressor(**given).fit(X, WAVE)
