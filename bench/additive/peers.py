"""Other people's models on the same split: DP-EBM, diffprivlib, AdaSSP, and models without privacy.

Each function takes a table as `run.Table` splits it and gives the same scores. Adjacency is what
each library states: DP-EBM protects a row that is added or removed, which is the weaker claim;
diffprivlib and AdaSSP as printed here protect a row that is replaced.
"""
import warnings

import diffprivlib.models
import numpy as np
from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor
from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge

DELTA = 1e-6


class Columns:
    """The declared feature columns of a table: numbers clipped to their bounds, categories as
    declared."""

    def __init__(self, declared, target):
        self.features = [c for c in declared if c["role"] == "feature"]
        self.target = next(c for c in declared if c["name"] == target)

    def values(self, head, rows):
        """One column a feature: numbers (the middle where missing) and indices of categories (-1
        where unknown)."""
        columns = []
        for c in self.features:
            cells = [row[head.index(c["name"])] for row in rows]
            if is_number(c):
                low, high = bounds(c)
                columns.append([np.clip(number(x, (low + high) / 2), low, high) for x in cells])
            else:
                places = {str(name): i for i, name in enumerate(c["categories"])}
                columns.append([float(places.get(x, -1)) for x in cells])
        return np.array(columns).T

    def encoded(self, values):
        """Numbers sent to [0, 1], categories as unit vectors, a constant."""
        parts = []
        for column, c in zip(values.T, self.features):
            if is_number(c):
                low, high = bounds(c)
                parts.append(((column - low) / (high - low))[:, None])
            else:
                parts.append(column[:, None] == np.arange(len(c["categories"])))
        return np.hstack([*parts, np.ones((len(values), 1))]).astype(float)

    def norm(self):
        """The largest norm of an encoded row."""
        return np.sqrt(len(self.features) + 1)


def is_number(column):
    """Whether a column holds numbers."""
    return column["type"] in ("real", "integer")


def bounds(column):
    """The declared bounds of a number."""
    stated = column["bounds"]
    return (float(stated["min"]), float(stated["max"])) if isinstance(stated, dict) else tuple(map(float, stated))


def number(text, otherwise):
    """The number that a cell spells."""
    try:
        x = float(text)
    except ValueError:
        return otherwise
    return x if np.isfinite(x) else otherwise


def dp_ebm(columns, train, labels, test, classes, epsilon):
    """DP-EBM at its defaults, with the declared bounds."""
    types = ["continuous" if is_number(c) else "nominal" for c in columns.features]
    ranges = {i: bounds(c) for i, c in enumerate(columns.features) if is_number(c)}
    settings = {"epsilon": epsilon, "delta": DELTA, "feature_types": types, "privacy_bounds": ranges}
    if classes:
        return DPExplainableBoostingClassifier(**settings).fit(train, labels).predict_proba(test)
    low, high = bounds(columns.target)
    model = DPExplainableBoostingRegressor(**settings, privacy_target_min=low, privacy_target_max=high)
    return model.fit(train, labels).predict(test)


def diffprivlib_linear(columns, train, labels, test, classes, epsilon):
    """diffprivlib's logistic or linear regression on the encoded rows."""
    rows, others = columns.encoded(train)[:, :-1], columns.encoded(test)[:, :-1]
    if classes:
        model = diffprivlib.models.LogisticRegression(epsilon=epsilon, data_norm=columns.norm(), max_iter=1000)
        return model.fit(rows, labels).predict_proba(others)
    model = diffprivlib.models.LinearRegression(epsilon=epsilon, bounds_X=(0.0, 1.0), bounds_y=bounds(columns.target))
    return model.fit(rows, labels).predict(others)


