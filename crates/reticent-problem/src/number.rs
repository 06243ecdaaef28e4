//! Numbers as people write them: `0.25` and not `2.5000e-1`, at most four digits, and bounds
//! rounded to their safe side. Full precision is for JSON.

/// The nearest number with so many significant digits.
fn nearest(x: f64, digits: usize) -> f64 {
    format!("{x:.*e}", digits - 1).parse().unwrap_or(x)
}

/// The least number with so many significant digits that is not below `x`; `x` itself if it has no
/// more.
pub fn round_up(x: f64, digits: usize) -> f64 {
    let near = nearest(x, digits);
    if near >= x || !x.is_finite() {
        return near;
    }
    // One unit of the last digit more. Decimal, so that 1e-6 does not become 1.001e-6.
    let text = format!("{near:.*e}", digits - 1);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (units, exponent): (i64, i32) =
        (mantissa.replace('.', "").parse().unwrap_or(0), exponent.parse().unwrap_or(0));
    format!("{}e{}", units + 1, exponent - digits as i32 + 1).parse().unwrap_or(x)
}

/// Without an exponent where a reader needs none.
pub fn show(x: f64) -> String {
    if x == 0.0 {
        "0".to_owned()
    } else if !x.is_finite() {
        if x.is_nan() { "unknown".to_owned() } else { format!("{x}") }
    } else if (1e-3..1e6).contains(&x.abs()) {
        format!("{x}")
    } else {
        format!("{x:e}")
    }
}

/// The nearest number with four digits.
pub fn about(x: f64) -> String {
    show(nearest(x, 4))
}

/// An upper bound with four digits.
pub fn at_most(x: f64) -> String {
    show(round_up(x, 4))
}

/// The bound on the norm of a row with four digits, rounded up. The factor of 1 + 1e-12 that covers
/// rounding in the rows' own arithmetic is left out, so that 2.000000000002 is printed as 2.
pub fn norm_at_most(norm: f64) -> String {
    at_most(nearest(norm, 12))
}

/// A lower bound with four digits.
pub fn at_least(x: f64) -> String {
    show(-round_up(-x, 4))
}

/// An upper bound on a share, in percent: one decimal, or three digits where the share is small.
pub fn percent_at_most(share: f64) -> String {
    let percent = 100.0 * share;
    // A computed 27.3 may be off by one rounding, which is no reason to print 27.4.
    let percent = nearest(percent, 12);
    let bound = if percent < 10.0 {
        round_up(percent, 3)
    } else {
        nearest((10.0 * percent).ceil() / 10.0, 12)
    };
    format!("{} %", show(bound.min(100.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_few_digits_is_printed_as_it_is() {
        for (x, text) in [
            (1.0, "1"),
            (0.25, "0.25"),
            (0.4, "0.4"),
            (1e-6, "1e-6"),
            (1e-7, "1e-7"),
            (0.0, "0"),
            (0.001, "0.001"),
            (3.5, "3.5"),
            (123_456.0, "123500"),
        ] {
            assert_eq!(at_most(x), text, "{x}");
        }
    }

    #[test]
    fn bounds_are_rounded_to_their_safe_side() {
        assert_eq!(at_most(0.123_41), "0.1235");
        assert_eq!(at_most(9.999_91), "10");
        assert_eq!(at_most(1.000_01e-6), "1.001e-6");
        assert_eq!(at_least(0.123_49), "0.1234");
        assert_eq!(at_least(2.0), "2");
        let mut x = 1.234_567e-9;
        while x < 1e9 {
            let (up, down) = (round_up(x, 4), -round_up(-x, 4));
            assert!(down <= x && x <= up && up <= x * 1.001 && down >= x * 0.999, "{x}");
            assert_eq!(round_up(up, 4), up, "rounding twice changes nothing: {x}");
            x *= 1.37;
        }
    }

    #[test]
    fn norms_are_rounded_up_but_for_the_factor_of_rounding() {
        assert_eq!(norm_at_most(2.0 * (1.0 + 1e-12)), "2");
        assert_eq!(norm_at_most(3.0_f64.sqrt()), "1.733", "the nearest number is below it");
        assert_eq!(norm_at_most(2.000_001), "2.001");
        assert_eq!(norm_at_most(f64::INFINITY), "inf");
    }

    #[test]
    fn percents() {
        assert_eq!(percent_at_most(0.5), "50 %");
        assert_eq!(percent_at_most(0.731_058_6), "73.2 %");
        assert_eq!(percent_at_most(0.002_716_1), "0.272 %");
        assert_eq!(percent_at_most(1.0), "100 %");
        assert_eq!(percent_at_most(0.3), "30 %");
    }
}
