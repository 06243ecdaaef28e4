"""Planning and auditing: all of it without data."""

from __future__ import annotations

import io
import json
import pathlib
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from reticent import _reticent
from reticent._extras import needs
from reticent._progress import shown
from reticent._types import Adjacency, Algorithm

if TYPE_CHECKING:
    import pandas as pd


def read_declaration(given: Any) -> dict[str, Any]:
    """A declaration given as a dictionary or as the path of a schema file."""
    if isinstance(given, Mapping):
        return dict(given)
    if isinstance(given, str | PathLike):
        value = json.loads(pathlib.Path(given).read_text(encoding="utf-8"))
        if isinstance(value, dict):
            return value
    raise ValueError("`declaration` must be a dictionary, or the path of a schema file that holds one")


def _given(
    n: int,
    d: int | None,
    declaration: Mapping[str, Any] | str | PathLike[str] | None,
    unit: str | None,
    max_rows: int | None,
    loss: str | None,
    epsilon: float,
    delta: float | None,
    adjacency: Adjacency,
    feature_norm: float,
    label_bound: float,
    classes: int,
    q: float | None,
    threshold: float | None,
    quantile: float | None,
    dispersion: float | None,
    shares: Sequence[float] | None,
    stretch: float | None,
    hidden: int | None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    if (unit is None) != (max_rows is None):
        raise ValueError("`unit` and `max_rows` go together: name the column of units and the most rows of one that are used")
    if d is None and declaration is None:
        raise ValueError("give `d`, the number of features with the intercept among them, or a `declaration`")
    if loss is None and declaration is None:
        loss = "logistic"
    problem = {
        "n": int(n),
        "d": None if d is None else int(d),
        "declaration": None if declaration is None else read_declaration(declaration),
        "unit": None if unit is None else {"column": unit, "max_rows": max_rows},
        "loss": None
        if loss is None
        else {
            "name": loss,
            "classes": classes,
            "q": q,
            "threshold": threshold,
            "quantile": quantile,
            "dispersion": dispersion,
            "shares": None if shares is None else [float(share) for share in shares],
            "stretch": stretch,
        },
        "feature_norm": float(feature_norm),
        "label_bound": float(label_bound),
        "hidden": hidden,
    }
    return problem, {"epsilon": float(epsilon), "delta": delta, "adjacency": adjacency}


def plan(
    *,
    n: int,
    d: int | None = None,
    declaration: Mapping[str, Any] | str | PathLike[str] | None = None,
    epsilon: float,
    unit: str | None = None,
    max_rows: int | None = None,
    loss: str | None = None,
    delta: float | None = None,
    adjacency: Adjacency = "replace-one",
    feature_norm: float = 1.0,
    label_bound: float = 1.0,
    classes: int = 3,
    q: float | None = None,
    threshold: float | None = None,
    quantile: float | None = None,
    dispersion: float | None = None,
    shares: Sequence[float] | None = None,
    stretch: float | None = None,
    hidden: int | None = None,
    **settings: Any,
) -> pd.DataFrame:
    """Rank the algorithms for a problem, without any data.

    Parameters
    ----------
    n : int
        Rows, or units where one is named.
    d : int, default=None
        Features with the intercept among them, where there is no `declaration`.
    declaration : dict or path, default=None
        A declaration, or a schema file, from which features, bounds, loss and unit follow.
    epsilon : float
        The allowed privacy loss.
    unit : str, default=None
        The column that tells units apart: all rows of one are protected together.
    max_rows : int, default=None
        The most rows of one unit that are used.
    loss : str, default=None
        The name of a loss: see `reticent.losses`. The default for the declared target, or logistic,
        if not given.
    delta, adjacency, feature_norm, label_bound
        As of the estimators.
    classes : int, default=3
        Classes of softmax and one-hot.
    q : float, default=None
        The exponent of hinge (1 if not given) and power (2).
    threshold : float, default=None
        The threshold of a loss that has one; its own default if not given.
    quantile : float, default=None
        The quantile of the pinball loss; the median if not given.
    dispersion : float, default=None
        The dispersion of the negative binomial loss, on the scale of encoded labels; 10 if not
        given.
    shares : sequence of float, default=None
        About which part of the rows has each level of the ordinal loss, from the lowest to the
        highest.
    stretch : float, default=None
        How much farther apart its thresholds lie than the log-odds of the shares; 1.2 if not given.
    hidden : int, default=None
        Units of a hidden layer.
    **settings
        Any further flag of ``reticent plan`` by its name; `algorithms` lists the settings of each
        algorithm.

    Returns
    -------
    pandas.DataFrame
        One row for each algorithm, the best first: ``algorithm``; ``kept``, the part of what could
        be learned without privacy that its runs on simulated tables retained; ``predicted_excess``,
        the bound of its theorem; ``noise_deviation`` and ``noise_place``, how much noise and in
        which numbers; ``steps``, ``mu``, ``seconds``, ``bytes``, ``assumptions`` and ``remarks``.
        Its ``attrs`` say what to expect of the first (``outlook``) and where its budget goes
        (``split``).

    Examples
    --------
    >>> import reticent
    >>> ranking = reticent.plan(n=30_000, d=106, epsilon=4.0, delta=1e-6)
    >>> ranking["algorithm"].iloc[0]
    'clipped-sgd'
    """
    pd = needs("pandas", "tables", "plan")
    problem, budget = _given(
        n, d, declaration, unit, max_rows, loss, epsilon, delta, adjacency, feature_norm, label_bound, classes, q, threshold, quantile, dispersion, shares, stretch, hidden
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
    algorithm: Algorithm,
    n: int,
    d: int | None = None,
    declaration: Mapping[str, Any] | str | PathLike[str] | None = None,
    epsilon: float,
    unit: str | None = None,
    max_rows: int | None = None,
    loss: str | None = None,
    delta: float | None = None,
    adjacency: Adjacency = "replace-one",
    feature_norm: float = 1.0,
    label_bound: float = 1.0,
    classes: int = 3,
    q: float | None = None,
    threshold: float | None = None,
    quantile: float | None = None,
    dispersion: float | None = None,
    shares: Sequence[float] | None = None,
    stretch: float | None = None,
    hidden: int | None = None,
    runs: int = 10_000,
    canaries: int | None = None,
    confidence: float = 0.95,
    seed: int | None = None,
    progress: bool = False,
    **settings: Any,
) -> dict[str, Any]:
    """Attack an algorithm as implemented: an empirical lower bound on epsilon.

    It can refute a claim and never prove one. The tables are simulated, so nobody is exposed.

    Parameters
    ----------
    algorithm : str
        One of `algorithms`.
    n, d, declaration, epsilon, unit, max_rows, loss, delta, adjacency, feature_norm, label_bound,
    classes, q, threshold, quantile, dispersion, shares, stretch, hidden, **settings
        As of `plan`.
    runs : int, default=10_000
        Runs on each of the two tables.
    canaries : int, default=None
        Audit a single run with this many canaries, each in the table or not by a coin, in place of
        many runs. Strongest with at least as many features as canaries.
    confidence : float, default=0.95
        The chance that the bound holds.
    seed : int, default=None
        Makes the attack repeatable.
    progress : bool, default=False
        Show a tqdm bar.

    Returns
    -------
    dict
        ``epsilon_claimed``, ``epsilon_lower``, ``violated`` and what they assume; of many runs also
        ``profile``, and ``epsilon_lower_gdp`` where the noise is Gaussian; of a single one
        ``guesses`` and ``correct``.

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
        n, d, declaration, unit, max_rows, loss, epsilon, delta, adjacency, feature_norm, label_bound, classes, q, threshold, quantile, dispersion, shares, stretch, hidden
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
    """The losses: name, what it is, and whether it is for regression.

    Examples
    --------
    >>> import reticent
    >>> "huber" in {loss["name"] for loss in reticent.losses() if loss["numbers"]}
    True
    """
    return [{"name": name, "summary": summary, "numbers": numbers} for name, summary, numbers in _reticent.losses()]


def algorithms() -> list[dict[str, Any]]:
    """The algorithms: name, summary, paper, assumptions, guarantee, and settings.

    Each setting has its name, kind, values in words, choices, default, help, and whether it is
    common.

    Examples
    --------
    >>> import reticent
    >>> found = {a["name"]: a for a in reticent.algorithms()}
    >>> [setting["name"] for setting in found["noisy-sgd"]["settings"]]
    ['calibration', 'ridge', 'steps', 'batch']
    """
    return _reticent.algorithms()


def census(rows: int = 50_000, seed: int = 0) -> tuple[pd.DataFrame, dict[str, Any]]:
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
        The public facts about it.

    Examples
    --------
    >>> import reticent
    >>> table, declaration = reticent.census(100)
    >>> table.shape
    (100, 8)
    """
    pd = needs("pandas", "tables", "census")
    text, schema = _reticent.census(rows, seed)
    declaration: dict[str, Any] = json.loads(schema)
    return pd.read_csv(io.StringIO(text), keep_default_na=False), declaration


def schema_check(
    declaration: Mapping[str, Any] | str | PathLike[str],
    *,
    unit: str | None = None,
    max_rows: int | None = None,
    intercept: bool = True,
) -> dict[str, Any]:
    """Say what a declaration means: whom the guarantee protects, which columns are learned from,
    and what bounds them.

    Parameters
    ----------
    declaration : dict or path
        A declaration, or a schema file.
    unit : str, default=None
        The column of units, in place of the declaration's.
    max_rows : int, default=None
        The most rows of one unit that are used.
    intercept : bool, default=True
        Whether rows get a constant.

    Returns
    -------
    dict
        The facts, as ``reticent schema check --json`` gives them, and ``text``, the same for
        people.

    Examples
    --------
    >>> import reticent
    >>> column = {"name": "age", "type": "integer", "bounds": {"min": 0, "max": 110}}
    >>> target = {"name": "back", "type": "categorical", "categories": ["no", "yes"]}
    >>> found = reticent.schema_check({"target": "back", "columns": [column, target]})
    >>> "protects one row" in found["text"]
    True
    """
    declared = read_declaration(declaration)
    if unit is not None:
        declared = {**declared, "unit": {"column": unit, "max_rows": max_rows}}
    facts, text = _reticent.explain(declared, {"intercept": bool(intercept)})
    return {**facts, "text": text}


def verify(path: str | PathLike[str], *, ledger: str | PathLike[str] | None = None) -> dict[str, Any]:
    """Recompute the certificate of a model file without the data, compare, and say what holds.

    Parameters
    ----------
    path : path
        A model file, of the command or of an estimator.
    ledger : path, default=None
        The ledger that paid for it: whether it did is compared too.

    Returns
    -------
    dict
        As of an estimator's `verify`.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np, reticent
    >>> X, y = np.eye(2).repeat(50, axis=0), np.array([0, 1]).repeat(50)
    >>> path = os.path.join(tempfile.mkdtemp(), "model.json")
    >>> reticent.LogisticRegression(epsilon=1.0, feature_norm=1.0, classes=[0, 1]).fit(X, y).save(path)
    >>> reticent.verify(path)["pass"]
    True
    """
    return _reticent.verify_file(path, ledger)
