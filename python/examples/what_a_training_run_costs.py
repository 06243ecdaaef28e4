"""Account for a training run, draw what it lets an attacker do, and find the noise for a budget."""

from reticent import plot, privacy

run = privacy.poisson_gaussian(sample_rate=0.01, noise_multiplier=1.1, steps=2000, adjacency="add-remove-one")
print("epsilon at delta = 1e-6: between", privacy.epsilon_lower(run, 1e-6), "and", privacy.epsilon_upper(run, 1e-6))
print("noise for epsilon = 1:", privacy.noise_multiplier_for(epsilon=1.0, delta=1e-6, sample_rate=0.01, steps=2000))
plot.trade_off(privacy.gaussian(1.0)).figure.savefig("trade_off.png")
plot.privacy_profile(privacy.gaussian(1.0)).figure.savefig("profile.png")
