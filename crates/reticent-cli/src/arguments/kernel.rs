//! Random features.

use clap::{Args, ValueEnum};
use reticent::KernelChoice;
use reticent::problem::feature_map::{Construction, Form, Kernel};

/// The kernels by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum KernelName {
    /// exp(-|v|^2/2)
    #[value(alias = "rbf")]
    Gaussian,
    /// exp(-|v|_1)
    Laplace,
    /// The product of 1/(1 + v_j^2)
    Cauchy,
    /// Between laplacian (nu 1/2) and gaussian (nu infinite)
    Matern,
    /// (1 + |v|^2/(2 shape))^-shape
    RationalQuadratic,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MapName {
    /// Each on its own
    #[value(alias = "plain")]
    Independent,
    /// Orthogonal within blocks: less variance
    Orthogonal,
    /// By Walsh-Hadamard transforms: nearly orthogonal, and fast for many columns
    Structured,
    /// By two Walsh-Hadamard transforms: unbiased, and fast for many columns
    Fastfood,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormName {
    /// A cosine and a sine of each frequency: the shorter rows, so the less noise
    Paired,
    /// A cosine with a random phase of each frequency
    Cosine,
}

#[derive(Args, Debug)]
pub(crate) struct KernelArgs {
    /// Fit a kernel model: random features of this kernel take the place of the columns
    #[arg(long, value_enum)]
    pub(crate) kernel: Option<KernelName>,
    /// How far apart rows are that resemble each other, on the scale of encoded columns; half the
    /// bound on a row's norm if not given
    #[arg(long, requires = "kernel", allow_hyphen_values = true)]
    pub(crate) bandwidth: Option<f64>,
    /// Number of random features; n^0.6 ln(20 n), at most 16384, if not given
    #[arg(long, requires = "kernel", allow_hyphen_values = true)]
    pub(crate) features: Option<usize>,
    /// How the frequencies belong together; structured from 64 encoded columns on, orthogonal
    /// below, independent for laplace and cauchy, if not given
    #[arg(long, value_enum, requires = "kernel")]
    pub(crate) map: Option<MapName>,
    /// How a frequency becomes features
    #[arg(long, value_enum, requires = "kernel", default_value = "paired")]
    pub(crate) form: FormName,
    /// The smoothness of the matern kernel
    #[arg(long, requires = "kernel", default_value_t = 1.5, allow_hyphen_values = true)]
    pub(crate) nu: f64,
    /// The shape of the rational-quadratic kernel
    #[arg(long, requires = "kernel", default_value_t = 1.0, allow_hyphen_values = true)]
    pub(crate) shape: f64,
    /// Draw the frequencies from this seed; it is public, and the noise never comes from it
    #[arg(long, requires = "kernel", value_name = "SEED")]
    pub(crate) map_seed: Option<u64>,
}

impl KernelArgs {
    /// The kernel model asked for, if any.
    pub(crate) fn choice(&self) -> Option<KernelChoice> {
        let kernel = match self.kernel? {
            KernelName::Gaussian => Kernel::Gaussian,
            KernelName::Laplace => Kernel::Laplace,
            KernelName::Cauchy => Kernel::Cauchy,
            KernelName::Matern => Kernel::Matern { nu: self.nu },
            KernelName::RationalQuadratic => Kernel::RationalQuadratic { shape: self.shape },
        };
        Some(KernelChoice {
            kernel,
            bandwidth: self.bandwidth,
            features: self.features,
            construction: self.map.map(|map| match map {
                MapName::Independent => Construction::Independent,
                MapName::Orthogonal => Construction::Orthogonal,
                MapName::Structured => Construction::Structured,
                MapName::Fastfood => Construction::Fastfood,
            }),
            form: match self.form {
                FormName::Paired => Form::Paired,
                FormName::Cosine => Form::Cosine,
            },
        })
    }
}
