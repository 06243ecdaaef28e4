"""Networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from reticent import _input
from reticent._base import PrivateClassifier, ProbabilityMixin, Progress


class MLPClassifier(ProbabilityMixin, PrivateClassifier):
    """A private network with one layer of tanh units.

    Trained by clipped noisy steps, which need no convexity. What is promised is privacy; no theorem bounds its risk.

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
    hidden : int, default=256
        Units of the layer.
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
    >>> y = (np.hypot(X[:, 0], X[:, 1]) > 0.4).astype(int)
    >>> from reticent import MLPClassifier
    >>> model = MLPClassifier(epsilon=2.0, feature_norm=1.0, classes=[0, 1], hidden=8, settings={"steps": 20}).fit(X, y)
    >>> model.predict_proba(X[:2]).shape
    (2, 2)
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
        hidden: int = 256,
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
        self.hidden = hidden
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

    def _hidden(self) -> int | None:
        if self.hidden is None:
            raise ValueError("`hidden` must be a whole number >= 1, got None")
        return _input.whole("hidden", self.hidden)
