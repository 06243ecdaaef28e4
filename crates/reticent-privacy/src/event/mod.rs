//! The privacy event: a computation on the data, as a value.
//!
//! An [`Event`] holds what accounting needs and nothing else: which noise, in which units, how
//! often, and for which neighbours. It can be stored in a certificate and re-analysed by anyone,
//! without the data.
//!
//! # Units
//!
//! Two kinds of ratio occur, and each field says which it is.
//!
//! - *Sensitivity units*: standard deviation divided by the l2 sensitivity **under the event's
//!   adjacency**. The factor 2 of replacing a row is already inside the sensitivity, so
//!   `μ = 1/noise_multiplier`.
//! - *Clip units*: standard deviation of the noise added to a **sum** of per-row vectors, divided
//!   by the norm `clip` to which each is clipped. A row's contribution has norm at most 1, so the
//!   sum moves by 1 when a row is added, removed or zeroed, and by 2 when it is replaced. The
//!   accountant applies that factor.

mod check;

use serde::{Deserialize, Serialize};

use crate::Adjacency;

/// The largest number of steps the accountant will compose.
pub const MAX_STEPS: u64 = 1_000_000_000;

/// A computation on the data, as far as privacy is concerned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Event {
    /// Nothing that depends on data was released.
    None,

    /// Something was released with no guarantee at all: the loss is infinite.
    NotPrivate,

    /// One release of a vector plus `N(0, s² I)`.
    Gaussian {
        /// `s` divided by the l2 sensitivity under `adjacency` (sensitivity units).
        noise_multiplier: f64,
        /// The adjacency under which the bound holds.
        adjacency: Adjacency,
    },

    /// A release that is `mu`-GDP: its trade-off curve lies above that of `N(0, 1)` against
    /// `N(mu, 1)`.
    ///
    /// Generalised Gaussian noise `GG_r(σ)`, `r >= 2`, on a query with l_r sensitivity `s_r` is
    /// one, with `mu = √(r − 1)·s_r/σ`.
    Gdp {
        /// The parameter.
        mu: f64,
        /// The adjacency under which the bound holds.
        adjacency: Adjacency,
    },

    /// Independent Laplace noise on each coordinate.
    Laplace {
        /// The scale `b` divided by the l1 sensitivity under `adjacency`; the loss is at most its
        /// inverse.
        noise_multiplier: f64,
        /// The adjacency under which the bound holds.
        adjacency: Adjacency,
    },

    /// Noise with density proportional to `exp(−epsilon·‖z‖₂/Δ)`, `Δ` the l2 sensitivity under
    /// `adjacency`.
    L2Laplace {
        /// The pure loss.
        epsilon: f64,
        /// The adjacency under which the bound holds.
        adjacency: Adjacency,
    },

    /// Any release that is `epsilon`-differentially private.
    PureDp {
        /// The pure loss.
        epsilon: f64,
        /// The adjacency under which the bound holds.
        adjacency: Adjacency,
    },

    /// A release whose loss varies by at most `epsilon` over outputs: the exponential mechanism
    /// with weights `exp(epsilon·u/(2Δ_u))`. Permute-and-flip is not one.
    BoundedRange {
        /// The range of the loss.
        epsilon: f64,
        /// The adjacency under which the bound holds.
        adjacency: Adjacency,
    },

    /// Any release that is `(epsilon, delta)`-differentially private.
    ApproxDp {
        /// The loss.
        epsilon: f64,
        /// The additive slack.
        delta: f64,
        /// The adjacency under which the bound holds.
        adjacency: Adjacency,
    },

    /// Any release that is `rho`-zCDP: Rényi divergence at most `rho·α` at every order `α > 1`.
    Zcdp {
        /// The parameter.
        rho: f64,
        /// The adjacency under which the bound holds.
        adjacency: Adjacency,
    },

    /// `steps` noisy sums over batches that each row joins independently with probability
    /// `sample_rate`.
    ///
    /// The batches, their sizes and empty batches stay secret; a step with an empty batch counts.
    PoissonGaussian {
        /// The chance that a row joins a step; a public constant.
        sample_rate: f64,
        /// Standard deviation over clip norm (clip units).
        noise_multiplier: f64,
        /// Noisy sums.
        steps: u64,
        /// The adjacency under which the bound holds.
        adjacency: Adjacency,
    },

    /// `steps` noisy sums over uniform subsets of exactly `batch` of `rows` rows, without
    /// replacement inside a step, independent across steps.
    FixedSizeGaussian {
        /// Rows in a batch.
        batch: u64,
        /// Rows in the data; under add/remove a declared lower bound.
        rows: u64,
        /// Standard deviation over clip norm (clip units).
        noise_multiplier: f64,
        /// Noisy sums.
        steps: u64,
        /// The adjacency under which the bound holds.
        adjacency: Adjacency,
    },

    /// `steps` noisy gradients of one uniform index each, drawn with replacement across steps.
    SingleIndexGaussian {
        /// Rows in the data.
        rows: u64,
        /// Standard deviation over clip norm (clip units).
        noise_multiplier: f64,
        /// Noisy sums.
        steps: u64,
        /// The adjacency under which the bound holds.
        adjacency: Adjacency,
    },

    /// Passes over data cut into disjoint batches, shuffled or not; each row is used once in a
    /// pass.
    ///
    /// Nothing is gained from the shuffle: a pass costs one unsampled release. Add/remove is
    /// refused, because removing a row moves the borders of all later batches.
    EpochPartitionGaussian {
        /// Passes that were begun.
        passes: u64,
        /// Standard deviation over clip norm (clip units).
        noise_multiplier: f64,
        /// The adjacency under which the bound holds; not add/remove.
        adjacency: Adjacency,
    },

    /// One Gaussian release whose shift depends on how often a secret index stream hits the changed
    /// row: output-perturbed SGD.
    ///
    /// A stream with hit weight `A > 0` moves the released vector by at most
    /// `min(drift + shift·A, cap)` standard deviations; without a hit nothing moves. Replace-one
    /// only.
    HitMixture {
        /// The law of the hit weight `A`.
        hits: Hits,
        /// The move for one unit of hit weight, over the noise's standard deviation.
        shift: f64,
        /// The move as soon as there is a hit, over the noise's standard deviation.
        drift: f64,
        /// The largest possible move over the noise's standard deviation, e.g. `2R/σ` on a ball.
        cap: Option<f64>,
        /// The adjacency under which the bound holds; replace-one.
        adjacency: Adjacency,
    },

    /// The last of `steps` iterates of noisy gradient descent on all rows, none of the others being
    /// told ([`crate::last_iterate`]).
    ///
    /// Each step is a map of the last iterate, on every table, Gaussian noise, and then a map that
    /// does not expand, such as a projection.
    LastIterate {
        /// Noisy steps from a public start.
        steps: u64,
        /// By what a step multiplies distances, at most, on every table; at most 1.
        contraction: f64,
        /// Standard deviation of a step's noise over the largest distance, under `adjacency`, of
        /// what two tables make of one iterate, rounding included (sensitivity units).
        noise_multiplier: f64,
        /// The diameter of the set to which each step leads back over a step's standard deviation,
        /// if there is such a set.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        diameter: Option<f64>,
        /// The adjacency under which the bounds hold.
        adjacency: Adjacency,
    },

    /// The minimiser of a randomly perturbed objective, with an optional Gaussian on the output.
    ObjectivePerturbation {
        /// The class of the loss.
        class: ObjectiveClass,
        /// The part of the loss due to the change of variables, `k·ln(1 + β/Λ)`.
        epsilon_det: f64,
        /// Lipschitz constant of one row over the standard deviation of the linear term,
        /// `a = L/σ₁`.
        slope: f64,
        /// Sensitivity over standard deviation of the noise on the output; zero for an exact
        /// minimiser.
        output_mu: f64,
        /// The adjacency under which the bound holds; not add/remove, because `n` enters the
        /// objective.
        adjacency: Adjacency,
    },

    /// Reports of `rows` users, each `(epsilon0, delta0)`-locally private, in a secret uniform
    /// order.
    Shuffled {
        /// The local loss.
        epsilon0: f64,
        /// The local additive slack; zero for pure randomisers.
        delta0: f64,
        /// Users.
        rows: u64,
        /// The adjacency under which the bound holds; replace-one.
        adjacency: Adjacency,
    },

    /// Reports of `rows` users, each locally `local_mu`-GDP, in a secret uniform order.
    ///
    /// `local_mu` compares *any two* inputs of one user, so it takes the replace sensitivity also
    /// under zero-out: the other reports must hide both.
    ShuffledGdp {
        /// The local parameter.
        local_mu: f64,
        /// Users.
        rows: u64,
        /// The adjacency under which the bound holds.
        adjacency: Adjacency,
    },

    /// The same event `times` over, on the same data.
    Repeated {
        /// The repeated event.
        event: Box<Event>,
        /// How often.
        times: u64,
    },

    /// The same event `R − 1` times over on the same data, `R` uniform on `1..=rounds` and drawn
    /// without looking at it; `R` may be told.
    RandomStop {
        /// The repeated event.
        event: Box<Event>,
        /// The largest `R`.
        rounds: u64,
    },

    /// One event after another on the same data; the queries may depend on earlier answers, the
    /// events' parameters and their number may not.
    #[serde(with = "list")]
    Composed(Vec<Event>),

    /// Events on disjoint parts of the data.
    Disjoint {
        /// One event for each part.
        parts: Vec<Event>,
        /// Whether a changed row stays in its part, as when rows are assigned by a public
        /// identifier.
        fixed_partition: bool,
    },

    /// One of several events on the same data, drawn by a public law that no data touches; which
    /// one may be told.
    #[serde(with = "list")]
    OneOf(Vec<Event>),

    /// A base event run a random number of times, each with a setting drawn from a fixed law; only
    /// the best run is published.
    Tuned {
        /// One run, including the score by which runs are compared.
        base: Box<Event>,
        /// The law of the number of runs.
        trials: Trials,
    },

    /// The event seen by a unit that owns up to `size` rows.
    Group {
        /// The event, stated for one row.
        base: Box<Event>,
        /// Rows for each unit.
        size: u64,
    },

    /// An event whose every output law is within `total_variation` of the law it should have,
    /// because a sampler is inexact. `δ(ε)` grows by `(1 + e^ε)·total_variation`.
    Approximated {
        /// The event as intended.
        inner: Box<Event>,
        /// The distance.
        total_variation: f64,
    },
}

