"""The estimators: what must be declared, what is promised, what is never said."""

import importlib.metadata
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline

import reticent
from reticent import _input

RNG = np.random.default_rng(20261116)
X = RNG.uniform(-0.5, 0.5, size=(4000, 4))
SCORE = X @ np.array([2.0, -1.0, 0.5, 0.0])
BINARY = (SCORE > 0).astype(int)
THREE = np.digitize(SCORE, [-0.3, 0.3])
BUDGET = {"epsilon": 2.0, "delta": 1e-6, "feature_norm": 1.0}
BALL = {"algorithm": "clipped-sgd", "settings": {"radius": 5.0}}
CLASSIFIERS = [
    (reticent.LogisticRegression(**BUDGET, classes=[0, 1]), BINARY),
    (reticent.LogisticRegression(**BUDGET, classes=[0, 1, 2]), THREE),
    (reticent.LinearSVC(**BUDGET, **BALL, classes=[0, 1]), BINARY),
    (reticent.MLPClassifier(**BUDGET, classes=[0, 1, 2], hidden=8, settings={"steps": 30}), THREE),
]
REGRESSORS = [
    (reticent.LinearRegression(**BUDGET, **BALL, label_bound=2.0), SCORE),
    (reticent.Ridge(**BUDGET, **BALL, label_bound=2.0), SCORE),
    (reticent.HuberRegressor(**BUDGET, label_bound=2.0), SCORE),
    (reticent.LinearSVR(**BUDGET, **BALL, label_bound=2.0), SCORE),
]
FEATURES = {"features": 64, "bandwidth": 0.5}
KERNELS = [
    (reticent.KernelClassifier(**BUDGET, **FEATURES, classes=[0, 1]), BINARY),
    (reticent.KernelClassifier(**BUDGET, **FEATURES, classes=[0, 1, 2], kernel="matern", map="orthogonal"), THREE),
    (reticent.KernelRegressor(**BUDGET, **FEATURES, label_bound=2.0, form="cosine"), SCORE),
]
LINEAR = CLASSIFIERS + REGRESSORS
ALL = LINEAR + KERNELS


def name(case):
    return type(case[0]).__name__


@pytest.mark.parametrize("case", ALL, ids=name)
def test_a_fit_carries_a_certificate_that_verifies(case):
    estimator, y = clone(case[0]), case[1]
    assert estimator.fit(X, y) is estimator
    certificate = estimator.certificate_
    assert certificate["void"] is None
    assert certificate["budget"] == {"epsilon": 2.0, "delta": 1e-6, "adjacency": "replace-one"}
    assert estimator.plan_ == certificate["plan"]
    assert estimator.plan_["problem"]["rows"] == len(X)
    verification = estimator.verify()
    assert verification["pass"], [c for c in verification["recomputed"] if not c["holds"]]
    assert estimator.predict(X).shape == (len(X),)


@pytest.mark.parametrize("case", CLASSIFIERS[:3] + REGRESSORS[2:3] + KERNELS, ids=name)
def test_something_is_learned(case):
    estimator, y = clone(case[0]).set_params(epsilon=8.0).fit(X, y=case[1]), case[1]
    floor = np.bincount(y).max() / len(y) + 0.1 if y.dtype.kind == "i" else 0.5
    assert estimator.score(X, y) > floor


@pytest.mark.parametrize("case", CLASSIFIERS[:3], ids=name)
def test_weights_give_the_decisions(case):
    estimator = clone(case[0]).fit(X, case[1])
    by_hand = X @ estimator.coef_.T + estimator.intercept_
    np.testing.assert_allclose(estimator.decision_function(X), by_hand.squeeze(), rtol=1e-12, atol=1e-12)
    # Rows beyond the declared norm are clipped to it.
    long = estimator.decision_function(np.array([[30.0, 0.0, 0.0, 0.0]]))
    np.testing.assert_allclose(long, estimator.decision_function(np.eye(4)[:1]), rtol=1e-9)


@pytest.mark.parametrize("bound", [2.0, (-1.0, 3.0)])
def test_weights_give_the_predicted_numbers(bound):
    model = reticent.HuberRegressor(**BUDGET, label_bound=bound).fit(X, SCORE)
    low, high = (-bound, bound) if isinstance(bound, float) else bound
    by_hand = np.clip(X @ model.coef_ + model.intercept_, low, high)
    np.testing.assert_allclose(model.predict(X), by_hand, rtol=1e-9, atol=1e-12)


