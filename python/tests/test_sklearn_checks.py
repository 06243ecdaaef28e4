"""scikit-learn's own checks of every estimator, with each expected failure listed and explained.

The checks hand data to estimators without declaring anything, so the estimators are made with
declarations that fit the checks' data. `Declared...` classes state the classes of each check's y,
as its author would: with them, every check of classes that a fixed declaration cannot pass is
passed. The remaining checks fail on purpose, for one reason: they ask for an error that depends on
the content of a cell.
"""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import reticent
from reticent import _input

pytestmark = pytest.mark.filterwarnings("ignore::reticent.SeedWarning")

CELLS = {
    "check_dtype_object": "asks for an error when a cell holds a dictionary: such a row becomes a row of zeros, silently",
}
COPIES = "asks that a weight be the same as copies of a row: the number of rows is public, and more rows get less noise"
TARGETS = {
    **CELLS,
    "check_all_zero_sample_weights_error": "asks for an error when all weights are zero: weights are private, and an error is an output",
    "check_sample_weight_equivalence_on_dense_data": COPIES,
    "check_sample_weight_equivalence_on_sparse_data": COPIES,
    "check_supervised_y_no_nan": "asks for an error when a target is infinite: it counts as the declared fallback, silently",
}
LEVELS = {
    **TARGETS,
    "check_regressors_no_decision_function": "asks that no regressor has predict_proba: levels have probabilities",
    "check_estimator_sparse_array": "takes what has predict_proba for a classifier: this is a regressor",
    "check_estimator_sparse_matrix": "takes what has predict_proba for a classifier: this is a regressor",
}
CLASSES = {
    **TARGETS,
    "check_classifiers_regression_target": "asks for an error when targets are no classes: undeclared ones count as the first class, silently",
}
FIXED = {
    **CLASSES,
    "check_class_weight_classifiers": "its y has three classes: classes are what was declared, here 0 and 1",
    "check_classifiers_classes": "its y has texts, and -1 and 1: classes are what was declared, here 0 and 1",
    "check_classifiers_train": "its y has three classes and then two: classes are what was declared, here 0 and 1",
    "check_estimator_sparse_array": "its y has four classes: classes are what was declared, here 0 and 1",
    "check_estimator_sparse_matrix": "its y has four classes: classes are what was declared, here 0 and 1",
}
TWO_ONLY = {
    **CLASSES,
    "check_classifiers_classes": FIXED["check_classifiers_classes"],
    "check_classifier_not_supporting_multiclass": "asks for an error when y has three classes where two are declared: the third counts as the first, silently",
}


class _Declaring:
    """States the classes of y before fitting, as the author of each check would."""

    def fit(self, X, y):
        stated = [] if y is None else np.unique(np.asarray(y)).tolist()
        self._stated = stated if len(stated) > 1 else [0, 1]
        return super().fit(X, y)

    def _target(self, declaration):
        self.classes_ = _input.declared_classes(self._stated)
        return {"classes": _input.plain(self.classes_)}


class DeclaredLogisticRegression(_Declaring, reticent.LogisticRegression):
    """With the classes of each check."""


class DeclaredLinearSVC(_Declaring, reticent.LinearSVC):
    """With the classes of each check."""


class DeclaredMLPClassifier(_Declaring, reticent.MLPClassifier):
    """With the classes of each check."""


class DeclaredKernelClassifier(_Declaring, reticent.KernelClassifier):
    """With the classes of each check."""


class DeclaredAdditiveClassifier(_Declaring, reticent.AdditiveClassifier):
    """With the classes of each check."""


class StatedEncoder(reticent.DeclaredEncoder):
    """States the columns of each check's X, as its author would: numbers, with bounds that hold."""

    def fit(self, X, y=None):
        shape = X.shape if hasattr(X, "shape") else np.asarray(X).shape
        names = list(getattr(X, "columns", [f"x{i}" for i in range(shape[1] if len(shape) > 1 and shape[1] else 1)]))
        fields = [{"name": str(name), "type": "real", "bounds": {"min": -100.0, "max": 100.0}} for name in names]
        fields.append({"name": "target", "role": "target", "type": "real", "bounds": {"min": 0, "max": 1}})
        self._stated = {"target": "target", "columns": fields}
        return super().fit(X, y)

    def _declaration(self):
        return self._stated, {"intercept": False}


# Budgets at which noise does not decide whether a few hundred rows are learned, and seeds as the
# checks want them.
COMMON = {"epsilon": 1000.0, "feature_norm": 5.0, "random_state": 0, "max_weight": 1.0}
STEPS = {**COMMON, "algorithm": "clipped-sgd"}
BALL = {**STEPS, "settings": {"radius": 5.0, "steps": 100}}
TWO = {"classes": [0, 1]}
ADDITIVE = {"epsilon": 1000.0, "bounds": (-5.0, 5.0), "knots": 4, "random_state": 0, "max_weight": 1.0}
ESTIMATORS = [
    (reticent.LogisticRegression(**COMMON, **TWO), FIXED),
    (DeclaredLogisticRegression(**STEPS, settings={"steps": 200}), CLASSES),
    (reticent.LinearSVC(**BALL, **TWO), TWO_ONLY),
    (DeclaredLinearSVC(**BALL), CLASSES),
    (reticent.MLPClassifier(**STEPS, **TWO, hidden=8, settings={"steps": 20}), FIXED),
    (DeclaredMLPClassifier(**STEPS, hidden=8, settings={"steps": 60, "step_size": 2.0}), CLASSES),
    (reticent.KernelClassifier(**COMMON, **TWO, features=32), FIXED),
    (DeclaredKernelClassifier(**STEPS, features=32, settings={"steps": 200}), CLASSES),
    (reticent.KernelRegressor(**COMMON, label_bound=4.0, features=64), TARGETS),
    (reticent.LinearRegression(**BALL, label_bound=4.0), TARGETS),
    (reticent.Ridge(**BALL, label_bound=4.0, ridge=0.01), TARGETS),
    (reticent.HuberRegressor(**COMMON, label_bound=4.0), TARGETS),
    (reticent.LinearSVR(**BALL, label_bound=4.0), TARGETS),
    (reticent.GeneralizedLinearRegressor(**COMMON, label_bound=4.0), TARGETS),
    (reticent.OrdinalRegressor(**COMMON, label_bound=4.0, shares=[1.0] * 9), LEVELS),
    (reticent.AdditiveClassifier(**ADDITIVE, **TWO), FIXED),
    (DeclaredAdditiveClassifier(**ADDITIVE), CLASSES),
    (reticent.AdditiveRegressor(**ADDITIVE, label_bound=4.0), TARGETS),
    (reticent.BoundedScaler(low=-100.0, high=100.0), CELLS),
    (StatedEncoder(), CELLS),
]
EXPECTED = {type(estimator): failures for estimator, failures in ESTIMATORS}


@parametrize_with_checks(
    [estimator for estimator, _ in ESTIMATORS],
    expected_failed_checks=lambda estimator: EXPECTED[type(estimator)],
)
def test_check(estimator, check):
    check(estimator)
