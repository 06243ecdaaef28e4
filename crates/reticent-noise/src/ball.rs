//! Real numbers known to within a stated error: a midpoint, a radius, and arithmetic that keeps
//! every true value inside.
//!
//! A sampler that must decide between two outputs evaluates its formula in `f64` with an error
//! bound; when the bound leaves the choice open, it asks this module for the same formula with as
//! many digits as it takes. A [`Ball`] holds the interval `(mid ± rad)·2^(-digits)` with whole
//! numbers `mid` and `rad`; each operation returns a ball that contains the true result for every
//! choice of true operands (rounding errors are added to the radius). An operation that cannot
//! bound its result (a logarithm of an interval that touches 0) returns `None`, which means: ask
//! again with more digits.

use std::cell::OnceCell;
use std::thread::LocalKey;

use dashu_int::ops::{Abs as _, BitTest as _, SquareRoot as _};
use dashu_int::{IBig, UBig};

/// The interval `(mid ± rad)·2^(-digits)`.
#[derive(Clone, Debug)]
pub(crate) struct Ball {
    mid: IBig,
    rad: IBig,
    digits: usize,
}

impl Ball {
    /// A whole number, exactly.
    pub(crate) fn integer(value: i64, digits: usize) -> Self {
        Self { mid: IBig::from(value) << digits, rad: IBig::ZERO, digits }
    }

    /// A finite `f64`, exactly if `digits` suffice, else to the last digit.
    pub(crate) fn float(value: f64, digits: usize) -> Self {
        let bits = value.to_bits();
        let exponent = ((bits >> 52) & 0x7ff) as i64;
        let fraction = (bits & ((1 << 52) - 1)) as i64;
        let significand = if exponent == 0 { fraction } else { fraction | (1 << 52) };
        let significand = if value.is_sign_negative() { -significand } else { significand };
        let shift = exponent.max(1) - 1075 + digits as i64;
        if shift >= 0 {
            Self { mid: IBig::from(significand) << shift as usize, rad: IBig::ZERO, digits }
        } else {
            let mid = IBig::from(significand) >> (-shift) as usize;
            Self { mid, rad: IBig::ONE, digits }
        }
    }

    /// The half-open interval `[numerator, numerator + 1)·2^(-bits)`.
    pub(crate) fn interval(numerator: UBig, bits: usize, digits: usize) -> Self {
        debug_assert!(digits > bits);
        let half = IBig::ONE << (digits - bits - 1);
        Self { mid: (IBig::from(numerator) << (digits - bits)) + &half, rad: half, digits }
    }

    pub(crate) fn pi(digits: usize) -> Self {
        thread_local! { static STORE: OnceCell<IBig> = const { OnceCell::new() }; }
        // Machin: pi/4 = 4·atan(1/5) - atan(1/239).
        Self::constant(&STORE, digits, |d| {
            (atan_of_inverse(5, d) * IBig::from(4) - atan_of_inverse(239, d)) * IBig::from(4)
        })
    }

    pub(crate) fn ln2(digits: usize) -> Self {
        thread_local! { static STORE: OnceCell<IBig> = const { OnceCell::new() }; }
        // ln 2 = 2·atanh(1/3).
        Self::constant(&STORE, digits, |d| atanh_of_inverse(3, d) * IBig::from(2))
    }

    /// A constant from `make(digits)`, whose error is below `digits` units times 32; kept by each
    /// thread for common precisions.
    fn constant(
        store: &'static LocalKey<OnceCell<IBig>>,
        digits: usize,
        make: fn(usize) -> IBig,
    ) -> Self {
        const KEPT: usize = 1024;
        let guard = 64;
        let mid = if digits + guard <= KEPT {
            store.with(|store| store.get_or_init(|| make(KEPT)) >> (KEPT - digits))
        } else {
            make(digits + guard) >> guard
        };
        Self { mid, rad: IBig::from(2), digits }
    }

    /// Binary digits after the point.
    pub(crate) fn digits(&self) -> usize {
        self.digits
    }

    pub(crate) fn neg(&self) -> Self {
        Self { mid: -&self.mid, rad: self.rad.clone(), digits: self.digits }
    }

    pub(crate) fn add(&self, other: &Self) -> Self {
        Self { mid: &self.mid + &other.mid, rad: &self.rad + &other.rad, digits: self.digits }
    }

