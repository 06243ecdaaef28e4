"""Figures of the Python package: what it adds to the engine's time, what its import costs, and accuracy beside its peers.

usage: python bench/python/run.py overhead|import|accuracy [--data DIR] [--seeds 5]

`overhead` and `import` need the package alone. `accuracy` needs the real tables; it makes one environment for each peer under
target/peers, from PyPI, and runs this file in it. Each line on standard output is a JSON object.
"""

import argparse
import gzip
import json
import os
import pathlib
import subprocess
import sys
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEERS = {
    "diffprivlib": ["diffprivlib==0.6.6", "scikit-learn==1.7.2"],
    "opacus": ["opacus==1.6.0", "torch==2.15.0"],
}
BUDGETS = (0.1, 0.5, 1.0, 2.0)


def emit(**fields):
    print(json.dumps(fields), flush=True)


def overhead():
    """`fit` of an estimator against the same call of the engine, on 60,000 rows of 784 numbers, interleaved."""
    import reticent
    from reticent import _reticent

    rng = np.random.default_rng(0)
    X = rng.random((60_000, 784), dtype=np.float32)
    y = (X[:, 0] > 0.5).astype(int)
    settings = {"steps": 120, "batch": 500}
    model = reticent.LogisticRegression(epsilon=1.0, feature_norm=28.0, classes=[0, 1], algorithm="clipped-sgd", settings=settings)
    labels = y.astype(np.float64)
    task = {"dimension": 784, "feature_norm": 28.0, "classes": [0, 1], "loss": {"name": "logistic"}, "intercept": True, "precision": "f32"}
    budget = {"epsilon": 1.0, "delta": None, "adjacency": "replace-one"}

    def engine():
        _reticent.fit(X, labels, task=task, budget=budget, settings={"algorithm": "clipped-sgd", **settings})

    def package():
        model.fit(X, y)

    times = {"engine": [], "package": []}
    for _ in range(9):
        for name, call in (("engine", engine), ("package", package)):
            wall, start = time.perf_counter(), time.process_time()
            call()
            times[name].append((time.process_time() - start, time.perf_counter() - wall))
    cpu = {name: float(np.median([t[0] for t in found])) for name, found in times.items()}
    wall = {name: min(t[1] for t in found) for name, found in times.items()}
    emit(bench="overhead", n=60_000, d=784, cpu_seconds=cpu, wall_seconds=wall, share_cpu=cpu["package"] / cpu["engine"] - 1,
         share_wall=wall["package"] / wall["engine"] - 1, load=os.getloadavg()[0])


def import_time():
    """Seconds that `import reticent` takes in a fresh interpreter, beside an interpreter that imports NumPy alone."""
    def seconds(statement):
        script = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
        return min(float(subprocess.check_output([sys.executable, "-c", script])) for _ in range(7))

    emit(bench="import", reticent=seconds("import reticent"), numpy=seconds("import numpy"),
         estimator=seconds("from reticent import LogisticRegression"), load=os.getloadavg()[0])


def adult(folder):
    """Adult encoded by its declaration: train and test rows, labels 0 and 1."""
    import pandas as pd
    import reticent

    schema = json.loads((folder / "adult.schema.json").read_text())
    target = next(c for c in schema["columns"] if c.get("role") == "target" or c["name"] == schema.get("target"))
    encoder = reticent.DeclaredEncoder(declaration=schema).fit(None)
    sets = []
    for part in ("train", "test"):
        table = pd.read_csv(folder / f"adult_{part}.csv.gz", keep_default_na=False, skipinitialspace=True)
        sets += [encoder.transform(table), (table[target["name"]].astype(str) == str(target["categories"][1])).to_numpy(int)]
    return sets, encoder.feature_norm_


