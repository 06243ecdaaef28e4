//! Powers of a law, by the fast Fourier transform.
//!
//! Masses are tilted by `e^{θL}` and normalised first, so that the sum is centred where the answer
//! is and rounding errors are relative to the mass that matters; that is what makes `δ = 1e-30`
//! possible. The transform is circular: mass outside the window reappears inside. On the way back
//! every frequency whose modulus, raised to the number of steps, falls below `e^{−80}` is dropped,
//! which for many steps is nearly all of them. Rounding leaves tiny negative masses; they are kept,
//! because errors of both signs cancel in sums and clamping would not let them.

use std::cell::RefCell;

use realfft::{RealFftPlanner, num_complex::Complex64};

use super::{grid::GridLaw, times::Times};

/// The longest transform; about 50 MB at work.
pub(super) const MAX_LENGTH: usize = 1 << 20;

/// Plans up to this length are kept for the thread.
const KEPT_LENGTH: usize = 1 << 17;

thread_local! {
    static PLANNER: RefCell<RealFftPlanner<f64>> = RefCell::new(RealFftPlanner::new());
}

/// A length of at least `n` with small factors. Long ones come in few sizes, because their plans
/// are kept.
pub(super) fn fast_length(n: usize) -> usize {
    let base = n.max(64).next_power_of_two();
    if base > 1 << 16 {
        return if base * 3 / 4 >= n { base * 3 / 4 } else { base };
    }
    [base * 9 / 16, base * 5 / 8, base * 3 / 4, base * 27 / 32, base * 15 / 16]
        .into_iter()
        .find(|&m| m >= n)
        .unwrap_or(base)
}

/// The law of the sum modulo `length`: entry `k` holds the tilted mass of all sums congruent to
/// `k`.
///
/// Each law is tilted by `theta` and divided by its own normaliser `e^{log_moments}`.
pub(super) fn power(
    terms: &[(GridLaw, Times)],
    theta: f64,
    log_moments: &[f64],
    length: usize,
) -> Vec<f64> {
    let run = |planner: &mut RealFftPlanner<f64>| {
        let forward = planner.plan_fft_forward(length);
        let inverse = planner.plan_fft_inverse(length);
        let mut buffer = vec![0.0; length];
        let mut scratch = forward.make_scratch_vec();
        let mut product: Vec<Complex64> = Vec::new();
        for (index, ((grid, times), log_moment)) in terms.iter().zip(log_moments).enumerate() {
            buffer.fill(0.0);
            fold(grid, theta, *log_moment, &mut buffer);
            let mut spectrum = forward.make_output_vec();
            // The lengths match by construction, so neither transform can fail.
            let _ = forward.process_with_scratch(&mut buffer, &mut spectrum, &mut scratch);
            times.raise(&mut spectrum, *log_moment);
            if index == 0 {
                product = spectrum;
            } else {
                product.iter_mut().zip(&spectrum).for_each(|(a, b)| *a *= b);
            }
        }
        drop(scratch);
        // The inverse wants real ends.
        if let Some(first) = product.first_mut() {
            first.im = 0.0;
        }
        if length.is_multiple_of(2)
            && let Some(last) = product.last_mut()
        {
            last.im = 0.0;
        }
        let mut scratch = inverse.make_scratch_vec();
        let _ = inverse.process_with_scratch(&mut product, &mut buffer, &mut scratch);
        let norm = 1.0 / length as f64;
        for x in &mut buffer {
            *x *= norm;
        }
        buffer
    };
    if length <= KEPT_LENGTH {
        PLANNER.with(|planner| run(&mut planner.borrow_mut()))
    } else {
        run(&mut RealFftPlanner::new())
    }
}

