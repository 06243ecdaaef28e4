//! Table 3 as it is printed.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// One row of the printed table. In a file it is its set, ridge and epsilon: the rest is known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(into = "Key")]
pub struct Printed {
    /// The data set.
    pub set: &'static str,
    /// `μ`.
    pub ridge: f64,
    /// `ε`.
    pub epsilon: f64,
    /// Error of the paper's method.
    pub ours: f64,
    /// Error of the baseline.
    pub baseline: f64,
    /// CPU time of the paper's method.
    pub ours_seconds: f64,
    /// CPU time of the baseline.
    pub baseline_seconds: f64,
}

/// Which row.
#[derive(Serialize, Deserialize)]
struct Key {
    set: String,
    mu: f64,
    epsilon: f64,
}

impl From<Printed> for Key {
    fn from(printed: Printed) -> Self {
        Self { set: printed.set.to_owned(), mu: printed.ridge, epsilon: printed.epsilon }
    }
}

impl<'de> Deserialize<'de> for Printed {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let key = Key::deserialize(from)?;
        let same = |p: &Self| p.set == key.set && p.ridge == key.mu && p.epsilon == key.epsilon;
        rows().find(same).ok_or_else(|| D::Error::custom("the table has no such row"))
    }
}

/// The values of epsilon.
pub const EPSILONS: [f64; 4] = [0.1, 0.5, 1.0, 2.0];

/// A block of four rows, one for each epsilon: error ours, error baseline, time ours, time
/// baseline.
type Block = (&'static str, f64, [[f64; 4]; 4]);

const BLOCKS: [Block; 10] = [
    (
        "BANK",
        0.0,
        [
            [0.3983, 2.2552, 12.613, 518.67],
            [0.2231, 1.4585, 36.796, 519.33],
            [0.1459, 1.0203, 58.305, 519.02],
            [0.0838, 0.7824, 92.501, 518.27],
        ],
    ),
    (
        "BANK",
        0.1,
        [
            [0.2566, 0.4829, 20.483, 518.03],
            [0.0106, 0.4090, 40.541, 519.44],
            [0.0025, 0.3387, 49.311, 516.73],
            [0.0005, 0.2475, 57.947, 520.17],
        ],
    ),
    (
        "ADULT",
        0.0,
        [
            [0.0499, 0.6229, 23.813, 250.50],
            [0.0208, 0.6081, 69.536, 254.14],
            [0.0122, 0.4781, 110.20, 254.18],
            [0.0065, 0.3691, 175.01, 253.72],
        ],
    ),
    (
        "ADULT",
        0.1,
        [
            [3.2039, 5.2166, 112.09, 256.70],
            [0.1287, 5.1532, 193.98, 255.36],
            [0.0309, 5.1148, 229.23, 255.69],
            [0.0080, 5.1009, 264.23, 257.23],
        ],
    ),
    (
        "CreditCard",
        0.0,
        [
            [0.0293, 0.4106, 4.9595, 190.30],
            [0.0102, 0.4220, 14.591, 190.89],
            [0.0053, 0.3140, 22.983, 188.67],
            [0.0024, 0.2708, 36.721, 188.86],
        ],
    ),
    (
        "CreditCard",
        0.1,
        [
            [0.3643, 1.3271, 13.664, 190.36],
            [0.0141, 1.2973, 22.012, 189.97],
            [0.0035, 1.2792, 25.743, 188.81],
            [0.0008, 1.2501, 29.256, 187.97],
        ],
    ),
    (
        "WINE",
        0.0,
        [
            [0.6061, 6.1755, 0.1672, 6.3859],
            [0.2487, 4.1900, 0.4328, 6.3828],
            [0.1713, 3.0972, 0.7469, 6.4234],
            [0.1110, 1.3609, 1.1719, 6.3016],
        ],
    ),
    (
        "WINE",
        0.5,
        [
            [1.0842, 8.2900, 0.0922, 6.4328],
            [0.0364, 7.9584, 0.1437, 6.3625],
            [0.0101, 6.5471, 0.1891, 6.5391],
            [0.0024, 5.3811, 0.1812, 6.4484],
        ],
    ),
    (
        "BIKE",
        0.0,
        [
            [5.4659, 35.279, 0.1531, 6.4953],
            [4.0404, 30.822, 0.4375, 6.2375],
            [3.2768, 27.196, 0.6922, 6.2734],
            [2.4081, 23.865, 1.1766, 6.3969],
        ],
    ),
    (
        "BIKE",
        0.5,
        [
            [0.0555, 3.0770, 0.1031, 6.5766],
            [0.0301, 3.0448, 0.1578, 6.5094],
            [0.0242, 2.1792, 0.1625, 6.4094],
            [0.0232, 1.0406, 0.1984, 6.3625],
        ],
    ),
];

/// The printed rows, in the printed order.
pub fn rows() -> impl Iterator<Item = Printed> {
    BLOCKS.iter().flat_map(|(set, ridge, block)| {
        EPSILONS.iter().zip(block).map(
            |(epsilon, [ours, baseline, ours_seconds, baseline_seconds])| Printed {
                set,
                ridge: *ridge,
                epsilon: *epsilon,
                ours: *ours,
                baseline: *baseline,
                ours_seconds: *ours_seconds,
                baseline_seconds: *baseline_seconds,
            },
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_ratios_have_the_known_geometric_means() {
        // A slip in copying forty rows would move one of these.
        let list: Vec<Printed> = rows().collect();
        assert_eq!(list.len(), 40);
        let mean = |ratio: fn(&Printed) -> f64, ridged: Option<bool>| {
            let logs: Vec<f64> = list
                .iter()
                .filter(|p| ridged.is_none_or(|r| r == (p.ridge > 0.0)))
                .map(|p| ratio(p).ln())
                .collect();
            (logs.iter().sum::<f64>() / logs.len() as f64).exp()
        };
        let error = |p: &Printed| p.ours / p.baseline;
        let time = |p: &Printed| p.ours_seconds / p.baseline_seconds;
        for (got, want) in [
            (mean(error, None), 0.0272),
            (mean(time, None), 0.0910),
            (mean(error, Some(false)), 0.0626),
            (mean(time, Some(false)), 0.1025),
            (mean(error, Some(true)), 0.0118),
            (mean(time, Some(true)), 0.0808),
        ] {
            assert!((got / want - 1.0).abs() < 5e-3, "{got} {want}");
        }
    }
}
