"""Models in MLflow: a folder with the model file, which `mlflow.pyfunc` loads.

The folder holds `model.json`, JSON that runs nothing when it is loaded, and `MLmodel`, which tells
MLflow to load it with this module. Saving needs no MLflow; logging to a run does.
"""

from __future__ import annotations

import json
import pathlib
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from reticent import _reticent
from reticent._extras import needs
from reticent._files import load

if TYPE_CHECKING:
    from reticent._base import PrivateClassifier, PrivateEstimator, PrivateRegressor

__all__ = ["load_model", "log_model", "save_model"]

_FILE = "model.json"
_DESCRIPTION = "MLmodel"


def save_model(estimator: PrivateEstimator, path: str | PathLike[str]) -> None:
    """Write a fitted estimator as a new folder that MLflow loads.

    Parameters
    ----------
    estimator : estimator of `reticent`
        Fitted. Names of the columns that it was fitted on are kept, so that tables are read by
        them.
    path : path
        The folder. One that is there is not written to.
    """
    folder = pathlib.Path(path)
    folder.mkdir(parents=True)
    estimator.save(folder / _FILE)
    _describe(estimator, folder)


def _describe(estimator: PrivateEstimator, folder: pathlib.Path) -> None:
    """Everything of the folder but the model file."""
    version = _reticent.__version__
    names = getattr(estimator, "feature_names_in_", None)
    # JSON is YAML.
    described = {
        "flavors": {
            "python_function": {"loader_module": "reticent.mlflow", "data": _FILE, "env": {"virtualenv": "python_env.yaml"}},
            "reticent": {"version": version, "data": _FILE, "columns": None if names is None else [str(name) for name in names]},
        },
        "metadata": {"privacy": estimator.certificate_["statement"]},
    }
    (folder / _DESCRIPTION).write_text(json.dumps(described, indent=2), encoding="utf-8")
    (folder / "requirements.txt").write_text(f"reticent=={version}\n", encoding="utf-8")
    (folder / "python_env.yaml").write_text(json.dumps({"dependencies": ["-r requirements.txt"]}), encoding="utf-8")


def log_model(estimator: PrivateEstimator, name: str = "model") -> None:
    """Log a fitted estimator, with its certificate, to the run of MLflow that is going on.

    A ledger that paid for the model keeps its copy: an upload may fail, and only the estimator's
    `save` says that the model is kept.

    Parameters
    ----------
    estimator : estimator of `reticent`
        Fitted.
    name : str, default="model"
        The folder among the artifacts of the run.
    """
    import tempfile

    mlflow = needs("mlflow", "mlflow", "log_model")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        (folder / _FILE).write_text(estimator._model.to_json(), encoding="utf-8")
        _describe(estimator, folder)
        mlflow.log_artifacts(str(folder), artifact_path=name)
        mlflow.log_dict(estimator.certificate_, f"{name}/certificate.json")


def load_model(path: str | PathLike[str]) -> PrivateClassifier | PrivateRegressor:
    """Read a folder that `save_model` wrote.

    Parameters
    ----------
    path : path
        The folder.

    Returns
    -------
    estimator
        Fitted.
    """
    folder = pathlib.Path(path)
    estimator = load(folder / _FILE)
    described = json.loads((folder / _DESCRIPTION).read_text(encoding="utf-8"))
    names = described["flavors"]["reticent"].get("columns")
    if names is not None and estimator.declaration is None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    return estimator


class _Predicts:
    """The object that `mlflow.pyfunc` calls."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def predict(self, data: Any, params: dict[str, Any] | None = None) -> Any:
        """The class or the number of each row; `{"proba": True}` asks for probabilities."""
        names = list(getattr(self.estimator, "feature_names_in_", ()))
        if self.estimator.declaration is None and names and hasattr(data, "columns"):
            missing = [name for name in names if name not in data.columns]
            if missing:
                raise ValueError(f"the table lacks the column `{missing[0]}`; the model was fitted on {', '.join(names)}")
            data = data[names]
        return self.estimator.predict_proba(data) if (params or {}).get("proba") else self.estimator.predict(data)


def _load_pyfunc(path: str) -> _Predicts:
    """As MLflow asks of a `loader_module`: the model file, or the folder with it."""
    place = pathlib.Path(path)
    return _Predicts(load_model(place if place.is_dir() else place.parent))
