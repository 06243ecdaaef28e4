"""Features that people reach for: a ledger object, checks of files, plans of schemas, the target
inside the table, other tools' formats."""

from __future__ import annotations

import copy
import json
import os
import pickle
import re
import subprocess
import sys
import time
import types
from typing import get_args

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import reticent
from reticent import LogisticRegression, OverBudget, Ridge, _types

SCHEMA = {
    "target": "back",
    "columns": [
        {"name": "age", "type": "real", "bounds": {"min": 0, "max": 100}},
        {"name": "ward", "type": "categorical", "categories": ["a", "b"]},
        {"name": "back", "type": "categorical", "categories": ["no", "yes"]},
    ],
}


def people(rows: int = 400) -> pd.DataFrame:
    draw = np.random.default_rng(0)
    age = draw.uniform(0, 100, rows)
    return pd.DataFrame({"age": age, "ward": draw.choice(["a", "b"], rows), "back": np.where(age > 50, "yes", "no")})


def declared(**more: object) -> LogisticRegression:
    given = {"epsilon": 5.0, "declaration": SCHEMA, "algorithm": "clipped-sgd", **more}
    return LogisticRegression(**given)  # type: ignore[arg-type]


def test_a_ledger_is_made_charged_and_read(tmp_path):
    path = tmp_path / "clinic.ledger"
    book = reticent.Ledger.init(path, epsilon=6.0, delta=1e-4)
    with pytest.raises(ValueError, match="ledger"):
        reticent.Ledger.init(path, epsilon=6.0)
    assert book.charge("a survey", epsilon=0.5) == 1
    event = reticent.privacy.gaussian(noise_multiplier=20.0) if hasattr(reticent.privacy, "gaussian") else None
    assert event is None or book.charge("a mean", event=event, delta=1e-6) == 2
    before = len(book.show()["charges"])
    declared(ledger=book, delta=1e-6).fit(people())
    standing = reticent.Ledger(path).show()
    assert len(standing["charges"]) == before + 1
    assert standing["left"] < 1.0
    with pytest.raises(OverBudget):
        declared(ledger=book, delta=1e-6).fit(people())
    kinds = {next(iter(record["entry"])) if isinstance(record.get("entry"), dict) else str(record) for record in book.history()}
    assert kinds
    with pytest.raises(ValueError, match="either `epsilon`"):
        book.charge("nothing")
    with pytest.raises(ValueError, match="begun"):
        book.refund(1)
    assert repr(book) == f"Ledger({str(path)!r})"
    units = reticent.Ledger.init(tmp_path / "units.ledger", epsilon=1.0, unit="patient")
    assert units.show()["budget"]["adjacency"] == "replace-one-unit"
    assert units.show()["unit"] == "patient"
    with pytest.raises(ValueError, match="does not say whom it protects"):
        units.charge("a survey", epsilon=0.1)
    with pytest.raises(ValueError, match="must be `patient`"):
        units.charge("a survey", epsilon=0.1, unit="hospital")
    assert units.charge("a survey", epsilon=0.1, unit="patient") == 1
    with pytest.raises(ValueError, match="`filter` must be"):
        reticent.Ledger.init(tmp_path / "other.ledger", epsilon=1.0, filter="best")  # type: ignore[arg-type]


def test_a_copied_ledger_is_the_same_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    book = reticent.Ledger.init("clinic.ledger", epsilon=50.0, delta=1e-3)
    model = declared(ledger=book, delta=1e-6)
    search = GridSearchCV(clone(model), {"ridge": [0.01, 0.1]}, cv=2, n_jobs=2, refit=False)
    monkeypatch.chdir("/")
    table = people()
    search.fit(table, table["back"])
    copies = [pickle.loads(pickle.dumps(book)), copy.deepcopy(model).ledger, clone(model).ledger]
    # Each of four fits was charged, and every copy reads the same records.
    assert [len(copied.show()["charges"]) for copied in copies] == [4, 4, 4]
    copies[0].charge("a survey", epsilon=0.1)
    assert len(book.show()["charges"]) == 5


