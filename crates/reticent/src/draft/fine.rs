//! A second look at columns whose numbers lie far from zero and close together, such as years.
//!
//! The public grid is logarithmic: it sees that all numbers lie between 1334 and 3162, and not that
//! they are years. So numbers are counted by their first four digits too, and a column whose drawn
//! bounds are of one sign and a factor of [`NARROW`] apart has both bounds drawn again, from equal
//! cells between them. Which columns that is follows from the drawn bounds; how many there may be
//! is public, and all are paid for.
//!
//! A row adds 1 to the count of one number of each column, whatever is done with the digits: the
//! counts below each point move by at most 1, as on the public grid.

use std::collections::BTreeMap;

use reticent_data::Sensitive;

/// Bounds are drawn again where the larger is at most so many times the smaller.
const NARROW: f64 = 3.2;

/// The most cells between two bounds.
const CELLS: f64 = 2048.0;

/// Decimal exponents of the numbers that are told apart; beyond them is one number each.
const EXPONENTS: std::ops::RangeInclusive<i32> = -9..=15;

/// Numbers of four digits in each decade.
const DECADE: i64 = 9000;

/// Places of cells on the scale of all numbers of four digits: `2i` is the `i`-th itself, `2i + 1`
/// what lies between it and the next.
pub(super) type FineCounts = BTreeMap<i64, f64>;

/// The place of a number.
pub(super) fn place(number: f64) -> i64 {
    let number = number + 0.0; // there is one zero
    let (index, shown) = index(number);
    match shown.total_cmp(&number) {
        std::cmp::Ordering::Equal => 2 * index,
        std::cmp::Ordering::Less => 2 * index + 1,
        std::cmp::Ordering::Greater => 2 * index - 1,
    }
}

/// The nearest number of four digits, and which it is, counted from 0 in both directions.
fn index(number: f64) -> (i64, f64) {
    let size = number.abs();
    let (first, last) = (*EXPONENTS.start(), *EXPONENTS.end());
    let text = format!("{size:.3e}");
    let parts = text.split_once('e').and_then(|(digits, exponent)| {
        let digits: i64 = digits.replace('.', "").parse().ok()?;
        Some((digits, exponent.parse::<i32>().ok()?))
    });
    let Some((digits, exponent)) = parts else { return (0, 0.0) };
    let (index, shown) = if digits == 0 || exponent < first {
        (0, 0.0)
    } else if exponent > last {
        (i64::from(last - first + 1) * DECADE, f64::INFINITY)
    } else {
        let index = i64::from(exponent - first) * DECADE + digits - 999;
        (index, text.parse().unwrap_or(size))
    };
    if number < 0.0 { (-index, -shown) } else { (index, shown) }
}

/// Whether such bounds can have been drawn in a second look: numbers of four digits, of one sign
/// and no further apart than the first ones, but for the rounding to steps.
pub(super) fn can_be_drawn_again(low: f64, high: f64) -> bool {
    [low, high].iter().all(|bound| place(*bound) % 2 == 0) && apart(low, high) <= 1.02 * NARROW
}

/// How many times the smaller bound the larger is; none where they are not drawn again.
pub(super) fn ratio(low: f64, high: f64) -> Option<f64> {
    Some(apart(low, high)).filter(|ratio| *ratio <= NARROW)
}

/// How many times the smaller number the larger is; infinite for two signs.
fn apart(low: f64, high: f64) -> f64 {
    match low * high > 0.0 {
        true if low > 0.0 => high / low,
        true => low / high,
        false => f64::INFINITY,
    }
}

/// Equal cells between two bounds of one sign.
pub(super) struct FineGrid {
    step: f64,
    points: Vec<f64>,
}

impl FineGrid {
    /// Steps of 1, 2 or 5 times a power of ten, of one at least where the numbers are whole.
    pub(super) fn between(low: f64, high: f64, whole: bool) -> Self {
        let size = low.abs().max(high.abs());
        // Numbers of four digits are this far apart at their largest.
        let digit = size.log10().floor() - 3.0;
        let least = ((high - low) / CELLS).max(if whole { 1.0 } else { 0.0 });
        let power = least.log10().floor().max(digit);
        let steps = [1.0, 2.0, 5.0, 10.0].map(|digits| decimal(digits, power));
        let step = steps.into_iter().find(|step| *step >= least).unwrap_or(steps[3]);
        let (first, last) = ((low / step).floor(), (high / step).ceil());
        let count = (last - first) as usize;
        // Rounded to four digits, which they have but for the last bits.
        let point = |j: usize| index((first + j as f64) * step).1;
        let mut points: Vec<f64> = (0..=count).map(point).collect();
        points.dedup();
        Self { step, points }
    }

    pub(super) fn len(&self) -> usize {
        self.points.len()
    }

    /// How many numbers lie below each point.
    pub(super) fn below(&self, counts: &Sensitive<FineCounts>) -> Sensitive<Vec<f64>> {
        let places: Vec<i64> = self.points.iter().map(|point| place(*point)).collect();
        counts.clone().map_inside(|counts| sums(counts.into_iter(), &places, |c, p| c < p))
    }

