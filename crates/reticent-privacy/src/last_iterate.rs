//! The last iterate of noisy gradient descent on all rows, where no other leaves the house.
//!
//! # Theorem
//!
//! Let two runs begin at the same point, and for `t = 1, …, T` let
//!
//! ```text
//! X_t = Π(φ_t(X_{t−1}) + Z_t),      X'_t = Π(φ'_t(X'_{t−1}) + Z_t'),      Z_t, Z_t' ~ N(0, σ²I) independent,
//! ```
//!
//! where for all points `‖φ_t(x) − φ_t(y)‖ ≤ c‖x − y‖` and `‖φ_t(x) − φ'_t(x)‖ ≤ s`, and `Π` does
//! not expand. With `N = σ/s` the pair `(X_T, X'_T)` is `μ`-GDP, in both directions, with
//!
//! ```text
//! μ² = (1/N²)·(1 + c)/(1 − c)·(1 − c^T)/(1 + c^T)      (c < 1),          μ² = T/N²      (c = 1).
//! ```
//!
//! If `Π` leads into a set of diameter `D = wσ`, then also, for every whole `K ≤ T`, with
//!
//! ```text
//! μ = (c^K w + (1/N)·Σ_{j<K} c^j) / √(Σ_{j<K} c^{2j}).
//! ```
//!
//! *Proof.* Fix `0 ≤ τ < T`, shares `0 ≤ λ_t ≤ 1` with `λ_T = 1`, and let `Y` run beside `X'`, from
//! `Y_τ`, with the noise of `X'` and a *shift* `v_t` that leads towards it:
//!
//! ```text
//! Y_t = Π(φ_t(Y_{t−1}) + v_t + Z_t'),      v_t = λ_t(φ'_t(X'_{t−1}) − φ_t(Y_{t−1})).
//! ```
//!
//! 1. *`Y` ends where `X'` does.* With `y_t` a bound on what the shift has a share of,
//!    `‖φ'_t(X'_{t−1}) − φ_t(Y_{t−1})‖ ≤ s + c‖X'_{t−1} − Y_{t−1}‖`, and `a_t = λ_t y_t ≥ ‖v_t‖`,
//!    we have `y_{t+1} = s + c(y_t − a_t)`, because `Π` does not expand; and `Y_T = X'_T`.
//! 2. *`Y` is `X` with other noise.* The same function turns `(Z_t)` into `X_T` and `(Z_t' + v_t)`
//!    into `Y_T`, if `Y_τ` has the law of `X_τ`. The shift `v_t` depends on `Z'` before `t` alone
//!    (and on where both stood at `τ`, which may be told: its law is the same on both sides), and
//!    those are functions of `Z' + v` before `t`, one after the other. So `Z + 0` and `Z' + v` are
//!    the two outputs of `T − τ` Gaussian releases, each chosen after the earlier ones, which move
//!    by at most `a_t`. Composed, these are `√(Σ a_t²)/σ`-GDP, and what is a function of them is no
//!    worse. `X` and `X'` may be exchanged, and nobody needs `φ'` to contract for this direction.
//! 3. *The best shifts.* With `z_t = y_t − a_t ≥ 0`, `z_T = 0` says that `Σ c^{T−t}a_t = M`, where
//!    `M = c^{T−τ}z_τ + s·Σ_{j<T−τ} c^j`. By Cauchy and Schwarz `Σ a_t²` is least for
//!    `a_t = M c^{T−t}/V`, `V = Σ_{j<T−τ} c^{2j}`, and then is `M²/V`. These shifts are allowed if
//!    no `z_t` is negative: `c^{T−t}z_t` is what the first terms of `M`, up to `t`, are more than
//!    the chord, `M` times their share of `V`. With `z_τ` first, the terms `s·c^{T−t}` fall
//!    relative to those of `V`, `c^{2(T−t)}`, so their sum is a concave function of the share, from
//!    zero or above to `M` at one, and is nowhere below the chord.
//!
//! `τ = 0` with `z_0 = 0`, the common start, is the first formula. `τ = T − K`, where `Y_τ` is a
//! copy of `X_τ` that is independent of `X'_τ`, and so at most `z_τ = D` away, is the second. ∎
//!
//! The first is attained: for `φ(x) = cx`, `φ'(x) = cx + s` on the line, `X_T` and `X'_T` are
//! normal, `s·Σ c^j` apart, with the variance `σ²·Σ c^{2j}`. As `T` grows it stays below
//! `√((1 + c)/(1 − c))/N`, where composition of all steps would pay `√T/N`: it never pays more.
//! Without a contraction and with a set, `K = wN` steps give `μ² ≈ 4w/N`, and more cost no more.
//!
//! The idea of shifts is Bok, Su and Altschuler's, "Shifted interpolation for differential privacy"
//! (ICML 2024); constants and proof are derived here.
//!
//! # What must hold, for every table
//!
//! - *Nothing but `X_T` is told*: no iterate before it, in no file, and no number of steps that
//!   looks at the data. `T`, `c` and `s` are public.
//! - *Every table's step contracts*, not only that of one of two neighbours: each may take the part
//!   of `φ`. So the adjacency decides what `c` and `s` are. A step on an average over a public
//!   number of rows has both under replace-one. With rows that join or leave, the curvature of a
//!   sum grows with their number.
//! - *All rows are used in each step.* A secret batch would do (the shifts would be conditional on
//!   it), but then the gradients' difference is not bounded by the average `s`; it is not served.
//! - *Rounding*: whoever computes `φ`, rounds to a grid and adds the noise on it, has steps that
//!   differ by more than `s`; with shifts that are rounded to the grid towards zero, the whole is a
//!   larger `s` (the caller's proof).

