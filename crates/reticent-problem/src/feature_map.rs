//! Random features: a public, random map that turns a kernel into a linear model.
//!
//! A shift-invariant kernel is the Fourier transform of a probability law (Bochner). With
//! frequencies `ω_j` from that law, `⟨φ(x), φ(x')⟩` has the kernel as its mean, and its deviation
//! falls like `1/√M`. The frequencies come from a seed that is drawn without looking at data and is
//! stored in the model: it may be public, and it drives nothing else.
//!
//! Privacy needs one number of the map, `κ = sup ‖φ(x)‖`, the same for every `x` whatsoever: no
//! bound on `x` is declared.
//!
//! | form | features | `κ` |
//! | --- | --- | --- |
//! | paired | `√(2/M)·(cos ω_j·x, sin ω_j·x)`, `M/2` frequencies | 1 |
//! | cosine | `√(2/M)·cos(ω_j·x + b_j)`, `M` frequencies | `√2` |

use serde::{Deserialize, Serialize};

use crate::{ProblemError, RowBounds};

/// A shift-invariant kernel of bandwidth one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kernel", rename_all = "kebab-case")]
pub enum Kernel {
    /// `exp(−‖v‖₂²/2)`.
    Gaussian,
    /// `exp(−‖v‖₁)`.
    Laplace,
    /// `Π_j 1/(1 + v_j²)`.
    Cauchy,
    /// `2^{1−ν}/Γ(ν)·t^ν·K_ν(t)` with `t = √(2ν)·‖v‖₂`.
    Matern {
        /// Smoothness, `ν > 0`.
        nu: f64,
    },
    /// `(1 + ‖v‖₂²/(2a))^{−a}`.
    RationalQuadratic {
        /// `a > 0`.
        shape: f64,
    },
}

impl Kernel {
    /// The name in flags, files and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gaussian => "gaussian",
            Self::Laplace => "laplace",
            Self::Cauchy => "cauchy",
            Self::Matern { .. } => "matern",
            Self::RationalQuadratic { .. } => "rational-quadratic",
        }
    }

    /// Whether it depends on the Euclidean norm alone.
    pub fn is_isotropic(self) -> bool {
        !matches!(self, Self::Laplace | Self::Cauchy)
    }

    /// `K(x, y)`; a Matérn kernel has a closed form for `ν` of 1/2, 3/2 and 5/2 only.
    pub fn value(self, x: &[f64], y: &[f64], bandwidth: f64) -> Option<f64> {
        let scaled = || x.iter().zip(y).map(|(a, b)| (a - b) / bandwidth);
        let squared: f64 = scaled().map(|v| v * v).sum();
        Some(match self {
            Self::Gaussian => (-0.5 * squared).exp(),
            Self::Laplace => (-scaled().map(f64::abs).sum::<f64>()).exp(),
            Self::Cauchy => scaled().map(|v| 1.0 / (1.0 + v * v)).product(),
            Self::Matern { nu } => {
                let t = (2.0 * nu * squared).sqrt();
                let polynomial = if nu == 0.5 {
                    1.0
                } else if nu == 1.5 {
                    1.0 + t
                } else if nu == 2.5 {
                    1.0 + t + t * t / 3.0
                } else {
                    return None;
                };
                polynomial * (-t).exp()
            }
            Self::RationalQuadratic { shape } => (1.0 + squared / (2.0 * shape)).powf(-shape),
        })
    }
}

/// How the frequencies of a map belong together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Construction {
    /// Independent.
    Independent,
    /// Orthogonal within blocks of as many as there are inputs: less variance, as costly to
    /// evaluate.
    Orthogonal,
    /// Three random signs and Walsh–Hadamard transforms: nearly orthogonal, `O(M log d)` to
    /// evaluate.
    #[default]
    Structured,
    /// Signs, a permutation, a Gaussian diagonal and two Walsh–Hadamard transforms: unbiased,
    /// `O(M log d)`.
    Fastfood,
}

/// How a frequency becomes features.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// A cosine and a sine of each.
    #[default]
    Paired,
    /// A cosine with a random phase of each.
    Cosine,
}

impl Form {
    /// `κ = sup ‖φ(x)‖`.
    pub fn norm(self) -> f64 {
        match self {
            Self::Paired => 1.0,
            Self::Cosine => std::f64::consts::SQRT_2,
        }
    }

    /// Features of one frequency.
    pub fn width(self) -> usize {
        match self {
            Self::Paired => 2,
            Self::Cosine => 1,
        }
    }
}

/// A map's whole description: a few numbers, whatever its size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MapLaw {
    /// Which kernel is approximated.
    #[serde(flatten)]
    pub kernel: Kernel,
    /// Its bandwidth: declared, never read off the data.
    pub bandwidth: f64,
    /// How frequencies belong together.
    pub construction: Construction,
    /// How a frequency becomes features.
    pub form: Form,
    /// `M`.
    pub features: usize,
    /// The seed of the frequencies. Public, and used for nothing else.
    pub seed: u64,
}

impl MapLaw {
    /// Checks every number.
    ///
    /// # Errors
    ///
    /// [`ProblemError`] names the parameter, what it must be and what it was.
    pub fn check(&self) -> Result<(), ProblemError> {
        let range = |ok: bool, name, expected, got| {
            if ok { Ok(()) } else { Err(ProblemError::OutOfRange { name, expected, got }) }
        };
        let positive = |x: f64| x.is_finite() && x > 0.0;
        if !positive(self.bandwidth) {
            return Err(ProblemError::NotDeclared { name: "bandwidth", got: self.bandwidth });
        }
        let m = self.features;
        range((1..=1 << 24).contains(&m), "features", "a whole number from 1 to 2^24", m as f64)?;
        range(
            m.is_multiple_of(self.form.width()),
            "features",
            "even: paired features need a cosine and a sine of each frequency",
            m as f64,
        )?;
        match self.kernel {
            Kernel::Matern { nu } => {
                range(positive(nu), "nu", "a finite number > 0", nu)?;
            }
            Kernel::RationalQuadratic { shape } => {
                range(positive(shape), "shape", "a finite number > 0", shape)?;
            }
            Kernel::Gaussian | Kernel::Laplace | Kernel::Cauchy => {}
        }
        if self.construction != Construction::Independent && !self.kernel.is_isotropic() {
            return Err(ProblemError::NotIsotropic { kernel: self.kernel.name() });
        }
        Ok(())
    }

    /// The bounds of every row of features, whatever the inputs: `κ` and `√(2/M)`, rounded up.
    /// (Anyone who computes features in fewer digits makes them shorter by more than rounding can
    /// add.)
    ///
    /// # Errors
    ///
    /// [`ProblemError::NotDeclared`], if `label` is no bound.
    pub fn bounds(&self, label: f64) -> Result<RowBounds, ProblemError> {
        const ROUND_UP: f64 = 1.0 + 1e-12;
        let entry = (2.0 / self.features as f64).sqrt() * ROUND_UP;
        RowBounds::new(self.form.norm() * ROUND_UP, label)?.with_entries(entry)
    }

    /// Frequencies of the map.
    pub fn frequencies(&self) -> usize {
        self.features / self.form.width()
    }
}
