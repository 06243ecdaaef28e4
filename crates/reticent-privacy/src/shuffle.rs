//! Local reports in a secret order: privacy amplification by shuffling.
//!
//! # Theorem (Feldman, McMillan, Talwar 2021)
//!
//! Let `n` users send reports of `ε0`-locally private randomisers, possibly adaptive, in a secret
//! uniform order. With `C ~ Bin(n−1, e^{−ε0})`, `A ~ Bin(C, 1/2)` and `B ~ Bern(α)`,
//! `α = e^{ε0}/(1 + e^{ε0})`, replacing one user's input is dominated by `(A + B, C − A + 1 − B)`
//! against `(A + 1 − B, C − A + B)`. Given `C = c` the likelihood ratio increases in the first
//! count and exceeds `e^ε` from `k_c = ⌊τ(c + 1)⌋ + 1` on,
//! `τ = (e^{ε+ε0} − 1)/((e^{ε0} − 1)(1 + e^ε))`, so with `S_j = P(Bin(c, 1/2) >= j)`
//!
//! ```text
//! h_c = ((α − e^ε(1−α))S_{k−1} + (1 − α − e^ε α)S_k)_+,    δ(ε) = E[h_C].
//! ```
//!
//! `h_c` falls in `c`, so blocks of `c` may be bounded by their lower end: a rigorous bound in a
//! few thousand evaluations for any `n`.
//!
//! Randomisers that are only `(ε0, δ0)`-private cost `(1 + e^ε)·(1 + 2(n−1)e^{−ε0})·δ0` more: each
//! is replaced by a pure one. The sharper constants of the 2022 follow-up hold for special
//! randomisers only (its authors' correction) and are not used.

use reticent_math::{binomial_tail, ln_binomial_pmf};

use crate::{
    PrivacyError,
    error::{check, non_negative, positive},
    gaussian,
    scalar::{check_delta, check_epsilon},
};

/// Most evaluations of `h_c` before blocks are used.
const EVALUATIONS: f64 = 4000.0;

/// The most users: beyond, the sum over the binomial window would take too long.
const MAX_USERS: u64 = 10_000_000_000;

/// An upper bound on `δ(epsilon)` of `users` shuffled `epsilon0`-private reports, a report
/// replaced.
///
/// # Errors
///
/// [`PrivacyError::OutOfRange`] for an illegal number.
pub fn shuffle_delta(epsilon: f64, epsilon0: f64, users: u64) -> Result<f64, PrivacyError> {
    check_epsilon(epsilon)?;
    non_negative("epsilon0", epsilon0)?;
    check(users >= 1, "rows", "be at least 1", users as f64)?;
    if epsilon >= epsilon0 {
        return Ok(0.0);
    }
    check(users <= MAX_USERS, "rows", "be at most 1e10", users as f64)?;
    let alpha = 1.0 / (1.0 + (-epsilon0).exp());
    let rest = (-epsilon0).exp() * alpha;
    // α − e^ε(1−α), in a form that stays exact where 1 − α underflows
    let first = -alpha * (epsilon - epsilon0).exp_m1();
    if epsilon > 700.0 {
        // h_0, which no h exceeds: e^ε alone would overflow.
        return Ok(first);
    }
    let e = epsilon.exp();
    // (e^{ε+ε0} − 1)/((e^{ε0} − 1)(1 + e^ε)), with e^{ε0} divided out
    let tau = (e - (-epsilon0).exp()) / (-(-epsilon0).exp_m1() * (1.0 + e));
    let second = rest - e * alpha;
    let threshold = |k: f64, c: f64| {
        let high = binomial_tail(k, c, 0.5);
        let low = if k - 1.0 <= c {
            high + ln_binomial_pmf(k - 1.0, c, 0.5).exp()
        } else {
            binomial_tail(k - 1.0, c, 0.5)
        };
        first * low + second * high
    };
    // The best threshold is k, and every other gives less: its neighbours are tried too, for k may
    // be rounded.
    let value = |c: f64| {
        let k = (tau * (c + 1.0)).floor() + 1.0;
        [k - 1.0, k, k + 1.0]
            .into_iter()
            .filter(|k| *k >= 1.0)
            .fold(0.0, |best, k| threshold(k, c).max(best))
    };
    let (n, p) = ((users - 1) as f64, (-epsilon0).exp());
    let deviation = (n * p * (1.0 - p)).sqrt();
    let reach = 12.0 * deviation + 60.0;
    let first = (n * p - reach).floor().max(0.0);
    let last = (n * p + reach).ceil().min(n);
    // Below the window h_0, above it h at its end: h falls in c. Bin(n, p) < c is Bin(n, 1−p) > n −
    // c.
    let mut sum = value(last) * binomial_tail(last + 1.0, n, p);
    if first > 0.0 {
        sum += value(0.0) * binomial_tail(n - first + 1.0, n, 1.0 - p);
    }
    let block = ((last - first + 1.0) / EVALUATIONS).ceil().max(1.0);
    let mut c = first;
    while c <= last {
        let end = (c + block - 1.0).min(last);
        let mut mass = 0.0;
        let mut k = c;
        while k <= end {
            mass += ln_binomial_pmf(k, n, p).exp();
            k += 1.0;
        }
        sum += mass * value(c);
        c = end + 1.0;
    }
    // That no report hides another has some chance, however small, and then the whole local loss
    // shows.
    let upper = (sum * (1.0 + 1e-11)).min(1.0); // 1 for what is no number
    Ok(upper.max(f64::MIN_POSITIVE))
}

