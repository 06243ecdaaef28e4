"""A pipeline whose scaler is declared rather than taught."""

import numpy as np
from sklearn.pipeline import make_pipeline

import reticent

rng = np.random.default_rng(0)
X = np.column_stack([rng.uniform(0, 110, 5000), rng.normal(120, 20, 5000)])
y = (X[:, 0] + X[:, 1] > 180).astype(int)

scaler = reticent.BoundedScaler(low=[0, 60], high=[110, 260], symmetric=True)
classifier = reticent.LogisticRegression(epsilon=1.0, feature_norm=2**0.5, classes=[0, 1])
model = make_pipeline(scaler, classifier).fit(X, y)
print(model[-1].certificate_["statement"])
