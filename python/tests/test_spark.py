"""The same estimators on a real cluster: two executors in processes of their own, one of which
dies."""

import json
import os
import re
import shutil
import signal
import sys
import threading
import time

import numpy as np
import pandas as pd
import pytest

from reticent import LinearSVC, LogisticRegression, OverBudget, Ridge

pyspark = pytest.importorskip("pyspark")
pytestmark = [
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java: cargo xtask test installs it"),
    pytest.mark.filterwarnings("ignore"),
]

FEATURES = [f"x{j}" for j in range(5)]
ROWS = 6000


@pytest.fixture(scope="module")
def spark():
    """A cluster on this machine: a master, two workers, an executor process for each."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .appName("reticent")
        .config("spark.executor.memory", "768m")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.log.level", "FATAL")
        .getOrCreate()
    )
    yield session
    session.stop()


@pytest.fixture(scope="module")
def table():
    """Rows of which some are alike, and one that is no number."""
    rng = np.random.default_rng(7)
    X = rng.uniform(-0.6, 0.6, (ROWS, len(FEATURES))).round(2)
    y = (X @ [2.0, -1.0, 0.5, 0.0, 1.0] + 0.3 * rng.normal(size=ROWS) > 0).astype(int)
    frame = pd.DataFrame(X, columns=FEATURES)
    frame["y"] = y
    frame["who"] = np.arange(ROWS)
    frame.loc[17, "x2"] = np.nan
    return frame


@pytest.fixture(scope="module")
def frame(spark, table):
    """The table on the cluster."""
    return spark.createDataFrame(table).persist()


def make(**more):
    kind = more.pop("kind", LogisticRegression)
    declared = {"label_bound": 1.0} if kind is Ridge else {"classes": [0, 1]}
    return kind(**{"epsilon": 1.0, "feature_norm": 1.2, "random_state": 3, **declared, **more})


def fit(frame, estimator=None, **more):
    from reticent.spark import fit

    estimator = make() if estimator is None else estimator
    return fit(estimator, frame, **{"target": "y", "features": FEATURES, "block_rows": 512, **more})


def weights(model):
    return np.append(model.coef_, model.intercept_)


CLIPPED = {"algorithm": "clipped-sgd", "settings": {"steps": 6, "batch": 300}}
FULL = {"algorithm": "output-gd", "settings": {"steps": 4}}


@pytest.fixture(scope="module")
def first(frame):
    """The models of two algorithms, with four partitions."""
    return {name: fit(frame, make(**how), partitions=4) for name, how in (("clipped", CLIPPED), ("full", FULL))}


def executors():
    """The executor processes of this test's cluster."""
    psutil = pytest.importorskip("psutil")

    def is_executor(process):
        try:
            return any("CoarseGrainedExecutorBackend" in word for word in process.cmdline())
        except psutil.Error:  # it has just ended
            return False

    return [process for process in psutil.Process().children(recursive=True) if is_executor(process)]


def test_a_column_of_weights_weighs_rows_as_in_memory(frame, table):
    columns = [{"name": name, "type": "real", "bounds": {"min": -1, "max": 1}} for name in FEATURES]
    target = {"name": "y", "type": "categorical", "categories": [0, 1]}

    def declared(role):
        weight = {"name": "who", "role": role, "type": "real", "bounds": {"min": 0, "max": ROWS / 2}}
        return {"target": "y", "columns": [*columns, weight, target]}

    # Noise that hides nothing, so that the order of the rows does not matter.
    how = {"epsilon": 1e6, "delta": 1e-6, "algorithm": "output-gd", "settings": {"steps": 8}}
    both = {}
    for role in ("weight", "ignore"):
        one = make(**how, feature_norm=None, classes=None, declaration=declared(role))
        both[role] = weights(fit(frame, one, target=None, features=None))
        here = make(**how, feature_norm=None, classes=None, declaration=declared(role)).fit(table, table["y"])
        np.testing.assert_allclose(both[role], weights(here), rtol=0, atol=1e-3)
    assert np.abs(both["weight"] - both["ignore"]).max() > 0.02