def test_a_choice_among_settings_is_paid_for_as_one(tmp_path):
    table = people(2000)
    book = reticent.Ledger.init(tmp_path / "clinic.ledger", epsilon=6.0, delta=1e-4)
    tries = [{"algorithm": "objective"}, {"algorithm": "clipped-sgd", "steps": 50}]
    given = declared(ledger=book, delta=1e-6)
    found = reticent.tune(given, table, tries=tries, trials=3)
    assert not hasattr(given, "certificate_")
    told = found.tuning_
    assert told["candidates"] == 2 and told["settings"] == tries[told["candidate"]]
    assert found.plan_["algorithm"] == told["settings"]["algorithm"]
    assert 0 < told["score"] < 2000 + 6 * told["score_noise"]
    selection = found.certificate_["selection"]
    assert [plan["algorithm"] for plan in selection["candidates"]] == ["objective", "clipped-sgd"]
    assert found.verify()["pass"]
    assert found.score(table, table["back"]) > 0.8
    (charged,) = book.show()["charges"]
    assert charged["charge"] == found.certificate_["payment"]["charge"]
    found.save(tmp_path / "model.json")
    assert reticent.verify(tmp_path / "model.json", ledger=book)["pass"]
    with pytest.raises(OverBudget):
        reticent.tune(given, table, tries=tries, trials=3)
    whose = np.arange(2000) // 2
    by_unit = reticent.tune(declared(delta=1e-5), table, tries=tries[1:], trials=2, unit=whose, max_rows=2)
    assert by_unit.certificate_["budget"]["adjacency"] == "replace-one-unit"
    assert by_unit.verify()["pass"]


@pytest.mark.parametrize(
    ("tries", "more", "what"),
    [
        ([], {}, "list of dictionaries"),
        ({"ridge": 1.0}, {}, "list of dictionaries"),
        (["objective"], {}, "must be a dictionary"),
        ([{"ridge": 1.0}], {"algorithm": "auto"}, "must name its `algorithm`"),
        ([{"algorithm": "objective", "ridges": 1.0}], {}, "unknown setting `ridges`"),
        ([{"algorithm": "objective", "intervals": 95}], {}, "`intervals` cannot be tuned"),
        ([{"algorithm": "objective"}], {"delta": 0.0}, "delta"),
        ([{"algorithm": "objective"}], {"epsilon": float("inf")}, "epsilon"),
    ],
)
def test_what_cannot_be_tuned_is_refused(tries, more, what):
    with pytest.raises(ValueError, match=what):
        reticent.tune(declared(**{"delta": 1e-6, **more}), people(), tries=tries)
    with pytest.raises(ValueError, match="estimator of reticent"):
        reticent.tune(object(), people())  # type: ignore[type-var]


def test_words_that_are_types_are_those_of_the_engine():
    assert get_args(_types.Algorithm) == ("auto", *sorted(a["name"] for a in reticent.algorithms()))
    words = [*get_args(_types.Adjacency), *get_args(_types.UnitAdjacency)]
    for word in words:
        assert reticent.privacy.gdp(1.0, adjacency=word).adjacency == word
    with pytest.raises(ValueError, match="unknown variant `replace-two`") as refused:
        reticent.privacy.gdp(1.0, adjacency="replace-two")  # type: ignore[arg-type]
    assert all(word in str(refused.value) for word in words)


TYPED = """
import numpy as np
import reticent
from reticent import privacy

event = privacy.gaussian(1.0)
reveal_type(privacy.epsilon_upper(event, 1e-6))
reveal_type(privacy.epsilon_upper(event, [1e-6, 1e-5]))
reveal_type(privacy.delta_upper(event, np.array([1.0])))
reveal_type(reticent.load("model.json"))
reveal_type(reticent.tune(reticent.Ridge(epsilon=1.0), [[0.0]], [0.0]))
reticent.Ridge(algorithm="clipped-sdg")
reticent.plan(n=1, d=1, epsilon=1.0, adjacency="replace_two")
"""


