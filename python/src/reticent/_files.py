"""Model files: JSON, shared with the command. Loading one runs nothing."""

from __future__ import annotations

import itertools
import math
from os import PathLike
from typing import Any

import numpy as np

from reticent import _base, _reticent, additive, generalized, kernel, linear, network, ordinal


def load(path: str | PathLike[str]) -> _base.PrivateClassifier | _base.PrivateRegressor:
    """Read a model file, written by an estimator's `save` or by the command.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    estimator
        Fitted, of the class that the model's loss belongs to.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np, reticent
    >>> X, y = np.eye(2).repeat(50, axis=0), np.array([0, 1]).repeat(50)
    >>> model = reticent.LogisticRegression(epsilon=1.0, feature_norm=1.0, classes=[0, 1]).fit(X, y)
    >>> path = os.path.join(tempfile.mkdtemp(), "model.json")
    >>> model.save(path)
    >>> bool((reticent.load(path).predict(X) == model.predict(X)).all())
    True
    """
    model = _reticent.FittedModel.load(path)
    facts = model.to_dict()
    task, certificate = facts["task"], facts["certificate"]
    declaration, loss = task["declaration"], task["loss"]
    parameters: dict[str, Any] = {
        "delta": certificate["budget"]["delta"],
        "adjacency": certificate["budget"]["adjacency"],
        "epsilon": float(certificate["budget"]["epsilon"]),
        "algorithm": certificate["plan"]["algorithm"],
        "calibration": certificate["calibration"],
        "fit_intercept": task["encoding"]["intercept"],
        "settings": _bounds(certificate["plan"]["problem"]),
        **_declared(declaration, task["encoding"]),
    }
    if _is_additive(task):
        encoding = task["encoding"]
        parameters.update(knots=encoding.get("knots") or 0, pairs=encoding.get("interactions"))
        kind = additive.AdditiveRegressor if loss["name"] == "huber" else additive.AdditiveClassifier
        estimator = kind(**parameters, **({"threshold": loss["threshold"]} if loss["name"] == "huber" else {}))
    else:
        estimator = _estimator(loss, task.get("hidden"), task.get("map"), parameters)
    if isinstance(estimator, _base.PrivateClassifier):
        estimator.classes_ = _base.classes_of(declaration)
    estimator._take(model)
    if estimator.declaration is None:
        estimator.n_features_in_ = declaration["columns"][0]["dimension"]
    return estimator


def _is_additive(task: dict[str, Any]) -> bool:
    """Whether the model has curves or surfaces, and the loss of an additive estimator."""
    if task.get("hidden") is not None or task.get("map") is not None or task["loss"]["name"] not in ("logistic", "softmax", "huber"):
        return False
    declaration, encoding = task["declaration"], task["encoding"]
    declared = any(column.get("basis", "linear") != "linear" for column in declaration["columns"])
    named = encoding.get("interactions", declaration.get("interactions"))
    return bool(encoding.get("knots") or named or declared)


def _estimator(
    loss: dict[str, Any], hidden: int | None, law: dict[str, Any] | None, parameters: dict[str, Any]
) -> _base.PrivateClassifier | _base.PrivateRegressor:
    name = loss["name"]
    if law is not None and hidden is None and name in ("logistic", "softmax", "huber"):
        del parameters["fit_intercept"]
        words = {"kernel", "bandwidth", "features", "form", "nu", "shape"} & law.keys()
        more = {**{word: law[word] for word in words}, "map": law["construction"], "map_seed": law["seed"]}
        if name == "huber":
            return kernel.KernelRegressor(threshold=loss["threshold"], **more, **parameters)
        return kernel.KernelClassifier(**more, **parameters)
    if law is not None:
        raise ValueError(f"no estimator has the loss `{name}` on random features; use `reticent predict`")
    if hidden is not None:
        return network.MLPClassifier(hidden=hidden, **parameters)
    if name in ("logistic", "softmax"):
        return linear.LogisticRegression(**parameters)
    if name == "hinge":
        return linear.LinearSVC(q=loss["q"], **parameters)
    if name == "squared":
        return linear.LinearRegression(**parameters)
    if name == "huber":
        return linear.HuberRegressor(threshold=loss["threshold"], **parameters)
    if name == "power":
        return linear.LinearSVR(q=loss["q"], **parameters)
    if name == "ordinal":
        return ordinal.OrdinalRegressor(shares=_shares(loss["thresholds"]), **parameters)
    if any(known == name and is_number for known, _, is_number in _reticent.losses()):
        given: dict[str, Any] = {word: loss.get(word) for word in ("q", "threshold", "quantile", "dispersion")}
        return generalized.GeneralizedLinearRegressor(loss=name, **given, **parameters)
    raise ValueError(f"no estimator has the loss `{name}`; use `reticent predict`")


def _shares(thresholds: list[float]) -> list[float]:
    """The shares of levels that have these thresholds, which lie 1.2 times as far apart as the
    log-odds of the shares."""
    below = [0.0, *(1.0 / (1.0 + math.exp(-threshold / 1.2)) for threshold in thresholds), 1.0]
    return [high - low for low, high in itertools.pairwise(below)]


def _bounds(problem: dict[str, Any]) -> dict[str, Any] | None:
    """The settings that bound weights and slopes."""
    domain = problem["domain"]
    # The words of the settings for the fields of a set.
    words = {"radius": "radius", "total": "radius", "p": "p", "low": "low", "high": "high", "sizes": "groups", "weights": "group_weights"}
    bounds = {words[name]: value for name, value in domain.items() if name in words and value is not None}
    if bounds:
        bounds["set"] = domain["set"]
    if problem.get("slope_limit") is not None:
        bounds["slope_limit"] = problem["slope_limit"]
    return bounds or None


def _declared(declaration: dict[str, Any], encoding: dict[str, Any]) -> dict[str, Any]:
    """The parameters that state a declaration: those of a matrix, or the declaration itself."""
    columns = declaration["columns"]
    norm = columns[0].get("bounds", {}).get("l2_norm_max")
    is_matrix = [c["name"] for c in columns] == ["features", "label"] and norm is not None
    if not is_matrix or encoding.get("feature_norm") is not None or encoding.get("normalize_rows"):
        return {"declaration": declaration}
    label = columns[1]
    if "categories" in label:
        return {"feature_norm": norm, "classes": np.array(label["categories"]).tolist()}
    return {"feature_norm": norm, "label_bound": (label["bounds"]["min"], label["bounds"]["max"])}