    /// How many numbers lie above each point, from the last.
    pub(super) fn above(&self, counts: &Sensitive<FineCounts>) -> Sensitive<Vec<f64>> {
        let places: Vec<i64> = self.points.iter().rev().map(|point| place(*point)).collect();
        counts.clone().map_inside(|counts| sums(counts.into_iter().rev(), &places, |c, p| c > p))
    }

    /// The bounds that follow from the cells drawn for a rank that is the share `tail` of the
    /// numbers from its end: beyond both as far as numbers that lie evenly would. None if there is
    /// nothing between them.
    pub(super) fn bounds(&self, low: usize, high: usize, tail: f64) -> Option<(f64, f64)> {
        let last = self.points.len() - 1;
        let (low, high) = (low, last.checked_sub(high)?);
        if low >= high || tail >= 0.5 {
            return None;
        }
        let width = self.points[high] - self.points[low];
        let beyond = (tail / (1.0 - 2.0 * tail)).min(1.0) * width / self.step;
        let beyond = beyond.floor() as usize;
        Some((self.points[low.saturating_sub(beyond)], self.points[(high + beyond).min(last)]))
    }
}

/// How many numbers come before each place, in the order of both.
fn sums(
    counts: impl Iterator<Item = (i64, f64)>,
    places: &[i64],
    before: fn(i64, i64) -> bool,
) -> Vec<f64> {
    let mut counts = counts.peekable();
    let mut sum = 0.0;
    let mut until = |place: i64| {
        while let Some((_, count)) = counts.next_if(|(counted, _)| before(*counted, place)) {
            sum += count;
        }
        sum
    };
    places.iter().map(|place| until(*place)).collect()
}

/// `digits · 10^power`, as a decimal number reads.
fn decimal(digits: f64, power: f64) -> f64 {
    format!("{digits}e{power}").parse().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_rise_and_tell_four_digits_apart() {
        let rising = [
            -1e300, -2018.0, -2017.5, -2017.0, -0.1, -1e-12, 0.0, 1e-12, 0.07, 0.07001, 999.9,
            999.95, 1000.0, 1000.5, 1001.0, 2016.0, 2016.3, 2017.0, 1e300,
        ];
        let places: Vec<i64> = rising.iter().map(|x| place(*x)).collect();
        assert!(places.windows(2).all(|pair| pair[0] < pair[1]), "{places:?}");
        assert_eq!(place(2016.3), place(2016.9));
        assert_eq!(place(2016.0) + 2, place(2017.0));
        assert_eq!(place(-0.0), place(0.0));
        assert!(can_be_drawn_again(2016.0, 2018.0) && can_be_drawn_again(-0.09, -0.05));
        for (low, high) in [(2016.0, 2016.5), (0.0, 1.0), (-1.0, 1.0), (1.0, 4.0), (1.0, 1e300)] {
            assert!(!can_be_drawn_again(low, high), "{low} {high}");
        }
    }

    #[test]
    fn years_are_found_between_coarse_bounds() {
        assert_eq!(ratio(1334.0, 3162.0).map(f64::round), Some(2.0));
        assert!(ratio(-3162.0, -1334.0).is_some());
        for (low, high) in [(0.0, 10.0), (-1.0, 1.0), (1.0, 4.0)] {
            assert_eq!(ratio(low, high), None);
        }
        let mut counts = FineCounts::new();
        for i in 0..2000 {
            *counts.entry(place(2016.0 + f64::from(i) / 1000.0)).or_default() += 1.0;
        }
        for whole in [false, true] {
            let grid = FineGrid::between(1334.0, 3162.0, whole);
            assert_eq!((grid.step, grid.points[0], grid.len()), (1.0, 1334.0, 1829));
            let at = |year: f64| (year - 1334.0) as usize;
            let mut places: Vec<i64> = grid.points.iter().map(|point| place(*point)).collect();
            let below = sums(counts.clone().into_iter(), &places, |c, p| c < p);
            assert_eq!(
                (below[at(2016.0)], below[at(2017.0)], below[at(2018.0)]),
                (0.0, 1000.0, 2000.0)
            );
            places.reverse();
            let above = sums(counts.clone().into_iter().rev(), &places, |c, p| c > p);
            let back = |year: f64| (3162.0 - year) as usize;
            // One number is 2017 itself.
            assert_eq!(
                (above[back(2018.0)], above[back(2017.0)], above[back(2016.0)]),
                (0.0, 999.0, 1999.0)
            );
            assert_eq!(grid.bounds(at(2016.0), back(2018.0), 0.17), Some((2016.0, 2018.0)));
            assert_eq!(grid.bounds(at(2000.0), back(2020.0), 0.25), Some((1990.0, 2030.0)));
            assert_eq!(grid.bounds(at(2018.0), back(2018.0), 0.1), None);
        }
        let fine = FineGrid::between(0.1, 0.3162, false);
        assert!(fine.len() <= 2050 && fine.step == 0.0002, "{} {}", fine.len(), fine.step);
        assert!(FineGrid::between(56.0, 100.0, true).step == 1.0);
        let negative = FineGrid::between(-3162.0, -1334.0, false);
        assert_eq!((negative.points[0], negative.len()), (-3162.0, 1829));
    }
}
