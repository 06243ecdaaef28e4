"""Real tables, where they lie beside the repository: useful models at epsilon 1, and certificates
that hold."""

import gzip
import math

import pytest

ONE = ("--epsilon", 1)
SEEDED = (*ONE, "--insecure-seed", 1)


def split(source, folder):
    """Writes the rows of a table as train.csv and test.csv: every fifth row is a test row."""
    with gzip.open(source, "rt", encoding="utf-8") as file:
        header, *rows = file.read().splitlines()
    parts = {"train.csv": [], "test.csv": []}
    for index, row in enumerate(rows):
        parts["test.csv" if index % 5 == 4 else "train.csv"].append(row)
    for name, lines in parts.items():
        (folder / name).write_text("\n".join([header, *lines]) + "\n")


def metrics_of(reticent, schema, *flags, train="train.csv", test="test.csv"):
    """Fits on one table and measures on the other."""
    reticent.fit("--data", train, "--schema", schema, *flags)
    return reticent.json("evaluate", "--model", "model.json", "--data", test)["metrics"]


def test_every_schema_is_explained(reticent, shared_data):
    schemas = sorted(shared_data.glob("*.schema.json"))
    assert len(schemas) >= 10
    for schema in schemas:
        # The panel names its unit, and its cap is for the owner to choose.
        cap = ("--max-rows", 15) if schema.name == "nls_wages.schema.json" else ()
        explanation = reticent.json("schema", "check", schema, *cap)
        assert explanation["dimension"] > 0, schema
        assert explanation["norm_bound"] > 0, schema


def test_adult_at_epsilon_one_is_right_four_times_in_five(reticent, shared_data):
    schema = shared_data / "adult.schema.json"
    tables = {"train": shared_data / "adult_train.csv.gz", "test": shared_data / "adult_test.csv.gz"}
    metrics = metrics_of(reticent, schema, *SEEDED, **tables)
    assert metrics["rows"] == 16_281
    assert metrics["baseline_accuracy"] == pytest.approx(1 - 0.2362, abs=1e-4)
    assert metrics["accuracy"] > 0.80
    # The same curves without privacy.
    bare = ("--knots", 8, "--algorithm", "objective", "--epsilon", "inf", "--ridge", 1e-5)
    bare = metrics_of(reticent, schema, *bare, **tables)
    assert metrics["accuracy"] < bare["accuracy"] < 0.88


def test_a_secure_model_of_adult_verifies(reticent, shared_data):
    schema, data = shared_data / "adult.schema.json", shared_data / "adult_train.csv.gz"
    for flags in [ONE, (*ONE, "--delta", 0), (*ONE, "--ridge", 0.01, "--calibration", "paper")]:
        model = reticent.fit("--data", data, "--schema", schema, "--linear", *flags)
        assert len(model["features"]) == 106
        assert model["certificate"]["plan"]["problem"]["rows"] == 32_561
        assert reticent("verify", "model.json").startswith("PASS")


@pytest.mark.parametrize("name", ["bank_full", "credit_default"])
def test_rare_classes_at_epsilon_one_are_better_known_than_by_their_share(reticent, shared_data, name):
    split(shared_data / f"{name}.csv.gz", reticent.folder)
    metrics = metrics_of(reticent, shared_data / f"{name}.schema.json", *SEEDED)
    share = metrics["baseline_accuracy"]
    assert metrics["accuracy"] >= share - 0.01
    # The log loss of a predictor that knows the share and nothing else.
    entropy = -share * math.log(share) - (1 - share) * math.log(1 - share)
    assert metrics["log_loss"] < entropy - 0.01


@pytest.mark.parametrize("name", ["california_housing", "bike_hour", "wine_quality"])
def test_regression_explains_variance_that_the_mean_does_not(reticent, shared_data, name):
    split(shared_data / f"{name}.csv.gz", reticent.folder)
    metrics = metrics_of(reticent, shared_data / f"{name}.schema.json", *SEEDED)
    assert metrics["rmse"] >= metrics["mae"] > 0
    assert metrics["r2"] > {"california_housing": 0.3, "bike_hour": 0.25, "wine_quality": 0.0}[name]


def test_emotion_embeddings_beat_the_majority(reticent, shared_data):
    folder = shared_data / "tweeteval_emotion"
    schema = shared_data / "tweeteval_emotion.schema.json"
    data = folder / "train_embeddings_f16.npy"
    labels = folder / "train_labels_u8.npy"
    seeded = ("--epsilon", 8, "--insecure-seed", 1)
    reticent.fit("--data", data, "--labels", labels, "--schema", schema, *seeded)
    test = ("--data", folder / "test_embeddings_f16.npy", "--labels", folder / "test_labels_u8.npy")
    metrics = reticent.json("evaluate", "--model", "model.json", *test)["metrics"]
    assert metrics["rows"] == 1421
    assert metrics["accuracy"] > 0.6 > metrics["baseline_accuracy"] + 0.2


def test_images_are_read_and_learned(reticent, shared_data):
    folder = shared_data / "fashion_mnist"
    schema = shared_data / "fashion_mnist.schema.json"
    test = (
        *("--data", folder / "t10k-images-idx3-ubyte.gz"),
        *("--labels", folder / "t10k-labels-idx1-ubyte.gz"),
    )
    quick = ("--steps", 10, "--precision", "f32", "--normalize", "rows")
    reticent.fit(*test, "--schema", schema, "--epsilon", 4, "--insecure-seed", 1, *quick)
    metrics = reticent.json("evaluate", "--model", "model.json", *test)["metrics"]
    assert metrics["rows"] == 10_000
    assert metrics["accuracy"] > 0.5 > metrics["baseline_accuracy"]
