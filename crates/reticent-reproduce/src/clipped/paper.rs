//! The results that the paper printed: test accuracy in percent, mean and standard deviation, for
//! epsilon 2, 4 and 6 at delta 1e-5.

/// One line of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PaperLine {
    /// The clip norm.
    pub(super) clip: f64,
    /// Which percentile of the rows' Lipschitz constants it is, if it was chosen as one.
    pub(super) percentile: Option<u8>,
    /// Mean and standard deviation for each epsilon.
    pub(super) accuracy: [(f64, f64); 3],
}

/// One table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PaperTable {
    /// Its title.
    pub(super) title: &'static str,
    /// Its lines, by growing clip norm.
    pub(super) lines: &'static [PaperLine],
    /// Accuracy without privacy.
    pub(super) non_private: f64,
}

/// The epsilons of every table.
pub const EPSILONS: [f64; 3] = [2.0, 4.0, 6.0];

const fn line(clip: f64, percentile: Option<u8>, accuracy: [(f64, f64); 3]) -> PaperLine {
    PaperLine { clip, percentile, accuracy }
}

pub(super) const FASHION_MNIST: PaperTable = PaperTable {
    title: "Fashion-MNIST, 784 pixels, 10 classes (table 6)",
    lines: &[
        line(1.0, None, [(82.99, 0.13), (83.86, 0.11), (84.06, 0.02)]),
        line(3.0, Some(0), [(82.82, 0.18), (83.85, 0.06), (83.99, 0.11)]),
        line(10.0, Some(10), [(82.24, 0.14), (83.43, 0.08), (83.56, 0.06)]),
        line(12.2, Some(20), [(82.27, 0.07), (83.36, 0.09), (83.59, 0.09)]),
        line(15.6, Some(40), [(82.05, 0.19), (83.20, 0.07), (83.31, 0.08)]),
        line(22.3, Some(80), [(81.24, 0.14), (82.43, 0.07), (82.67, 0.10)]),
        line(32.4, Some(100), [(79.99, 0.18), (81.69, 0.12), (82.14, 0.10)]),
    ],
    non_private: 84.44,
};

pub(super) const EMNIST: PaperTable = PaperTable {
    title: "EMNIST, 784 pixels, 47 classes (table 6)",
    lines: &[
        line(1.0, None, [(62.78, 0.98), (65.90, 0.09), (67.02, 0.11)]),
        line(3.0, None, [(63.17, 0.94), (66.16, 0.10), (66.94, 0.10)]),
        line(5.7, Some(0), [(62.85, 0.89), (65.55, 0.17), (66.79, 0.04)]),
        line(11.6, Some(10), [(61.11, 0.99), (64.77, 0.25), (65.41, 0.11)]),
        line(12.7, Some(20), [(61.12, 0.98), (64.30, 0.09), (64.96, 0.10)]),
        line(14.1, Some(40), [(60.42, 0.96), (63.88, 0.13), (64.67, 0.14)]),
        line(16.7, Some(80), [(59.49, 0.83), (63.07, 0.10), (63.94, 0.08)]),
        line(26.1, Some(100), [(56.36, 1.04), (61.26, 0.16), (62.06, 0.08)]),
    ],
    non_private: 69.37,
};

pub(super) const EMNIST_NETWORK: PaperTable = PaperTable {
    title: "EMNIST, 256 tanh units, 47 classes (table 7)",
    lines: &[
        line(1.0, None, [(65.32, 1.54), (72.03, 0.17), (73.59, 0.18)]),
        line(3.0, None, [(65.36, 1.54), (71.74, 0.16), (73.44, 0.06)]),
        line(6.0, None, [(63.72, 1.64), (70.89, 0.37), (73.28, 0.12)]),
        line(12.0, None, [(63.50, 1.60), (70.42, 0.33), (72.51, 0.14)]),
        line(18.0, None, [(62.87, 1.44), (68.04, 0.29), (70.65, 0.23)]),
        line(24.0, None, [(60.95, 1.19), (66.82, 0.33), (69.01, 0.11)]),
        line(30.0, None, [(58.43, 2.04), (64.91, 0.12), (66.30, 0.19)]),
        line(36.0, None, [(57.55, 1.83), (62.36, 0.19), (65.03, 0.20)]),
    ],
    non_private: 84.24,
};

pub(super) const TWEETEVAL: PaperTable = PaperTable {
    title: "TweetEval Emoji, 768 features of DistilBERT, 20 classes (table 5)",
    lines: &[
        line(0.1, None, [(26.15, 0.26), (28.13, 0.12), (28.59, 0.21)]),
        line(1.0, None, [(26.21, 0.30), (28.21, 0.10), (28.68, 0.17)]),
        line(5.0, None, [(26.28, 0.33), (28.14, 0.10), (28.77, 0.23)]),
        line(10.0, None, [(26.34, 0.37), (28.00, 0.15), (28.57, 0.18)]),
        line(13.8, Some(0), [(26.04, 0.29), (27.86, 0.06), (28.40, 0.13)]),
        line(15.9, Some(10), [(25.92, 0.29), (27.67, 0.10), (28.06, 0.06)]),
        line(16.2, Some(20), [(25.78, 0.32), (27.63, 0.08), (28.06, 0.05)]),
        line(16.7, Some(40), [(25.83, 0.30), (27.50, 0.07), (28.01, 0.07)]),
        line(17.5, Some(80), [(25.70, 0.31), (27.46, 0.07), (27.93, 0.07)]),
        line(20.8, Some(100), [(25.55, 0.26), (27.06, 0.11), (27.73, 0.05)]),
    ],
    non_private: 30.10,
};