def adassp(columns, train, labels, test, classes, epsilon):
    """AdaSSP (Wang 2018, Algorithm 2) on the encoded rows, replaced rows, three equal Gaussian
    releases by zCDP."""
    low, high = (0.0, 1.0) if classes else bounds(columns.target)
    rows, others, norm = columns.encoded(train), columns.encoded(test), columns.norm()
    target = (np.asarray(labels, float) - (low + high) / 2) / ((high - low) / 2)
    # zCDP with rho = (sqrt(eps + ln(1/delta)) - sqrt(ln(1/delta)))^2; each of three releases gets a
    # third.
    third = (np.sqrt(epsilon + np.log(1 / DELTA)) - np.sqrt(np.log(1 / DELTA))) ** 2 / 3
    sigma = 1 / np.sqrt(2 * third)
    d, draw = rows.shape[1], np.random.default_rng()
    gram, moment = rows.T @ rows, rows.T @ target
    square = np.sqrt(2) * norm**2  # replaced: the Frobenius distance of two outer products
    least = np.linalg.eigvalsh(gram)[0] + square * sigma * draw.standard_normal()
    least = max(least - square * sigma * 1.7, 0.0)
    ridge = max(0.0, np.sqrt(d * np.log(2 * d**2 / 0.05)) * square * sigma - least)
    noise = np.triu(draw.standard_normal((d, d)))
    gram = gram + square * sigma * (noise + np.triu(noise, 1).T)
    moment = moment + 2 * norm * sigma * draw.standard_normal(d)
    answers = others @ np.linalg.solve(gram + ridge * np.eye(d), moment) * (high - low) / 2 + (low + high) / 2
    if not classes:
        return answers
    share = np.clip(answers, 0.01, 0.99)
    return np.c_[1 - share, share]


def boosted_adassp(columns, train, labels, test, classes, epsilon, rounds=10):
    """Gradient boosting with AdaSSP (Tang et al. 2023, "Improved differentially private regression
    via gradient boosting"): one noisy Gram matrix, then a noisy product with the clipped residuals
    in every round."""
    low, high = (0.0, 1.0) if classes else bounds(columns.target)
    rows, others, norm = columns.encoded(train), columns.encoded(test), columns.norm()
    target = (np.asarray(labels, float) - (low + high) / 2) / ((high - low) / 2)
    third = (np.sqrt(epsilon + np.log(1 / DELTA)) - np.sqrt(np.log(1 / DELTA))) ** 2 / 3
    sigma = 1 / np.sqrt(2 * third)
    d, draw = rows.shape[1], np.random.default_rng()
    gram = rows.T @ rows
    square = np.sqrt(2) * norm**2  # replaced: the Frobenius distance of two outer products
    least = max(np.linalg.eigvalsh(gram)[0] + square * sigma * (draw.standard_normal() - 1.7), 0.0)
    ridge = max(0.0, np.sqrt(d * np.log(2 * d**2 / 0.05)) * square * sigma - least)
    noise = np.triu(draw.standard_normal((d, d)))
    inverse = np.linalg.inv(gram + square * sigma * (noise + np.triu(noise, 1).T) + ridge * np.eye(d))
    weights = np.zeros(d)
    for _ in range(rounds):
        moment = rows.T @ np.clip(target - rows @ weights, -1, 1)
        weights += inverse @ (moment + 2 * norm * sigma * np.sqrt(rounds) * draw.standard_normal(d))
    answers = others @ weights * (high - low) / 2 + (low + high) / 2
    if not classes:
        return answers
    share = np.clip(answers, 0.01, 0.99)
    return np.c_[1 - share, share]


PRIVATE = {"DP-EBM": dp_ebm, "diffprivlib": diffprivlib_linear, "AdaSSP": adassp, "boosted AdaSSP": boosted_adassp}


def linear(columns, train, labels, test, classes):
    """scikit-learn's linear model on the encoded rows, without privacy."""
    rows, others = columns.encoded(train), columns.encoded(test)
    if classes:
        return LogisticRegression(max_iter=3000, C=100.0).fit(rows, labels).predict_proba(others)
    return Ridge(alpha=1e-3).fit(rows, labels).predict(others)


def ebm(columns, train, labels, test, classes):
    """An EBM without interactions and without privacy."""
    types = ["continuous" if is_number(c) else "nominal" for c in columns.features]
    kind = ExplainableBoostingClassifier if classes else ExplainableBoostingRegressor
    model = kind(interactions=0, feature_types=types).fit(train, labels)
    return model.predict_proba(test) if classes else model.predict(test)


def boosted(columns, train, labels, test, classes):
    """Boosted trees without privacy."""
    kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    model = kind().fit(train, labels)
    return model.predict_proba(test) if classes else model.predict(test)


OPEN = {"linear, not private": linear, "EBM, not private": ebm, "boosted trees, not private": boosted}


def answers(name, columns, split, classes, epsilon=None):
    """The predictions of a peer for the held-out rows."""
    train, labels, test = split
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name in OPEN:
            return OPEN[name](columns, train, labels, test, classes)
        return PRIVATE[name](columns, train, labels, test, classes, epsilon)
