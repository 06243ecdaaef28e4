"""Metrics are those of scikit-learn, from the command and from the package."""

import numpy as np
import pandas as pd
import pytest
import sklearn.metrics as sk
from sklearn.linear_model import LogisticRegression

import reticent
from reticent import evaluate, load, privacy


def near(value):
    return pytest.approx(value, rel=1e-9, abs=1e-12)


def two_classes(n=400, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-0.5, 0.5, size=(n, 3)).round(1)  # many rows have one score
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-4 * X[:, 0] - 0.8)), "yes", "no")
    return X, y, np.where(rng.random(n) < 0.3, "f", "m")


@pytest.fixture(scope="module")
def classifier():
    X, y, _ = two_classes(seed=2)
    return reticent.LogisticRegression(epsilon=5.0, feature_norm=1.0, classes=["no", "yes"]).fit(X, y)


@pytest.mark.parametrize("threshold", [None, 0.7])
def test_two_classes(classifier, threshold):
    X, y, groups = two_classes()
    found = reticent.evaluate(classifier, X, y, by=groups, threshold=threshold, cost_fp=1.0, cost_fn=3.0)

    def expected(X, y):
        p, true = classifier.predict_proba(X)[:, 1], y == "yes"
        chosen = p >= (0.5 if threshold is None else threshold)
        return {
            "rows": len(y),
            "accuracy": sk.accuracy_score(true, chosen),
            "log_loss": sk.log_loss(true, p),
            "baseline_log_loss": sk.log_loss(true, np.full(len(y), true.mean())),
            "brier": sk.brier_score_loss(true, p),
            "auc": sk.roc_auc_score(true, p),
            "average_precision": sk.average_precision_score(true, p),
            "precision": sk.precision_score(true, chosen),
            "recall": sk.recall_score(true, chosen),
            "f1": sk.f1_score(true, chosen),
            "selection_rate": chosen.mean(),
            "positive_share": true.mean(),
            "confusion": sk.confusion_matrix(true, chosen).tolist(),
        }

    everyone = expected(X, y)
    assert {name: found["metrics"][name] for name in everyone} == {k: near(v) if k != "confusion" else v for k, v in everyone.items()}
    assert [group["group"] for group in found["groups"]] == ["f", "m"]
    for group in found["groups"]:
        one = expected(X[groups == group["group"]], y[groups == group["group"]])
        assert {name: group["metrics"][name] for name in one} == {k: near(v) if k != "confusion" else v for k, v in one.items()}
    recalls = [group["metrics"]["recall"] for group in found["groups"]]
    gap = next(gap for gap in found["gaps"] if gap["metric"] == "recall")
    assert (gap["least"][1], gap["largest"][1]) == (min(recalls), max(recalls))

    metrics, p, true = found["metrics"], classifier.predict_proba(X)[:, 1], y == "yes"
    line = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(np.log(p / (1 - p))[:, None], true)
    assert metrics["calibration_slope"] == pytest.approx(line.coef_[0, 0], rel=1e-5)
    assert metrics["calibration_offset"] == pytest.approx(line.intercept_[0], rel=1e-5, abs=1e-6)
    for row in metrics["calibration"]:
        inside = (p >= row["from"] - 1e-12) & (p < row["to"] - 1e-12)
        assert row["rows"] == inside.sum()
        assert (row["predicted"], row["observed"]) == (near(p[inside].mean()), near(true[inside].mean()))
    best = metrics["best_threshold"]
    costs = {t: ((p >= t) & ~true).mean() + 3 * ((p < t) & true).mean() for t in [*p, 1.5]}
    assert best["cost"] == near(min(costs.values())) == near(costs[best["threshold"]])
    assert best["if_calibrated"] == 0.25
    false_positive, true_positive, _ = sk.roc_curve(true, p)
    for x, height in metrics["roc"]:
        assert height <= np.interp(x, false_positive, true_positive, right=1) + 1e-9 or x in false_positive


def test_unknown_labels_are_left_out_and_the_first_class_may_be_positive():
    X, y, _ = two_classes()
    model = reticent.LogisticRegression(epsilon=5.0, feature_norm=1.0, classes=[0, 1]).fit(X, (y == "yes").astype(int))
    given = np.where(y == "yes", 1.0, 0.0)
    given[:7] = np.nan
    given[7] = 2
    metrics = reticent.evaluate(model, X, given)["metrics"]
    assert metrics["rows"] == len(y) - 8
    assert metrics["auc"] == near(sk.roc_auc_score(given[8:], model.decision_function(X)[8:]))
    with pytest.raises(ValueError, match="cost_fn"):
        reticent.evaluate(model, X, given, cost_fp=1.0)
    with pytest.raises(ValueError, match="threshold"):
        reticent.evaluate(model, X, given, threshold=1.2)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        reticent.evaluate(model, X, given[1:])


