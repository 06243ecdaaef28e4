"""The cost of `import reticent`: a user who only verifies or plans does not wait for
scikit-learn."""

import os
import subprocess
import sys

# Seconds of the processor, on any machine that runs the tests; scikit-learn alone takes a second.
MOST_SECONDS = 0.1

ASK = """
import sys, time
start = time.process_time()
import reticent
seconds = time.process_time() - start
print(seconds, *({"sklearn", "scipy", "numpy", "pandas"} & set(sys.modules)))
reticent.privacy
reticent.LogisticRegression
assert "sklearn" in sys.modules
"""


def test_the_package_is_imported_quickly_and_without_scikit_learn():
    asked = [sys.executable, "-c", ASK]
    runs = [subprocess.run(asked, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": ""}).stdout.split() for _ in range(3)]
    assert [run[1:] for run in runs] == [[]] * 3
    assert min(float(run[0]) for run in runs) < MOST_SECONDS