/// How often a secret index stream meets the changed row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Hits {
    /// The average of `steps` iterates, one uniform index of `rows` each: a hit at step `s` weighs
    /// `(steps − s)/steps`.
    AverageWithReplacement {
        /// Rows in the data.
        rows: u64,
        /// Iterates averaged; the last update is never used.
        steps: u64,
    },
    /// The average over `passes` freshly permuted passes: one hit in each pass.
    AveragePermuted {
        /// Rows in the data.
        rows: u64,
        /// Passes.
        passes: u64,
    },
    /// The last iterate after `steps` updates, one uniform index of `rows` each: a hit weighs 1.
    LastWithReplacement {
        /// Rows in the data.
        rows: u64,
        /// Updates.
        steps: u64,
    },
}

/// The known structure of the per-row gradients in objective perturbation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ObjectiveClass {
    /// A generalised linear loss whose slope has one sign for each label (logistic, hinge-like).
    Monotone,
    /// A generalised linear loss whose slope takes both signs (squared, Huber).
    TwoSided,
    /// The logistic loss, whose slopes fill `[0, L]` and whose curvature vanishes where they end.
    Logistic,
    /// Gradients of one row stay in a fixed subspace of dimension `dimension / 2` (replace-one) or
    /// `dimension` (zero-out): softmax with `K` classes has `2(K−1)` and `K−1`.
    Subspace {
        /// Degrees of freedom of the chi law.
        dimension: u32,
    },
    /// A record is a unit of several rows of a generalised linear loss, weighted by numbers that
    /// sum to at most one.
    Unit {
        /// As of [`Self::Subspace`].
        dimension: u32,
        /// Directions of one row's gradient: 1, or `K − 1` for softmax with `K` classes.
        directions: u32,
        /// Whether each row's slope has one sign, as for [`Self::Monotone`]; for one direction.
        monotone: bool,
    },
}