def test_scores_without_probabilities():
    X, y, _ = two_classes()
    model = reticent.LinearSVC(epsilon=5.0, feature_norm=1.0, classes=["no", "yes"], settings={"radius": 5.0}).fit(X, y)
    metrics = reticent.evaluate(model, X, y)["metrics"]
    assert metrics["auc"] == near(sk.roc_auc_score(y, model.decision_function(X)))
    assert metrics["f1"] == near(sk.f1_score(y, model.predict(X), pos_label="yes"))
    assert "log_loss" not in metrics and "calibration" not in metrics
    with pytest.raises(ValueError, match="threshold"):
        reticent.evaluate(model, X, y, threshold=0.4)


def test_three_classes():
    rng = np.random.default_rng(3)
    X = rng.uniform(-0.5, 0.5, size=(300, 3))
    y = np.argmax(X + rng.normal(0, 0.2, X.shape), axis=1)
    model = reticent.LogisticRegression(epsilon=8.0, feature_norm=1.0, classes=[0, 1, 2]).fit(X, y)
    p, chosen = model.predict_proba(X), model.predict(X)
    metrics = reticent.evaluate(model, X, y)["metrics"]
    expected = {
        "accuracy": sk.accuracy_score(y, chosen),
        "log_loss": sk.log_loss(y, p),
        "brier": ((p - np.eye(3)[y]) ** 2).sum(axis=1).mean(),
        "auc": sk.roc_auc_score(y, p, multi_class="ovr"),
        "precision": sk.precision_score(y, chosen, average="macro", zero_division=0),
        "recall": sk.recall_score(y, chosen, average="macro"),
        "f1": sk.f1_score(y, chosen, average="macro"),
    }
    assert {name: metrics[name] for name in expected} == {name: near(value) for name, value in expected.items()}
    assert metrics["confusion"] == sk.confusion_matrix(y, chosen).tolist()
    for place, one in enumerate(metrics["classes"]):
        assert one["auc"] == near(sk.roc_auc_score(y == place, p[:, place]))
        assert one["recall"] == near(sk.recall_score(y == place, chosen == place))


@pytest.mark.parametrize("loss", ["huber", "poisson", "tweedie", "pinball"])
def test_numbers(loss):
    rng = np.random.default_rng(4)
    X = rng.uniform(-0.5, 0.5, size=(300, 3))
    y = rng.poisson(np.exp(1 + X[:, 0])).astype(float)
    model = reticent.GeneralizedLinearRegressor(loss=loss, epsilon=5.0, feature_norm=1.0, label_bound=(0, 12)).fit(X, y)
    y[0] = 20.0  # beyond the bounds, and true all the same
    metrics, predicted = reticent.evaluate(model, X, y)["metrics"], model.predict(X)
    expected = {
        "mae": sk.mean_absolute_error(y, predicted),
        "rmse": sk.root_mean_squared_error(y, predicted),
        "r2": sk.r2_score(y, predicted),
    }
    if loss == "poisson":
        expected["deviance"] = sk.mean_poisson_deviance(y, predicted)
        expected["deviance_explained"] = sk.d2_tweedie_score(y, predicted, power=1)
    elif loss == "tweedie":
        expected["deviance"] = sk.mean_tweedie_deviance(y, predicted, power=1.5)
        expected["deviance_explained"] = sk.d2_tweedie_score(y, predicted, power=1.5)
    elif loss == "pinball":
        expected["quantile_coverage"] = (y <= predicted).mean()
    else:
        assert "deviance" not in metrics
    assert {name: metrics[name] for name in expected} == {name: near(value) for name, value in expected.items()}
    assert sum(row["rows"] for row in metrics["calibration"]) == 300