def test_probabilities_add_up_and_agree_with_the_classes():
    for estimator, y in (CLASSIFIERS[0], CLASSIFIERS[1], CLASSIFIERS[3]):
        model = clone(estimator).fit(X, y)
        probabilities = model.predict_proba(X)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
        assert (model.classes_[probabilities.argmax(axis=1)] == model.predict(X)).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"epsilon": None}, "declare `epsilon`"),
        ({"epsilon": -1.0}, "`epsilon` must be"),
        ({"epsilon": "one"}, "`epsilon` must be a number"),
        ({"delta": 2.0}, "`delta` must satisfy"),
        ({"feature_norm": None}, "declare `feature_norm`"),
        ({"feature_norm": float("nan")}, "declare `feature_norm`"),
        ({"classes": None}, "declare `classes`"),
        ({"classes": [1]}, "at least two"),
        ({"classes": [0, "a"]}, "all numbers, all texts"),
        ({"adjacency": "neighbours"}, "adjacency"),
        ({"adjacency": "add-remove-one"}, "declare `rows`"),
        ({"rows": 5}, "`rows` is for add-remove"),
        ({"algorithm": "magic"}, "unknown algorithm `magic`"),
        ({"calibration": "loose"}, "calibration|settings"),
        ({"settings": {"stepss": 3}}, "stepss"),
        ({"settings": {"mu": 3}}, "parameter of its own"),
        ({"settings": {"ridge": 3}}, "parameter of its own"),
        ({"settings": {"step": 3}}, "unknown setting `step`; expected one of .*, steps"),
        ({"settings": {"steps": 3.5}}, "`steps` must be a whole number"),
        ({"settings": {"noise": "loud"}}, "`noise` must be auto, gaussian, ball, each-step or generalized-gaussian, got loud"),
        ({"algorithm": "objective", "settings": {"clip": 1.0}}, "`clip` is not a setting of objective"),
        ({"ridge": -1.0}, "`ridge` must be"),
        ({"threads": 0}, "`threads` must be"),
        ({"declaration": {"columns": []}}, "exclude each other"),
    ],
)
def test_a_missing_or_bad_declaration_is_a_value_error_that_says_what_to_do(change, words):
    model = clone(CLASSIFIERS[0][0]).set_params(**change)
    with pytest.raises(ValueError, match=words):
        model.fit(X, BINARY)


@pytest.mark.parametrize("bound", [None, 0.0, (1.0, 1.0), "wide", float("inf")])
def test_a_regression_needs_bounds_of_its_target(bound):
    with pytest.raises(ValueError, match="declare `label_bound`"):
        reticent.HuberRegressor(**BUDGET, label_bound=bound).fit(X, SCORE)


def test_nothing_depends_on_what_a_cell_holds():
    """Rows that no declaration admits raise no error, give no warning, and have the weight of one
    row."""
    bad = X.astype(object)
    bad[0], bad[1], bad[2, 0], bad[3] = np.nan, np.inf, "secret", 1e300
    y = BINARY.astype(object)
    y[5], y[6], y[7] = "other", None, 17
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = clone(CLASSIFIERS[0][0]).fit(bad, y)
    assert np.isfinite(model.coef_).all()
    assert model.plan_ == clone(CLASSIFIERS[0][0]).fit(X, BINARY).plan_


def test_no_message_shows_a_value():
    secret = 123.4567
    with pytest.raises(ValueError) as caught:
        clone(CLASSIFIERS[0][0]).fit(np.full(10, secret), np.zeros(10))
    assert str(secret) not in str(caught.value)
    model = clone(CLASSIFIERS[0][0]).fit(X, BINARY)
    with pytest.raises(ValueError) as caught:
        model.predict([secret, secret])
    assert str(secret) not in str(caught.value)


def test_a_seed_repeats_voids_and_warns_each_time():
    seeded = clone(CLASSIFIERS[0][0]).set_params(random_state=7)
    with pytest.warns(reticent.SeedWarning, match="void"):
        first, second = clone(seeded).fit(X, BINARY), clone(seeded).fit(X, BINARY)
    assert (first.coef_ == second.coef_).all()
    assert "seed" in first.certificate_["void"]
    secure = clone(CLASSIFIERS[0][0])
    assert (clone(secure).fit(X, BINARY).coef_ != clone(secure).fit(X, BINARY).coef_).all()


def test_add_remove_needs_no_public_number_of_rows():
    model = reticent.MLPClassifier(
        **BUDGET, classes=[0, 1], hidden=4, adjacency="add-remove-one", rows=4000, settings={"steps": 5}
    )
    plans = [clone(model).fit(X[:n], BINARY[:n]).plan_ for n in (4000, 3999, 1)]
    assert plans[0] == plans[1] == plans[2]
    assert clone(model).fit(X[:0], BINARY[:0]).plan_ == plans[0]


