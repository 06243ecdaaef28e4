//! The numbers a map is made of, from its public seed.
//!
//! A stored model must mean the same map for ever, so the numbers are defined here and not by a
//! library's sampler: the ChaCha20 keystream of the seed, cut into 53-bit uniforms, and textbook
//! transforms of them.
//!
//! | law | from |
//! | --- | --- |
//! | normal | Box and Muller, the cosine half |
//! | Cauchy | `tan(π(u − ½))` |
//! | Laplace | the logarithm of a uniform, with a sign |
//! | gamma | Marsaglia and Tsang (2000); below shape one, `Γ(a) = Γ(a+1)·u^{1/a}` |
//! | chi-square | `χ²_k = 2Γ(k/2)` |

use std::f64::consts::PI;

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use reticent_problem::feature_map::Kernel;

/// The numbers of one block of frequencies; each block has its own, so that any block can be made
/// alone.
pub(super) struct Draws {
    words: ChaCha20Rng,
}

impl Draws {
    /// The numbers of block `block` of the map with this seed.
    pub(super) fn new(seed: u64, block: u64) -> Self {
        let mut key = *b"reticent.feature.map.1..........";
        key[24..].copy_from_slice(&seed.to_le_bytes());
        let mut words = ChaCha20Rng::from_seed(key);
        words.set_stream(block);
        Self { words }
    }

    /// Uniform on the multiples of `2^-53` in `(0, 1]`.
    pub(super) fn uniform(&mut self) -> f64 {
        ((self.words.next_u64() >> 11) as f64 + 1.0) * (0.5_f64).powi(53)
    }

    /// Plus or minus one.
    pub(super) fn sign(&mut self) -> f64 {
        if self.words.next_u64() >> 63 == 0 { 1.0 } else { -1.0 }
    }

    /// A whole number below `end`, nearly uniform (the excess is at most `end/2^64`).
    pub(super) fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.words.next_u64()) * end as u128) >> 64) as usize
    }

    /// Standard normal.
    pub(super) fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(self.uniform()));
        radius * libm::cos(2.0 * PI * self.uniform())
    }

    fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            let u = self.uniform();
            return self.gamma(shape + 1.0) * libm::pow(u, 1.0 / shape);
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / libm::sqrt(9.0 * d);
        loop {
            let x = self.normal();
            let t = 1.0 + c * x;
            let v = t * t * t;
            if t > 0.0 && libm::log(self.uniform()) < 0.5 * x * x + d - d * v + d * libm::log(v) {
                return d * v;
            }
        }
    }

    /// The length of a standard normal vector of `dimension` coordinates.
    fn chi(&mut self, dimension: usize) -> f64 {
        libm::sqrt(2.0 * self.gamma(0.5 * dimension as f64))
    }

    /// The factor by which an isotropic kernel's frequency is longer than a normal vector.
    fn stretch(&mut self, kernel: Kernel) -> f64 {
        match kernel {
            Kernel::Matern { nu } => matern_stretch(nu, 2.0 * self.gamma(nu)),
            Kernel::RationalQuadratic { shape } => libm::sqrt(self.gamma(shape) / shape),
            Kernel::Gaussian | Kernel::Laplace | Kernel::Cauchy => 1.0,
        }
    }

    /// A frequency of the kernel with bandwidth one.
    pub(super) fn frequency(&mut self, kernel: Kernel, into: &mut [f64]) {
        let stretch = self.stretch(kernel);
        for x in into {
            *x = match kernel {
                Kernel::Laplace => laplace_kernel_frequency(self.uniform()),
                Kernel::Cauchy => {
                    let sign = self.sign();
                    -sign * libm::log(self.uniform())
                }
                _ => stretch * self.normal(),
            };
        }
    }

    /// The length of a frequency of an isotropic kernel with bandwidth one in `dimension`
    /// dimensions.
    pub(super) fn radius(&mut self, kernel: Kernel, dimension: usize) -> f64 {
        self.chi(dimension) * self.stretch(kernel)
    }
}

/// `√(2ν/g)`: with `g ~ χ²_{2ν}` and a normal vector, a frequency of the Matérn kernel.
pub fn matern_stretch(nu: f64, chi_square: f64) -> f64 {
    libm::sqrt(2.0 * nu / chi_square)
}

/// `tan(π(u − ½))`: a coordinate of a frequency of the Laplace kernel with bandwidth one.
pub fn laplace_kernel_frequency(u: f64) -> f64 {
    libm::tan(PI * (u - 0.5))
}
