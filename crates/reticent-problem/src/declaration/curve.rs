//! Curves: how one numeric column becomes several features between public knots.
//!
//! # Basis functions
//!
//! A number `x`, clamped to its declared bounds, has the place
//! `u = (g(x) − g(min))/(g(max) − g(min))` in `[0, 1]`, with `g` the declared scale: the number
//! itself, its logarithm, its root, or `sign(x) ln(1 + |x|)`. Between two neighbouring knots at
//! `t_k` and `t_{k+1}`, with `s = (u − t_k)/(t_{k+1} − t_k)`:
//!
//! - **tents**: feature `k` is `1 − s`, feature `k + 1` is `s`, and all others are 0. The weights
//!   are the values of the curve at the knots, and the curve is linear in `u` between them.
//! - **bins**: feature `k` is 1 and all others are 0. The curve is constant between two knots.
//!
//! # Fact (norm)
//!
//! `s` lies in `[0, 1]`, so `(1 − s)² + s² ≤ 1`: a curve adds at most 1 to the squared norm of a
//! row, as a number scaled to `[0, 1]` and a one-hot group do, and every bound on rows holds
//! unchanged. Nothing else of a guarantee depends on the encoding.
//!
//! *As computed.* Knots that rise may coincide once they are scaled and rounded, and `s` would be
//! 0/0. A layout is refused unless the bounds span a finite interval of the scale and all places
//! rise strictly in double precision; and whatever the knots, `s` is a number in `[0, 1]`.
//!
//! # Fact (span)
//!
//! Tents on the plain scale contain every linear function of `x`: the weights `a + b x_k` at the
//! knots `x_k`.

use serde::{Deserialize, Serialize};

/// The most knots of a column.
pub(super) const MOST_KNOTS: usize = 1024;

/// With at most this many values an integer column gets a knot for each.
const KNOT_EACH: f64 = 32.0;

/// From this number of knots on it does: fewer are asked for where noise allows no more weights.
const FINE: usize = 8;

/// The scale on which knots are even and curves are linear between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// The number itself.
    #[default]
    Linear,
    /// Its logarithm, for positive numbers.
    Log,
    /// Its square root, for numbers from 0 on.
    Sqrt,
    /// `sign(x) ln(1 + |x|)`, for numbers of either sign that span decades.
    Symlog,
}

impl Scale {
    /// The words of a schema.
    pub(super) const WORDS: &str = "`linear`, `log`, `sqrt`, `symlog`";

    /// The scale with this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name.trim() {
            "linear" => Some(Self::Linear),
            "log" => Some(Self::Log),
            "sqrt" => Some(Self::Sqrt),
            "symlog" => Some(Self::Symlog),
            _ => None,
        }
    }

    /// Whether every number from `min` on has a place on it.
    pub(super) fn serves(self, min: f64) -> bool {
        match self {
            Self::Linear | Self::Symlog => true,
            Self::Log => min > 0.0,
            Self::Sqrt => min >= 0.0,
        }
    }

    /// `g`.
    fn of(self, number: f64) -> f64 {
        match self {
            Self::Linear => number,
            Self::Log => number.ln(),
            Self::Sqrt => number.sqrt(),
            Self::Symlog => number.abs().ln_1p().copysign(number),
        }
    }

    /// The number with this `g`.
    fn back(self, place: f64) -> f64 {
        match self {
            Self::Linear => place,
            Self::Log => place.exp(),
            Self::Sqrt => place * place,
            Self::Symlog => place.abs().exp_m1().copysign(place),
        }
    }
}

/// The form of a curve between knots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// A straight line.
    #[default]
    Tent,
    /// A constant.
    Bins,
}

/// Where knots are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Knots {
    /// So many, even on the scale, the bounds among them.
    Count(usize),
    /// Here, in the column's own units, from the lower bound to the upper.
    At(Vec<f64>),
}

/// How the owner wants a numeric column to enter the model.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// As one number.
    Linear,
    /// As a curve.
    Curve {
        /// The form between knots.
        basis: Basis,
        /// On which scale.
        scale: Scale,
        /// Where; as many as for the other columns if not given.
        knots: Option<Knots>,
    },
}

