"""Models that keep quiet about the people they learned from.

State what is public about a table, say how much privacy loss is allowed, and get a scikit-learn
estimator with a certificate that anyone can re-check without the data.

>>> import numpy as np
>>> from reticent import LogisticRegression
>>> X = np.array([[0.6, 0.1], [0.5, 0.3], [-0.4, 0.2], [-0.7, -0.1]] * 500)
>>> y = np.array([1, 1, 0, 0] * 500)
>>> model = LogisticRegression(epsilon=1.0, feature_norm=1.0, classes=[0, 1]).fit(X, y)
>>> model.certificate_["void"] is None
True
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reticent import plot, privacy
    from reticent.additive import AdditiveClassifier, AdditiveRegressor
    from reticent._reticent import __version__ as __version__
    from reticent._files import load
    from reticent._input import SeedWarning
    from reticent._ledger import Ledger
    from reticent._reticent import OverBudget
    from reticent._tuning import tune
    from reticent.encoding import BoundedScaler, DeclaredEncoder
    from reticent.evaluation import evaluate
    from reticent.generalized import GeneralizedLinearRegressor
    from reticent.kernel import KernelClassifier, KernelRegressor
    from reticent.linear import (
        HuberRegressor,
        LinearRegression,
        LinearSVC,
        LinearSVR,
        LogisticRegression,
        Ridge,
    )
    from reticent.network import MLPClassifier
    from reticent.ordinal import OrdinalRegressor
    from reticent.planning import algorithms, audit, census, losses, plan, schema_check, verify
    from reticent.schema import Schema, schema_draft

# Where each name lives. They are loaded when they are first used: importing scikit-learn takes
# longer than anything here.
_HOMES = {
    "AdditiveClassifier": "additive",
    "AdditiveRegressor": "additive",
    "BoundedScaler": "encoding",
    "DeclaredEncoder": "encoding",
    "GeneralizedLinearRegressor": "generalized",
    "HuberRegressor": "linear",
    "KernelClassifier": "kernel",
    "KernelRegressor": "kernel",
    "Ledger": "_ledger",
    "LinearRegression": "linear",
    "LinearSVC": "linear",
    "LinearSVR": "linear",
    "LogisticRegression": "linear",
    "MLPClassifier": "network",
    "OrdinalRegressor": "ordinal",
    "OverBudget": "_reticent",
    "Ridge": "linear",
    "Schema": "schema",
    "SeedWarning": "_input",
    "algorithms": "planning",
    "audit": "planning",
    "census": "planning",
    "evaluate": "evaluation",
    "load": "_files",
    "losses": "planning",
    "plan": "planning",
    "schema_check": "planning",
    "schema_draft": "schema",
    "tune": "_tuning",
    "verify": "planning",
}
_MODULES = ("plot", "privacy")

__all__ = [
    "AdditiveClassifier",
    "AdditiveRegressor",
    "BoundedScaler",
    "DeclaredEncoder",
    "GeneralizedLinearRegressor",
    "HuberRegressor",
    "KernelClassifier",
    "KernelRegressor",
    "Ledger",
    "LinearRegression",
    "LinearSVC",
    "LinearSVR",
    "LogisticRegression",
    "MLPClassifier",
    "OrdinalRegressor",
    "OverBudget",
    "Ridge",
    "Schema",
    "SeedWarning",
    "algorithms",
    "audit",
    "census",
    "evaluate",
    "load",
    "losses",
    "plan",
    "plot",
    "privacy",
    "schema_check",
    "schema_draft",
    "tune",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("reticent._reticent").__version__
    if name in _MODULES:
        return importlib.import_module(f"reticent.{name}")
    if name in _HOMES:
        value = getattr(importlib.import_module(f"reticent.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'reticent' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