/// Add the tilted masses into `buffer`, indices taken modulo its length.
fn fold(grid: &GridLaw, theta: f64, log_moment: f64, buffer: &mut [f64]) {
    let length = buffer.len() as i64;
    let law = &grid.law;
    for ((&index, &loss), &mass) in grid.indices.iter().zip(&law.losses).zip(&law.masses) {
        if mass > 0.0 {
            let exponent = theta * loss - log_moment;
            let tilted =
                if exponent < 600.0 { mass * exponent.exp() } else { (exponent + mass.ln()).exp() };
            buffer[index.rem_euclid(length) as usize] += tilted;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::compose::round_off;
    use super::super::law::Law;
    use super::*;

    /// A number of about thirty digits: the unevaluated sum of two.
    #[derive(Clone, Copy)]
    struct Double(f64, f64);

    impl Double {
        fn normal(high: f64, low: f64) -> Self {
            let sum = high + low;
            Self(sum, low - (sum - high))
        }

        fn plus(self, other: Self) -> Self {
            let sum = self.0 + other.0;
            let part = sum - self.0;
            let error = (self.0 - (sum - part)) + (other.0 - part);
            Self::normal(sum, error + self.1 + other.1)
        }

        fn times(self, other: Self) -> Self {
            let product = self.0 * other.0;
            let error = self.0.mul_add(other.0, -product);
            Self::normal(product, error + self.0 * other.1 + self.1 * other.0)
        }

        fn over(self, other: Self) -> Self {
            let first = self.0 / other.0;
            let rest = self.plus(other.times(Self(-first, 0.0)));
            let second = rest.0 / other.0;
            let rest = rest.plus(other.times(Self(-second, 0.0)));
            Self::normal(first, second).plus(Self(rest.0 / other.0, 0.0))
        }
    }

    /// Heads of so many fair coins: places, and masses to thirty digits. Masses below 1e-40 are
    /// left out.
    fn binomial(coins: u64) -> Vec<(u64, Double)> {
        let middle = coins / 2;
        let mut list = vec![(middle, Double(1.0, 0.0))];
        // Away from the middle the next mass is the last times (n − k)/(k + 1), on either side.
        for up in [true, false] {
            let (mut place, mut mass) = (middle, Double(1.0, 0.0));
            while mass.0 > 1e-40 && place != if up { coins } else { 0 } {
                let (over, under) =
                    if up { (coins - place, place + 1) } else { (place, coins - place + 1) };
                mass = mass.times(Double(over as f64, 0.0)).over(Double(under as f64, 0.0));
                place = if up { place + 1 } else { place - 1 };
                list.push((place, mass));
            }
        }
        let total = list.iter().fold(Double(0.0, 0.0), |sum, (_, mass)| sum.plus(*mass));
        for (_, mass) in &mut list {
            *mass = mass.over(total);
        }
        list
    }

    /// The largest error of any tail, of so many sums of so many coins.
    fn worst_tail(coins: u64, times: Times, length: usize) -> f64 {
        let one = binomial(coins);
        let law = Law {
            losses: one.iter().map(|(place, _)| *place as f64).collect(),
            masses: one.iter().map(|(_, mass)| mass.0).collect(),
            infinite: 0.0,
        };
        let indices = one.iter().map(|(place, _)| *place as i64).collect();
        let found = power(&[(GridLaw { indices, law, leap: 0.0 }, times)], 0.0, &[0.0], length);
        let mut errors: Vec<Double> = found.iter().map(|mass| Double(*mass, 0.0)).collect();
        let (from, share) = match times {
            Times::Exactly(times) => (times as u64, 1.0),
            Times::Below(rounds) => (0, rounds),
        };
        for count in from..=times.most() as u64 {
            for (place, mass) in binomial(coins * count) {
                let folded = (place % length as u64) as usize;
                let exact = mass.over(Double(-share, 0.0));
                errors[folded] = errors[folded].plus(exact);
            }
        }
        let (mut tail, mut worst) = (Double(0.0, 0.0), 0.0_f64);
        // From the top, and with the sign turned and the whole added, from the bottom.
        for error in errors.iter().rev() {
            tail = tail.plus(*error);
            worst = worst.max(tail.0.abs());
        }
        let whole = tail.0;
        for error in &errors {
            tail = tail.plus(Double(-error.0, -error.1));
            worst = worst.max((whole - tail.0).abs());
        }
        worst
    }

    #[test]
    fn no_tail_is_off_by_more_than_a_fifth_of_what_is_added() {
        for (coins, times, length) in [
            (60, 1, 1 << 10),
            (60, 1, 1 << 20),
            (5000, 1, 1 << 20),
            (1 << 19, 1, 3 << 18),
            (1000, 2, 1 << 16),
            (60, 100, 9 << 10),
            (1000, 50, 3 << 15),
            (16, 1000, 1 << 16),
            (4, 100_000, 1 << 17),
            (2, 10_000_000, 1 << 18),
        ] {
            let exactly = Times::Exactly(f64::from(times));
            let (worst, added) = (worst_tail(coins, exactly, length), round_off(f64::from(times)));
            assert!(worst < 0.2 * added, "{coins} {times} {length}: {worst:e} of {added:e}");
        }
        for (coins, rounds, length) in
            [(60, 2.0, 1 << 10), (60, 40.0, 9 << 10), (4, 500.0, 1 << 12)]
        {
            let below = Times::Below(rounds);
            let (worst, added) = (worst_tail(coins, below, length), round_off(rounds));
            assert!(worst < 0.2 * added, "below {rounds}: {worst:e} of {added:e}");
        }
    }
}