/// A column's curve, whose weights a model has.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// The form between knots.
    pub basis: Basis,
    /// On which scale.
    pub scale: Scale,
    /// Knots of tents, or ends of bins, in the column's own units: the first is the lower bound,
    /// the last the upper one.
    pub knots: Vec<f64>,
    /// Whether they are even on the scale.
    pub even: bool,
}

impl Curve {
    /// The curve of a column with these bounds. None for a column that is to enter as one number:
    /// by its declaration, or because no number of knots is given, or because it holds two whole
    /// numbers, or because nothing is declared and rounding does not tell the knots apart.
    pub(super) fn of(
        shape: Option<&Shape>,
        (min, max): (f64, f64),
        integer: bool,
        count: Option<usize>,
    ) -> Option<Self> {
        let declared = shape.is_some();
        let (basis, scale, knots) = match shape {
            Some(Shape::Linear) => return None,
            Some(Shape::Curve { basis, scale, knots }) => (*basis, *scale, knots.as_ref()),
            None => (Basis::Tent, Scale::Linear, None),
        };
        if max.is_infinite() {
            return None;
        }
        let count = match knots {
            Some(Knots::At(places)) => {
                return Some(Self { basis, scale, knots: places.clone(), even: false });
            }
            Some(Knots::Count(count)) => *count,
            None => {
                let count = count.or(declared.then_some(FINE))?;
                match whole_values(min, max).filter(|_| integer) {
                    Some(2.0) if !declared => return None,
                    Some(values) if values <= KNOT_EACH && scale == Scale::Linear => {
                        if count >= FINE { values as usize } else { count.min(values as usize) }
                    }
                    _ => count,
                }
            }
        };
        let ends = count.max(2) + usize::from(basis == Basis::Bins);
        let curve = Self::even(basis, scale, (min, max), ends);
        (declared || curve.rises()).then_some(curve)
    }

    /// With so many ends, even on the scale.
    fn even(basis: Basis, scale: Scale, (min, max): (f64, f64), ends: usize) -> Self {
        let (low, high) = (scale.of(min), scale.of(max));
        let last = ends - 1;
        let knots = (0..ends).map(|k| match k {
            0 => min,
            k if k == last => max,
            k => scale.back(low + (high - low) * (k as f64 / last as f64)).clamp(min, max),
        });
        Self { basis, scale, knots: knots.collect(), even: true }
    }

    /// Whether rounding tells its knots apart: they and their places on the scale rise strictly.
    pub(super) fn rises(&self) -> bool {
        let rise = |list: &[f64]| list.windows(2).all(|pair| pair[0] < pair[1]);
        let ReadyCurve { low, width, .. } = self.ready();
        let places = self.knots.iter().map(|x| (self.scale.of(*x) - low) / width);
        let places: Vec<f64> = places.collect();
        width.is_finite() && width > 0.0 && rise(&self.knots) && rise(&places)
    }

    /// Two tents on the plain scale: a line.
    pub fn line(min: f64, max: f64) -> Self {
        Self::even(Basis::Tent, Scale::Linear, (min, max), 2)
    }

    /// How many features it gives.
    pub fn features(&self) -> usize {
        match self.basis {
            Basis::Tent => self.knots.len(),
            Basis::Bins => self.knots.len() - 1,
        }
    }

    /// Features that differ from zero in one row, at most.
    pub fn filled(&self) -> usize {
        match self.basis {
            Basis::Tent => 2,
            Basis::Bins => 1,
        }
    }

    /// The knots as text.
    pub fn texts(&self) -> Vec<String> {
        texts(&self.knots)
    }

    /// The features by name, without the column's.
    pub fn names(&self) -> Vec<String> {
        let texts = self.texts();
        match self.basis {
            Basis::Tent => texts,
            Basis::Bins => {
                texts.windows(2).map(|ends| format!("{}..{}", ends[0], ends[1])).collect()
            }
        }
    }