def test_types_say_what_is_returned_and_find_misspelt_words(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "use.py").write_text(TYPED)
    config = ROOT / "python" / "pyproject.toml"
    command = [sys.executable, "-m", "mypy", "--config-file", str(config), "--no-incremental", str(tmp_path / "use.py")]
    source = {**os.environ, "MYPYPATH": str(ROOT / "python" / "src")}
    told = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=source).stdout
    revealed = re.findall(r'Revealed type is "(.*)"', told)
    assert "float" in revealed[0] and "ndarray" not in revealed[0], told
    assert "ndarray" in revealed[1] and "ndarray" in revealed[2], told
    assert "PrivateClassifier" in revealed[3] and "PrivateRegressor" in revealed[3], told
    assert revealed[4].endswith("Ridge"), told
    assert told.count("[arg-type]") == 2, told


def test_planning_that_takes_long_is_announced(monkeypatch, caplog):
    from reticent import _progress

    monkeypatch.setattr(_progress, "PATIENCE", 0.05)
    with _progress.shown(False) as tell:
        time.sleep(0.2)
        tell(0, 0)
    assert "planning" in caplog.text and "no row is read" in caplog.text
    caplog.clear()
    with _progress.shown(False) as tell:
        tell(0, 0)
        time.sleep(0.2)
    assert caplog.text == ""


def test_a_file_is_verified_without_an_estimator(tmp_path):
    declared().fit(people()).save(tmp_path / "model.json")
    found = reticent.verify(tmp_path / "model.json")
    assert found["pass"]
    model = json.loads((tmp_path / "model.json").read_text())
    model["weights"][0][0] += 1.0
    (tmp_path / "model.json").write_text(json.dumps(model))
    assert not reticent.verify(tmp_path / "model.json")["pass"]
    with pytest.raises(FileNotFoundError):
        reticent.verify(tmp_path / "none.json")


def test_a_schema_is_explained_and_planned_for(tmp_path):
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    for given in (SCHEMA, tmp_path / "schema.json"):
        found = reticent.schema_check(given)
        assert "protects one row" in found["text"]
    assert "all rows of one `patient`" in reticent.schema_check(SCHEMA, unit="patient", max_rows=3)["text"]
    with pytest.raises(ValueError, match="declares no column"):
        reticent.schema_check({"columns": []})
    by_schema = reticent.plan(n=5000, declaration=SCHEMA, epsilon=1.0, algorithm="clipped-sgd")
    by_hand = reticent.plan(n=5000, d=4, epsilon=1.0, feature_norm=3**0.5, algorithm="clipped-sgd")
    assert by_schema["noise_deviation"][0] == pytest.approx(by_hand["noise_deviation"][0], rel=0.5)
    with pytest.raises(ValueError, match="in the order of the table"):
        reticent.plan(n=5000, declaration=SCHEMA, epsilon=1.0, unit="patient", max_rows=3, algorithm="phased")
    with pytest.raises(ValueError, match="exclude each other"):
        reticent.plan(n=5000, d=4, declaration=SCHEMA, epsilon=1.0)
    with pytest.raises(ValueError, match="give `d`"):
        reticent.plan(n=5000, epsilon=1.0)
    with pytest.raises(ValueError, match="go together"):
        reticent.plan(n=5000, d=4, epsilon=1.0, unit="patient")


def test_the_target_may_stay_in_the_table():
    table = people()
    inside = declared(random_state=1).fit(table)
    beside = declared(random_state=1).fit(table[["age", "ward"]], table["back"])
    assert (inside.coef_ == beside.coef_).all()
    assert (inside.predict(table) == beside.predict(table)).all()
    with pytest.raises(ValueError, match="declared target `back`"):
        declared().fit(table[["age", "ward"]])
    with pytest.raises(ValueError, match="requires y to be passed"):
        Ridge(epsilon=1.0, feature_norm=1.0, label_bound=1.0).fit(np.zeros((9, 2)))


def test_jobs_are_threads_and_what_is_done_is_said(capsys):
    table = people()
    one = declared(random_state=1, n_jobs=1).fit(table)
    two = declared(random_state=1, n_jobs=-1, verbose=True).fit(table)
    assert (one.coef_ == two.coef_).all()
    assert "planning" in capsys.readouterr().out
    with pytest.raises(ValueError, match="are the same"):
        declared(n_jobs=1, threads=1).fit(table)


def test_a_table_on_a_cluster_is_named():
    frame = types.SimpleNamespace(sparkSession=object(), columns=["age"])
    with pytest.raises(ValueError, match="reticent.spark.fit"):
        declared().fit(frame)
    with pytest.raises(ValueError, match="reticent.spark.ml.predict"):
        declared().fit(people()).predict(frame)