def test_the_command_measures_the_same(reticent, tmp_path):
    X, y, groups = two_classes()
    numbers = {"type": "real", "bounds": {"min": -0.5, "max": 0.5}}
    columns = [{"name": name, **numbers} for name in "abc"]
    columns.append({"name": "y", "type": "categorical", "categories": ["yes", "no"]})
    reticent.write_schema(columns, target="y", positive_class="yes")
    reticent.write_csv({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y, "sex": groups})
    reticent.fit("--data", "table.csv", "--schema", "schema.json", "--epsilon", 5)
    flags = ("--model", "model.json", "--data", "table.csv", "--by", "sex", "--threshold", 0.6, "--cost-fp", 1, "--cost-fn", 4)
    found = reticent.json("evaluate", *flags)
    rows = [line.split(",") for line in reticent("predict", "--model", "model.json", "--data", "table.csv").splitlines()]
    p, true = np.array([float(row[1]) for row in rows[1:]]), y == "yes"
    assert rows[0][1] == "probability yes"
    assert found["metrics"]["auc"] == near(sk.roc_auc_score(true, p))
    assert found["metrics"]["recall"] == near(sk.recall_score(true, p >= 0.6))
    # Declared order: the positive class is the first.
    assert found["metrics"]["confusion"] == sk.confusion_matrix(~true, p < 0.6).tolist()
    assert found["class_names"] == ["yes", "no"]
    assert [group["metrics"]["rows"] for group in found["by"]["groups"]] == [(groups == g).sum() for g in "fm"]
    text = reticent("evaluate", *flags)
    for word in ("Brier score", "predicted yes", "least cost: threshold", "largest gap in recall", "positive class", "calibration slope"):
        assert word in text
    (reticent.folder / "e.json").write_text(reticent("evaluate", *flags, "--json"))
    reticent("report", "model.json", "--evaluation", "e.json")
    page = (reticent.folder / "report.html").read_text()
    for word in ('id="roc"', 'id="calibration"', "Confusion matrix", "By sex", "Largest gaps"):
        assert word in page
    for flags in (("--threshold", "x"), ("--cost-fp", 1), ("--by", "nobody"), ("--threshold", 2)):
        reticent("evaluate", "--model", "model.json", "--data", "table.csv", *flags, code=2)


def test_private_metrics_are_near_the_exact_ones_and_are_charged(reticent):
    X, y, groups = two_classes(n=4000)
    numbers = {"type": "real", "bounds": {"min": -0.5, "max": 0.5}}
    columns = [{"name": name, **numbers} for name in "abc"]
    columns.append({"name": "sex", "type": "categorical", "categories": ["f", "m"]})
    columns.append({"name": "y", "type": "categorical", "categories": ["no", "yes"]})
    reticent.write_schema(columns, target="y", positive_class="yes")
    reticent.write_csv({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "sex": groups, "y": y})
    reticent.fit("--data", "table.csv", "--schema", "schema.json", "--epsilon", 5)
    flags = ("evaluate", "--model", "model.json", "--data", "table.csv", "--by", "sex")
    exact = reticent.json(*flags)
    reticent("ledger", "init", "c.ledger", "--epsilon", 5, "--delta", 1e-4)
    private = (*flags, "--epsilon", 2, "--delta", 1e-6, "--ledger", "c.ledger")
    found = reticent.json(*private)
    assert found["private"] is True and found["charge"] == 1
    assert "epsilon = 2" in found["statement"] and "void" not in found
    assert 1.9 < privacy.epsilon_upper(privacy.Event(found["event"]), 1e-6) <= 2
    # Eight deviations: odds below 1e-14, and what bins cost.
    for name, noise in found["noise"].items():
        near_exact = pytest.approx(exact["metrics"][name], abs=8 * noise + 0.02)
        assert found["metrics"][name] == near_exact, name
    assert [group["group"] for group in found["by"]["groups"]] == ["f", "m", ""]
    assert len(reticent.json("ledger", "show", "c.ledger")["charges"]) == 1
    assert "+/-" in reticent(*private)
    (reticent.folder / "e.json").write_text(reticent(*private[:-2], "--json"))
    reticent("report", "model.json", "--evaluation", "e.json")
    page = (reticent.folder / "report.html").read_text()
    assert "These metrics are (epsilon, delta)-differentially private with epsilon = 2" in page
    cheaper = (reticent.folder / "e.json").read_text().replace('"epsilon":2.0', '"epsilon":0.1')
    (reticent.folder / "e.json").write_text(cheaper)
    reticent("report", "model.json", "--evaluation", "e.json")
    assert "that does not verify" in (reticent.folder / "report.html").read_text()
    for more in (("--by", "a"), ("--epsilon", "inf"), ("--cost-fp", 1, "--cost-fn", 2), ("--rows", 5)):
        reticent(*flags[:-2], *(("--epsilon", 1) if "--epsilon" not in more else ()), *more, code=2)


