"""ONNX models give the same predictions in onnxruntime."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import reticent
from reticent import load
from test_estimators import KERNELS, LINEAR, X, name

onnxruntime = pytest.importorskip("onnxruntime")

# Rows within the bounds, beyond them, and such as no declaration admits.
ROWS = np.vstack([X[:200], 40.0 * X[:50], np.zeros((1, 4)), np.full((1, 4), 1e200), [[np.nan, 0, 0, 0]], [[np.inf, 1, 0, 0]]])


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("case", LINEAR, ids=name)
def test_the_same_predictions(case, fit_intercept):
    model = clone(case[0]).set_params(fit_intercept=fit_intercept).fit(X, case[1])
    session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"])
    found = dict(zip([o.name for o in session.get_outputs()], session.run(None, {"X": ROWS}), strict=True))
    if "variable" in found:
        np.testing.assert_allclose(found["variable"].ravel(), model.predict(ROWS), rtol=1e-9, atol=1e-12)
        return
    if "probabilities" in found:
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(ROWS), rtol=1e-9, atol=1e-12)
    near = np.isclose(np.abs(model.decision_function(ROWS).reshape(len(ROWS), -1)).min(axis=1), 0.0, atol=1e-9)
    assert (found["label"] == model.predict(ROWS))[~near].all()
    assert near.sum() <= 4


def test_classes_by_name():
    y = np.where(X[:, 0] > 0, "yes", "no")
    model = reticent.LogisticRegression(epsilon=2.0, feature_norm=1.0, classes=["no", "yes"]).fit(X, y)
    onnx = model.to_onnx()
    assert "epsilon = 2" in onnx.metadata_props[0].value
    session = onnxruntime.InferenceSession(onnx.SerializeToString(), providers=["CPUExecutionProvider"])
    assert (session.run(["label"], {"X": X})[0] == model.predict(X)).all()


SCHEMA = {
    "target": "back",
    "positive_class": "no",
    "interactions": [["age", "ward"], ["age", "dose"], ["rate", "grade"]],
    "columns": [
        {"name": "age", "type": "real", "missing": {"marks": [-1], "indicator": True}, "bounds": {"min": 0, "max": 110}},
        {"name": "dose", "type": "real", "bounds": {"min": 1, "max": 1000}, "basis": {"knots": 5, "scale": "log"}},
        {"name": "rate", "type": "real", "bounds": {"min": -9, "max": 9}, "basis": {"kind": "bins", "knots": [-9, 0, 0.5, 9]}},
        {"name": "heat", "type": "real", "bounds": {"min": 30, "max": 45}, "basis": {"kind": "bins", "knots": 4}},
        {"name": "debt", "type": "real", "bounds": {"min": -50, "max": 900}, "basis": {"knots": [-50, 0, 10, 900], "scale": "symlog"}},
        {"name": "area", "type": "real", "bounds": {"min": 0, "max": 400}, "basis": {"knots": 3, "scale": "sqrt"}},
        {"name": "plain", "type": "real", "bounds": {"min": -2, "max": 2}, "basis": "linear"},
        {"name": "ward", "type": "categorical", "missing": {"marks": ["?"], "indicator": True}, "categories": ["surgery", "NA", "other"]},
        {"name": "grade", "type": "categorical", "categories": [1, 2, 5]},
        {"name": "back", "type": "categorical", "categories": ["no", "yes"]},
    ],
}
# Bounds, beyond bounds, knots, between knots, missing, marks, and what no number is.
EDGES = {
    "age": [0, 110, -1, -5, 1e300, 55, 110 / 3, np.nan, 37.1, 1e-300],
    "dose": [1, 1000, 0, 1e9, 31.6227766, 5.5, 177.8, np.nan, -3, 2],
    "rate": [-9, 9, 0, 0.5, np.nextafter(0.5, 0), 3, -100, np.nan, 100, -0.0],
    "heat": [30, 45, 33.75, 37.5, np.nextafter(37.5, 0), 41.25, 29, np.nan, 46, 36.6],
    "debt": [-50, 900, 0, 10, -0.0, 1e-12, -60, np.nan, 1e9, 300],
    "area": [0, 400, 100, 99.9, -1, 401, 225, np.nan, 3, 50],
    "plain": [-2, 2, 0, -3, 3, 1, np.nan, 1e-9, 0.5, -1],
    "ward": ["surgery", "NA", "other", "garden", "?", "", "nan", "null", "<na>", "surgery"],
    "grade": [1, 2, 5, 3, np.nan, 0, 1, 2, 5, 1],
}


def crossed(seed, count=600):
    """Rows with every edge, each beside others."""
    draw = np.random.default_rng(seed)
    table = {name: [cells[i] for i in draw.integers(0, len(cells), count)] for name, cells in EDGES.items()}
    table["age"][7] = np.inf
    table["rate"][8] = -np.inf
    return pd.DataFrame(table)


def inputs(table):
    """An input for each column, as the exported model names them."""
    kinds = {name: object if name == "ward" else float for name in EDGES}
    return {name: table[name].to_numpy(dtype=kinds[name]).reshape(-1, 1) for name in EDGES}


@pytest.mark.parametrize("loaded", [False, True])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_declared_columns_curves_and_pairs_at_their_edges(fit_intercept, loaded, tmp_path):
    table = crossed(1)
    back = np.where(np.arange(len(table)) % 3 > 0, "yes", "no")
    given = {"epsilon": 50.0, "declaration": SCHEMA, "knots": 4, "fit_intercept": fit_intercept}
    model = reticent.AdditiveClassifier(**given).fit(table, back)
    if loaded:
        model.save(tmp_path / "model.json")
        model = reticent.load(tmp_path / "model.json")
    rows = crossed(2)
    session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"])
    found = dict(zip([o.name for o in session.get_outputs()], session.run(None, inputs(rows)), strict=True))
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(rows), rtol=1e-9, atol=1e-12)
    sure = np.abs(model.decision_function(rows)) > 1e-9
    assert (found["label"] == model.predict(rows))[sure].all() and sure.mean() > 0.9


def test_a_clipped_model_of_the_command_is_exported(reticent):
    columns = [
        {"name": "a", "type": "real", "bounds": {"min": 0, "max": 1}},
        {"name": "b", "type": "categorical", "categories": ["u", "v"]},
        {"name": "y", "type": "real", "bounds": {"min": 0, "max": 4}},
    ]
    reticent.write_schema(columns, target="y")
    a, b = np.linspace(0, 1, 200), ["u", "v"] * 100
    reticent.write_csv({"a": a, "b": b, "y": 4 * a})
    reticent.fit("--data", "table.csv", "--schema", "schema.json", "--epsilon", 9, "--feature-norm", 1.1, "--knots", 4)
    model = load(reticent.folder / "model.json")
    session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"])
    cells = {"a": a.reshape(-1, 1), "b": np.array(b, dtype=object).reshape(-1, 1)}
    found = session.run(None, cells)[0].ravel()
    np.testing.assert_allclose(found, model.predict(pd.DataFrame({"a": a, "b": b})), rtol=1e-9)
    reticent.fit("--data", "table.csv", "--schema", "schema.json", "--epsilon", 9, "--normalize", "rows")
    with pytest.raises(ValueError, match="not normalized"):
        load(reticent.folder / "model.json").to_onnx()


def test_an_additive_model_of_a_matrix_takes_a_matrix():
    y = np.abs(X[:, 0])
    for missing in (None, "indicator"):
        model = reticent.AdditiveRegressor(epsilon=9.0, bounds=(-0.5, 0.5), label_bound=1.0, pairs=[("x0", "x1")], missing=missing).fit(X, y)
        session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"])
        found = session.run(None, {"X": ROWS})[0].ravel()
        np.testing.assert_allclose(found, model.predict(ROWS), rtol=1e-9, atol=1e-12)


def test_a_table_of_categories_alone():
    table = pd.DataFrame({"ward": ["a", "b", "c"] * 100})
    back = (table["ward"] == "a").to_numpy().astype(int)
    model = reticent.AdditiveClassifier(epsilon=9.0, bounds={"ward": ["a", "b"]}, classes=[0, 1]).fit(table, back)
    session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"])
    found = session.run(["probabilities"], {"ward": table[["ward"]].to_numpy(dtype=object)})[0]
    np.testing.assert_allclose(found, model.predict_proba(table), rtol=1e-9)


@pytest.mark.parametrize("form", ["paired", "cosine"])
@pytest.mark.parametrize("construction", ["independent", "orthogonal", "structured", "fastfood"])
def test_random_features_are_written_out(construction, form):
    # 37 features: the last cosine of pairs may have no sine, and blocks of transforms are not
    # filled.
    features = {"features": 38 if form == "paired" else 37, "map": construction, "form": form, "bandwidth": 0.4}
    for model, y in [(clone(case), y) for case, y in KERNELS[:2]]:
        model.set_params(**features).fit(X, y)
        session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"])
        found = dict(zip([o.name for o in session.get_outputs()], session.run(None, {"X": ROWS}), strict=True))
        name, predicted = ("variable", model.predict) if "variable" in found else ("probabilities", model.predict_proba)
        # The engine computes angles in single precision.
        np.testing.assert_allclose(np.squeeze(found[name]), predicted(ROWS), rtol=0, atol=2e-5)


def test_classes_that_are_no_whole_numbers_are_numbers():
    y = np.array([0.25, 0.75])[(X[:, 0] > 0).astype(int)]
    model = reticent.LogisticRegression(epsilon=2.0, feature_norm=1.0, classes=[0.25, 0.75]).fit(X, y)
    session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"])
    found = session.run(["label"], {"X": X})[0]
    assert found.dtype == np.float64
    assert (found == model.predict(X)).all() and set(found) == {0.25, 0.75}
    whole = reticent.LogisticRegression(epsilon=2.0, feature_norm=1.0, classes=[0.0, 2.0]).fit(X, 2.0 * (X[:, 0] > 0))
    session = onnxruntime.InferenceSession(whole.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"])
    assert (session.run(["label"], {"X": X})[0] == whole.predict(X)).all()


@pytest.mark.parametrize("loss", [loss["name"] for loss in reticent.losses() if loss["numbers"]])
def test_every_loss_for_numbers_is_fitted_stored_and_exported(loss, tmp_path):
    y = np.clip(X @ [2.0, -1.0, 0.5, 0.0] + 2.0, 0.0, 4.0)
    budget = {"epsilon": 8.0, "feature_norm": 1.0, "label_bound": (0.0, 4.0), "settings": {"radius": 5.0}}
    model = reticent.GeneralizedLinearRegressor(loss=loss, **budget).fit(X, y)
    assert model.score(X, y) > 0.3
    model.save(tmp_path / "model.json")
    again = reticent.load(tmp_path / "model.json")
    assert again._model.to_dict()["task"]["loss"]["name"] == loss
    np.testing.assert_array_equal(again.predict(ROWS), model.predict(ROWS))
    session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"])
    found = session.run(None, {"X": ROWS})[0].ravel()
    np.testing.assert_allclose(found, model.predict(ROWS), rtol=1e-9, atol=1e-12)
    # Weights and constant give the prediction, or its logarithm.
    by_hand = X @ model.coef_ + model.intercept_
    predicted = model.predict(X)
    linked = np.log(predicted) if model._model.last_layer()["operators"] == ["Exp"] else predicted
    inside = (predicted > 0.0) & (predicted < 4.0)
    np.testing.assert_allclose(by_hand[inside], linked[inside], rtol=1e-9, atol=1e-9)


def test_ordered_levels_are_fitted_stored_and_exported(tmp_path):
    y = np.clip(np.round(X @ [4.0, -2.0, 1.0, 0.0] + 2.0), 0.0, 4.0)
    shares = np.bincount(y.astype(int), minlength=5) / len(y)
    model = reticent.OrdinalRegressor(shares=shares, epsilon=8.0, feature_norm=1.0, label_bound=(0, 4)).fit(X, y)
    assert model.score(X, y) > 0.3
    p = model.predict_proba(ROWS)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(p @ model.levels_, model.predict(ROWS), rtol=1e-9, atol=1e-9)
    model.save(tmp_path / "model.json")
    again = reticent.load(tmp_path / "model.json")
    assert isinstance(again, reticent.OrdinalRegressor)
    np.testing.assert_allclose(again.shares, shares, atol=2e-3)
    np.testing.assert_array_equal(again.predict_proba(ROWS), p)
    session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"])
    found = session.run(None, {"X": ROWS})[0].ravel()
    np.testing.assert_allclose(found, model.predict(ROWS), rtol=1e-9, atol=1e-12)
    for bad in (None, [1.0, 1.0], 3, [0.0] * 5):
        with pytest.raises(ValueError, match="shares"):
            reticent.OrdinalRegressor(shares=bad, epsilon=8.0, feature_norm=1.0, label_bound=(0, 4)).fit(X, y)
    with pytest.raises(ValueError, match="numbers from 0 to 5"):
        reticent.OrdinalRegressor(shares=shares, epsilon=8.0, feature_norm=1.0, label_bound=(0, 5)).fit(X, y)


def test_a_loss_that_is_none_or_for_classes_is_refused():
    for loss in ("log", "logistic"):
        with pytest.raises(ValueError, match=f"one of .*huber.*got '{loss}'"):
            reticent.GeneralizedLinearRegressor(loss=loss, epsilon=1.0, feature_norm=1.0, label_bound=1.0).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="expected one of logistic"):
        reticent.plan(n=100, d=3, epsilon=1.0, loss="log")