    /// Made ready for numbers.
    pub fn ready(&self) -> ReadyCurve {
        let scale = self.scale;
        let low = self.knots.first().map_or(0.0, |x| scale.of(*x));
        let high = self.knots.last().map_or(1.0, |x| scale.of(*x));
        let width = high - low;
        let place = |x: &f64| ((scale.of(*x) - low) / width).clamp(0.0, 1.0);
        ReadyCurve {
            basis: self.basis,
            scale,
            min: self.knots.first().copied().unwrap_or(0.0),
            max: self.knots.last().copied().unwrap_or(1.0),
            low,
            width,
            last: self.knots.len() - 2,
            places: if self.even { Vec::new() } else { self.knots.iter().map(place).collect() },
        }
    }
}

/// How many whole numbers lie within bounds that are whole themselves.
fn whole_values(min: f64, max: f64) -> Option<f64> {
    (min.fract() == 0.0 && max.fract() == 0.0).then_some(max - min + 1.0)
}

/// Numbers with as few digits as tell them apart, at least six.
fn texts(numbers: &[f64]) -> Vec<String> {
    let short =
        |x: &f64| format!("{x:.5e}").parse().map_or_else(|_| x.to_string(), |x: f64| x.to_string());
    let list: Vec<String> = numbers.iter().map(short).collect();
    if list.windows(2).all(|pair| pair[0] != pair[1]) {
        list
    } else {
        numbers.iter().map(f64::to_string).collect()
    }
}

/// A curve made ready for numbers. It holds what was declared and nothing of any row.
#[derive(Clone, Debug)]
pub struct ReadyCurve {
    basis: Basis,
    scale: Scale,
    min: f64,
    max: f64,
    low: f64,
    width: f64,
    /// The index of the last interval.
    last: usize,
    /// Knots in `[0, 1]`; empty where they are even.
    places: Vec<f64>,
}

/// Where a number lies on a curve: feature `first` is `1 − share`, the next one is `share`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// The first feature, from 0.
    pub first: u32,
    /// `s`; 0 for bins.
    pub share: f64,
}

impl ReadyCurve {
    /// The place of a number, which is clamped to the bounds. NaN lies at the lower one. The share
    /// is a number in `[0, 1]`, whatever the knots.
    #[inline]
    pub fn place(&self, number: f64) -> Place {
        let number = number.max(self.min).min(self.max);
        let u = unit((self.scale.of(number) - self.low) / self.width);
        let (k, share) = if self.places.is_empty() {
            let at = u * (self.last + 1) as f64;
            let k = (at as usize).min(self.last);
            (k, at - k as f64)
        } else {
            let k = self.places.partition_point(|place| *place <= u).clamp(1, self.last + 1) - 1;
            (k, (u - self.places[k]) / (self.places[k + 1] - self.places[k]))
        };
        let share = if self.basis == Basis::Bins { 0.0 } else { unit(share) };
        Place { first: k as u32, share }
    }
}

