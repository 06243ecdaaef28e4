"""Parameters that estimators share: each is described once, and the docstrings are put together
from here.

The description of a setting comes from the engine's own list of settings, as the flags of the
command do.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any, TypeVar

from reticent import _reticent

Class = TypeVar("Class", bound=type)

# Columns of a docstring.
_WIDTH = 120


def _declared() -> dict[str, dict[str, Any]]:
    """Every setting by its name, as the first algorithm that has it declares it."""
    found: dict[str, dict[str, Any]] = {}
    for algorithm in _reticent.algorithms():
        for setting in algorithm["settings"]:
            found.setdefault(setting["name"], setting)
    return found


DECLARED = _declared()


def _choices(name: str) -> str:
    return "{" + ", ".join(f'"{word}"' for word in DECLARED[name]["choices"]) + "}"


# The description of each parameter: its first line, and its meaning.
SHARED: dict[str, tuple[str, str]] = {
    "epsilon": ("epsilon : float", "The allowed privacy loss, > 0. ``inf`` promises nothing and adds no noise."),
    "delta": (
        "delta : float, default=None",
        "The additive slack of the guarantee; 0 for pure differential privacy. ``min(1e-6, 1/(10 n))`` if not given.",
    ),
    "max_advantage": (
        "max_advantage : float, default=None",
        "In place of `epsilon`: the most by which the true-positive rate of any attack may exceed its false-positive rate. The fit "
        "takes the largest epsilon that keeps it.",
    ),
    "max_tpr": ("max_tpr : float, default=None", "In place of `epsilon`: the largest true-positive rate of any attack at `at_fpr`."),
    "at_fpr": ("at_fpr : float, default=None", "The false-positive rate of `max_tpr`."),
    "adjacency": (
        'adjacency : {"replace-one", "add-remove-one", "zero-out"}, default="replace-one"',
        "Which two tables must be hard to tell apart.",
    ),
    "feature_norm": (
        "feature_norm : float",
        "A bound on the Euclidean norm of every row of X, known without the data. Longer rows are clipped to it.",
    ),
    "bounds": (
        "bounds : pair, list of pairs or dict",
        "(low, high) of every column, known without the data; or a pair for each column; or a dictionary from the name of a column "
        "to its pair, or to the list of its categories, for a table. Numbers beyond are clamped.",
    ),
    "knots": (
        'knots : "auto", int or dict, default="auto"',
        "Knots of each number's curve, bounds among them; 0 for lines. ``auto`` takes 16, 8, 4 or lines by the number of rows, of weights "
        "and epsilon, without looking at data, as the command does. A dictionary gives single columns a number or a list of knots.",
    ),
    "basis": (
        'basis : {"tent", "bins", "linear"}, default="tent"',
        "What stands between knots: straight lines, or a constant in each bin; ``linear`` makes each number one line.",
    ),
    "pairs": (
        "pairs : list of pairs of names, default=None",
        "Columns that get a surface besides their curves, in place of the declaration's `interactions`. Columns of a matrix "
        "without names are ``x0``, ``x1``, ...",
    ),
    "missing": (
        "missing : mark, list of marks, \"indicator\" or dict, default=None",
        "What stands for a missing value besides NaN, as in a declaration; ``indicator`` gives missing values a weight of their own.",
    ),
    "classes": ("classes : list", "All classes, known without the data: numbers, texts or truth values."),
    "class_weight": (
        "class_weight : dict, default=None",
        "How much rows of each class count, from what is publicly known: a dictionary from classes to weights; those that are not "
        "named weigh 1. ``balanced`` would need the counts of the classes, which are private, and is refused.",
    ),
    "max_weight": (
        "max_weight : float, default=None",
        "The largest weight that a row may have, known without the data: for `fit` with ``sample_weight``. Noise is that of rows that "
        "all have it.",
    ),
    "label_bound": (
        "label_bound : float or pair of floats",
        "A bound on every ``|y|``, or (low, high), known without the data. Targets beyond are clamped.",
    ),
    "declaration": (
        "declaration : dict or path, default=None",
        "A whole schema in place of `feature_norm` and of the target's declaration: X is then a table with the declared "
        "columns.",
    ),
    "algorithm": (
        'algorithm : str, default="auto"',
        "One of `reticent.algorithms`; ``auto`` takes the best planned one, without looking at data.",
    ),
    "calibration": (
        f'calibration : {_choices("calibration")}, default="{DECLARED["calibration"]["default"]}"',
        f"{DECLARED['calibration']['help']}: the least noise that is proven, or the paper's.",
    ),
    "ridge": (
        "ridge : float, default=None",
        f"{DECLARED['ridge']['help']}; chosen without looking at data if not given.",
    ),
    "intervals": (
        "intervals : float, default=None",
        "Release what standard errors need, for intervals of this confidence level in percent, such as 95: `summary`, "
        "`conf_int` and `bse_`. Takes a part of the budget. No standard errors if not given.",
    ),
    "settings": (
        "settings : dict, default=None",
        "Any further flag of ``reticent fit`` by its name, such as ``{\"steps\": 100, \"radius\": 5.0}``: "
        + ", ".join(f"``{name}``" for name in sorted(DECLARED.keys() - {"calibration", "ridge"}))
        + " where the algorithm has it (`reticent.algorithms`); ``radius``, ``set``, ``low``, ``high``, ``groups``, "
        "``group_weights``, ``slope_limit``.",
    ),
    "fit_intercept": ("fit_intercept : bool, default=True", "Whether a constant 1 is part of every row."),
    "kernel": (
        'kernel : {"gaussian", "laplace", "cauchy", "matern", "rational-quadratic"}, default="gaussian"',
        "Which kernel is approximated.",
    ),
    "bandwidth": (
        "bandwidth : float, default=None",
        "How far apart rows are that resemble each other; half the bound on a row's norm if not given.",
    ),
    "features": (
        "features : int, default=None",
        "Number of random features; ``n^0.6 ln(20 n)``, at most 16384, if not given.",
    ),
    "map": (
        'map : {"independent", "orthogonal", "structured", "fastfood"}, default=None',
        "How the frequencies belong together.",
    ),
    "form": ('form : {"paired", "cosine"}, default="paired"', "How a frequency becomes features."),
    "nu": ("nu : float, default=1.5", "The smoothness of the matern kernel."),
    "shape": ("shape : float, default=1.0", "The shape of the rational-quadratic kernel."),
    "map_seed": (
        "map_seed : int, default=None",
        "Draw the frequencies from this seed. It is public, and the noise never comes from it.",
    ),
    "rows": (
        "rows : int, default=None",
        "The declared number of rows under add-remove adjacency, where the true number is private.",
    ),
    "ledger": (
        "ledger : path, default=None",
        "A ledger file that every fit is charged to, before a row is read; what does not fit raises `OverBudget`. In a "
        "cross-validation the sum of the charges holds only for splits chosen without y, such as those of ``KFold``.",
    ),
    "random_state": (
        "random_state : int, RandomState or None, default=None",
        "A seed makes the noise repeatable, voids the certificate, and is warned of once. For tests.",
    ),
    "threads": ("threads : int, default=None", "Threads to use; the model is the same for any number."),
    "n_jobs": ("n_jobs : int, default=None", "Another name for `threads`, as scikit-learn has it; -1 for all cores."),
    "progress": (
        "progress : bool or callable, default=False",
        "Show a tqdm bar of steps, or call with (done, total).",
    ),
    "verbose": ("verbose : bool, default=False", "Print what is being done: planning, then training. Nothing that rows decide is printed."),
}

_ATTRIBUTES = {
    "classes_": ("classes_ : ndarray", "The declared classes, sorted."),
    "coef_": ("coef_ : ndarray", "Weights of the features of rows within `feature_norm`."),
    "intercept_": ("intercept_ : ndarray or float", "The constant."),
    "curves_": (
        "curves_ : dict",
        "For each column ``knots``, ``places``, ``values`` (what the column adds at each, on the scale of `decision_function` or of the "
        "target), ``missing``, ``kind``, ``scale``, and ``noise``: standard deviations, or None where the release does not know them.",
    ),
    "surfaces_": ("surfaces_ : dict", "The same for each pair of columns, as a matrix of ``values`` with its two ``axes``."),
    "certificate_": ("certificate_ : dict", "What was done, what it costs, and what that assumes."),
    "draft_": (
        "draft_ : dict or None",
        "Where the schema was filled in by `schema_draft` or the command: its ``certificate``, and the ``epsilon`` and ``delta`` of schema "
        "and model ``together``.",
    ),
    "plan_": ("plan_ : dict", "Every choice, made before the data was opened."),
    "n_features_in_": ("n_features_in_ : int", "Columns of X."),
}


def _entry(first: str, meaning: str) -> Iterator[str]:
    """The lines of a parameter; its meaning is wrapped between words."""
    yield f"    {first}"
    line = "       "
    for word in meaning.split(" "):
        if len(line) + 1 + len(word) > _WIDTH:
            yield line
            line = "       "
        line += f" {word}"
    yield line


def _own(section: str) -> dict[str, tuple[str, str]]:
    """The entries that a docstring has itself."""
    entries = re.findall(r"^    (\w+ : .*)\n((?:        .*\n?)+)", section, flags=re.MULTILINE)
    return {first.split(" :")[0]: (first, " ".join(meaning.split())) for first, meaning in entries}


def documented(estimator: Class) -> Class:
    """Complete the docstring of an estimator: its parameters in the order of its signature, and its
    attributes.

    The docstring itself has the parameters that no other estimator has. A parameter that nobody
    describes is a `KeyError`.
    """
    text = estimator.__doc__
    if text is None:  # python -OO
        return estimator
    head, *rest = re.split(r"    Parameters\n    -+\n", text)
    if rest:
        own, tail = rest[0].split("\n\n", 1)
        known = {**SHARED, **_own(f"{own}\n")}
    else:
        head, tail = text.split("    Examples\n", 1)
        tail = f"    Examples\n{tail}"
        known = SHARED
    names = [name for name in inspect.signature(estimator).parameters if name != "self"]
    lines = ["    Parameters", "    ----------"]
    for name in names:
        lines.extend(_entry(*known[name]))
    lines.extend(["", "    Attributes", "    ----------"])
    linear, additive = getattr(estimator, "_linear", False), "knots" in names
    absent = set() if "classes" in names else {"classes_"}
    absent |= set() if linear else {"coef_"}
    absent |= set() if linear or additive else {"intercept_"}
    absent |= set() if additive else {"curves_", "surfaces_"}
    for name, entry in _ATTRIBUTES.items():
        if name not in absent:
            lines.extend(_entry(*entry))
    estimator.__doc__ = head + "\n".join(lines) + "\n\n" + tail
    return estimator
