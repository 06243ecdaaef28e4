"""Ensembles of scikit-learn: what they hand to their members is read, or refused with what to
do."""

import numpy as np
import pytest
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier

import reticent

RNG = np.random.default_rng(5)
X = RNG.normal(0, 0.5, (3000, 2)).clip(-1, 1)
CODES = (X[:, 0] > 0).astype(int)
NAMES = np.array(["no", "yes"])[CODES]


def member(classes):
    return reticent.LogisticRegression(epsilon=8.0, feature_norm=2.0, classes=classes, algorithm="output-gd", max_weight=8.0)


def ensemble(kind, classes):
    members = [("a", member(classes)), ("b", member(classes)), ("c", member(classes))]
    return {
        "hard": lambda: VotingClassifier(members, voting="hard"),
        "soft": lambda: VotingClassifier(members, voting="soft"),
        "stacking": lambda: StackingClassifier(members, cv=2),
        "bagging": lambda: BaggingClassifier(member(classes), n_estimators=2),
    }[kind]()


@pytest.mark.parametrize("kind", ["hard", "soft", "stacking", "bagging"])
def test_classes_by_name_are_refused(kind):
    with pytest.raises(ValueError, match=r"declare `classes=\[0, 1, \.\.\.\]`"):
        ensemble(kind, ["no", "yes"]).fit(X, NAMES)


@pytest.mark.filterwarnings("ignore::reticent.SeedWarning")
@pytest.mark.parametrize("kind", ["hard", "soft", "stacking", "bagging"])
def test_classes_by_number_are_learned(kind):
    assert ensemble(kind, [0, 1]).fit(X, CODES).score(X, CODES) > 0.9


def test_a_seed_that_an_ensemble_sets_voids_each_member_and_is_told():
    with pytest.warns(reticent.SeedWarning, match="BaggingClassifier") as said:
        bag = ensemble("bagging", [0, 1]).fit(X, CODES)
    assert len(said) == 2
    assert all("seed" in one.certificate_["void"] for one in bag.estimators_)
    vote = ensemble("hard", [0, 1]).fit(X, CODES)
    assert all(one.certificate_["void"] is None for one in vote.estimators_)
