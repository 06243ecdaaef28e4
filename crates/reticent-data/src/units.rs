//! Rows of units: which rows belong together, and which of them are kept.
//!
//! # Guarantee
//!
//! Units are numbered by their first rows. Which rows of a unit are kept depends on how many it has
//! and on the cap: of `k > m` rows those at the places `⌊jk/m⌋`, `j < m`, in the order of the
//! table, so no unit decides anything about another. A row without a key is a unit of its own,
//! whatever the others are: it is neither dropped nor put together with one.
//!
//! When all rows of one unit are replaced, the other units stay what they are, and their order
//! among themselves too. Their numbers may shift by one, so numbers serve for drawing units at
//! random and for sums, never for an algorithm that takes units in order.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Range;

use reticent_problem::Unit;

/// Where the rows of each unit lie.
#[derive(Clone, PartialEq)]
pub struct Units {
    unit: Unit,
    /// Where each unit begins, and where the last ends. No unit is empty.
    offsets: Vec<usize>,
}

impl Units {
    /// How many units.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are no units.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The declared unit.
    pub fn unit(&self) -> &Unit {
        &self.unit
    }

    /// The places of the rows that are kept of a unit with `count` rows, increasing.
    pub fn kept(unit: &Unit, count: usize) -> impl Iterator<Item = usize> + use<> {
        let most = unit.max_rows;
        (0..count.min(most)).map(move |j| place(j, count, most))
    }

    /// Units whose kept rows lie one after another, so many of each; none if one has no row or
    /// more than are kept.
    pub(crate) fn of_sizes(unit: &Unit, sizes: &[usize]) -> Option<Self> {
        let mut offsets = vec![0];
        for &size in sizes {
            if !(1..=unit.max_rows).contains(&size) {
                return None;
            }
            offsets.push(offsets.last()? + size);
        }
        Some(Self { unit: unit.clone(), offsets })
    }

    /// The rows of unit `u`.
    pub(crate) fn rows(&self, u: usize) -> Range<usize> {
        self.offsets[u]..self.offsets[u + 1]
    }

    /// The rows of all units.
    pub(crate) fn all_rows(&self) -> usize {
        self.offsets[self.len()]
    }

    /// The weight of each row of unit `u`.
    pub(crate) fn share(&self, u: usize) -> f64 {
        self.unit.weighting.share(self.rows(u).len(), self.unit.max_rows)
    }
}

/// Which rows are kept, unit after unit.
pub(crate) struct Grouping {
    /// Numbers of rows.
    pub(crate) kept: Vec<usize>,
    pub(crate) units: Units,
}

/// The numbers of the rows that are kept of a table with these keys, unit after unit; see
/// [`Units`].
pub fn kept_rows<K: Hash + Eq>(keys: impl Iterator<Item = Option<K>>, unit: &Unit) -> Vec<usize> {
    Grouping::new(keys, unit).kept
}

/// The place of the `j`-th of `most` kept rows among `count`.
fn place(j: usize, count: usize, most: usize) -> usize {
    if count <= most { j } else { (j as u128 * count as u128 / most as u128) as usize }
}

impl Grouping {
    /// Puts together the rows that have the same key.
    pub(crate) fn new<K: Hash + Eq>(keys: impl Iterator<Item = Option<K>>, unit: &Unit) -> Self {
        let mut known: HashMap<K, usize> = HashMap::new();
        let (mut of_row, mut counts) = (Vec::new(), Vec::new());
        for key in keys {
            let fresh = counts.len();
            let number = match key {
                None => fresh,
                Some(key) => *known.entry(key).or_insert(fresh),
            };
            if number == fresh {
                counts.push(0_usize);
            }
            counts[number] += 1;
            of_row.push(number);
        }
        let mut offsets = vec![0];
        let mut next = Vec::with_capacity(counts.len());
        let mut all = 0;
        for &count in &counts {
            next.push(all);
            all += count;
            offsets.push(offsets[offsets.len() - 1] + count.min(unit.max_rows));
        }
        let mut sorted = vec![0; of_row.len()];
        for (row, &number) in of_row.iter().enumerate() {
            sorted[next[number]] = row;
            next[number] += 1;
        }
        let mut kept = Vec::with_capacity(offsets[counts.len()]);
        let mut first = 0;
        for &count in &counts {
            kept.extend(Units::kept(unit, count).map(|j| sorted[first + j]));
            first += count;
        }
        Self { kept, units: Units { unit: unit.clone(), offsets } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grouped(keys: &[Option<&str>], max_rows: usize) -> (Vec<usize>, Vec<usize>) {
        let unit = Unit::new("patient", max_rows).unwrap();
        let Grouping { kept, units } = Grouping::new(keys.iter().copied(), &unit);
        (kept, units.offsets)
    }

    #[test]
    fn rows_of_a_unit_lie_together_in_the_order_of_the_table() {
        let keys = [Some("b"), Some("a"), None, Some("b"), None, Some("a"), Some("b")];
        assert_eq!(grouped(&keys, 9), (vec![0, 3, 6, 1, 5, 2, 4], vec![0, 3, 5, 6, 7]));
        assert_eq!(grouped(&keys, 2), (vec![0, 3, 1, 5, 2, 4], vec![0, 2, 4, 5, 6]));
        assert_eq!(grouped(&keys, 1), (vec![0, 1, 2, 4], vec![0, 1, 2, 3, 4]));
        assert_eq!(grouped(&[], 3), (vec![], vec![0]));
    }

    #[test]
    fn kept_rows_are_spread_evenly_and_differ() {
        for count in 1..60 {
            for most in 1..20_usize {
                let places: Vec<_> = (0..most.min(count)).map(|j| place(j, count, most)).collect();
                assert!(places.windows(2).all(|w| w[0] < w[1]), "{count} {most}: {places:?}");
                assert!(places.iter().all(|&p| p < count) && places[0] == 0);
            }
        }
    }

    #[test]
    fn a_unit_decides_nothing_about_the_others() {
        let keys = |mine: &'static [usize], key| -> Vec<Option<&str>> {
            let mut all =
                [Some("a"), Some("b"), Some("a"), Some("c"), Some("a"), None, Some("b")].to_vec();
            for &at in mine {
                all.insert(at, Some(key));
            }
            all
        };
        // The rows of the others, by their place among the rows of the others, with v's rows here,
        // there or nowhere.
        let others = |mine: &'static [usize], key| {
            let keys = keys(mine, key);
            let unit = Unit::new("u", 2).unwrap();
            let Grouping { kept, units } = Grouping::new(keys.iter().copied(), &unit);
            let place = |row: usize| keys[..row].iter().filter(|k| **k != Some(key)).count();
            (0..units.len())
                .map(|u| kept[units.rows(u)].to_vec())
                .filter(|rows| keys[rows[0]] != Some(key))
                .map(|rows| rows.into_iter().map(place).collect::<Vec<_>>())
                .collect::<Vec<_>>()
        };
        let without = others(&[], "v");
        for mine in [&[0][..], &[0, 2, 4, 6], &[7], &[1, 1, 1, 1, 1, 1, 1, 1]] {
            assert_eq!(others(mine, "v"), without);
        }
    }
}