    pub(crate) fn sub(&self, other: &Self) -> Self {
        Self { mid: &self.mid - &other.mid, rad: &self.rad + &other.rad, digits: self.digits }
    }

    pub(crate) fn mul(&self, other: &Self) -> Self {
        let mid = (&self.mid * &other.mid) >> self.digits;
        let spread =
            magnitude(&self.mid) * &other.rad + (magnitude(&other.mid) + &other.rad) * &self.rad;
        Self { mid, rad: (spread >> self.digits) + IBig::from(2), digits: self.digits }
    }

    /// Times `2^power`, exactly when `power >= 0`.
    pub(crate) fn shift(&self, power: i64) -> Self {
        let by = power.unsigned_abs() as usize;
        if power >= 0 {
            Self { mid: &self.mid << by, rad: &self.rad << by, digits: self.digits }
        } else {
            let rad = (&self.rad >> by) + IBig::from(2);
            Self { mid: &self.mid >> by, rad, digits: self.digits }
        }
    }

    /// Times a whole number.
    pub(crate) fn times(&self, factor: i64) -> Self {
        let factor = IBig::from(factor);
        Self { mid: &self.mid * &factor, rad: &self.rad * magnitude(&factor), digits: self.digits }
    }

    /// Divided by a whole number above 0.
    pub(crate) fn over(&self, divisor: u64) -> Self {
        let divisor = IBig::from(divisor.max(1));
        let rad = &self.rad / &divisor + IBig::from(2);
        Self { mid: &self.mid / &divisor, rad, digits: self.digits }
    }

    pub(crate) fn div(&self, other: &Self) -> Option<Self> {
        // |a'/b' - a/b| <= (|a' - a| + |a/b|·|b' - b|)/|b'|, and |b'| >= |b| - rad.
        let least = magnitude(&other.mid) - &other.rad;
        if least <= IBig::ZERO {
            return None;
        }
        let mid = (&self.mid << self.digits) / &other.mid;
        let spread = (&self.rad << self.digits) + (magnitude(&mid) + IBig::ONE) * &other.rad;
        Some(Self { mid, rad: spread / least + IBig::from(2), digits: self.digits })
    }

    /// The square root; `None` unless the interval is above 0.
    pub(crate) fn sqrt(&self) -> Option<Self> {
        if self.mid <= self.rad {
            return None;
        }
        // |√x' - √x| <= |x' - x|/√x.
        let mid = IBig::from(UBig::try_from(&self.mid << self.digits).ok()?.sqrt());
        let rad = (&self.rad << self.digits) / &mid + IBig::from(2);
        Some(Self { mid, rad, digits: self.digits })
    }

    /// The natural logarithm; `None` unless the interval is above 0.
    ///
    /// `x = m·2^e` with `m` in `[3/4, 3/2)`, and `ln m = 2·atanh((m - 1)/(m + 1))` with an argument
    /// of at most 1/5, so a term brings more than four digits.
    pub(crate) fn ln(&self) -> Option<Self> {
        let least = &self.mid - &self.rad;
        if least <= IBig::ZERO {
            return None;
        }
        let digits = self.digits;
        let three = &self.mid * IBig::from(2) / IBig::from(3); // 3/2·2^j <= x  <=>  2^j <= 2x/3
        let exponent = three.bit_len() as i64 - digits as i64; // x/2^exponent is in [3/4, 3/2)
        let mantissa = Self { rad: IBig::ZERO, ..self.clone() };
        // Shifting left is exact; shifting right only happens for x >= 3/2 and costs a unit.
        let mantissa = mantissa.shift(-exponent);
        let one = Self::integer(1, digits);
        let z = mantissa.sub(&one).div(&mantissa.add(&one))?;
        let square = z.mul(&z);
        let mut power = z.clone();
        let mut sum = z;
        let mut odd = 3;
        while magnitude(&power.mid) > IBig::ZERO {
            power = power.mul(&square);
            sum = sum.add(&power.over(odd));
            odd += 2;
            if magnitude(&power.mid) <= power.rad {
                break;
            }
        }
        // The remainder of the series is below the last power (each term is at most 1/25 of the one
        // before), and that is below its own radius plus one.
        sum.rad += &power.rad + &power.rad + IBig::ONE;
        let mut result = sum.shift(1).add(&Self::ln2(digits).times(exponent));
        // |ln x' - ln x| <= |x' - x|/least.
        result.rad += (&self.rad << digits) / least + IBig::ONE;
        Some(result)
    }

