//! Sums of blocks of rows, added in an order that follows from the blocks' numbers alone.
//!
//! Block `i` is the node `(0, i)`. Wherever the nodes `(l, 2i)` and `(l, 2i + 1)` are both there,
//! they are added and become `(l + 1, i)`. Once all of `n` blocks are in, the nodes that are left
//! are the powers of two of which `n` consists, and they are added from the smallest to the
//! largest. So the sum has the same bits whichever thread adds which blocks first: one thread that
//! reads a file, or machines whose partial sums meet in any order. A block passes through at most
//! two additions for each doubling of the number of blocks, which is what [`MERGES`] allows for.

use std::collections::BTreeMap;

use crate::kernel::MERGES;
use crate::wire::{Reader, Writer};

/// The largest height of a node: fewer than `2^32` blocks.
const TOP: u32 = (MERGES / 2) as u32;

/// Sums of some of the blocks.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct Tree {
    /// By height and place.
    nodes: BTreeMap<(u32, u64), Vec<f64>>,
}

impl Tree {
    /// Takes a block's sum. False, and the tree unchanged, if the block is in already or its number
    /// is too large.
    pub(crate) fn add(&mut self, block: u64, sum: Vec<f64>) -> bool {
        self.join(0, block, sum)
    }

    fn join(&mut self, mut height: u32, mut place: u64, mut sum: Vec<f64>) -> bool {
        if height > TOP || place >> (TOP - height) > 0 || self.overlaps(height, place) {
            return false;
        }
        while let Some(other) = self.nodes.remove(&(height, place ^ 1)) {
            add_to(&other, &mut sum);
            (height, place) = (height + 1, place / 2);
        }
        self.nodes.insert((height, place), sum);
        true
    }

    /// Whether a block below this node is in already.
    fn overlaps(&self, height: u32, place: u64) -> bool {
        let above = (height..=TOP).any(|h| self.nodes.contains_key(&(h, place >> (h - height))));
        let below = |h: u32| {
            let first = place << (height - h);
            let last = first + ((1 << (height - h)) - 1);
            self.nodes.range((h, first)..=(h, last)).next().is_some()
        };
        above || (0..height).any(below)
    }

    /// Takes all that another tree holds. False if both hold a block, or the lengths of their sums
    /// differ.
    pub(crate) fn merge(&mut self, other: Self) -> bool {
        let width = self.nodes.values().next().map(Vec::len);
        other.nodes.into_iter().all(|((height, place), sum)| {
            width.is_none_or(|width| width == sum.len()) && self.join(height, place, sum)
        })
    }

    /// `into =` the sum of all blocks. False if it does not hold blocks `0..blocks`, each of them
    /// once.
    pub(crate) fn total(&self, blocks: u64, into: &mut [f64]) -> bool {
        into.fill(0.0);
        let bits = (0..=TOP).filter(|h| blocks >> h & 1 == 1);
        let expected: Vec<_> = bits.map(|h| (h, (blocks >> h) - 1)).collect();
        if !self.nodes.keys().copied().eq(expected) {
            return false;
        }
        for sum in self.nodes.values() {
            if sum.len() != into.len() {
                return false;
            }
            add_to(sum, into);
        }
        true
    }

    /// The tree as bytes.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.whole(self.nodes.len() as u64);
        for ((height, place), sum) in &self.nodes {
            writer.whole(u64::from(*height));
            writer.whole(*place);
            writer.numbers(sum);
        }
        writer.into_bytes()
    }

    /// The tree in bytes that [`Self::to_bytes`] wrote; an empty one in none, nothing in any other.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (mut reader, mut tree) = (Reader::new(bytes), Self::default());
        if reader.is_at_end() {
            return Some(tree);
        }
        for _ in 0..reader.whole()? {
            let (height, place) = (u32::try_from(reader.whole()?).ok()?, reader.whole()?);
            if !tree.join(height, place, reader.numbers()?) {
                return None;
            }
        }
        reader.is_at_end().then_some(tree)
    }
}

fn add_to(sum: &[f64], into: &mut [f64]) {
    for (into, sum) in into.iter_mut().zip(sum) {
        *into += sum;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Sums whose total depends on the order of addition.
    fn sum(block: u64) -> Vec<f64> {
        let x = (block as f64 * 0.754_877 + 0.1).fract();
        vec![x * 1e16, 1.0 / (x + 0.3), -x]
    }

    fn total(tree: &Tree, blocks: u64) -> Option<Vec<u64>> {
        let mut into = vec![0.0; 3];
        tree.total(blocks, &mut into).then(|| into.iter().map(|x| x.to_bits()).collect())
    }

    fn in_order(blocks: u64) -> Tree {
        let mut tree = Tree::default();
        assert!((0..blocks).all(|i| tree.add(i, sum(i))));
        tree
    }

    proptest! {
        #[test]
        fn any_cutting_and_any_order_of_merging_gives_the_same_bits(
            blocks in 0_u64..70,
            parts in proptest::collection::vec(0_usize..7, 70),
            order in Just((0..7).collect::<Vec<usize>>()).prop_shuffle(),
            backwards in any::<bool>(),
        ) {
            let mut trees = vec![Tree::default(); 7];
            let numbers: Vec<_> = if backwards { (0..blocks).rev().collect() } else { (0..blocks).collect() };
            for i in numbers {
                prop_assert!(trees[parts[i as usize]].add(i, sum(i)));
            }
            let mut all = Tree::default();
            for i in order {
                let sent = Tree::from_bytes(&trees[i].to_bytes()).unwrap();
                prop_assert!(sent == trees[i]);
                prop_assert!(all.merge(sent));
            }
            prop_assert_eq!(total(&all, blocks).unwrap(), total(&in_order(blocks), blocks).unwrap());
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Tree::from_bytes(&bytes);
        }
    }

    #[test]
    fn a_block_counts_once_and_none_is_missing() {
        let mut tree = in_order(6);
        for again in 0..6 {
            assert!(!tree.add(again, sum(again)), "{again}");
        }
        assert!(!tree.add(1 << 32, sum(0)));
        let before = total(&tree, 6);
        assert!(!tree.clone().merge(in_order(1)));
        let mut pair = Tree::default();
        assert!(pair.add(8, sum(8)) && pair.add(10, sum(10)));
        assert!(!pair.merge({
            let mut other = Tree::default();
            let four = (8..12).all(|i| other.add(i, sum(i)));
            assert!(four);
            other
        }));
        assert_eq!(total(&tree, 6), before);
        assert_eq!(total(&tree, 5), None);
        assert_eq!(total(&tree, 7), None);
        assert!(!tree.merge({
            let mut other = Tree::default();
            assert!(other.add(6, vec![1.0]));
            other
        }));
        assert!(!in_order(3).total(3, &mut [0.0; 2]));
        assert_eq!(total(&Tree::default(), 0), Some(vec![0; 3]));
    }
}