def test_two_executors_are_processes_of_their_own(spark, first):
    assert len(executors()) == 2
    assert spark.sparkContext.master.startswith("local-cluster")


def test_partitions_and_the_order_of_rows_do_not_change_a_bit(frame, first):
    for name, how, spread, partitions in (
        ("clipped", CLIPPED, frame.repartition(7, "x1"), 1),
        ("full", FULL, frame.repartition(3, "x3"), 9),
    ):
        other = fit(spread, make(**how), partitions=partitions)
        assert weights(other).tobytes() == weights(first[name]).tobytes()
        assert other.certificate_["plan"] == first[name].certificate_["plan"]


def in_order_of_numbers(frame):
    """The encoded rows in the order of their numbers, as the engine on one machine would read
    them."""
    from reticent.spark import _cluster

    caught = {}
    original = _cluster.Cluster.keep

    def keep(self, catalogue):
        caught["blocks"] = self._blocks.orderBy("bucket", "part").toArrow()
        original(self, catalogue)

    _cluster.Cluster.keep = keep
    try:
        fit(frame, make(algorithm="output-gd", settings={"steps": 1}))
    finally:
        _cluster.Cluster.keep = original
    rows, labels = [], []
    for block in caught["blocks"].column("block").to_pylist():
        n = int.from_bytes(block[:8], "little")
        rows.append(np.frombuffer(block[8 : -8 * n], dtype=np.float64).reshape(n, -1))
        labels.append(np.frombuffer(block[-8 * n :], dtype=np.float64))
    return np.concatenate(rows), np.concatenate(labels)


def test_the_same_seed_gives_the_model_of_one_machine(frame, first):
    encoded, labels = in_order_of_numbers(frame)
    assert encoded.shape == (ROWS, len(FEATURES) + 1)
    X, y = encoded[:, :-1].copy(), (labels > 0).astype(int)
    X[encoded[:, -1] == 0.0] = np.nan  # the row that is no number has no constant
    for name, how in (("clipped", CLIPPED), ("full", FULL)):
        local = make(**how).fit(X, y)
        np.testing.assert_allclose(weights(first[name]), weights(local), rtol=1e-9, atol=1e-12)
        assert local.certificate_["plan"] == first[name].certificate_["plan"]
        assert local.certificate_["event"] == first[name].certificate_["event"]


def test_a_lost_executor_changes_neither_the_model_nor_the_account(spark, frame, first):
    alive = executors()
    assert len(alive) == 2
    killed = threading.Event()

    def kill(done, total):
        if done >= 2 and not killed.is_set():
            killed.set()
            os.kill(alive[0].pid, signal.SIGKILL)

    model = fit(frame, make(**CLIPPED, progress=kill), partitions=4)
    assert killed.is_set()
    assert weights(model).tobytes() == weights(first["clipped"]).tobytes()
    assert model.certificate_ == first["clipped"].certificate_
    until = time.monotonic() + 60
    while len(executors()) < 2 and time.monotonic() < until:
        time.sleep(0.5)
    after = {p.pid for p in executors()}
    assert alive[0].pid not in after and len(after) == 2, "it died, and another took its place"


@pytest.fixture
def forgetful(monkeypatch):
    """Blocks are lost right after they were counted, and computed again from the table for every
    question."""
    from reticent.spark import _cluster

    original = _cluster.Cluster.keep

    def keep(self, catalogue):
        original(self, catalogue)
        self._blocks.unpersist(blocking=True)

    monkeypatch.setattr(_cluster.Cluster, "keep", keep)


def test_blocks_that_are_computed_again_are_the_same(frame, first, forgetful):
    assert weights(fit(frame, make(**FULL), partitions=2)).tobytes() == weights(first["full"]).tobytes()