    /// The exponential; `None` when the result would not fit a sane number of digits.
    pub(crate) fn exp(&self) -> Option<Self> {
        const HALVINGS: usize = 8;
        let digits = self.digits;
        let ln2 = Self::ln2(digits);
        let whole: i64 = i64::try_from(&self.mid / &ln2.mid).ok().filter(|w| w.abs() < 1 << 20)?;
        let small = self.sub(&ln2.times(whole)).shift(-(HALVINGS as i64));
        if magnitude(&small.mid) + &small.rad > IBig::ONE << (digits - HALVINGS + 1) {
            return None; // the interval itself is too wide
        }
        let mut power = Self::integer(1, digits);
        let mut sum = Self::integer(1, digits);
        let mut place = 1;
        while magnitude(&power.mid) > power.rad {
            power = power.mul(&small).over(place);
            sum = sum.add(&power);
            place += 1;
        }
        sum.rad += &power.rad + &power.rad + IBig::ONE;
        for _ in 0..HALVINGS {
            sum = sum.mul(&sum);
        }
        Some(sum.shift(whole))
    }

    /// Cosine and sine, for an interval within `[-1, 1]`.
    pub(crate) fn cos_sin(&self) -> (Self, Self) {
        let digits = self.digits;
        let mut sums = [Self::integer(1, digits), Self::integer(0, digits)];
        let mut power = Self::integer(1, digits);
        let mut place = 1_usize;
        while magnitude(&power.mid) > power.rad {
            power = power.mul(self).over(place as u64);
            let signed = if place % 4 >= 2 { power.neg() } else { power.clone() };
            sums[place % 2] = sums[place % 2].add(&signed);
            place += 1;
        }
        let rest = &power.rad + &power.rad + IBig::ONE;
        let [mut cos, mut sin] = sums;
        cos.rad += &rest;
        sin.rad += rest;
        (cos, sin)
    }

    /// The nearest whole number, if every value of the interval has the same one.
    pub(crate) fn round(&self) -> Option<i64> {
        let half =
            Self { mid: IBig::ONE << (self.digits - 1), rad: IBig::ZERO, digits: self.digits };
        self.add(&half).floor()
    }

    /// The whole number just below, if every value of the interval has the same one.
    pub(crate) fn floor(&self) -> Option<i64> {
        // Shifting right rounds towards minus infinity.
        let low: IBig = (&self.mid - &self.rad) >> self.digits;
        let high: IBig = (&self.mid + &self.rad) >> self.digits;
        if low == high { i64::try_from(low).ok() } else { None }
    }

    /// Whether the value is below 0, if the interval settles it.
    pub(crate) fn is_negative(&self) -> Option<bool> {
        if &self.mid + &self.rad < IBig::ZERO {
            Some(true)
        } else if &self.mid - &self.rad > IBig::ZERO {
            Some(false)
        } else {
            None
        }
    }

    /// Bring a positive midpoint to `[1/2, 1)`: the ball times `2^k`, and `k`.
    pub(crate) fn normalise(&self) -> Option<(Self, i64)> {
        let power = self.digits as i64 - self.mid.bit_len() as i64;
        (self.mid > IBig::ZERO).then(|| (self.shift(power), power))
    }

    /// The same interval with more digits.
    #[cfg(test)]
    pub(crate) fn rescale(&self, digits: usize) -> Self {
        let by = digits - self.digits;
        Self { mid: &self.mid << by, rad: &self.rad << by, digits }
    }

    /// The midpoint and the radius as floats, for tests.
    #[cfg(test)]
    pub(crate) fn to_f64(&self) -> (f64, f64) {
        let scale = |x: &IBig| {
            let drop = x.bit_len().saturating_sub(64);
            let top = (x >> drop).to_f64().value();
            libm::scalbn(top, drop as i32 - self.digits as i32)
        };
        (scale(&self.mid), scale(&self.rad))
    }
}

fn magnitude(x: &IBig) -> IBig {
    x.clone().abs()
}

/// `atan(1/n)` to within `digits` units.
fn atan_of_inverse(n: u32, digits: usize) -> IBig {
    odd_series(n, digits, true)
}