/// The least `ε` with [`shuffle_delta`] at or below `delta`, from above; never more than
/// `epsilon0`.
///
/// # Errors
///
/// [`PrivacyError::OutOfRange`] for an illegal number.
pub fn shuffle_epsilon(delta: f64, epsilon0: f64, users: u64) -> Result<f64, PrivacyError> {
    check_delta(delta)?;
    let ok = |e: f64| shuffle_delta(e, epsilon0, users).is_ok_and(|d| d <= delta);
    shuffle_delta(0.0, epsilon0, users)?;
    if ok(0.0) {
        return Ok(0.0);
    }
    Ok(bisect_to(0.0, epsilon0, 1e-12, ok))
}

/// Bisect to a relative width; return the end that is ok.
fn bisect_to(bad: f64, good: f64, width: f64, ok: impl Fn(f64) -> bool) -> f64 {
    let (mut bad, mut good) = (bad, good);
    while (good - bad).abs() > width * good.abs() {
        let middle = 0.5 * (bad + good);
        if middle == bad || middle == good {
            break;
        }
        if ok(middle) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    good
}

/// The closed form, `ln(1 + (e^{ε0}−1)/(e^{ε0}+1)·(8√(e^{ε0} ln(4/δ)/n) +
/// 8e^{ε0}/n))`, where it is proven, that is for `ε0 <= ln(n/(16 ln(2/δ)))`; otherwise `epsilon0`,
/// which always holds.
///
/// # Errors
///
/// [`PrivacyError::OutOfRange`] for an illegal number.
pub fn shuffle_epsilon_closed(delta: f64, epsilon0: f64, users: u64) -> Result<f64, PrivacyError> {
    non_negative("epsilon0", epsilon0)?;
    check(delta > 0.0 && delta < 1.0, "delta", "satisfy 0 < delta < 1", delta)?;
    check(users >= 1, "rows", "be at least 1", users as f64)?;
    let n = users as f64;
    if epsilon0 > (n / (16.0 * (2.0 / delta).ln())).ln() {
        return Ok(epsilon0);
    }
    let e0 = epsilon0.exp();
    let inner = 8.0 * (e0 * (4.0 / delta).ln() / n).sqrt() + 8.0 * e0 / n;
    Ok((epsilon0.exp_m1() / (e0 + 1.0) * inner).ln_1p().min(epsilon0))
}

/// `1 + 2(n−1)e^{−ε0}`: how often a local failure of probability `δ0` may show.
pub fn shuffle_failure_factor(epsilon0: f64, users: u64) -> f64 {
    1.0 + 2.0 * (users.saturating_sub(1)) as f64 * (-epsilon0).exp()
}

/// An upper bound on `δ(epsilon)` for `(epsilon0, delta0)`-private reports.
///
/// # Errors
///
/// [`PrivacyError::OutOfRange`] for an illegal number.
pub fn shuffle_total_delta(
    epsilon: f64,
    epsilon0: f64,
    delta0: f64,
    users: u64,
) -> Result<f64, PrivacyError> {
    check_delta(delta0)?;
    let pure = shuffle_delta(epsilon, epsilon0, users)?;
    if delta0 == 0.0 {
        return Ok(pure);
    }
    Ok((pure + failure(epsilon, epsilon0, delta0, users)).min(1.0))
}

/// What local failures add to `δ(epsilon)`.
fn failure(epsilon: f64, epsilon0: f64, delta0: f64, users: u64) -> f64 {
    (1.0 + epsilon.exp()) * shuffle_failure_factor(epsilon0, users) * delta0
}

/// An upper bound on `δ(epsilon)` for reports that are locally `local_mu`-GDP, minimised over the
/// split `ε0`.
///
/// # Errors
///
/// [`PrivacyError::OutOfRange`] for an illegal number.
pub fn shuffle_gdp_delta(epsilon: f64, local_mu: f64, users: u64) -> Result<f64, PrivacyError> {
    positive("local_mu", local_mu)?;
    let delta0 = |epsilon0: f64| gaussian::delta_upper(epsilon0, local_mu);
    let value = |epsilon0: f64| shuffle_total_delta(epsilon, epsilon0, delta0(epsilon0), users);
    // Without the shuffle the report itself is private; the split is searched between there and its
    // pure tail. Any split is a bound. Those whose failures alone are too many are left out, and so
    // are those beyond the first whose pure part alone is too large: that part grows with the
    // split.
    let mut best = gaussian::delta_upper(epsilon, local_mu);
    let mut at = 0.0;
    for i in 0..=60 {
        let epsilon0 = 0.05 * (240.0f64).powf(f64::from(i) / 60.0);
        let failures = failure(epsilon, epsilon0, delta0(epsilon0), users);
        if failures >= best {
            continue;
        }
        let v = value(epsilon0)?;
        if v < best {
            (best, at) = (v, epsilon0);
        } else if v - failures >= best {
            break;
        }
    }
    if at > 0.0 {
        let ratio = 240.0f64.powf(1.0 / 60.0);
        let golden = 0.5 * (5.0f64.sqrt() - 1.0);
        let (mut a, mut b) = (at / ratio, at * ratio);
        let (mut c, mut d) = (b - golden * (b - a), a + golden * (b - a));
        let (mut fc, mut fd) = (value(c)?, value(d)?);
        for _ in 0..18 {
            best = best.min(fc).min(fd);
            // Each new place is one of the two of a shorter bracket; the other is known.
            if fc < fd {
                (b, d, fd) = (d, c, fc);
                c = b - golden * (b - a);
                fc = value(c)?;
            } else {
                (a, c, fc) = (c, d, fd);
                d = a + golden * (b - a);
                fd = value(d)?;
            }
        }
        best = best.min(fc).min(fd);
    }
    Ok(best)
}

/// The least `ε` with [`shuffle_gdp_delta`] at or below `delta`, from above.
///
/// # Errors
///
/// [`PrivacyError::OutOfRange`] for an illegal number.
pub fn shuffle_gdp_epsilon(delta: f64, local_mu: f64, users: u64) -> Result<f64, PrivacyError> {
    let ok = |e: f64| shuffle_gdp_delta(e, local_mu, users).is_ok_and(|d| d <= delta);
    if ok(0.0) {
        return Ok(0.0);
    }
    let high = gaussian::epsilon_upper(local_mu, delta)?;
    if !high.is_finite() {
        return Ok(high);
    }
    Ok(bisect_to(0.0, high, 1e-6, ok))
}

#[cfg(test)]
mod tests {
    use reticent_testkit::vectors::load;

    use super::*;

    /// The definition, summed over both counts.
    fn enumerated(epsilon: f64, epsilon0: f64, users: u64) -> f64 {
        let (n, p) = ((users - 1) as f64, (-epsilon0).exp());
        let q = epsilon0.exp() / (1.0 + epsilon0.exp());
        let e = epsilon.exp();
        let mut total = 0.0;
        for c in 0..users {
            let c = c as f64;
            let mut inner = 0.0;
            for a in 0..=(c as u64 + 1) {
                let a = a as f64;
                let (b0, b1) =
                    (ln_binomial_pmf(a - 1.0, c, 0.5).exp(), ln_binomial_pmf(a, c, 0.5).exp());
                inner += (q * b0 + (1.0 - q) * b1 - e * ((1.0 - q) * b0 + q * b1)).max(0.0);
            }
            total += ln_binomial_pmf(c, n, p).exp() * inner;
        }
        total
    }

    #[test]
    fn one_user_is_randomised_response_however_large_the_local_loss() {
        // Alone in the shuffle nothing is hidden: δ(ε) = (e^{ε0} − e^ε)/(1 + e^{ε0}).
        for (epsilon0, epsilon) in [
            (0.5, 0.1),
            (12.0, 3.0),
            (30.0, 25.0),
            (36.8, 30.0),
            (40.0, 30.0),
            (690.0, 689.0),
            (1000.0, 999.0),
        ] {
            let want = -f64::exp_m1(epsilon - epsilon0) / (1.0 + f64::exp(-epsilon0));
            let got = shuffle_delta(epsilon, epsilon0, 1).unwrap();
            assert!(
                got >= want * (1.0 - 1e-12) && got <= want * (1.0 + 1e-9),
                "{epsilon0} {epsilon}: {got} {want}"
            );
        }
    }

    #[test]
    fn the_published_vectors() {
        let mut seen = 0;
        for v in load("accounting").into_iter().chain(load("geometry")) {
            let users = || v.number("n") as u64;
            let got = match v.formula.as_str() {
                "shuffle_clones_delta_exact" | "shuffle_delta" => {
                    shuffle_delta(v.number("eps"), v.number("eps0"), users()).unwrap()
                }
                "shuffle_clones_eps_closed" | "shuffle_closed" => {
                    shuffle_epsilon_closed(v.number("delta"), v.number("eps0"), users()).unwrap()
                }
                "shuffle_eps" => {
                    shuffle_epsilon(v.number("delta"), v.number("eps0"), users()).unwrap()
                }
                "shuffle_tv_factor" => shuffle_failure_factor(v.number("eps0"), users()),
                "shuffle_total_delta" => {
                    let delta0 = gaussian::delta(v.number("eps0"), v.number("mu_loc"));
                    shuffle_total_delta(v.number("eps"), v.number("eps0"), delta0, users()).unwrap()
                }
                _ => continue,
            };
            assert!(v.accepts(got), "{} {:?}: {got:e}, want {}", v.formula, v.inputs, v.expected);
            seen += 1;
        }
        assert_eq!(seen, 16);
    }

    #[test]
    fn the_threshold_form_is_the_definition() {
        for (epsilon, epsilon0, users) in
            [(0.0, 1.0, 5), (0.3, 1.0, 30), (1.5, 2.0, 3), (0.2, 0.7, 60)]
        {
            let (got, want) = (
                shuffle_delta(epsilon, epsilon0, users).unwrap(),
                enumerated(epsilon, epsilon0, users),
            );
            assert!(
                (got / want - 1.0).abs() < 1e-9,
                "{epsilon} {epsilon0} {users}: {got:e} {want:e}"
            );
        }
    }

    #[test]
    fn loud_reports_hide_nothing() {
        // e^{ε0} users would be needed for one clone, so δ is that of a lone report.
        for (epsilon, epsilon0) in
            [(1.0, 30.0), (1.0, 40.0), (1.0, 1000.0), (39.0, 40.0), (800.0, 801.0)]
        {
            let alone = -f64::exp_m1(epsilon - epsilon0);
            let got = shuffle_delta(epsilon, epsilon0, 1000).unwrap();
            assert!((got / alone - 1.0).abs() < 1e-9, "{epsilon} {epsilon0}: {got} {alone}");
        }
        assert!(shuffle_delta(0.1, 1.0, u64::MAX).is_err());
    }

    #[test]
    fn blocks_only_raise_the_bound() {
        // 4e6 users need blocks; four times fewer do not.
        let many = shuffle_delta(0.02, 1.0, 4_000_000).unwrap();
        let fewer = shuffle_delta(0.02, 1.0, 300_000).unwrap();
        assert!(many < fewer, "{many:e} {fewer:e}");
        assert!(many >= 0.0);
    }

    #[test]
    fn a_split_never_loses_to_no_shuffle() {
        for mu in [0.1, 0.5, 2.0] {
            let local = gaussian::delta_upper(0.5, mu);
            assert!(shuffle_gdp_delta(0.5, mu, 1000).unwrap() <= local);
        }
        let epsilon = shuffle_gdp_epsilon(1e-6, 0.5, 10_000).unwrap();
        assert!(epsilon < gaussian::epsilon_upper(0.5, 1e-6).unwrap());
        assert!(shuffle_gdp_delta(epsilon, 0.5, 10_000).unwrap() <= 1e-6);
    }
}