use crate::{
    MAX_STEPS, PrivacyError,
    error::{check, non_negative, positive},
};

/// A few roundings, of sums and functions whose relative errors do not grow.
const ROUNDED: f64 = 1.0 + 1e-13;

/// The `mu` of the last of `steps` iterates, rounded up.
///
/// `contraction` is `c`, `noise_multiplier` is `N`, `diameter` is `w`.
///
/// # Errors
///
/// [`PrivacyError::OutOfRange`] unless `0 <= contraction <= 1`, the noise is positive and the
/// diameter is not negative.
pub fn mu_upper(
    steps: u64,
    contraction: f64,
    noise_multiplier: f64,
    diameter: Option<f64>,
) -> Result<f64, PrivacyError> {
    check_numbers(steps, contraction, noise_multiplier, diameter)?;
    let t = steps as f64;
    let start = root_of_steps(contraction, t) / noise_multiplier;
    let Some(width) = diameter else { return Ok(start * ROUNDED) };
    // Any number of last steps gives a bound: those near the best one are tried.
    let mut best = start;
    let mut last = 1.0;
    while last <= t {
        best = best.min(from_anywhere(contraction, last, noise_multiplier, width));
        last = (last * 1.02).ceil();
    }
    Ok(best * ROUNDED)
}

/// `√((1 + c)/(1 − c)·(1 − c^T)/(1 + c^T))`, at most `√T`: what `steps` steps cost, in steps.
///
/// With `x = −ln c` it is `√(tanh(Tx/2)/tanh(x/2))`, without cancellation.
pub fn root_of_steps(contraction: f64, steps: f64) -> f64 {
    if steps <= 1.0 || contraction >= 1.0 {
        return steps.sqrt();
    }
    let lost = 1.0 - contraction;
    let kept = (0.5 * steps * rate(contraction)).tanh();
    (kept * (1.0 + contraction) / lost).sqrt().min(steps.sqrt())
}

/// `−ln c`.
fn rate(contraction: f64) -> f64 {
    -(contraction - 1.0).ln_1p()
}

/// The bound by the last steps alone, from any two points of the set.
fn from_anywhere(contraction: f64, last: f64, noise_multiplier: f64, width: f64) -> f64 {
    if contraction >= 1.0 {
        return (width + last / noise_multiplier) / last.sqrt();
    }
    let (c, lost) = (contraction, 1.0 - contraction);
    let log = -last * rate(c);
    let sum = -log.exp_m1() / lost;
    let squares = -(2.0 * log).exp_m1() / (lost * (1.0 + c));
    (log.exp() * width + sum / noise_multiplier) / squares.sqrt()
}

