"""ONNX models give the same predictions in onnxruntime."""

import numpy as np
import pytest
from sklearn.base import clone

import reticent
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


def test_a_declared_table_is_no_matrix():
    table, declaration = reticent.census(200)
    model = reticent.LogisticRegression(epsilon=1.0, declaration=declaration).fit(table, table["income"])
    with pytest.raises(ValueError, match="DeclaredEncoder"):
        model.to_onnx()


def test_random_features_are_refused():
    with pytest.raises(ValueError, match="random features"):
        clone(KERNELS[0][0]).fit(X, KERNELS[0][1]).to_onnx()


def test_classes_that_are_no_whole_numbers_are_refused():
    y = np.array([0.25, 0.75])[(X[:, 0] > 0).astype(int)]
    model = reticent.LogisticRegression(epsilon=2.0, feature_norm=1.0, classes=[0.25, 0.75]).fit(X, y)
    with pytest.raises(ValueError, match="whole numbers or texts, got \\[0.25, 0.75\\]"):
        model.to_onnx()
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


def test_a_loss_that_is_none_or_for_classes_is_refused():
    for loss in ("log", "logistic"):
        with pytest.raises(ValueError, match=f"one of .*huber.*got '{loss}'"):
            reticent.GeneralizedLinearRegressor(loss=loss, epsilon=1.0, feature_norm=1.0, label_bound=1.0).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="expected one of logistic"):
        reticent.plan(n=100, d=3, epsilon=1.0, loss="log")
