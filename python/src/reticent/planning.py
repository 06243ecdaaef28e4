"""Planning and auditing: all of it without data."""

from __future__ import annotations

import io
from typing import Any

from reticent import _reticent
from reticent._progress import shown


def _given(
    n: int,
    d: int,
    loss: str,
    epsilon: float,
    delta: float | None,
    adjacency: str,
    feature_norm: float,
    label_bound: float,
    classes: int,
    q: float | None,
    threshold: float | None,
    hidden: int | None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    problem = {
        "n": int(n),
        "d": int(d),
        "loss": {"name": loss, "classes": classes, "q": q, "threshold": threshold},
        "feature_norm": float(feature_norm),
        "label_bound": float(label_bound),
        "hidden": hidden,
    }
    return problem, {"epsilon": float(epsilon), "delta": delta, "adjacency": adjacency}


def plan(
    *,
    n: int,
    d: int,
    epsilon: float,
    loss: str = "logistic",
    delta: float | None = None,
    adjacency: str = "replace-one",
    feature_norm: float = 1.0,
    label_bound: float = 1.0,
    classes: int = 3,
    q: float | None = None,
    threshold: float | None = None,
    hidden: int | None = None,
    **settings: Any,
) -> Any:
    """Rank the algorithms for a problem, without any data.

    Parameters
    ----------
    n, d : int
        Rows, and features with the intercept among them.
    epsilon : float
        The allowed privacy loss.
    loss : str, default="logistic"
        The name of a loss: see `reticent.losses`.
    delta, adjacency, feature_norm, label_bound
        As of the estimators.
    classes : int, default=3
        Classes of softmax and one-hot.
    q : float, default=None
        The exponent of hinge (1 if not given) and power (2).
    threshold : float, default=None
        The threshold of a loss that has one; its own default if not given.
    hidden : int, default=None
        Units of a hidden layer.
    **settings
        Any further flag of ``reticent plan`` by its name.

    Returns
    -------
    pandas.DataFrame
        One row for each algorithm, the best first: ``algorithm``; ``kept``, the part of what could be learned without privacy
        that its runs on made-up tables kept; ``predicted_excess``, the bound of its theorem; ``noise_deviation`` and
        ``noise_place``, how much noise and in which numbers; ``steps``, ``mu``, ``seconds``, ``bytes``, ``assumptions`` and
        ``remarks``. Its ``attrs`` say what to expect of the first (``outlook``) and where its budget goes (``split``).

    Examples
    --------
    >>> import reticent
    >>> ranking = reticent.plan(n=30_000, d=106, epsilon=4.0, delta=1e-6)
    >>> ranking["algorithm"].iloc[0]
    'clipped-sgd'
    """
    import pandas as pd

    problem, budget = _given(
        n, d, loss, epsilon, delta, adjacency, feature_norm, label_bound, classes, q, threshold, hidden
    )
    found = _reticent.rank(problem, budget, settings)
    names = ["algorithm", "kept", "predicted_excess", "noise_deviation", "noise_place", "steps", "mu", "seconds", "bytes"]
    table = pd.DataFrame.from_records(found["ranking"], columns=[*names, "assumptions", "remarks"])
    numbers = dict.fromkeys(("kept", "predicted_excess", "noise_deviation", "mu", "seconds", "bytes"), float)
    table = table.astype({"steps": "Int64", **numbers})
    table.attrs.update(outlook=found["outlook"], split=found["split"])
    return table


def audit(
    *,
    algorithm: str,
    n: int,
    d: int,
    epsilon: float,
    loss: str = "logistic",
    delta: float | None = None,
    adjacency: str = "replace-one",
    feature_norm: float = 1.0,
    label_bound: float = 1.0,
    classes: int = 3,
    q: float | None = None,
    threshold: float | None = None,
    hidden: int | None = None,
    runs: int = 10_000,
    canaries: int | None = None,
    confidence: float = 0.95,
    seed: int | None = None,
    progress: bool = False,
    **settings: Any,
) -> dict[str, Any]:
    """Attack an algorithm as implemented: an empirical lower bound on epsilon.

    It can refute a claim and never prove one. The tables are made up, so nobody is exposed.

    Parameters
    ----------
    algorithm : str
        One of `algorithms`.
    n, d, epsilon, loss, delta, adjacency, feature_norm, label_bound, classes, q, threshold, hidden, **settings
        As of `plan`.
    runs : int, default=10_000
        Runs on each of the two tables.
    canaries : int, default=None
        Audit a single run with this many canaries, each in the table or not by a coin, in place of many runs. Strongest
        with at least as many features as canaries.
    confidence : float, default=0.95
        The chance that the bound holds.
    seed : int, default=None
        Makes the attack repeatable.
    progress : bool, default=False
        Show a tqdm bar.

    Returns
    -------
    dict
        ``epsilon_claimed``, ``epsilon_lower``, ``violated`` and what they rest on; of many runs also ``profile``, and
        ``epsilon_lower_gdp`` where the noise is Gaussian; of a single one ``guesses`` and ``correct``.

    Examples
    --------
    >>> import reticent
    >>> found = reticent.audit(algorithm="output-gd", n=50, d=3, epsilon=1.0, delta=1e-5, runs=400, seed=1)
    >>> found["violated"]
    False
    >>> found = reticent.audit(algorithm="output-gd", n=300, d=300, epsilon=1.0, delta=1e-5, canaries=300, seed=1)
    >>> found["guesses"] <= 300, found["violated"]
    (True, False)
    """
    problem, budget = _given(
        n, d, loss, epsilon, delta, adjacency, feature_norm, label_bound, classes, q, threshold, hidden
    )
    with shown(progress) as tell:
        return _reticent.audit(
            problem,
            budget,
            {"algorithm": algorithm, **settings},
            runs=runs,
            canaries=canaries,
            confidence=confidence,
            seed=seed,
            progress=tell,
        )


def losses() -> list[dict[str, Any]]:
    """The losses: name, what it is, and whether it is for numbers rather than classes.

    Examples
    --------
    >>> import reticent
    >>> "huber" in {loss["name"] for loss in reticent.losses() if loss["numbers"]}
    True
    """
    return [{"name": name, "summary": summary, "numbers": numbers} for name, summary, numbers in _reticent.losses()]


def algorithms() -> list[dict[str, str]]:
    """The algorithms: name, summary, paper, assumptions, guarantee.

    Examples
    --------
    >>> import reticent
    >>> "objective" in {a["name"] for a in reticent.algorithms()}
    True
    """
    return _reticent.algorithms()


def census(rows: int = 50_000, seed: int = 0) -> tuple[Any, dict[str, Any]]:
    """A synthetic census to try things on: no person is in it.

    Parameters
    ----------
    rows : int, default=50_000
        How many.
    seed : int, default=0
        Chooses the synthetic people.

    Returns
    -------
    table : pandas.DataFrame
        The columns and the target ``income``.
    declaration : dict
        What is public about it.

    Examples
    --------
    >>> import reticent
    >>> table, declaration = reticent.census(100)
    >>> table.shape
    (100, 8)
    """
    import json

    import pandas as pd

    text, schema = _reticent.census(rows, seed)
    declaration: dict[str, Any] = json.loads(schema)
    return pd.read_csv(io.StringIO(text), keep_default_na=False), declaration