/// The ranges of the theorem.
pub(crate) fn check_numbers(
    steps: u64,
    contraction: f64,
    noise_multiplier: f64,
    diameter: Option<f64>,
) -> Result<(), PrivacyError> {
    check(steps <= MAX_STEPS, "steps", "be at most 1e9", steps as f64)?;
    let fits = (0.0..=1.0).contains(&contraction);
    check(fits, "contraction", "satisfy 0 <= contraction <= 1", contraction)?;
    positive("noise_multiplier", noise_multiplier)?;
    non_negative("diameter", diameter.unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use reticent_testkit::vectors::load;

    use super::*;

    #[test]
    fn the_vectors_of_a_second_derivation() {
        let mut seen = 0;
        for vector in load("accounting") {
            if vector.formula != "last_iterate_mu" {
                continue;
            }
            let diameter =
                vector.inputs.contains_key("diameter").then(|| vector.number("diameter"));
            let (steps, c) = (vector.number("steps") as u64, vector.number("contraction"));
            let got = mu_upper(steps, c, vector.number("noise_multiplier"), diameter).unwrap();
            assert!(vector.accepts(got), "{:?}: {got:e}", vector.inputs);
            assert!(got >= vector.expected.as_f64().unwrap() * (1.0 - 1e-14), "{got:e}");
            seen += 1;
        }
        assert!(seen >= 20, "{seen}");
    }

    /// The exact process on the line, step by step: its law is normal, and the bound is its `mu`.
    fn exact(steps: u32, c: f64, noise_multiplier: f64) -> f64 {
        let (mut apart, mut variance) = (0.0, 0.0);
        for _ in 0..steps {
            apart = c * apart + 1.0;
            variance = c * c * variance + noise_multiplier * noise_multiplier;
        }
        apart / f64::sqrt(variance)
    }

    #[test]
    fn the_worst_case_on_the_line_attains_the_bound() {
        for c in [0.0, 0.3, 0.9, 0.999, 1.0 - 1e-9, 1.0] {
            for steps in [1, 2, 3, 10, 1000, 30_000] {
                for noise in [0.5, 20.0] {
                    let (exact, bound) = (
                        exact(steps, c, noise),
                        mu_upper(u64::from(steps), c, noise, None).unwrap(),
                    );
                    assert!(bound >= exact * (1.0 - 1e-11), "{c} {steps}: {bound} {exact}");
                    assert!(bound <= exact * (1.0 + 1e-10), "{c} {steps}: {bound} {exact}");
                    // A bound for one step less, or for noise that is half as large, is none.
                    let less = mu_upper(u64::from(steps), c, 2.0 * noise, None).unwrap();
                    assert!(less < 0.6 * exact);
                    if c > 0.8 && steps > 1 && steps <= 10 {
                        let fewer = mu_upper(u64::from(steps) - 1, c, noise, None).unwrap();
                        assert!(fewer < exact * (1.0 - 1e-4), "{c} {steps}");
                    }
                }
            }
        }
    }

    /// The shifts of the proof exist: none is larger than what it has a share of, and they end
    /// where they must.
    #[test]
    fn the_shifts_are_allowed() {
        for c in [0.05, 0.5, 0.9, 0.999, 1.0] {
            for steps in [1, 2, 5, 50, 400] {
                for start in [0.0, 0.3, 40.0] {
                    let power = |j: i32| f64::powi(c, j);
                    let squares: f64 = (0..steps).map(|j| power(2 * j)).sum();
                    let need = power(steps) * start + (0..steps).map(power).sum::<f64>();
                    let (mut z, mut spent) = (start, 0.0);
                    for t in 1..=steps {
                        let (y, a) = (c * z + 1.0, need * power(steps - t) / squares);
                        assert!(a <= y * (1.0 + 1e-9), "{c} {steps} {start} {t}: {a} {y}");
                        (z, spent) = (y - a, spent + a * a);
                    }
                    assert!(z.abs() < 1e-9 * (1.0 + start), "{z}");
                    let found = from_anywhere(c, f64::from(steps), 1.0, start);
                    assert!((spent.sqrt() / found - 1.0).abs() < 1e-9, "{c} {steps} {start}");
                }
            }
        }
    }

    /// In the set `[0, w]`, `X` driven to one end and `X'` to the other: the true laws on a fine
    /// grid, whose profile the bound must not be below.
    #[test]
    fn a_walk_between_walls_is_below_the_bound() {
        const CELLS: usize = 160;
        let mut nearest: f64 = 0.0;
        for (width, noise) in [(2.0, 4.0), (1.0, 8.0), (4.0, 2.0)] {
            let drift = 0.5 / noise;
            let place = |i: usize| width * i as f64 / (CELLS - 1) as f64;
            // The mass of N(at, 1) that lands nearest to each cell; all that is beyond, on the
            // walls.
            let step = |at: f64| -> Vec<f64> {
                let half = 0.5 * width / (CELLS - 1) as f64;
                let below = |x: f64| reticent_math::ndtr(x - at);
                (0..CELLS)
                    .map(|i| {
                        let high = if i + 1 == CELLS { 1.0 } else { below(place(i) + half) };
                        high - if i == 0 { 0.0 } else { below(place(i) - half) }
                    })
                    .collect()
            };
            let kernel = |sign: f64| -> Vec<Vec<f64>> {
                (0..CELLS).map(|i| step(place(i) + sign * drift)).collect()
            };
            let kernels = [kernel(-1.0), kernel(1.0)];
            let mut laws = [vec![0.0; CELLS], vec![0.0; CELLS]];
            for law in &mut laws {
                law[CELLS / 2] = 1.0;
            }
            for steps in 1..=60_u64 {
                for (law, kernel) in laws.iter_mut().zip(&kernels) {
                    let mut next = vec![0.0; CELLS];
                    for (mass, row) in law.iter().zip(kernel) {
                        next.iter_mut().zip(row).for_each(|(n, p)| *n += mass * p);
                    }
                    *law = next;
                }
                let bound = mu_upper(steps, 1.0, noise, Some(width)).unwrap();
                assert!(bound <= (steps as f64).sqrt() / noise * (1.0 + 1e-12));
                for epsilon in [0.0_f64, 0.2, 0.5, 1.0, 2.0] {
                    let g = epsilon.exp();
                    let masses = laws[0].iter().zip(&laws[1]);
                    let exact: f64 = masses.map(|(p, q)| (q - g * p).max(0.0)).sum();
                    let most = crate::gaussian::delta(epsilon, bound);
                    assert!(exact <= most + 1e-12, "{width} {noise} {steps}: {exact} {most}");
                    if steps > 40 && most > 1e-3 {
                        nearest = nearest.max(exact / most);
                    }
                }
            }
        }
        assert!(nearest > 0.25, "{nearest}");
    }

    #[test]
    fn the_ends() {
        assert_eq!(mu_upper(0, 0.9, 1.0, None), Ok(0.0));
        let (one, many) = (mu_upper(1, 0.9, 2.0, None), mu_upper(1_000_000_000, 0.9, 2.0, None));
        assert!((one.unwrap() - 0.5).abs() < 1e-12);
        assert!((many.unwrap() - 19_f64.sqrt() / 2.0).abs() < 1e-12);
        // A set of no width tells nothing but the last step; a wide one says nothing more.
        let still = mu_upper(100, 1.0, 2.0, Some(0.0)).unwrap();
        assert!((still - 0.5).abs() < 1e-12, "{still}");
        assert_eq!(mu_upper(100, 1.0, 2.0, Some(1e9)), mu_upper(100, 1.0, 2.0, None));
        // 4w/N, about.
        let walled = mu_upper(1_000_000_000, 1.0, 100.0, Some(5.0)).unwrap();
        assert!((walled / (4.0_f64 * 5.0 / 100.0).sqrt() - 1.0).abs() < 1e-3, "{walled}");
        for (c, noise, width) in
            [(1.1, 1.0, None), (-0.1, 1.0, None), (f64::NAN, 1.0, None), (0.5, 0.0, None)]
        {
            assert!(mu_upper(3, c, noise, width).is_err());
        }
        assert!(mu_upper(3, 0.5, 1.0, Some(-1.0)).is_err());
    }
}