def test_every_fit_with_a_seed_warns():
    # As a user has it: of other warnings only the first from a place is shown.
    script = (
        "import numpy as np, reticent\n"
        "model = reticent.LogisticRegression(epsilon=1.0, feature_norm=1.0, classes=[0, 1], algorithm='output-gd', random_state=1)\n"
        "for _ in range(3): model.fit(np.zeros((20, 1)), np.array([0, 1] * 10))\n"
    )
    run = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert run.stderr.count("SeedWarning: ") == 3


def test_the_package_says_its_version():
    assert reticent.__version__ == importlib.metadata.version("reticent")


@pytest.mark.parametrize("classes", [[0, 1], ["no", "yes"], [False, True], [1.0, 2.0], [-1, 1]])
def test_classes_come_back_as_they_were_declared(classes):
    y = np.array(classes)[BINARY]
    model = reticent.LogisticRegression(**BUDGET, classes=classes).fit(X, y)
    assert model.classes_.tolist() == sorted(classes)
    assert model.predict(X).dtype == np.array(classes).dtype
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize(
    ("classes", "y"),
    [
        (["no", "yes"], np.array([0, 1])),
        (["no", "yes"], np.array([0.0, 1.0])),
        (["no", "yes"], np.array([False, True])),
        (["2026", "2027"], np.array(["2026-01-01", "2027-01-01"], dtype="datetime64[D]")),
        ([0.25, 0.75], np.array([0, 1])),
        ([2, 3], np.array([False, True])),
    ],
)
def test_targets_of_a_type_that_no_class_has_are_refused(classes, y):
    model = reticent.LogisticRegression(**BUDGET, classes=classes)
    with pytest.raises(ValueError, match="can name none of the declared classes"):
        model.fit(X, y[BINARY])
    assert not hasattr(model, "certificate_")
    # A list has no type of its own, and what it holds is private.
    model.fit(X, y[BINARY].tolist())


@pytest.mark.parametrize(
    ("classes", "y"),
    [
        (["0", "1"], np.array([0, 1])),
        (["0", "yes"], np.array([0, 1])),
        (["false", "true"], np.array([False, True])),
        ([0, 1], np.array([False, True])),
        ([0, 1], np.array(["0", "1"])),
        ([False, True], np.array([0.0, 1.0])),
    ],
)
def test_targets_of_a_type_that_some_class_has_are_read(classes, y):
    model = reticent.LogisticRegression(**BUDGET, classes=classes).fit(X, y[BINARY])
    assert len(set(model.predict(X).tolist())) == (1 if "yes" in classes else 2)


def test_moments_are_no_numbers():
    y = np.array(["2026-01-01"] * len(X), dtype="datetime64[D]")
    with pytest.raises(ValueError, match="y must hold numbers, got datetime64"):
        reticent.LinearRegression(**BUDGET, label_bound=1.0).fit(X, y)


@pytest.mark.parametrize("kind", [np.float64, np.float32, "fortran", "list", "int", "csr", "csc", "csr_array"])
def test_every_kind_of_matrix_gives_the_same_model(kind):
    base = X.round(1) if kind != "int" else np.sign(X)
    given = {
        "fortran": np.asfortranarray,
        "list": lambda x: x.tolist(),
        "int": lambda x: x.astype(int),
        "csr": sparse.csr_matrix,
        "csc": sparse.csc_matrix,
        "csr_array": sparse.csr_array,
    }.get(kind, lambda x: x.astype(kind))(base)
    seeded = clone(CLASSIFIERS[0][0]).set_params(random_state=3, feature_norm=2.0)
    with pytest.warns(reticent.SeedWarning):
        model = clone(seeded).fit(given, BINARY)
        reference = clone(seeded).fit(base, BINARY)
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=1e-4 if kind is np.float32 else 1e-12)
    np.testing.assert_allclose(model.decision_function(given), reference.decision_function(base), rtol=1e-3, atol=1e-5)


def test_a_dense_array_in_order_is_passed_on_without_a_copy():
    for kind in (np.float32, np.float64):
        array = np.ascontiguousarray(X, dtype=kind)
        table, rows, columns, precision = _input.read_matrix(reticent.LogisticRegression(), array, reset=True)
        assert table is array
        assert (rows, columns, precision) == (4000, 4, "f32" if kind is np.float32 else "f64")


