"""Linear models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from reticent import _input
from reticent._base import (
    LinearMixin,
    PrivateClassifier,
    PrivateRegressor,
    ProbabilityMixin,
    Progress,
)


class LogisticRegression(LinearMixin, ProbabilityMixin, PrivateClassifier):
    """Private logistic regression, for two classes or more.

    Minimises the average cross-entropy plus ``(mu/2)|w|^2``. Unlike scikit-learn's, the intercept is part of the row and
    shares the ridge.

    Parameters
    ----------
    epsilon : float
        The allowed privacy loss, > 0. ``inf`` promises nothing and adds no noise.
    delta : float, default=None
        The additive slack of the guarantee; 0 for pure differential privacy. ``min(1e-6, 1/(10 n))`` if not given.
    adjacency : {"replace-one", "add-remove-one", "zero-out"}, default="replace-one"
        Which two tables must be hard to tell apart.
    feature_norm : float
        A bound on the Euclidean norm of every row of X, known without the data. Longer rows are clipped to it.
    classes : list
        All classes, known without the data: numbers, texts or truth values.
    declaration : dict or path, default=None
        A whole schema in place of `feature_norm` and of the target's declaration: X is then a table with the declared columns.
    algorithm : str, default="auto"
        One of `reticent.algorithms`; ``auto`` takes the best planned one, without looking at data.
    calibration : {"tight", "paper"}, default="tight"
        The least noise that is proven, or the paper's.
    mu : float, default=None
        Ridge ``(mu/2)|w|^2`` on every weight, the intercept among them; chosen without looking at data if not given.
    settings : dict, default=None
        Any further flag of ``reticent fit`` by its name, such as ``{"steps": 100, "radius": 5.0}``.
    fit_intercept : bool, default=True
        Whether a constant 1 is part of every row.
    rows : int, default=None
        The declared number of rows under add-remove adjacency, where the true number is private.
    ledger : path, default=None
        A ledger file that every fit is charged to, before a row is read; what does not fit raises `OverBudget`. In a
        cross-validation the sum of the charges holds only for splits chosen without y, such as those of ``KFold``.
    random_state : int, RandomState or None, default=None
        A seed makes the noise repeatable, voids the certificate, and is warned of once. For tests.
    threads : int, default=None
        Threads to use; the model is the same for any number.
    progress : bool or callable, default=False
        Show a tqdm bar of steps, or call with (done, total).

    Attributes
    ----------
    classes_ : ndarray
        The declared classes, sorted.
    coef_ : ndarray
        Weights of the features of rows within `feature_norm`.
    intercept_ : ndarray
        The constant.
    certificate_ : dict
        What was done, what it costs, and what that rests on.
    plan_ : dict
        Every choice, made before the data was opened.
    n_features_in_ : int
        Columns of X.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(5000, 3))
    >>> y = (X @ [2.0, -1.0, 0.5] > 0).astype(int)
    >>> from reticent import LogisticRegression
    >>> model = LogisticRegression(epsilon=1.0, delta=1e-6, feature_norm=1.0, classes=[0, 1]).fit(X, y)
    >>> print(model.certificate_["statement"])
    This model is (epsilon, delta)-differentially private with epsilon = 1 and delta = 1e-6 under replace-one adjacency of rows.
    >>> fresh = rng.uniform(-0.5, 0.5, size=(1000, 3))  # a score on private rows would be a release of its own
    >>> bool(model.score(fresh, (fresh @ [2.0, -1.0, 0.5] > 0).astype(int)) > 0.8)
    True
    """

    def __init__(
        self,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        adjacency: str = "replace-one",
        feature_norm: float | None = None,
        classes: Sequence[Any] | None = None,
        declaration: Mapping[str, Any] | str | PathLike[str] | None = None,
        algorithm: str = "auto",
        calibration: str = "tight",
        mu: float | None = None,
        settings: Mapping[str, Any] | None = None,
        fit_intercept: bool = True,
        rows: int | None = None,
        ledger: str | PathLike[str] | None = None,
        random_state: Any = None,
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.adjacency = adjacency
        self.feature_norm = feature_norm
        self.classes = classes
        self.declaration = declaration
        self.algorithm = algorithm
        self.calibration = calibration
        self.mu = mu
        self.settings = settings
        self.fit_intercept = fit_intercept
        self.rows = rows
        self.ledger = ledger
        self.random_state = random_state
        self.threads = threads
        self.progress = progress

    def _loss(self, classes: int) -> dict[str, Any]:
        return {"name": "logistic"} if classes == 2 else {"name": "softmax", "classes": classes}


class LinearSVC(LinearMixin, PrivateClassifier):
    """Private linear support vector machine, for two classes.

    Minimises the average of ``max(0, 1 - y<w, x>)^q`` plus ``(mu/2)|w|^2``. For ``q > 1`` the gradient is unbounded: give
    ``settings={"radius": ...}`` or ``{"slope_limit": ...}``.

    Parameters
    ----------
    epsilon : float
        The allowed privacy loss, > 0. ``inf`` promises nothing and adds no noise.
    delta : float, default=None
        The additive slack of the guarantee; 0 for pure differential privacy. ``min(1e-6, 1/(10 n))`` if not given.
    adjacency : {"replace-one", "add-remove-one", "zero-out"}, default="replace-one"
        Which two tables must be hard to tell apart.
    feature_norm : float
        A bound on the Euclidean norm of every row of X, known without the data. Longer rows are clipped to it.
    classes : list
        All classes, known without the data: numbers, texts or truth values.
    declaration : dict or path, default=None
        A whole schema in place of `feature_norm` and of the target's declaration: X is then a table with the declared columns.
    q : float, default=1.0
        The exponent, between 1 and 2.
    algorithm : str, default="auto"
        One of `reticent.algorithms`; ``auto`` takes the best planned one, without looking at data.
    calibration : {"tight", "paper"}, default="tight"
        The least noise that is proven, or the paper's.
    mu : float, default=None
        Ridge ``(mu/2)|w|^2`` on every weight, the intercept among them; chosen without looking at data if not given.
    settings : dict, default=None
        Any further flag of ``reticent fit`` by its name, such as ``{"steps": 100, "radius": 5.0}``.
    fit_intercept : bool, default=True
        Whether a constant 1 is part of every row.
    rows : int, default=None
        The declared number of rows under add-remove adjacency, where the true number is private.
    ledger : path, default=None
        A ledger file that every fit is charged to, before a row is read; what does not fit raises `OverBudget`. In a
        cross-validation the sum of the charges holds only for splits chosen without y, such as those of ``KFold``.
    random_state : int, RandomState or None, default=None
        A seed makes the noise repeatable, voids the certificate, and is warned of once. For tests.
    threads : int, default=None
        Threads to use; the model is the same for any number.
    progress : bool or callable, default=False
        Show a tqdm bar of steps, or call with (done, total).

    Attributes
    ----------
    classes_ : ndarray
        The declared classes, sorted.
    coef_ : ndarray
        Weights of the features of rows within `feature_norm`.
    intercept_ : ndarray
        The constant.
    certificate_ : dict
        What was done, what it costs, and what that rests on.
    plan_ : dict
        Every choice, made before the data was opened.
    n_features_in_ : int
        Columns of X.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(5000, 3))
    >>> y = np.where(X @ [2.0, -1.0, 0.5] > 0, "yes", "no")
    >>> from reticent import LinearSVC
    >>> model = LinearSVC(epsilon=2.0, feature_norm=1.0, classes=["no", "yes"], settings={"radius": 10.0}).fit(X, y)
    >>> model.classes_.tolist()
    ['no', 'yes']
    """

    def __init__(
        self,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        adjacency: str = "replace-one",
        feature_norm: float | None = None,
        classes: Sequence[Any] | None = None,
        declaration: Mapping[str, Any] | str | PathLike[str] | None = None,
        q: float = 1.0,
        algorithm: str = "auto",
        calibration: str = "tight",
        mu: float | None = None,
        settings: Mapping[str, Any] | None = None,
        fit_intercept: bool = True,
        rows: int | None = None,
        ledger: str | PathLike[str] | None = None,
        random_state: Any = None,
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.adjacency = adjacency
        self.feature_norm = feature_norm
        self.classes = classes
        self.declaration = declaration
        self.q = q
        self.algorithm = algorithm
        self.calibration = calibration
        self.mu = mu
        self.settings = settings
        self.fit_intercept = fit_intercept
        self.rows = rows
        self.ledger = ledger
        self.random_state = random_state
        self.threads = threads
        self.progress = progress

    def _loss(self, classes: int) -> dict[str, Any]:
        if classes != 2:
            raise ValueError(
                f"Only binary classification is supported: LinearSVC needs two `classes`, got {classes}; LogisticRegression "
                "takes more"
            )
        return {"name": "hinge", "q": _input.number("q", self.q)}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class LinearRegression(LinearMixin, PrivateRegressor):
    """Private least squares.

    Minimises the average of half the squared residual. Residuals of a linear model are unbounded, so an algorithm may ask for
    ``settings={"radius": ...}`` or ``{"slope_limit": ...}``, on the scale of targets in [-1, 1].

    Parameters
    ----------
    epsilon : float
        The allowed privacy loss, > 0. ``inf`` promises nothing and adds no noise.
    delta : float, default=None
        The additive slack of the guarantee; 0 for pure differential privacy. ``min(1e-6, 1/(10 n))`` if not given.
    adjacency : {"replace-one", "add-remove-one", "zero-out"}, default="replace-one"
        Which two tables must be hard to tell apart.
    feature_norm : float
        A bound on the Euclidean norm of every row of X, known without the data. Longer rows are clipped to it.
    label_bound : float or pair of floats
        A bound on every ``|y|``, or (low, high), known without the data. Targets beyond are clamped.
    declaration : dict or path, default=None
        A whole schema in place of `feature_norm` and of the target's declaration: X is then a table with the declared columns.
    algorithm : str, default="auto"
        One of `reticent.algorithms`; ``auto`` takes the best planned one, without looking at data.
    calibration : {"tight", "paper"}, default="tight"
        The least noise that is proven, or the paper's.
    mu : float, default=None
        Ridge ``(mu/2)|w|^2`` on every weight, the intercept among them; chosen without looking at data if not given.
    settings : dict, default=None
        Any further flag of ``reticent fit`` by its name, such as ``{"steps": 100, "radius": 5.0}``.
    fit_intercept : bool, default=True
        Whether a constant 1 is part of every row.
    rows : int, default=None
        The declared number of rows under add-remove adjacency, where the true number is private.
    ledger : path, default=None
        A ledger file that every fit is charged to, before a row is read; what does not fit raises `OverBudget`. In a
        cross-validation the sum of the charges holds only for splits chosen without y, such as those of ``KFold``.
    random_state : int, RandomState or None, default=None
        A seed makes the noise repeatable, voids the certificate, and is warned of once. For tests.
    threads : int, default=None
        Threads to use; the model is the same for any number.
    progress : bool or callable, default=False
        Show a tqdm bar of steps, or call with (done, total).

    Attributes
    ----------
    coef_ : ndarray
        Weights of the features of rows within `feature_norm`.
    intercept_ : float
        The constant.
    certificate_ : dict
        What was done, what it costs, and what that rests on.
    plan_ : dict
        Every choice, made before the data was opened.
    n_features_in_ : int
        Columns of X.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(5000, 3))
    >>> y = X @ [2.0, -1.0, 0.5]
    >>> from reticent import LinearRegression
    >>> model = LinearRegression(epsilon=2.0, feature_norm=1.0, label_bound=2.0, settings={"radius": 3.0}).fit(X, y)
    >>> model.coef_.shape
    (3,)
    """

    def __init__(
        self,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        adjacency: str = "replace-one",
        feature_norm: float | None = None,
        label_bound: float | tuple[float, float] | None = None,
        declaration: Mapping[str, Any] | str | PathLike[str] | None = None,
        algorithm: str = "auto",
        calibration: str = "tight",
        mu: float | None = None,
        settings: Mapping[str, Any] | None = None,
        fit_intercept: bool = True,
        rows: int | None = None,
        ledger: str | PathLike[str] | None = None,
        random_state: Any = None,
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.adjacency = adjacency
        self.feature_norm = feature_norm
        self.label_bound = label_bound
        self.declaration = declaration
        self.algorithm = algorithm
        self.calibration = calibration
        self.mu = mu
        self.settings = settings
        self.fit_intercept = fit_intercept
        self.rows = rows
        self.ledger = ledger
        self.random_state = random_state
        self.threads = threads
        self.progress = progress

    def _loss(self, classes: int) -> dict[str, Any]:
        return {"name": "squared"}


class Ridge(LinearMixin, PrivateRegressor):
    """Private least squares with a declared ridge.

    Minimises the average of half the squared residual plus ``(mu/2)|w|^2``. Residuals of a linear model are unbounded, so an algorithm may ask for
    ``settings={"radius": ...}`` or ``{"slope_limit": ...}``, on the scale of targets in [-1, 1].

    Parameters
    ----------
    epsilon : float
        The allowed privacy loss, > 0. ``inf`` promises nothing and adds no noise.
    delta : float, default=None
        The additive slack of the guarantee; 0 for pure differential privacy. ``min(1e-6, 1/(10 n))`` if not given.
    adjacency : {"replace-one", "add-remove-one", "zero-out"}, default="replace-one"
        Which two tables must be hard to tell apart.
    feature_norm : float
        A bound on the Euclidean norm of every row of X, known without the data. Longer rows are clipped to it.
    label_bound : float or pair of floats
        A bound on every ``|y|``, or (low, high), known without the data. Targets beyond are clamped.
    declaration : dict or path, default=None
        A whole schema in place of `feature_norm` and of the target's declaration: X is then a table with the declared columns.
    algorithm : str, default="auto"
        One of `reticent.algorithms`; ``auto`` takes the best planned one, without looking at data.
    calibration : {"tight", "paper"}, default="tight"
        The least noise that is proven, or the paper's.
    mu : float, default=0.1
        Ridge ``(mu/2)|w|^2`` on every weight, the intercept among them.
    settings : dict, default=None
        Any further flag of ``reticent fit`` by its name, such as ``{"steps": 100, "radius": 5.0}``.
    fit_intercept : bool, default=True
        Whether a constant 1 is part of every row.
    rows : int, default=None
        The declared number of rows under add-remove adjacency, where the true number is private.
    ledger : path, default=None
        A ledger file that every fit is charged to, before a row is read; what does not fit raises `OverBudget`. In a
        cross-validation the sum of the charges holds only for splits chosen without y, such as those of ``KFold``.
    random_state : int, RandomState or None, default=None
        A seed makes the noise repeatable, voids the certificate, and is warned of once. For tests.
    threads : int, default=None
        Threads to use; the model is the same for any number.
    progress : bool or callable, default=False
        Show a tqdm bar of steps, or call with (done, total).

    Attributes
    ----------
    coef_ : ndarray
        Weights of the features of rows within `feature_norm`.
    intercept_ : float
        The constant.
    certificate_ : dict
        What was done, what it costs, and what that rests on.
    plan_ : dict
        Every choice, made before the data was opened.
    n_features_in_ : int
        Columns of X.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(5000, 3))
    >>> y = X @ [2.0, -1.0, 0.5]
    >>> from reticent import Ridge
    >>> model = Ridge(epsilon=2.0, mu=0.1, feature_norm=1.0, label_bound=2.0, settings={"radius": 3.0}).fit(X, y)
    >>> model.coef_.shape
    (3,)
    """

    def __init__(
        self,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        adjacency: str = "replace-one",
        feature_norm: float | None = None,
        label_bound: float | tuple[float, float] | None = None,
        declaration: Mapping[str, Any] | str | PathLike[str] | None = None,
        algorithm: str = "auto",
        calibration: str = "tight",
        mu: float = 0.1,
        settings: Mapping[str, Any] | None = None,
        fit_intercept: bool = True,
        rows: int | None = None,
        ledger: str | PathLike[str] | None = None,
        random_state: Any = None,
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.adjacency = adjacency
        self.feature_norm = feature_norm
        self.label_bound = label_bound
        self.declaration = declaration
        self.algorithm = algorithm
        self.calibration = calibration
        self.mu = mu
        self.settings = settings
        self.fit_intercept = fit_intercept
        self.rows = rows
        self.ledger = ledger
        self.random_state = random_state
        self.threads = threads
        self.progress = progress

    def _loss(self, classes: int) -> dict[str, Any]:
        return {"name": "squared"}


class HuberRegressor(LinearMixin, PrivateRegressor):
    """Private regression that far-off rows cannot pull far.

    Minimises the average of a loss that is squared near zero and linear beyond `threshold`, so every gradient is bounded.

    Parameters
    ----------
    epsilon : float
        The allowed privacy loss, > 0. ``inf`` promises nothing and adds no noise.
    delta : float, default=None
        The additive slack of the guarantee; 0 for pure differential privacy. ``min(1e-6, 1/(10 n))`` if not given.
    adjacency : {"replace-one", "add-remove-one", "zero-out"}, default="replace-one"
        Which two tables must be hard to tell apart.
    feature_norm : float
        A bound on the Euclidean norm of every row of X, known without the data. Longer rows are clipped to it.
    label_bound : float or pair of floats
        A bound on every ``|y|``, or (low, high), known without the data. Targets beyond are clamped.
    declaration : dict or path, default=None
        A whole schema in place of `feature_norm` and of the target's declaration: X is then a table with the declared columns.
    threshold : float, default=0.5
        Where the loss turns linear, on the scale of targets in [-1, 1].
    algorithm : str, default="auto"
        One of `reticent.algorithms`; ``auto`` takes the best planned one, without looking at data.
    calibration : {"tight", "paper"}, default="tight"
        The least noise that is proven, or the paper's.
    mu : float, default=None
        Ridge ``(mu/2)|w|^2`` on every weight, the intercept among them; chosen without looking at data if not given.
    settings : dict, default=None
        Any further flag of ``reticent fit`` by its name, such as ``{"steps": 100, "radius": 5.0}``.
    fit_intercept : bool, default=True
        Whether a constant 1 is part of every row.
    rows : int, default=None
        The declared number of rows under add-remove adjacency, where the true number is private.
    ledger : path, default=None
        A ledger file that every fit is charged to, before a row is read; what does not fit raises `OverBudget`. In a
        cross-validation the sum of the charges holds only for splits chosen without y, such as those of ``KFold``.
    random_state : int, RandomState or None, default=None
        A seed makes the noise repeatable, voids the certificate, and is warned of once. For tests.
    threads : int, default=None
        Threads to use; the model is the same for any number.
    progress : bool or callable, default=False
        Show a tqdm bar of steps, or call with (done, total).

    Attributes
    ----------
    coef_ : ndarray
        Weights of the features of rows within `feature_norm`.
    intercept_ : float
        The constant.
    certificate_ : dict
        What was done, what it costs, and what that rests on.
    plan_ : dict
        Every choice, made before the data was opened.
    n_features_in_ : int
        Columns of X.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(5000, 3))
    >>> y = X @ [2.0, -1.0, 0.5]
    >>> from reticent import HuberRegressor
    >>> model = HuberRegressor(epsilon=2.0, feature_norm=1.0, label_bound=2.0).fit(X, y)
    >>> bool(np.abs(model.predict(X)).max() <= 2.0)
    True
    """

    def __init__(
        self,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        adjacency: str = "replace-one",
        feature_norm: float | None = None,
        label_bound: float | tuple[float, float] | None = None,
        declaration: Mapping[str, Any] | str | PathLike[str] | None = None,
        threshold: float = 0.5,
        algorithm: str = "auto",
        calibration: str = "tight",
        mu: float | None = None,
        settings: Mapping[str, Any] | None = None,
        fit_intercept: bool = True,
        rows: int | None = None,
        ledger: str | PathLike[str] | None = None,
        random_state: Any = None,
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.adjacency = adjacency
        self.feature_norm = feature_norm
        self.label_bound = label_bound
        self.declaration = declaration
        self.threshold = threshold
        self.algorithm = algorithm
        self.calibration = calibration
        self.mu = mu
        self.settings = settings
        self.fit_intercept = fit_intercept
        self.rows = rows
        self.ledger = ledger
        self.random_state = random_state
        self.threads = threads
        self.progress = progress

    def _loss(self, classes: int) -> dict[str, Any]:
        return {"name": "huber", "threshold": _input.number("threshold", self.threshold)}


class LinearSVR(LinearMixin, PrivateRegressor):
    """Private regression by absolute residuals.

    Minimises the average of ``|<w, x> - y|^q``; with ``q = 1``, the default, that is the median rather than the mean.

    Parameters
    ----------
    epsilon : float
        The allowed privacy loss, > 0. ``inf`` promises nothing and adds no noise.
    delta : float, default=None
        The additive slack of the guarantee; 0 for pure differential privacy. ``min(1e-6, 1/(10 n))`` if not given.
    adjacency : {"replace-one", "add-remove-one", "zero-out"}, default="replace-one"
        Which two tables must be hard to tell apart.
    feature_norm : float
        A bound on the Euclidean norm of every row of X, known without the data. Longer rows are clipped to it.
    label_bound : float or pair of floats
        A bound on every ``|y|``, or (low, high), known without the data. Targets beyond are clamped.
    declaration : dict or path, default=None
        A whole schema in place of `feature_norm` and of the target's declaration: X is then a table with the declared columns.
    q : float, default=1.0
        The exponent, between 1 and 2.
    algorithm : str, default="auto"
        One of `reticent.algorithms`; ``auto`` takes the best planned one, without looking at data.
    calibration : {"tight", "paper"}, default="tight"
        The least noise that is proven, or the paper's.
    mu : float, default=None
        Ridge ``(mu/2)|w|^2`` on every weight, the intercept among them; chosen without looking at data if not given.
    settings : dict, default=None
        Any further flag of ``reticent fit`` by its name, such as ``{"steps": 100, "radius": 5.0}``.
    fit_intercept : bool, default=True
        Whether a constant 1 is part of every row.
    rows : int, default=None
        The declared number of rows under add-remove adjacency, where the true number is private.
    ledger : path, default=None
        A ledger file that every fit is charged to, before a row is read; what does not fit raises `OverBudget`. In a
        cross-validation the sum of the charges holds only for splits chosen without y, such as those of ``KFold``.
    random_state : int, RandomState or None, default=None
        A seed makes the noise repeatable, voids the certificate, and is warned of once. For tests.
    threads : int, default=None
        Threads to use; the model is the same for any number.
    progress : bool or callable, default=False
        Show a tqdm bar of steps, or call with (done, total).

    Attributes
    ----------
    coef_ : ndarray
        Weights of the features of rows within `feature_norm`.
    intercept_ : float
        The constant.
    certificate_ : dict
        What was done, what it costs, and what that rests on.
    plan_ : dict
        Every choice, made before the data was opened.
    n_features_in_ : int
        Columns of X.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(5000, 3))
    >>> y = X @ [2.0, -1.0, 0.5]
    >>> from reticent import LinearSVR
    >>> model = LinearSVR(epsilon=2.0, feature_norm=1.0, label_bound=2.0, settings={"radius": 3.0}).fit(X, y)
    >>> model.plan_["algorithm"] in {a["name"] for a in __import__("reticent").algorithms()}
    True
    """

    def __init__(
        self,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        adjacency: str = "replace-one",
        feature_norm: float | None = None,
        label_bound: float | tuple[float, float] | None = None,
        declaration: Mapping[str, Any] | str | PathLike[str] | None = None,
        q: float = 1.0,
        algorithm: str = "auto",
        calibration: str = "tight",
        mu: float | None = None,
        settings: Mapping[str, Any] | None = None,
        fit_intercept: bool = True,
        rows: int | None = None,
        ledger: str | PathLike[str] | None = None,
        random_state: Any = None,
        threads: int | None = None,
        progress: Progress = False,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.adjacency = adjacency
        self.feature_norm = feature_norm
        self.label_bound = label_bound
        self.declaration = declaration
        self.q = q
        self.algorithm = algorithm
        self.calibration = calibration
        self.mu = mu
        self.settings = settings
        self.fit_intercept = fit_intercept
        self.rows = rows
        self.ledger = ledger
        self.random_state = random_state
        self.threads = threads
        self.progress = progress

    def _loss(self, classes: int) -> dict[str, Any]:
        return {"name": "power", "q": _input.number("q", self.q)}