def test_private_metrics_of_numbers_and_of_many_classes(reticent):
    rng = np.random.default_rng(5)
    x = rng.uniform(0, 1, 3000)
    target = 4 * x + rng.normal(0, 0.4, 3000)
    reticent.write_csv({"x": x, "y": target, "c": np.clip(target.round(), 0, 3).astype(int)})
    number = {"name": "x", "type": "real", "bounds": {"min": 0, "max": 1}}
    bounded = {"name": "y", "type": "real", "bounds": {"min": -2, "max": 6}}
    classes = {"name": "c", "type": "categorical", "categories": ["0", "1", "2", "3"]}
    for column in (bounded, classes):
        reticent.write_schema([number, column], target=column["name"])
        reticent.fit("--data", "table.csv", "--schema", "schema.json", "--epsilon", 5)
        flags = ("evaluate", "--model", "model.json", "--data", "table.csv")
        exact, found = reticent.json(*flags)["metrics"], reticent.json(*flags, "--epsilon", 3, "--adjacency", "zero-out")
        assert found["noise"].keys() >= ({"mae", "rmse", "r2"} if column is bounded else {"accuracy", "log_loss", "f1"})
        for name, noise in found["noise"].items():
            near_exact = pytest.approx(exact[name], abs=8 * noise + 0.05 * abs(exact[name]))
            assert found["metrics"][name] == near_exact, name


def test_risk_in_place_of_epsilon(reticent):
    X, y, _ = two_classes(n=2000)
    numbers = {"type": "real", "bounds": {"min": -0.5, "max": 0.5}}
    columns = [{"name": name, **numbers} for name in "abc"]
    columns.append({"name": "y", "type": "categorical", "categories": ["no", "yes"]})
    reticent.write_schema(columns, target="y")
    reticent.write_csv({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y})
    table = ("--data", "table.csv", "--schema", "schema.json")
    for risk, kept in (
        (("--max-advantage", 0.1), lambda bounds: bounds["advantage_upper"] <= 0.1),
        (("--max-tpr", 0.06, "--at-fpr", 0.01), lambda bounds: bounds["trade_off"][1]["true_positive_rate"] <= 1.001 * 0.06),
    ):
        text = reticent("fit", *table, *risk, "--out", "model.json", "--force")
        assert "epsilon was chosen to keep it" in text and "GDP with mu <= " in text
        verified = reticent.json("verify", "model.json")
        assert verified["pass"] and kept(verified["risk_bounds"]), verified["risk_bounds"]
        epsilon = float(reticent.model()["certificate"]["budget"]["epsilon"])
        planned = reticent.json("plan", "--n", 2000, "--schema", "schema.json", *risk)
        assert float(planned["budget"]["epsilon"]) == epsilon
        assert "risk: " in reticent("plan", "--n", 2000, "--schema", "schema.json", *risk)
        found = reticent.json("calibrate", *risk, "--q", 0.01, "--steps", 500)
        assert found["risk_upper"] <= risk[1] and found["risk_bounds"]["mu_upper"] > 0
    bounds = verified["risk_bounds"]
    assert 0 < bounds["mu_upper"] < 1
    for bad in (("--max-advantage", 2), ("--max-tpr", 0.1), ("--max-advantage", 0.1, "--epsilon", 1), ("--max-tpr", 0.1, "--at-fpr", 0.2)):
        reticent("fit", *table, *bad, "--out", "other.json", code=2)
    reticent("tune", *table, "--max-advantage", 0.1, "--out", "other.json", code=2)
    assert not (reticent.folder / "other.json").exists()


@pytest.mark.parametrize("risk", [{"max_advantage": 0.2}, {"max_tpr": 0.1, "at_fpr": 0.02}])
def test_estimators_take_a_risk_in_place_of_epsilon(risk):
    X, y, _ = two_classes(n=2000)
    model = reticent.LogisticRegression(**risk, feature_norm=1.0, classes=["no", "yes"]).fit(X, y)
    certificate = model.certificate_
    assert certificate["risk"]["most"] == next(iter(risk.values()))
    assert "at most" in certificate["statement"] and model.verify()["pass"]
    epsilon = float(certificate["budget"]["epsilon"])
    same = reticent.LogisticRegression(epsilon=epsilon, feature_norm=1.0, classes=["no", "yes"]).fit(X, y)
    assert same.plan_ == model.plan_


