"""Transformers that learn nothing: what they do follows from what was declared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from reticent import _input, _reticent

Self = TypeVar("Self", bound="_Declared")


class _Declared(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A transformer whose `fit` looks at the shape of X and at nothing else."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.requires_fit = True
        return tags


class BoundedScaler(OneToOneFeatureMixin, _Declared):  # type: ignore[misc]
    """Clamp numbers to declared bounds and scale those to [0, 1] or [-1, 1].

    The counterpart of scikit-learn's MinMaxScaler that does not read the bounds off the rows: a
    largest value is someone's value. A row that holds what is no finite number becomes a row of
    zeros.

    Parameters
    ----------
    low, high : float or array of shape (n_features,)
        The declared ends: one for all features, or one for each.
    symmetric : bool, default=False
        Scale to [-1, 1] rather than to [0, 1].

    Attributes
    ----------
    feature_norm_ : float
        The largest norm that a scaled row can have: the `feature_norm` of an estimator behind it.

    Examples
    --------
    >>> from reticent import BoundedScaler
    >>> scaler = BoundedScaler(low=[0, 0], high=[110, 50]).fit([[20, 10]])
    >>> scaler.transform([[55, 200]]).tolist()
    [[0.5, 1.0]]
    """

    def __init__(
        self,
        *,
        low: float | Sequence[float] | None = None,
        high: float | Sequence[float] | None = None,
        symmetric: bool = False,
    ) -> None:
        self.low = low
        self.high = high
        self.symmetric = symmetric

    def fit(self: Self, X: Any, y: Any = None) -> Self:
        """Look at the number of columns.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.
        y : ignored

        Returns
        -------
        self
        """
        _, _, columns, _ = _input.read_matrix(self, X, reset=True, accept_sparse=False)
        self._facts = _reticent.layout(*self._declaration(columns, "f64"))[0]
        self.feature_norm_ = self._facts["norm_bound"]
        return self

    def _declaration(self, columns: int, precision: str) -> tuple[dict[str, Any], dict[str, Any]]:
        ends = []
        for name in ("low", "high"):
            given = getattr(self, name)
            if given is None:
                raise ValueError(
                    f"declare `{name}`: the {name} ends of the features, known without the data; they cannot be taken from "
                    "the data without spending privacy"
                )
            many = np.ravel(np.asarray(given, dtype=float))
            if len(many) not in (1, columns):
                raise ValueError(f"`{name}` must be one number or one for each of {columns} features, got {len(many)}")
            ends.append(np.broadcast_to(many, columns).tolist())
        fields: list[dict[str, Any]] = [
            {"name": f"x{i}", "type": "real", "bounds": {"min": low, "max": high}}
            for i, (low, high) in enumerate(zip(*ends, strict=True))
        ]
        # A target that is never read: a declaration has one.
        fields.append({"name": "label", "role": "target", "type": "real", "bounds": {"min": 0, "max": 1}})
        encoding = {
            "intercept": False,
            "numeric_range": "symmetric" if self.symmetric else "unit",
            "precision": precision,
        }
        return {"target": "label", "columns": fields}, encoding

    def transform(self, X: Any) -> NDArray[Any]:
        """Clamp and scale.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self, "feature_norm_")
        table, _, columns, precision = _input.read_matrix(self, X, reset=False, accept_sparse=False)
        # In a matrix without a declaration NaN is whatever is no number, and no missing value.
        table = np.where(np.isnan(table), table.dtype.type(np.inf), table)
        encoded = _reticent.layout(*self._declaration(columns, "f32" if precision == "f32" else "f64"), table)[1]
        assert encoded is not None
        return encoded

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class DeclaredEncoder(_input.PublishedPickle, _Declared):
    """Encode a table by its declaration: clamp and scale numbers, one-hot categories.

    The same rules as the command's, without the intercept. A category that was not declared and a
    missing value, NaN among them, give zeros; a row with text where a number is due becomes a row
    of zeros.

    Parameters
    ----------
    declaration : dict or path
        The public facts about the table; its target may be absent from X.
    symmetric : bool, default=False
        Scale numbers to [-1, 1] rather than to [0, 1].

    Attributes
    ----------
    feature_norm_ : float
        The largest norm that an encoded row can have: the `feature_norm` of an estimator behind it.

    Examples
    --------
    >>> import reticent
    >>> table, declaration = reticent.census(1000)
    >>> encoder = reticent.DeclaredEncoder(declaration=declaration).fit(table)
    >>> encoder.transform(table).shape
    (1000, 24)
    >>> round(encoder.feature_norm_, 6)  # known before any row is seen: three numbers and four categories
    2.645751
    """

    def __init__(
        self,
        *,
        declaration: Mapping[str, Any] | str | PathLike[str] | None = None,
        symmetric: bool = False,
    ) -> None:
        self.declaration = declaration
        self.symmetric = symmetric

    def _declaration(self) -> tuple[dict[str, Any], dict[str, Any]]:
        if self.declaration is None:
            raise ValueError("give a `declaration`: a dictionary or the path of a schema file; see docs/declaration.md")
        encoding = {"intercept": False, "numeric_range": "symmetric" if self.symmetric else "unit"}
        return _input.read_declaration(self.declaration), encoding

    def fit(self: Self, X: Any, y: Any = None) -> Self:
        """Read the declaration; of X nothing is looked at but its shape.

        Parameters
        ----------
        X : table, or array whose columns are the declared ones in order, or None
            The rows.
        y : ignored

        Returns
        -------
        self
        """
        declaration, encoding = self._declaration()
        facts, _ = _reticent.layout(declaration, encoding)
        _input.remark_not_published(declaration)
        if X is not None and not _input.is_table(X):
            _, _, columns, _ = _input.read_matrix(self, X, reset=True, accept_sparse=False, declared=True)
            if columns != len(facts["inputs"]):
                raise ValueError(f"X must have the {len(facts['inputs'])} declared columns, got {columns}; name them, or declare these")
        self.feature_names_in_ = np.array(facts["inputs"], dtype=object)
        self.n_features_in_ = len(facts["inputs"])
        self.feature_norm_ = facts["norm_bound"]
        self._names = np.array(facts["feature_names"], dtype=object)
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Encode.

        Parameters
        ----------
        X : table, or array whose columns are the declared ones in order
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_encoded)
        """
        check_is_fitted(self, "feature_norm_")
        declaration, encoding = self._declaration()
        named = _input.is_table(X)
        table = _input.read_table(X) if named else _input.read_matrix(self, X, reset=False, declared=True)[0]
        encoded = _reticent.layout(declaration, encoding, table)[1]
        assert encoded is not None
        return encoded

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The encoded features by name.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self, "feature_norm_")
        return self._names
