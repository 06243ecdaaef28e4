//! Ranges of numbers with open and closed ends.

use std::fmt;

/// An end of a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    /// The number itself is outside.
    Open(f64),
    /// The number itself is inside.
    Closed(f64),
}

/// The numbers between two ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The lower end.
    pub low: End,
    /// The upper end; infinite and open for all finite numbers.
    pub high: End,
}

impl Range {
    /// All finite numbers above zero.
    pub const POSITIVE: Self = Self::new(End::Open(0.0), End::Open(f64::INFINITY));
    /// All finite numbers from zero on.
    pub const NOT_NEGATIVE: Self = Self::new(End::Closed(0.0), End::Open(f64::INFINITY));

    /// The numbers between two ends.
    pub const fn new(low: End, high: End) -> Self {
        Self { low, high }
    }

    /// The numbers between two ends that belong to it.
    pub const fn closed(low: f64, high: f64) -> Self {
        Self::new(End::Closed(low), End::Closed(high))
    }

    /// Whether a number is in it; NaN never is.
    pub fn contains(&self, x: f64) -> bool {
        let above = match self.low {
            End::Open(low) => x > low,
            End::Closed(low) => x >= low,
        };
        let below = match self.high {
            End::Open(high) => x < high,
            End::Closed(high) => x <= high,
        };
        above && below
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let infinite = f64::INFINITY;
        match (self.low, self.high) {
            (End::Open(low), End::Open(high)) if high == infinite => {
                write!(f, "a finite number > {low}")
            }
            (End::Closed(low), End::Open(high)) if high == infinite => {
                write!(f, "a finite number >= {low}")
            }
            (End::Open(low), End::Closed(high)) if high == infinite => {
                write!(f, "a number above {low}, or inf")
            }
            (End::Closed(low), End::Closed(high)) => {
                write!(f, "a number from {} to {}", Short(low), Short(high))
            }
            (low, high) => {
                let low = match low {
                    End::Open(low) => format!("above {low}"),
                    End::Closed(low) => format!("at least {low}"),
                };
                let high = match high {
                    End::Open(high) => format!("below {high}"),
                    End::Closed(high) => format!("at most {high}"),
                };
                write!(f, "a number {low} and {high}")
            }
        }
    }
}

/// A number without a hundred zeros.
struct Short(f64);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.abs();
        if size != 0.0 && !(1e-4..1e6).contains(&size) {
            write!(f, "{:e}", self.0)
        } else {
            write!(f, "{}", self.0)
        }
    }
}