/// The law of the number of runs in private tuning.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Trials {
    /// Truncated negative binomial with shape `eta > −1` and `0 < gamma < 1`.
    TruncatedNegativeBinomial {
        /// The shape: 0 is the logarithmic law, 1 the geometric one.
        eta: f64,
        /// Smaller means more runs.
        gamma: f64,
    },
    /// Poisson with mean `mean >= 1`; no run publishes a fixed default.
    Poisson {
        /// The expected number of runs.
        mean: f64,
    },
}

/// A list as `{"events": [...]}`, because a tagged variant cannot be a bare list.
mod list {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Event;

    pub(super) fn serialize<S: Serializer>(events: &[Event], to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Map<'a> {
            events: &'a [Event],
        }
        Map { events }.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Event>, D::Error> {
        #[derive(Deserialize)]
        struct Map {
            events: Vec<Event>,
        }
        Map::deserialize(from).map(|map| map.events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PrivacyError;

    fn tree() -> Event {
        let adjacency = Adjacency::ReplaceOne;
        Event::Composed(vec![
            Event::None,
            Event::Gaussian { noise_multiplier: 2.0, adjacency },
            Event::Disjoint {
                parts: vec![Event::PureDp { epsilon: 0.5, adjacency }],
                fixed_partition: true,
            },
            Event::Approximated {
                inner: Box::new(Event::PoissonGaussian {
                    sample_rate: 0.01,
                    noise_multiplier: 1.0,
                    steps: 10,
                    adjacency,
                }),
                total_variation: 1e-30,
            },
            Event::HitMixture {
                hits: Hits::AverageWithReplacement { rows: 10, steps: 20 },
                shift: 0.1,
                drift: 0.0,
                cap: None,
                adjacency,
            },
        ])
    }

    #[test]
    fn a_tree_survives_a_file() {
        let json = serde_json::to_string(&tree()).unwrap();
        assert!(json.starts_with(r#"{"kind":"composed","events":[{"kind":"none"}"#), "{json}");
        assert_eq!(serde_json::from_str::<Event>(&json).unwrap(), tree());
        assert_eq!(tree().adjacency(), Ok(Some(Adjacency::ReplaceOne)));
        assert_eq!(tree().check(), Ok(()));
    }

    #[test]
    fn a_mixture_of_adjacencies_is_refused() {
        let mixed = Event::Composed(vec![
            tree(),
            Event::Zcdp { rho: 0.1, adjacency: Adjacency::AddRemoveOne },
        ]);
        assert!(matches!(mixed.adjacency(), Err(PrivacyError::MixedAdjacency { .. })));
        assert!(mixed.check().is_err());
    }

    #[test]
    fn a_bad_number_is_named_wherever_it_sits() {
        let bad = Event::Repeated {
            event: Box::new(Event::Gaussian {
                noise_multiplier: 0.0,
                adjacency: Adjacency::ZeroOut,
            }),
            times: 3,
        };
        let message = bad.check().unwrap_err().to_string();
        assert_eq!(message, "`noise_multiplier` must be a finite positive number, got 0");
    }
}
