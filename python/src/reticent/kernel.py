"""Kernel models by random features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from reticent import _input
from reticent._base import PrivateClassifier, PrivateRegressor, ProbabilityMixin, Progress


class KernelMixin:
    """What kernel models add to a task."""

    # A constant column would only shift phases.
    fit_intercept = False

    def _kernel(self) -> dict[str, Any] | None:
        name = str(self.kernel)  # type: ignore[attr-defined]
        shapes = {"matern": ("nu",), "rational-quadratic": ("shape",)}.get(name, ())
        return {
            "kernel": name,
            **{word: _input.number(word, getattr(self, word)) for word in shapes},
            "bandwidth": _input.number("bandwidth", self.bandwidth, optional=True),  # type: ignore[attr-defined]
            "features": _input.whole("features", self.features),  # type: ignore[attr-defined]
            "map": self.map,  # type: ignore[attr-defined]
            "form": self.form,  # type: ignore[attr-defined]
            "map_seed": _input.whole("map_seed", self.map_seed),  # type: ignore[attr-defined]
        }


class KernelClassifier(KernelMixin, ProbabilityMixin, PrivateClassifier):
    """Private kernel logistic regression by random features, for two classes or more.

    Random features of a kernel take the place of the columns. They are bounded whatever the columns hold, so `feature_norm`
    only sets the scale on which rows resemble each other.

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
    kernel : {"gaussian", "laplace", "cauchy", "matern", "rational-quadratic"}, default="gaussian"
        Which kernel is approximated.
    bandwidth : float, default=None
        How far apart rows are that resemble each other; half the bound on a row's norm if not given.
    features : int, default=None
        Number of random features; ``n^0.6 ln(20 n)``, at most 16384, if not given.
    map : {"independent", "orthogonal", "structured", "fastfood"}, default=None
        How the frequencies belong together.
    form : {"paired", "cosine"}, default="paired"
        How a frequency becomes features.
    nu, shape : float
        The smoothness of the matern kernel, and the shape of the rational-quadratic one.
    map_seed : int, default=None
        Draw the frequencies from this seed. It is public, and the noise never comes from it.
    algorithm : str, default="auto"
        One of `reticent.algorithms`; ``auto`` takes the best planned one, without looking at data.
    calibration : {"tight", "paper"}, default="tight"
        The least noise that is proven, or the paper's.
    mu : float, default=None
        Ridge ``(mu/2)|w|^2`` on every weight; chosen without looking at data if not given.
    settings : dict, default=None
        Any further flag of ``reticent fit`` by its name, such as ``{"steps": 100, "radius": 5.0}``.
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
    >>> X = rng.uniform(-0.5, 0.5, size=(5000, 2))
    >>> y = (np.hypot(X[:, 0], X[:, 1]) > 0.4).astype(int)
    >>> from reticent import KernelClassifier
    >>> model = KernelClassifier(epsilon=8.0, feature_norm=0.8, classes=[0, 1], features=64, bandwidth=0.3).fit(X, y)
    >>> fresh = rng.uniform(-0.5, 0.5, size=(1000, 2))  # a score on private rows would be a release of its own
    >>> bool(model.score(fresh, (np.hypot(fresh[:, 0], fresh[:, 1]) > 0.4).astype(int)) > 0.8)
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
        kernel: str = "gaussian",
        bandwidth: float | None = None,
        features: int | None = None,
        map: str | None = None,
        form: str = "paired",
        nu: float = 1.5,
        shape: float = 1.0,
        map_seed: int | None = None,
        algorithm: str = "auto",
        calibration: str = "tight",
        mu: float | None = None,
        settings: Mapping[str, Any] | None = None,
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
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.features = features
        self.map = map
        self.form = form
        self.nu = nu
        self.shape = shape
        self.map_seed = map_seed
        self.algorithm = algorithm
        self.calibration = calibration
        self.mu = mu
        self.settings = settings
        self.rows = rows
        self.ledger = ledger
        self.random_state = random_state
        self.threads = threads
        self.progress = progress

    def _loss(self, classes: int) -> dict[str, Any]:
        return {"name": "logistic"} if classes == 2 else {"name": "softmax", "classes": classes}


class KernelRegressor(KernelMixin, PrivateRegressor):
    """Private kernel regression by random features, with the Huber loss.

    Random features of a kernel take the place of the columns. They are bounded whatever the columns hold, so `feature_norm`
    only sets the scale on which rows resemble each other.

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
    kernel : {"gaussian", "laplace", "cauchy", "matern", "rational-quadratic"}, default="gaussian"
        Which kernel is approximated.
    bandwidth : float, default=None
        How far apart rows are that resemble each other; half the bound on a row's norm if not given.
    features : int, default=None
        Number of random features; ``n^0.6 ln(20 n)``, at most 16384, if not given.
    map : {"independent", "orthogonal", "structured", "fastfood"}, default=None
        How the frequencies belong together.
    form : {"paired", "cosine"}, default="paired"
        How a frequency becomes features.
    nu, shape : float
        The smoothness of the matern kernel, and the shape of the rational-quadratic one.
    map_seed : int, default=None
        Draw the frequencies from this seed. It is public, and the noise never comes from it.
    algorithm : str, default="auto"
        One of `reticent.algorithms`; ``auto`` takes the best planned one, without looking at data.
    calibration : {"tight", "paper"}, default="tight"
        The least noise that is proven, or the paper's.
    mu : float, default=None
        Ridge ``(mu/2)|w|^2`` on every weight; chosen without looking at data if not given.
    settings : dict, default=None
        Any further flag of ``reticent fit`` by its name, such as ``{"steps": 100, "radius": 5.0}``.
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
    >>> X = rng.uniform(-0.5, 0.5, size=(5000, 2))
    >>> y = np.cos(6.0 * X[:, 0])
    >>> from reticent import KernelRegressor
    >>> model = KernelRegressor(epsilon=8.0, feature_norm=0.8, label_bound=1.0, features=64, bandwidth=0.3).fit(X, y)
    >>> model.plan_["problem"]["features"]
    64
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
        kernel: str = "gaussian",
        bandwidth: float | None = None,
        features: int | None = None,
        map: str | None = None,
        form: str = "paired",
        nu: float = 1.5,
        shape: float = 1.0,
        map_seed: int | None = None,
        algorithm: str = "auto",
        calibration: str = "tight",
        mu: float | None = None,
        settings: Mapping[str, Any] | None = None,
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
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.features = features
        self.map = map
        self.form = form
        self.nu = nu
        self.shape = shape
        self.map_seed = map_seed
        self.algorithm = algorithm
        self.calibration = calibration
        self.mu = mu
        self.settings = settings
        self.rows = rows
        self.ledger = ledger
        self.random_state = random_state
        self.threads = threads
        self.progress = progress

    def _loss(self, classes: int) -> dict[str, Any]:
        return {"name": "huber", "threshold": _input.number("threshold", self.threshold)}