def test_rows_that_are_others_when_they_are_read_again_release_nothing(spark, table, forgetful, tmp_path):
    def restless(batches):
        """Rows that differ each time they are read."""
        for batch in batches:
            batch["x0"] += np.random.default_rng().uniform(0, 1e-3, len(batch))
            yield batch

    rows = spark.createDataFrame(table).mapInPandas(restless, spark.createDataFrame(table[:1]).schema)
    ledger = new_ledger(tmp_path)
    with pytest.raises(RuntimeError, match="nothing is released.*its own log says why") as error:
        fit(rows, make(**FULL, random_state=None, ledger=ledger))
    assert error.value.__cause__ is None and error.value.__context__ is None
    assert spent(ledger) == 1, "what was charged stays charged"


def new_ledger(folder, epsilon=1.5):
    """A ledger for the tables here."""
    path = folder / "ledger.db"
    command("ledger", "init", path, "--epsilon", epsilon, "--delta", "1e-5")
    return path


def command(*words):
    import subprocess

    from conftest import ROOT

    binary = os.environ.get("RETICENT", ROOT / "target" / "release" / "reticent")
    run = subprocess.run([str(binary), *map(str, words)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def spent(ledger):
    """How many releases were charged."""
    return len(json.loads(command("ledger", "show", ledger, "--json"))["charges"])


def test_the_ledger_is_charged_before_and_refuses_before_a_job(frame, tmp_path):
    ledger = new_ledger(tmp_path)
    how = {**FULL, "random_state": None, "ledger": ledger}
    model = fit(frame, make(**how))
    assert model.certificate_["void"] is None
    assert model.verify()["pass"]
    assert spent(ledger) == 1
    with pytest.raises(OverBudget):
        fit(frame, make(**how))
    with pytest.raises(ValueError, match="`random_state` must not be given with `ledger`"):
        fit(frame, make(**FULL, ledger=ledger))
    assert spent(ledger) == 1


REFUSED = [
    (make(algorithm="permuted-sgd", settings={"radius": 1.0}), {}, "rows on a cluster have none, got permuted-sgd; use objective"),
    (make(algorithm="phased", settings={"radius": 1.0}), {}, "got phased; use objective, output-gd, clipped-sgd"),
    (make(algorithm="truncated-mirror", settings={"radius": 1.0}), {}, "got truncated-mirror"),
    (make(), {"features": ["x0", "nobody"]}, "one column `nobody`"),
    (make(), {"features": None}, "give `target`"),
    (make(), {"id": "nobody"}, "`id` must be"),
    (make(), {"precision": "f16"}, "`precision` must be"),
    (make(), {"block_rows": 0}, "`block_rows` must be"),
    (make(adjacency="add-remove-one"), {}, "declare `rows`"),
    (make(rows=10), {}, "`rows` is for add-remove"),
]


@pytest.mark.parametrize(("estimator", "how", "word"), REFUSED, ids=[word for *_, word in REFUSED])
def test_what_cannot_be_distributed_is_refused_before_anything_is_spent(frame, estimator, how, word, tmp_path):
    ledger = new_ledger(tmp_path)
    estimator.set_params(ledger=ledger, random_state=None)
    with pytest.raises(ValueError) as refusal:
        fit(frame, estimator, **how)
    assert word in str(refusal.value), str(refusal.value)
    assert spent(ledger) == 0


def test_a_private_number_of_rows_is_nowhere(frame, first, capfd):
    how = {**CLIPPED, "adjacency": "add-remove-one", "rows": 5000, "random_state": None}
    model = fit(frame, make(**how), id="who")
    assert model.verify()["pass"]
    out, err = capfd.readouterr()
    said = json.dumps(model.certificate_) + model._model.to_json() + out + err
    # As a number of its own: the digits of a weight may hold anything.
    assert not re.search(rf"(?<![\d.]){ROWS}(?!\d)", said)
    assert model.certificate_["plan"]["problem"]["rows"] == 5000
    # The same table without a row is a neighbour of one with a row: both are fitted.
    assert fit(frame.limit(0), make(**how)).certificate_["plan"] == model.certificate_["plan"]


def test_declared_columns_and_several_kinds_of_rows(spark, table):
    wards = np.array(["a", "b", "c", "?"])
    people = pd.DataFrame({"age": table["x0"].fillna(0) + 0.6, "ward": wards[table["who"] % 4], "sick": np.where(table["y"], "yes", "no")})
    declaration = {
        "target": "sick",
        "columns": [
            {"name": "age", "type": "real", "bounds": {"min": 0, "max": 2}},
            {"name": "ward", "type": "categorical", "categories": ["a", "b", "c"]},
            {"name": "sick", "type": "categorical", "categories": ["no", "yes"]},
        ],
    }
    rows = spark.createDataFrame(people)
    from reticent.spark import fit

    how = {"epsilon": 1.0, "declaration": declaration, "random_state": 1, **FULL}
    models = [fit(LogisticRegression(**how), rows, block_rows=700, precision=p) for p in ("f64", "sparse")]
    local = LogisticRegression(**how).fit(people.drop(columns="sick"), people["sick"])
    for model in models:
        np.testing.assert_allclose(weights(model), weights(local), rtol=1e-9, atol=1e-12)
    assert list(models[0].predict(people[:50])) == list(local.predict(people[:50]))
    with pytest.raises(ValueError, match="has no column|ward"):
        fit(LogisticRegression(**how), rows.drop("ward"))


def test_other_losses_and_single_precision(spark, table, frame):
    from pyspark.sql import functions as F

    single = frame.select(*[F.col(name).cast("float").alias(name) for name in FEATURES], "y")
    model = fit(single, make(kind=LinearSVC, algorithm="noisy-sgd", settings={"radius": 2.0, "steps": 3, "batch": 100}))
    assert model.verify()["statement"]
    local = make(kind=Ridge, algorithm="output-gd", settings={"radius": 2.0, "steps": 3})
    X = table[FEATURES]
    local.fit(X, table["y"])
    spread = fit(frame, make(kind=Ridge, algorithm="output-gd", settings={"radius": 2.0, "steps": 3}))
    np.testing.assert_allclose(weights(spread), weights(local), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(spread.predict(X), local.predict(X), rtol=1e-9)


def test_curves_and_pairs_on_the_cluster_are_those_of_one_machine(spark, table, frame):
    from reticent import AdditiveClassifier

    local = table.drop(columns=["who"])
    bounds = {name: (-0.6, 0.6) for name in FEATURES}
    how = {"epsilon": 4.0, "bounds": bounds, "classes": [0, 1], "pairs": [("x0", "x1")], "missing": "indicator", "random_state": 3, **FULL}
    here = AdditiveClassifier(**how).fit(local[FEATURES], local["y"])
    there = fit(frame, AdditiveClassifier(**how), features=None)
    assert there.surfaces_.keys() == {("x0", "x1")} and len(there.curves_["x0"]["knots"]) > 2
    np.testing.assert_allclose(there._model.to_dict()["weights"], here._model.to_dict()["weights"], rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(there.predict_proba(local[FEATURES]), here.predict_proba(local[FEATURES]), atol=1e-6)
    # Columns of a matrix by their names, with one pair of bounds for all.
    for_all = fit(frame, AdditiveClassifier(**{**how, "bounds": (-0.6, 0.6)}))
    np.testing.assert_allclose(for_all._model.to_dict()["weights"], there._model.to_dict()["weights"], rtol=1e-6, atol=1e-7)


def test_what_is_no_table_of_spark_is_refused(table):
    from reticent.spark import fit

    with pytest.raises(ValueError, match="`dataframe` must be a Spark DataFrame"):
        fit(make(), table, target="y", features=FEATURES)
    with pytest.raises(ValueError, match="`estimator` must be"):
        fit(object(), table, target="y", features=FEATURES)


def test_two_readings_of_one_part_of_the_table_are_noticed():
    from reticent.spark import _executor

    first, again, other = (5 * _executor.ATTEMPTS + 1, 5 * _executor.ATTEMPTS + 9, 6 * _executor.ATTEMPTS + 9)
    assert not _executor.mixed([[first, other], [first], [other]])
    assert _executor.mixed([[first, other], [again]])
    assert _executor.mixed([[first, again]])


def test_a_table_that_cannot_be_counted_says_nothing_of_its_cells(spark):
    from pyspark.sql import functions as F

    bad = spark.createDataFrame([("1",), ("a private word",)], ["text"]).select(F.col("text").cast("int").alias("x0"))
    bad = bad.filter(F.col("x0") >= 0).withColumn("y", F.lit(0))
    model = LogisticRegression(epsilon=1.0, feature_norm=1.0, classes=[0, 1])
    with pytest.raises(ValueError, match="cannot be counted") as error:
        fit(bad, model, features=["x0"])
    assert "private word" not in str(error.value) and error.value.__cause__ is None


VISITS = {"unit": "patient", "max_rows": 4, "id": None}


@pytest.fixture(scope="module")
def visits(spark, table):
    """Rows of patients with up to seven each, some with blanks around their name, and rows of
    nobody."""
    rows = table.drop(index=17).reset_index(drop=True)
    names = [f"p{i % 2000 if i % 7 else i % 40}" for i in range(len(rows))]
    rows["patient"] = [None if i % 101 == 0 else f" {name}" if i % 2 else name for i, name in enumerate(names)]
    # A text with a letter that was lost is a text; what spells a missing value is nobody.
    rows.loc[[3, 4, 5, 6], "patient"] = ["J\ufffdrg", "J\ufffdrg ", "NA", " null"]
    return rows, spark.createDataFrame(rows).persist()


def test_units_are_whole_wherever_their_rows_lie(visits):
    rows, frame = visits
    known = rows["patient"].str.strip().replace(["NA", "null"], None)
    units = known.nunique() + int(known.isna().sum())
    models = [fit(spread, make(**CLIPPED), partitions=n, **VISITS) for spread, n in ((frame, 3), (frame.repartition(5, "x1"), 2))]
    assert weights(models[0]).tobytes() == weights(models[1]).tobytes()
    for model in models:
        assert model.certificate_["plan"]["problem"]["rows"] == units
        unit = model.certificate_["plan"]["problem"]["unit"]
        assert (unit["column"], unit["max_rows"]) == ("patient", 4)
    # With a cap that no unit reaches, nothing depends on which rows are kept.
    whole = {**VISITS, "max_rows": 300}
    there = fit(frame, make(**FULL), **whole)
    here = make(**FULL).fit(rows[FEATURES], rows["y"], unit=rows["patient"], max_rows=300)
    np.testing.assert_allclose(weights(there), weights(here), rtol=1e-6, atol=1e-7)


def test_a_unit_that_is_split_over_buckets_ends_the_run(visits, monkeypatch):
    from pyspark.sql import functions as F

    from reticent.spark import _cluster

    # The broken copy spreads rows by what they hold, whatever their unit.
    monkeypatch.setattr(_cluster, "spread", lambda _: F.col("key"))
    with pytest.raises(ValueError, match="units, the table has"):
        fit(visits[1], make(**FULL), **VISITS)


# Each line is one unit, and its first text is the key: the list of the engine's own test.
SPELLINGS = [
    ["7", "7.0", "7.00", "+7", "007", "7.", "7e0", "7.0E0", "07.0"],
    ["-7", "-7.0", "-07", "-7.0e+0"],
    ["0", "-0", "0.0", "-0.0", "000", "0e9"],
    ["7.5", "7.50", "+7.5", "07.500"],
    ["10000000", "1.0E7", "1e7", "10000000.0", "1e+7", "0.1e8"],
    ["12345678", "1.2345678E7", "12345678.00", "1.23456780E07"],
    ["10000000000000000", "1e16", "1.0E16", "1E+16"],
    ["true", "True", "TRUE"],
    ["false", "False", "FALSE"],
    ["2024-02-29", "2024-02-29T00:00:00", "2024-02-29 00:00:00", "2024-02-29T00:00:00.000000Z", "2024-02-29 00:00:00+00:00"],
    ["2024-02-29T12:30:00", "2024-02-29 12:30", "2024-02-29 12:30:00.000Z"],
    ["2024-02-29T12:30:10.25", "2024-02-29 12:30:10.250000"],
    *([text] for text in ["p7", "7.0.0", "7,0", "1.5e-7", "1.25e1", "1e1000", "e7", "-", "--7", "1e", "7 0", "truee"]),
    *([text] for text in ["2024-02-29T", "2024-02-29T0:00", "24-02-29 00:00", "2024-02-29T12:30.5", "2024-02-29T00:00:00+01:00"]),
    *([text] for text in ["2024-02-29T00:00:00.", "2024-02-29T00:00:00:00", "2024-02-29T:::::", "7." + "0" * 100]),
]


def test_spellings_of_one_unit_are_one(spark):
    from reticent.spark import _cluster

    rows = [(text, line[0]) for line in SPELLINGS for text in line]
    texts = spark.createDataFrame(rows, ["text", "key"])
    found = texts.select("key", _cluster.spelled(_cluster.column("text")).alias("found")).collect()
    assert [(row.key, row.found) for row in found] == [(key, key) for _, key in rows]
    assert _cluster.count(texts, _cluster.unit_of(texts, "text")) == len(SPELLINGS)
    # Whole numbers are the same units in each type: Spark writes a double as 3.0E7.
    numbers = spark.range(30_000_000, 30_000_005).selectExpr("string(id) as id", "string(double(id)) as real", "id % 2 = 0 as even")
    both = numbers.select("id").union(numbers.select("real"))
    assert _cluster.count(both, _cluster.unit_of(both, "id")) == 5
    assert _cluster.count(numbers, _cluster.unit_of(numbers, "even")) == 2
    # A cell of more than a megabyte is no key, and its rows are units of their own.
    long = spark.range(2).selectExpr("repeat('p', 1048576) as fits", "repeat('p', 1048577) as long")
    assert [_cluster.count(long, _cluster.unit_of(long, name)) for name in ("fits", "long")] == [1, 2]


def test_units_and_ids_exclude_each_other(frame):
    with pytest.raises(ValueError, match="`id` and `unit` exclude each other"):
        fit(frame, unit="who", max_rows=2, id="who")
    with pytest.raises(ValueError, match="declare `max_rows`"):
        fit(frame, unit="who")


def test_a_stage_of_a_pipeline_fits_and_predicts_where_the_rows_lie(frame, table):
    from pyspark.ml import Pipeline
    from pyspark.ml.feature import SQLTransformer

    from reticent.spark.ml import PrivateStage, predict

    stage = PrivateStage(make(**FULL), target="y", features=FEATURES, block_rows=512, output="guess")
    rename = SQLTransformer(statement="SELECT *, x0 + 0.0 AS again FROM __THIS__")
    fitted = Pipeline(stages=[rename, stage]).fit(frame)
    found = fitted.transform(frame).toPandas().sort_values("who")
    model = fitted.stages[-1].estimator
    assert (found["guess"].to_numpy() == model.predict(table[FEATURES].to_numpy())).all()
    assert not hasattr(stage.estimator, "certificate_"), "the stage itself stays as it was"
    with pytest.raises(ValueError, match="lacks the column `x0`"):
        predict(model, frame.drop("x0"))
    with pytest.raises(ValueError, match="must be a new column"):
        predict(model, frame, output="who")
