"""Hand a private model to a runtime that has never heard of privacy."""

import numpy as np

import reticent

rng = np.random.default_rng(0)
X = rng.uniform(-0.5, 0.5, size=(5000, 3))
y = np.digitize(X[:, 0], [-0.2, 0.2])
model = reticent.LogisticRegression(epsilon=2.0, feature_norm=1.0, classes=[0, 1, 2]).fit(X, y)
onnx = model.to_onnx()
with open("model.onnx", "wb") as file:
    file.write(onnx.SerializeToString())
print({p.key: p.value for p in onnx.metadata_props})