@pytest.mark.parametrize("case", ALL, ids=name)
def test_pickles_and_files_keep_the_model(case, tmp_path):
    model = clone(case[0]).fit(X, case[1])
    model.save(tmp_path / "model.json")
    for copy in (pickle.loads(pickle.dumps(model)), reticent.load(tmp_path / "model.json")):
        assert (copy.predict(X) == model.predict(X)).all()
        assert copy.certificate_ == model.certificate_
        assert copy.n_features_in_ == 4
    assert isinstance(copy, type(model)) or type(model) is reticent.Ridge
    assert clone(copy).fit(X, case[1]).certificate_["budget"] == model.certificate_["budget"]


def test_a_pipeline_and_a_grid_search():
    scaler = reticent.BoundedScaler(low=-0.5, high=0.5, symmetric=True)
    model = reticent.LogisticRegression(epsilon=4.0, feature_norm=2.0, classes=[0, 1])
    search = GridSearchCV(make_pipeline(scaler, model), {"logisticregression__ridge": [1e-3, 1.0]}, cv=KFold(2))
    search.fit(X, BINARY)
    assert search.best_params_["logisticregression__ridge"] == 1e-3
    assert search.score(X, BINARY) > 0.8


def test_the_report_repeats_the_statement():
    model = clone(CLASSIFIERS[0][0]).fit(X, BINARY)
    assert model.certificate_["statement"] in model.report()


def test_unfitted_estimators_say_so():
    from sklearn.exceptions import NotFittedError

    for call in ("verify", "report", "to_onnx"):
        with pytest.raises(NotFittedError):
            getattr(reticent.LogisticRegression(), call)()


SETS = [
    {"set": "l1", "radius": 0.5},
    {"set": "lp", "p": 1.5, "radius": 0.5},
    {"set": "simplex", "radius": 1.0},
    {"set": "box", "low": -0.2, "high": 0.3},
    {"set": "box", "low": [-0.2, 0.0, -1.0], "high": [0.3, 0.0, 1.0]},
    {"set": "group", "radius": 0.5, "groups": [2, 1]},
    {"set": "group", "radius": 0.5, "groups": [2, 1], "group_weights": [1.0, 2.0]},
    {"set": "product", "radius": 0.3, "groups": [2, 1]},
]


@pytest.mark.parametrize("chosen", SETS, ids=lambda chosen: "-".join(str(v) for v in chosen.values()))
def test_weights_stay_in_the_set_that_was_named_and_the_file_remembers_it(chosen, tmp_path):
    X = np.random.default_rng(0).normal(size=(200, 2))
    y = (X[:, 0] > 0).astype(int)
    settings = {**chosen, "steps": 10}
    model = reticent.LogisticRegression(
        epsilon=5.0, feature_norm=3.0, classes=[0, 1], algorithm="clipped-sgd", settings=settings
    ).fit(X, y)
    w = np.append(model.coef_.ravel(), model.intercept_)
    radius, kind = chosen.get("radius"), chosen["set"]
    if kind == "l1":
        size = np.abs(w).sum()
    elif kind == "lp":
        size = np.linalg.norm(w, 1.5)
    elif kind == "simplex":
        assert (w >= 0).all()
        size = w.sum()
    elif kind == "box":
        low, high = np.broadcast_to(chosen["low"], 3), np.broadcast_to(chosen["high"], 3)
        assert (w >= low).all() and (w <= high).all()
        size = radius = 0.0
    else:
        norms = np.array([np.linalg.norm(w[:2]), abs(w[2])])
        size = norms.max() if kind == "product" else norms @ np.array(chosen.get("group_weights", [1.0, 1.0]))
    assert size <= radius + 1e-9
    assert model.plan_["problem"]["domain"]["set"] == kind
    path = tmp_path / "model.json"
    model.save(path)
    again = reticent.load(path).settings
    assert again["set"] == kind
    for word, value in chosen.items():
        want = np.broadcast_to(value, 3).tolist() if word in ("low", "high") else value
        assert again[word] == want


def test_a_number_that_the_set_does_not_have_is_refused():
    X, y = np.eye(2).repeat(5, axis=0), np.array([0, 1]).repeat(5)
    for settings in ({"set": "ball", "radius": 1.0, "low": 0.0}, {"set": "box", "low": 0.0, "high": 1.0, "radius": 1.0}):
        with pytest.raises(ValueError, match="low|radius"):
            reticent.LogisticRegression(epsilon=1.0, feature_norm=1.0, classes=[0, 1], settings=settings).fit(X, y)