def test_a_risk_that_is_none_or_given_twice_is_refused():
    X, y, _ = two_classes(n=200)
    given = {"feature_norm": 1.0, "classes": ["no", "yes"]}
    for risk, word in (
        ({}, "max_advantage"),
        ({"max_advantage": 0.1, "epsilon": 1.0}, "exclude each other"),
        ({"max_advantage": 0.1, "max_tpr": 0.1, "at_fpr": 0.01}, "exclude each other"),
        ({"max_tpr": 0.1}, "go together"),
        ({"max_advantage": 2.0}, "between 0 and 1"),
    ):
        with pytest.raises(ValueError, match=word):
            reticent.LogisticRegression(**risk, **given).fit(X, y)
    with pytest.raises(ValueError, match="takes `epsilon`"):
        reticent.tune(reticent.LogisticRegression(max_advantage=0.1, **given), X, y)


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove-one"])
def test_private_metrics_are_those_of_the_command(reticent, adjacency):
    X, y, groups = two_classes(n=3000)
    columns = [{"name": name, "type": "real", "bounds": {"min": -0.5, "max": 0.5}} for name in "abc"]
    columns.append({"name": "sex", "type": "categorical", "categories": ["f", "m"]})
    columns.append({"name": "y", "type": "categorical", "categories": ["no", "yes"]})
    reticent.write_schema(columns, target="y", positive_class="yes")
    table = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "sex": groups, "y": y}
    reticent.write_csv(table)
    reticent.fit("--data", "table.csv", "--schema", "schema.json", "--epsilon", 5)
    rows = 3000 if adjacency.startswith("add-remove") else None
    flags = ["--epsilon", 2, "--delta", 1e-5, "--adjacency", adjacency, *([] if rows is None else ["--rows", rows])]
    theirs = reticent.json("evaluate", "--model", "model.json", "--data", "table.csv", "--by", "sex", *flags)
    reticent("ledger", "init", "p.ledger", "--epsilon", 3, "--delta", 1e-5, "--adjacency", adjacency)
    ledger, frame = reticent.folder / "p.ledger", pd.DataFrame(table)
    given = {"epsilon": 2.0, "delta": 1e-5, "adjacency": adjacency, "rows": rows, "by": groups, "groups": ["f", "m"]}
    model = load(reticent.folder / "model.json")
    ours = evaluate(model, frame, y, ledger=ledger, **given)
    for name in ("statement", "event", "noise_deviation", "sensitivity", "blocks", "cells", "budget"):
        assert ours[name] == theirs[name], name
    assert (ours["private"], ours["charge"]) == (True, 1)
    assert [group["group"] for group in ours["groups"]] == ["f", "m", ""]
    exact = evaluate(model, frame, y)["metrics"]
    for name, noise in ours["noise"].items():
        if name in ("accuracy", "recall", "brier"):
            assert abs(ours["metrics"][name] - exact[name]) < 6 * noise + 0.005, name
    # The budget is used up, and the ledger says no before noise is drawn.
    with pytest.raises(ValueError, match="does not fit"):
        evaluate(model, frame, y, ledger=ledger, **given)


def test_private_metrics_refuse_what_would_tell_of_rows(classifier):
    X, y, groups = two_classes()
    for given, words in [
        ({"epsilon": 1.0, "by": groups}, "`groups` those there can be"),
        ({"epsilon": 1.0, "cost_fp": 1.0, "cost_fn": 2.0}, "need exact metrics"),
        ({"epsilon": 1.0, "unit": groups}, "without a `unit`"),
        ({"epsilon": 1.0, "adjacency": "add-remove-one"}, "declare `rows`"),
        ({"epsilon": 1.0, "rows": 400}, "leave `rows` out"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"delta": 1e-6}, "`delta` goes with `epsilon`"),
        ({"ledger": "l"}, "`ledger` goes with `epsilon`"),
    ]:
        with pytest.raises(ValueError, match=words):
            evaluate(classifier, X, y, **given)


def test_private_metrics_of_units_count_as_many_rows_as_declared():
    X, y, _ = two_classes(n=2000)
    people = np.arange(2000) // 10
    model = reticent.LogisticRegression(epsilon=5.0, feature_norm=1.0, classes=["no", "yes"]).fit(X, y, unit=people, max_rows=4)
    found = evaluate(model, X, y, epsilon=50.0, delta=1e-3, unit=people)
    assert (found["max_rows"], found["budget"]["adjacency"]) == (4, "replace-one-unit")
    assert found["metrics"]["rows"] == pytest.approx(800, abs=30)
    with pytest.raises(ValueError, match="unit"):
        evaluate(model, X, y, epsilon=50.0)