/// `atanh(1/n)` to within `digits` units.
fn atanh_of_inverse(n: u32, digits: usize) -> IBig {
    odd_series(n, digits, false)
}

/// `Σ (±1)^k n^(-2k-1)/(2k+1)`; each of the fewer than `digits/2` terms errs by less than 2 units.
fn odd_series(n: u32, digits: usize, alternating: bool) -> IBig {
    let square = IBig::from(n) * IBig::from(n);
    let mut power = (IBig::ONE << digits) / IBig::from(n);
    let mut sum = IBig::ZERO;
    let mut odd = 1_u32;
    while power > IBig::ZERO {
        let term = &power / IBig::from(odd);
        if alternating && odd % 4 == 3 {
            sum -= term;
        } else {
            sum += term;
        }
        power /= &square;
        odd += 2;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(ball: &Ball, wanted: f64) {
        let (mid, rad) = ball.to_f64();
        assert!((mid - wanted).abs() <= 1e-15 * wanted.abs() + rad, "{mid} ± {rad}, not {wanted}");
        assert!(rad < 1e-25, "radius {rad}");
    }

    #[test]
    fn functions_agree_with_f64_and_stay_narrow() {
        for x in [1e-6, 0.1, 0.5, 0.7, 1.0, 1.4999, 1.5, 2.0, 77.7, 1e9] {
            let b = Ball::float(x, 192);
            close(&b.ln().unwrap(), x.ln());
            close(&b.sqrt().unwrap(), x.sqrt());
            close(&b.div(&Ball::float(3.7, 192)).unwrap(), x / 3.7);
            close(&b.mul(&Ball::float(-3.7, 192)), x * -3.7);
        }
        for x in [-30.0, -1.0, -1e-9, 0.0, 0.3, 1.0, 20.0] {
            close(&Ball::float(x, 256).exp().unwrap(), x.exp());
        }
        for x in [-1.0, -0.785, -1e-5, 0.0, 0.3, 0.999] {
            let (c, s) = Ball::float(x, 192).cos_sin();
            close(&c, x.cos());
            close(&s, x.sin());
        }
        close(&Ball::pi(192), core::f64::consts::PI);
        close(&Ball::ln2(192), core::f64::consts::LN_2);
    }

    #[test]
    fn more_digits_stay_inside_fewer() {
        // The ball at 96 digits must contain the (much narrower) one at 600.
        for i in 1..40 {
            let x = 0.037 * f64::from(i);
            let pairs: [(Ball, Ball); 4] = [
                (Ball::float(x, 96).ln().unwrap(), Ball::float(x, 600).ln().unwrap()),
                (Ball::float(x, 96).exp().unwrap(), Ball::float(x, 600).exp().unwrap()),
                (Ball::float(x / 2.0, 96).cos_sin().0, Ball::float(x / 2.0, 600).cos_sin().0),
                (Ball::float(x / 2.0, 96).cos_sin().1, Ball::float(x / 2.0, 600).cos_sin().1),
            ];
            for (coarse, fine) in pairs {
                let gap = (&fine.mid - (&coarse.mid << 504)).abs();
                assert!(gap + &fine.rad <= &coarse.rad << 504, "x = {x}");
                assert!(coarse.rad < IBig::from(1 << 16), "x = {x}: radius {}", coarse.rad);
            }
        }
    }

    #[test]
    fn known_digits_of_the_constants() {
        // First 30 decimals, from tables.
        let ten30 = IBig::from(10).pow(30);
        let decimals = |b: &Ball| (&b.mid * &ten30) >> b.digits;
        assert_eq!(decimals(&Ball::pi(200)).to_string(), "3141592653589793238462643383279");
        assert_eq!(decimals(&Ball::ln2(200)).to_string(), "693147180559945309417232121458");
    }

    #[test]
    fn an_open_question_is_not_answered() {
        let wide = Ball::interval(UBig::from(0_u8), 64, 128);
        assert!(wide.ln().is_none());
        assert!(Ball::integer(1, 128).div(&wide).is_none());
        let near_half = Ball::interval((UBig::ONE << 63) - UBig::ONE, 64, 128);
        assert_eq!(near_half.round(), None);
        assert_eq!(near_half.floor(), Some(0));
        assert_eq!(Ball::float(-0.3, 128).floor(), Some(-1));
        assert_eq!(Ball::float(-2.6, 128).round(), Some(-3));
    }
}
