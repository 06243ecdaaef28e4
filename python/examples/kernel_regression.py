"""A curve that no line fits."""

import numpy as np

import reticent

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(20_000, 1))
y = np.sin(3 * X[:, 0]) + rng.normal(0, 0.1, size=20_000)

model = reticent.KernelRegressor(epsilon=2.0, feature_norm=1.0, label_bound=1.5, features=64, bandwidth=0.5)
model.fit(X, y)
grid = np.linspace(-1, 1, 5).reshape(-1, 1)
print(np.column_stack([grid[:, 0], np.sin(3 * grid[:, 0]), model.predict(grid)]).round(2))
