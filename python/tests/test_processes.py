"""Fits in forked and spawned processes and in threads: none hangs, and each draws its own noise."""

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import reticent

# A fit here takes well under a second; a process that waits for threads it does not have waits for
# ever.
PATIENCE = 60
RNG = np.random.default_rng(3)
X = RNG.normal(0, 0.4, (2000, 3)).clip(-1, 1)
Y = (X[:, 0] + 0.2 * RNG.normal(size=2000) > 0).astype(int)
MODELS = {
    "clipped-sgd": reticent.LogisticRegression(epsilon=1.0, feature_norm=2.0, classes=[0, 1], algorithm="clipped-sgd", settings={"steps": 20}),
    "output-gd": reticent.LogisticRegression(epsilon=1.0, feature_norm=2.0, classes=[0, 1], algorithm="output-gd"),
    "objective": reticent.LogisticRegression(epsilon=1.0, feature_norm=2.0, classes=[0, 1], algorithm="objective"),
    "kernel": reticent.KernelClassifier(epsilon=1.0, feature_norm=2.0, classes=[0, 1], features=200, algorithm="clipped-sgd", settings={"steps": 5}),
}
unix = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
# Python itself warns of a fork where threads are; that is what is tested.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def weights(name):
    """The noisy numbers of a fit of one's own."""
    model = pickle.loads(pickle.dumps(MODELS[name])).fit(X, Y)
    return model._model.to_dict()["weights"]


def in_fork(work):
    """The result of `work` in a forked child; fails if it takes too long."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(read)
            with os.fdopen(write, "wb") as pipe:
                pickle.dump(work(), pipe)
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    end = time.monotonic() + PATIENCE
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(read)
            pytest.fail("the forked child hangs")
        time.sleep(0.01)
    with os.fdopen(read, "rb") as pipe:
        return pickle.load(pipe)


@unix
@pytest.mark.parametrize("name", MODELS)
def test_a_forked_child_fits_and_predicts_with_noise_of_its_own(name):
    model = pickle.loads(pickle.dumps(MODELS[name])).fit(X, Y)  # the parent has threads now
    expected = model.predict_proba(X)
    np.testing.assert_array_equal(in_fork(lambda: model.predict_proba(X)), expected)
    fits = [weights(name), in_fork(lambda: weights(name)), in_fork(lambda: in_fork(lambda: weights(name))), in_fork(lambda: weights(name)), weights(name)]
    assert len({json_of(fit) for fit in fits}) == len(fits)


def json_of(value):
    return repr(value)


@unix
def test_a_forked_child_plans_encodes_and_audits():
    reticent.plan(n=1000, d=3, epsilon=1.0)
    frame, declaration = reticent.census(300)

    def all_else():
        reticent.plan(n=1001, d=3, epsilon=1.0)
        reticent.DeclaredEncoder(declaration=declaration).fit(frame).transform(frame)
        reticent.LogisticRegression(epsilon=1.0, declaration=declaration).fit(frame, frame["income"])
        reticent.audit(algorithm="output-gd", n=10, d=1, epsilon=1.0, runs=50)
        return reticent.privacy.epsilon_upper(reticent.privacy.gaussian(2.0), 1e-6)

    assert in_fork(all_else) == reticent.privacy.epsilon_upper(reticent.privacy.gaussian(2.0), 1e-6)


@unix
def test_a_fork_while_another_thread_fits_leaves_no_lock_behind():
    stop = False

    def busy():
        epsilon = 1.0
        while not stop:
            epsilon += 1e-3  # a new plan each time
            reticent.LogisticRegression(
                epsilon=epsilon, feature_norm=2.0, classes=[0, 1], algorithm="clipped-sgd", settings={"steps": 3, "batch": 100}
            ).fit(X, Y)

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(busy)
        try:
            for _ in range(10):
                in_fork(lambda: weights("clipped-sgd"))
        finally:
            stop = True
        running.result(PATIENCE)


@unix
def test_a_pool_of_forked_processes_draws_different_noise():
    here = weights("clipped-sgd")
    with multiprocessing.get_context("fork").Pool(3) as pool:
        fits = pool.map_async(weights, ["clipped-sgd"] * 6).get(PATIENCE)
    assert len({json_of(fit) for fit in [here, *fits]}) == 7


def test_spawned_processes_and_threads_draw_different_noise():
    here = weights("clipped-sgd")
    with ThreadPoolExecutor(4) as pool:
        fits = [future.result(PATIENCE) for future in [pool.submit(weights, "clipped-sgd") for _ in range(8)]]
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        fits += [future.result(PATIENCE) for future in [pool.submit(weights, "clipped-sgd") for _ in range(2)]]
    assert len({json_of(fit) for fit in [here, *fits]}) == 11


def test_workers_of_joblib_draw_different_noise():
    joblib = pytest.importorskip("joblib")
    here = weights("clipped-sgd")
    # In a process of its own: joblib keeps its workers.
    with joblib.parallel_config("loky", n_jobs=2, inner_max_num_threads=1):
        fits = joblib.Parallel(timeout=PATIENCE)(joblib.delayed(weights)("clipped-sgd") for _ in range(3))
    assert len({json_of(fit) for fit in [here, *fits]}) == 4


@unix
def test_a_seed_gives_a_child_the_same_model():
    with pytest.warns(reticent.SeedWarning):
        seeded = pickle.loads(pickle.dumps(MODELS["clipped-sgd"])).set_params(random_state=1)
        here = seeded.fit(X, Y)._model.to_json()
        assert in_fork(lambda: seeded.fit(X, Y)._model.to_json()) == here


@unix
def test_a_server_that_loads_before_it_forks():
    script = (
        "import os, sys, numpy as np, reticent\n"
        "X = np.zeros((50, 2)); y = np.array([0, 1] * 25)\n"
        "m = reticent.LogisticRegression(epsilon=1.0, feature_norm=1.0, classes=[0, 1], algorithm='output-gd').fit(X, y)\n"
        "pids = []\n"
        "for _ in range(3):\n"
        "    pid = os.fork()\n"
        "    if pid == 0:\n"
        "        m.predict(X); os._exit(7)\n"
        "    pids.append(pid)\n"
        "sys.exit(0 if all(os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]) == 7 for p in pids) else 1)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=PATIENCE)
