"""Answer the settings on standard input with dp-accounting and prv-accountant; one JSON line for
each."""
import json
import math
import sys
import time
import warnings

import dp_accounting as dp
from dp_accounting.pld import PLDAccountant

warnings.simplefilter("ignore")
RELATION = {"add_remove": dp.NeighboringRelation.ADD_OR_REMOVE_ONE, "replace": dp.NeighboringRelation.REPLACE_ONE}


def event(inputs, sigma):
    gaussian = dp.GaussianDpEvent(sigma)
    if inputs["sampling"] != "poisson":
        return None
    one = gaussian if inputs["rate"] >= 1 else dp.PoissonSampledDpEvent(inputs["rate"], gaussian)
    return dp.SelfComposedDpEvent(one, int(inputs["steps"]))


def best_of(call, times=3, enough=20.0):
    best, value = math.inf, None
    for _ in range(times):
        start = time.perf_counter()
        value = call()
        best = min(best, time.perf_counter() - start)
        if best > enough:
            break
    return value, best


def finite(x):
    return float(x) if math.isfinite(x) else None


def attempt(call):
    try:
        return call()
    except Exception as error:  # a refusal is a result
        print(f"{type(error).__name__}: {error}"[:200], file=sys.stderr)
        return None


def dp_query(inputs):
    e = event(inputs, inputs["sigma"])
    if e is None:
        return None
    make = lambda: PLDAccountant(RELATION[inputs["adjacency"]]).compose(e).get_epsilon(inputs["delta"])
    value, seconds = best_of(make)
    return dict(epsilon=finite(value), seconds=seconds)


def dp_calibrate(inputs):
    if inputs["sampling"] != "poisson":
        return None
    make = lambda: dp.calibrate_dp_mechanism(
        lambda: PLDAccountant(RELATION[inputs["adjacency"]]), lambda s: event(inputs, s), inputs["eps"], inputs["delta"])
    value, seconds = best_of(make)
    return dict(noise_multiplier=finite(value), seconds=seconds)


def prv_query(inputs):
    if inputs["sampling"] != "poisson" or inputs["adjacency"] != "add_remove" or inputs["delta"] < 1e-15:
        return None
    from prv_accountant import Accountant

    def make():
        accountant = Accountant(noise_multiplier=inputs["sigma"], sampling_probability=inputs["rate"],
                                delta=inputs["delta"], eps_error=0.01, max_compositions=int(inputs["steps"]))
        return accountant.compute_epsilon(num_compositions=int(inputs["steps"]))

    (lower, _, upper), seconds = best_of(make)
    return dict(lower=float(lower), upper=float(upper), seconds=seconds)


for line in sys.stdin:
    row = json.loads(line)
    inputs = row["inputs"]
    if row["bench"] == "query":
        row["dp"] = attempt(lambda: dp_query(inputs))
        row["prv"] = attempt(lambda: prv_query(inputs))
    else:
        row["dp"] = attempt(lambda: dp_calibrate(inputs))
    print(json.dumps(row), flush=True)
