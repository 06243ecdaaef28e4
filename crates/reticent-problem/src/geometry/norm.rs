//! Norms without overflow: entries are divided by the largest before they are raised to a power.

/// `‖v‖_p` for `1 ≤ p ≤ ∞`. A vector with an entry that is not finite has an infinite norm.
pub fn lp_norm(v: &[f64], p: f64) -> f64 {
    scaled_power_sum(v, p).norm
}

/// The largest entry `m`, `S = Σ (|v_j|/m)^p` and the norm `m S^{1/p}`.
pub(crate) struct PowerSum {
    pub(crate) largest: f64,
    pub(crate) sum: f64,
    pub(crate) norm: f64,
}

pub(crate) fn scaled_power_sum(v: &[f64], p: f64) -> PowerSum {
    let largest =
        v.iter().fold(0.0_f64, |m, x| if x.is_nan() { f64::INFINITY } else { m.max(x.abs()) });
    if largest == 0.0 || !largest.is_finite() || p == f64::INFINITY {
        return PowerSum { largest, sum: 1.0, norm: largest };
    }
    let mut sum = Sum::default();
    for x in v {
        sum.add(power(x.abs() / largest, p));
    }
    let sum = sum.total();
    PowerSum { largest, sum, norm: largest * power(sum, 1.0 / p) }
}

/// `x^p` for `x ≥ 0`, by a product or a root where there is one.
pub(crate) fn power(x: f64, p: f64) -> f64 {
    if p == 1.0 {
        x
    } else if p == 2.0 {
        x * x
    } else if p == 0.5 {
        x.sqrt()
    } else {
        x.powf(p)
    }
}

/// A sum with a running compensation (Neumaier), so that long vectors lose no digits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum {
    sum: f64,
    lost: f64,
}

impl Sum {
    pub(crate) fn add(&mut self, x: f64) {
        let next = self.sum + x;
        self.lost +=
            if self.sum.abs() >= x.abs() { (self.sum - next) + x } else { (x - next) + self.sum };
        self.sum = next;
    }

    pub(crate) fn total(self) -> f64 {
        if self.lost.is_finite() { self.sum + self.lost } else { self.sum }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_norms_and_extremes() {
        let v = [3.0, -4.0];
        assert!((lp_norm(&v, 2.0) - 5.0).abs() < 1e-15);
        assert_eq!(lp_norm(&v, 1.0), 7.0);
        assert_eq!(lp_norm(&v, f64::INFINITY), 4.0);
        assert!((lp_norm(&v, 3.0) - 91.0_f64.cbrt()).abs() < 1e-14);
        for p in [1.0, 1.5, 2.0, 7.0] {
            for size in [1e-300, 1e300] {
                let norm = lp_norm(&[size, -size, size], p) / size;
                assert!((norm - 3.0_f64.powf(1.0 / p)).abs() < 1e-14, "{p} {size}");
            }
        }
        assert_eq!(lp_norm(&[], 1.5), 0.0);
        assert_eq!(lp_norm(&[0.0, f64::NAN], 1.5), f64::INFINITY);
    }
}