def test_states_hold_no_object_of_the_engine():
    model = declared().fit(people())
    state = model.__getstate__()
    assert isinstance(state["_model"], str)
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict(people()) == model.predict(people())).all()
    skops = pytest.importorskip("skops.io")
    data = skops.dumps(model)
    loaded = skops.loads(data, trusted=skops.get_untrusted_types(data=data))
    assert (loaded.predict(people()) == model.predict(people())).all()
    assert loaded.verify()["pass"]


def test_mlflow_loads_a_folder(tmp_path):
    from reticent import mlflow

    model = declared().fit(people())
    mlflow.save_model(model, tmp_path / "flavour")
    described = json.loads((tmp_path / "flavour" / "MLmodel").read_text())
    assert described["flavors"]["python_function"]["loader_module"] == "reticent.mlflow"
    table = people()
    found = mlflow._load_pyfunc(str(tmp_path / "flavour" / described["flavors"]["python_function"]["data"]))
    assert (found.predict(table) == model.predict(table)).all()
    assert found.predict(table, {"proba": True}).shape == (len(table), 2)
    with pytest.raises(FileExistsError):
        mlflow.save_model(model, tmp_path / "flavour")
    pyfunc = pytest.importorskip("mlflow.pyfunc")
    assert (pyfunc.load_model(str(tmp_path / "flavour")).predict(table) == model.predict(table)).all()


def test_mlflow_reads_columns_by_their_names(tmp_path):
    from reticent import mlflow

    draw = np.random.default_rng(0)
    table = pd.DataFrame(draw.uniform(-0.5, 0.5, (500, 3)), columns=["a", "b", "c"])
    model = LogisticRegression(epsilon=50.0, feature_norm=1.0, classes=[0, 1], algorithm="output-gd").fit(table, (table["a"] > 0).astype(int))
    mlflow.save_model(model, tmp_path / "flavour")
    loaded = mlflow._load_pyfunc(str(tmp_path / "flavour" / "model.json"))
    turned = table[["c", "a", "b"]].assign(more=1.0)
    assert (loaded.predict(turned) == model.predict(table)).all()
    assert (loaded.predict(table.to_numpy()) == model.predict(table)).all()
    with pytest.raises(ValueError, match="lacks the column `b`; the model was fitted on a, b, c"):
        loaded.predict(table[["a", "c"]])
    with pytest.raises(ValueError, match="feature names"):
        mlflow.load_model(tmp_path / "flavour").predict(turned)


def test_a_ledger_keeps_a_model_whose_upload_fails(tmp_path, monkeypatch):
    from reticent import mlflow

    real = pytest.importorskip("mlflow")
    book = reticent.Ledger.init(tmp_path / "clinic.ledger", epsilon=6.0, delta=1e-4)
    model = declared(ledger=book, delta=1e-6).fit(people())

    def fails(*_, **__):
        raise OSError("no route to the store")

    monkeypatch.setattr(real, "log_artifacts", fails)
    with pytest.raises(OSError, match="no route"):
        mlflow.log_model(model)
    kept = subprocess.run(
        [os.environ["RETICENT"], "ledger", "recover", str(tmp_path / "clinic.ledger"), "--charge", "1", "--out", str(tmp_path / "again.json")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert kept.returncode == 0, kept.stderr
    assert reticent.verify(tmp_path / "again.json", ledger=book)["pass"]


@pytest.mark.parametrize(
    ("package", "extra", "line"),
    [
        ("pandas", "tables", "reticent.census(10)"),
        ("tqdm.auto", "progress", "reticent.LogisticRegression(epsilon=1.0, feature_norm=1.0, classes=[0, 1], progress=True).fit([[0.0]], [0])"),
        ("matplotlib.pyplot", "plots", "reticent.plot._axes(None)"),
        ("mlflow", "mlflow", "import reticent.mlflow; reticent.mlflow.log_model(None)"),
    ],
)
def test_a_missing_package_names_its_extra(package, extra, line):
    code = f"import sys; sys.modules[{package!r}] = None\nimport reticent\n{line}"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"pip install reticent[{extra}]" in ended.stderr, ended.stderr