def digits(folder):
    """Fashion-MNIST: pixels over 255 times 28, so that rows have norm at most 1."""
    def idx(name):
        data = gzip.decompress((folder / "fashion_mnist" / f"{name}.gz").read_bytes())
        dims = [int.from_bytes(data[4 + 4 * i : 8 + 4 * i], "big") for i in range(data[3])]
        return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(dims)

    sets = []
    for part in ("train", "t10k"):
        images = idx(f"{part}-images-idx3-ubyte")
        sets += [images.reshape(len(images), -1).astype(np.float32) / 255.0, idx(f"{part}-labels-idx1-ubyte").astype(int)]
    return sets, 28.0


def mine(sets, norm, epsilon):
    import reticent

    x, y, xt, yt = sets
    model = reticent.LogisticRegression(epsilon=epsilon, delta=1e-6, feature_norm=norm, classes=np.unique(y).tolist())
    return model.fit(x, y).score(xt, yt)


def diffprivlib(sets, norm, epsilon):
    import warnings

    from diffprivlib.models import LogisticRegression

    warnings.simplefilter("ignore")
    x, y, xt, yt = sets
    return LogisticRegression(epsilon=epsilon, data_norm=norm, max_iter=1000).fit(x, y).score(xt, yt)


def opacus(sets, norm, epsilon):
    """The documented way, without a search: 10 epochs of batches of 500, clip 1, rows divided by their bound."""
    import torch
    from opacus import PrivacyEngine

    torch.set_num_threads(2)
    x, y, xt, yt = (torch.tensor(np.asarray(a, dtype=np.float32 if a.ndim == 2 else np.int64)) for a in sets)
    x, xt = x / norm, xt / norm
    model = torch.nn.Linear(x.shape[1], int(y.max()) + 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=4.0)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=500)
    model, optimizer, loader = PrivacyEngine(accountant="prv").make_private_with_epsilon(
        module=model, optimizer=optimizer, data_loader=loader, target_epsilon=epsilon, target_delta=1e-6, epochs=10, max_grad_norm=1.0
    )
    for _ in range(10):
        for rows, labels in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(rows), labels).backward()
            optimizer.step()
    return float((model(xt).argmax(1) == yt).float().mean())


def measure(method, file, seeds):
    data = np.load(file)
    sets, norm = [data[f"a{i}"] for i in range(4)], float(data["norm"])
    for epsilon in BUDGETS:
        started, scores = time.perf_counter(), []
        for _ in range(seeds):
            scores.append(float({"reticent": mine, "diffprivlib": diffprivlib, "opacus": opacus}[method](sets, norm, epsilon)))
        emit(bench="accuracy", data=pathlib.Path(file).stem, method=method, epsilon=epsilon, mean=float(np.mean(scores)),
             sd=float(np.std(scores)), seeds=seeds, seconds=(time.perf_counter() - started) / seeds)


def accuracy(folder, seeds):
    home = ROOT / "target" / "peers"
    home.mkdir(parents=True, exist_ok=True)
    pythons = {"reticent": sys.executable}
    for peer, wanted in PEERS.items():
        python = home / peer / "bin" / "python"
        if not python.exists():
            subprocess.run(["python3", "-m", "venv", home / peer], check=True)
            subprocess.run([python, "-m", "pip", "install", "-q", *wanted], check=True)
        pythons[peer] = python
    for name, load in (("adult", adult), ("fashion_mnist", digits)):
        sets, norm = load(folder)
        file = home / f"{name}.npz"
        np.savez(file, norm=norm, **{f"a{i}": a for i, a in enumerate(sets)})
        for method, python in pythons.items():
            if (name, method) == ("fashion_mnist", "diffprivlib"):
                continue  # one classifier for each class: an hour
            subprocess.run([python, __file__, "measure", "--method", method, "--file", file, "--seeds", str(seeds)], check=False)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("what", choices=["overhead", "import", "accuracy", "measure"])
    arguments.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared" / "data")
    arguments.add_argument("--seeds", type=int, default=5)
    arguments.add_argument("--method")
    arguments.add_argument("--file")
    given = arguments.parse_args()
    if given.what == "overhead":
        overhead()
    elif given.what == "import":
        import_time()
    elif given.what == "measure":
        measure(given.method, given.file, given.seeds)
    else:
        accuracy(given.data, given.seeds)


if __name__ == "__main__":
    main()