/// The nearest number of `[0, 1]`; 0 for NaN.
#[inline]
fn unit(x: f64) -> f64 {
    if x > 0.0 { x.min(1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(curve: &Curve, x: f64) -> Vec<f64> {
        let mut row = vec![0.0; curve.features() + 1];
        let Place { first, share } = curve.ready().place(x);
        row[first as usize] = 1.0 - share;
        row[first as usize + 1] += share;
        assert!(row.iter().map(|x| x * x).sum::<f64>() <= 1.0, "{row:?}");
        row.truncate(curve.features());
        row
    }

    #[test]
    fn tents_are_one_at_their_knots_and_contain_lines() {
        for scale in [Scale::Linear, Scale::Log, Scale::Sqrt, Scale::Symlog] {
            let curve = Curve::even(Basis::Tent, scale, (1.0, 100.0), 5);
            for (k, knot) in curve.knots.iter().enumerate() {
                let row = features(&curve, *knot);
                assert!((row[k] - 1.0).abs() < 1e-12, "{scale:?} {k}: {row:?}");
            }
            let inside = features(&curve, 17.0);
            assert!((inside.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            assert_eq!(inside.iter().filter(|x| **x > 0.0).count(), 2);
        }
        let own =
            Curve { knots: vec![0.0, 18.0, 30.0, 110.0], even: false, ..Curve::line(0.0, 1.0) };
        for x in [0.0, 3.0, 18.0, 29.5, 77.0, 110.0] {
            let line: f64 = features(&own, x).iter().zip(&own.knots).map(|(a, b)| a * b).sum();
            assert!((line - x).abs() < 1e-9, "{x}: {line}");
        }
    }

    #[test]
    fn whatever_a_number_is_it_has_a_place() {
        let own = Curve { knots: vec![-2.0, 0.0, 5.0], even: false, ..Curve::line(0.0, 1.0) };
        for curve in [own, Curve::even(Basis::Bins, Scale::Symlog, (-2.0, 5.0), 4)] {
            for x in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1e308, 1e308, 0.0, -0.0, 5e-324]
            {
                let row = features(&curve, x);
                assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{x}: {row:?}");
            }
            assert_eq!(features(&curve, -7.0)[0], 1.0);
            assert_eq!(*features(&curve, 7.0).last().unwrap(), 1.0);
        }
    }

    #[test]
    fn knots_that_rounding_does_not_tell_apart_do_not_rise() {
        let own = |knots: &[f64]| Curve {
            knots: knots.to_vec(),
            even: false,
            ..Curve::line(knots[0], knots[knots.len() - 1])
        };
        // As numbers they rise; as places the last two are both 1.
        let wide = own(&[-9.99e20, 0.0, 1.0]);
        assert!(!wide.rises());
        assert!(own(&[-9.99e20, 0.0, 9.99e20]).rises());
        let narrow = Curve::even(Basis::Tent, Scale::Log, (1e15, 1e15 + 0.125), 3);
        assert!(!narrow.rises());
        for x in [-9.99e20, -1.0, 0.0, 0.3, 0.7, 1.0, 1e15, 1e15 + 0.125, f64::NAN] {
            for curve in [&wide, &narrow] {
                assert!((0.0..=1.0).contains(&curve.ready().place(x).share), "{x} {curve:?}");
            }
        }
        let undeclared = |bounds| Curve::of(None, bounds, false, Some(16));
        assert!(undeclared((1e15, 1e15 + 0.125)).is_none(), "a line");
        assert!(undeclared((1e15, 1e15 + 100.0)).is_some());
    }

    #[test]
    fn few_whole_numbers_get_a_knot_each() {
        let of = |bounds, integer, count| Curve::of(None, bounds, integer, count);
        assert_eq!(of((0.0, 23.0), true, Some(8)).unwrap().knots.len(), 24);
        assert_eq!(of((0.0, 23.0), true, Some(4)).unwrap().knots.len(), 4);
        assert_eq!(of((1.0, 3.0), true, Some(4)).unwrap().knots, [1.0, 2.0, 3.0]);
        assert_eq!(of((0.0, 23.0), false, Some(8)).unwrap().knots.len(), 8);
        assert_eq!(of((0.0, 99.0), true, Some(16)).unwrap().knots.len(), 16);
        assert!(of((0.0, 1.0), true, Some(8)).is_none(), "two values are a line");
        assert!(of((0.0, 23.0), true, None).is_none());
        let hour = Curve::of(None, (0.0, 23.0), true, Some(8)).unwrap();
        for x in 0..24 {
            assert!((features(&hour, f64::from(x))[x as usize] - 1.0).abs() < 1e-12, "{x}");
        }
    }

    #[test]
    fn names_tell_knots_apart() {
        let names =
            |min, max, ends| Curve::even(Basis::Tent, Scale::Linear, (min, max), ends).names();
        assert_eq!(names(0.0, 1.0, 4), ["0", "0.333333", "0.666667", "1"]);
        let close = names(1e9, 1e9 + 1.0, 3);
        assert!(close[0] != close[1] && close[1] != close[2], "{close:?}");
        let bins = Curve::even(Basis::Bins, Scale::Linear, (0.0, 9.0), 4);
        assert_eq!(bins.names(), ["0..3", "3..6", "6..9"]);
    }
}
