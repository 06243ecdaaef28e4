"""Run in a clean environment that has the wheel and nothing else: start, fit, verify, store."""

import json
import pathlib
import sys
import time

# Seconds of the processor; scikit-learn alone takes a second.
MOST_SECONDS = 0.1

start = time.process_time()
import reticent  # noqa: E402

seconds = time.process_time() - start
assert seconds < MOST_SECONDS, f"`import reticent` took {seconds:.3f} s, more than {MOST_SECONDS}"
heavy = {"sklearn", "scipy", "pandas", "numpy"} & set(sys.modules)
assert not heavy, f"`import reticent` loads {heavy}"

import numpy  # noqa: E402

X = numpy.array([[0.6, 0.1], [0.5, 0.3], [-0.4, 0.2], [-0.7, -0.1]] * 500)
y = numpy.array(["ill", "ill", "well", "well"] * 500)
model = reticent.LogisticRegression(epsilon=1.0, feature_norm=1.0, classes=["well", "ill"]).fit(X, y)
assert model.certificate_["void"] is None
assert model.score(X, y) > 0.9
model.save("model.json")
assert reticent.verify("model.json")["pass"]
altered = json.loads(pathlib.Path("model.json").read_text())
altered["weights"][0][0] += 1.0
pathlib.Path("altered.json").write_text(json.dumps(altered))
assert not reticent.verify("altered.json")["pass"]
again = reticent.load("model.json")
assert (again.predict(X) == model.predict(X)).all()
print(f"import {1000 * seconds:.0f} ms, verified, accuracy {model.score(X, y):.2f}, Python {sys.version.split()[0]}")
