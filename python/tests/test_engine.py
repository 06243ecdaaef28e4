"""The engine behind the estimators: the interpreter stays free, an interrupt stops a run, files are
the command's."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import reticent

RNG = np.random.default_rng(5)
X = RNG.uniform(-0.5, 0.5, size=(20_000, 30))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)
LONG = {
    "epsilon": 1.0,
    "feature_norm": 3.0,
    "classes": [0, 1],
    "algorithm": "clipped-sgd",
    "settings": {"steps": 200_000, "batch": 5000},
}


def test_other_threads_run_while_a_model_is_fitted():
    running = threading.Event()
    model = reticent.LogisticRegression(**{**LONG, "settings": {"steps": 3000, "batch": 2000}})
    worker = threading.Thread(target=lambda: (running.set(), model.fit(X, Y)))
    worker.start()
    running.wait()
    turns = 0
    while worker.is_alive():
        turns += 1
        time.sleep(0.001)
    worker.join()
    # A held interpreter would allow a handful: one at each end.
    assert turns > 50, turns


def test_an_interrupt_stops_a_long_fit():
    script = textwrap.dedent(
        f"""
        import numpy as np, reticent
        X = np.random.default_rng(5).uniform(-0.5, 0.5, size=(20_000, 30))
        model = reticent.LogisticRegression(**{LONG!r}, progress=lambda done, total: print(done, flush=True))
        try:
            model.fit(X, (X[:, 0] > 0).astype(int))
        except KeyboardInterrupt:
            print("interrupted", hasattr(model, "certificate_"), flush=True)
        """
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    try:
        process.stdout.readline()  # it is running
        process.send_signal(signal.SIGINT)
        started = time.monotonic()
        rest, _ = process.communicate(timeout=60)
        assert time.monotonic() - started < 30
    finally:
        process.kill()
    assert rest.splitlines()[-1] == "interrupted False"
    assert process.returncode == 0


def test_an_error_of_the_callback_stops_the_run():
    def refuse(done, total):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        reticent.LogisticRegression(**LONG, progress=refuse).fit(X, Y)


def test_progress_is_counts_alone(capsys):
    seen = []
    settings = {"steps": 2000, "batch": 2000}
    model = reticent.LogisticRegression(**{**LONG, "settings": settings}, progress=lambda *told: seen.append(told))
    model.fit(X, Y)
    totals = {total for _, total in seen}
    assert len(totals) == 1 and seen == sorted(seen)
    assert seen[-1][0] == seen[-1][1] > 0
    pytest.importorskip("tqdm")
    model.set_params(progress=True).fit(X, Y)
    assert f"{seen[-1][1]}/{seen[-1][1]}" in capsys.readouterr().err


def test_any_number_of_threads_gives_the_same_model():
    common = {"epsilon": 1.0, "feature_norm": 3.0, "classes": [0, 1], "random_state": 1}
    one, two = (reticent.LogisticRegression(**common, threads=n).fit(X, Y) for n in (1, 2))
    assert (one.coef_ == two.coef_).all()


def test_the_command_reads_the_models_of_the_package(reticent):
    import reticent as package

    model = package.LogisticRegression(epsilon=1.0, delta=1e-6, feature_norm=3.0, classes=["no", "yes"])
    model.fit(X, np.array(["no", "yes"])[Y])
    model.save(reticent.folder / "model.json")
    assert reticent.json("verify", "model.json")["pass"] is True
    reticent("report", "model.json", "--out", "report.html")
    np.save(reticent.folder / "rows.npy", X[:100])
    found = reticent.json("predict", "--model", "model.json", "--data", "rows.npy")
    assert [p["value"] for p in found["predictions"]] == model.predict(X[:100]).tolist()
    np.testing.assert_allclose([p["probabilities"] for p in found["predictions"]], model.predict_proba(X[:100]), rtol=1e-12)


def test_a_model_and_a_ledger_are_not_replaced_in_passing(reticent):
    import reticent as package

    ledger, path = reticent.folder / "people.ledger", reticent.folder / "model.json"
    reticent("ledger", "init", ledger, "--epsilon", "3")
    model = package.LogisticRegression(epsilon=1.0, delta=1e-6, feature_norm=3.0, classes=[0, 1]).fit(X, Y)
    model.save(path)
    model.save(path)  # the same again replaces nothing
    first = path.read_text()
    model.fit(X, Y)
    with pytest.raises(ValueError, match="overwrite=True"):
        model.save(path)
    assert path.read_text() == first
    model.save(path, overwrite=True)
    assert path.read_text() != first
    for overwrite in (False, True):
        with pytest.raises(ValueError, match="it is a ledger"):
            model.save(ledger, overwrite=overwrite)
    reticent("ledger", "check", ledger)


def test_the_package_reads_the_models_of_the_command(reticent):
    import reticent as package

    table, declaration = package.census(3000, seed=4)
    reticent.write_schema(**declaration)
    table.to_csv(reticent.folder / "table.csv", index=False)
    line = package.LogisticRegression
    for kind, flags in (
        (package.AdditiveClassifier, []),
        (line, ["--linear"]),
        (line, ["--linear", "--normalize", "rows", "--feature-norm", "1.5"]),
        (line, ["--linear", "--precision", "f32", "--no-intercept"]),
    ):
        reticent.fit("--data", "table.csv", "--schema", "schema.json", "--epsilon", "2", *flags)
        model = package.load(reticent.folder / "model.json")
        assert isinstance(model, kind)
        assert model.verify()["pass"]
        found = reticent.json("predict", "--model", "model.json", "--data", "table.csv")["predictions"]
        assert [p["value"] for p in found] == model.predict(table).tolist()
        np.testing.assert_allclose([p["probabilities"] for p in found], model.predict_proba(table), rtol=1e-12)
        assert model.classes_.tolist() == ["<=40K", ">40K"]


def test_python_and_the_command_fit_the_same_model(reticent):
    import reticent as package

    table, declaration = package.census(3000, seed=4)
    reticent.write_schema(**declaration)
    table.to_csv(reticent.folder / "table.csv", index=False)
    for kind, flags in ((package.LogisticRegression, ("--linear", "--precision", "f64")), (package.AdditiveClassifier, ())):
        commanded = reticent.fit("--data", "table.csv", "--schema", "schema.json", "--epsilon", "2", "--insecure-seed", "9", *flags)
        model = kind(epsilon=2.0, declaration=declaration, random_state=9)
        model.fit(table.drop(columns="income"), table["income"]).save(reticent.folder / "python.json", overwrite=True)
        assert reticent.model("python.json") == commanded


def test_every_fit_is_charged_to_the_ledger(reticent):
    import reticent as package
    from sklearn.model_selection import GridSearchCV, KFold

    ledger = reticent.folder / "people.ledger"
    reticent("ledger", "init", ledger, "--epsilon", "3", "--delta", "1e-5")
    model = package.LogisticRegression(
        epsilon=0.2, delta=1e-7, feature_norm=3.0, classes=[0, 1], algorithm="objective", ledger=ledger
    )
    search = GridSearchCV(model, {"ridge": [1e-3, 1e-1]}, cv=KFold(2)).fit(X, Y)
    charges = reticent.json("ledger", "show", ledger)["charges"]
    assert len(charges) == 2 * 2 + 1
    assert all(charge["state"] == "released" for charge in charges)
    # The model names its charge, and the command verifies it.
    search.best_estimator_.save(reticent.folder / "model.json")
    assert reticent.json("verify", "model.json")["pass"] is True
    # A model that was not saved is kept, and one that was need not be.
    assert reticent.json("ledger", "show", ledger)["kept_models"] == [1, 2, 3, 4]
    reticent("ledger", "recover", ledger, "--charge", "2", "--out", "second.json")
    assert reticent.model("second.json")["digest"] == charges[1]["model"]
    assert reticent.json("ledger", "show", ledger)["kept_models"] == [1, 3, 4]
    with pytest.raises(package.OverBudget):
        model.set_params(epsilon=2.9).fit(X, Y)
    # A fit that is refused, or fails before a row is used, costs nothing.
    with pytest.raises(ValueError, match="inconsistent"):
        model.set_params(epsilon=0.2).fit(X, Y[:-1])
    with pytest.raises(ValueError, match="random_state"):
        model.set_params(random_state=1).fit(X, Y)
    assert len(reticent.json("ledger", "show", ledger)["charges"]) == 5


def test_importing_is_quick():
    """The figure is bench/python's; here a loose bound, and the reason why it holds: scikit-learn
    comes later."""
    script = "import sys, reticent; assert 'sklearn' not in sys.modules and 'pandas' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True, env=os.environ)
