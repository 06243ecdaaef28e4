//! Every machine computes the same bits.

use super::block::{Block, Factors, ModelSize};
use super::outer::{CHAIN, CHAINS, Groups, Place};
use super::product::Packed;
use super::real::{BLOCK, PANEL, Real};
use super::tiles::{PanelLine, Tiles};
use super::vectors::Vectors;
use super::wide::{Plain, Wide};
use super::{clip_rounding, single_batch};
use reticent_problem::{Loss, Problem, RowBounds};

/// Numbers of mixed size and sign.
fn number(i: usize, j: usize) -> f64 {
    let t = (i * 31 + j * 17 + 3) as f64;
    (t * 0.73).sin() * (1.0 + (t * 0.11).cos()).exp()
}

/// Rows of block `b`: fewer and fewer.
fn rows(b: usize) -> usize {
    BLOCK - 5 * b
}

/// Blocks of rows, the last of which are missing, or zero in `whole` blocks.
fn blocks<T: Real>(columns: usize, whole: bool) -> Vec<Tiles<T>> {
    (0..CHAINS + 2)
        .map(|b| {
            let mut x = Tiles::new(columns);
            if !whole {
                x.hold(rows(b));
            }
            for i in 0..rows(b) {
                let row: Vec<T> =
                    (0..columns).map(|j| T::narrow(number(b * BLOCK + i, j))).collect();
                x.pack(&row, i);
            }
            x
        })
        .collect()
}

/// Weight vectors, one after the other.
fn vectors(columns: usize, outputs: usize) -> Vec<f64> {
    (0..outputs * columns).map(|i| number(i % columns, i / columns + 5)).collect()
}

/// Margins, and both sums of residuals times rows, as bits.
fn bits<T: Real>(wide: impl Wide, columns: usize, outputs: usize, whole: bool) -> Vec<u64> {
    let blocks = blocks::<T>(columns, whole);
    let mut weights = Packed::<T>::default();
    let w = vectors(columns, outputs);
    weights.set(outputs, columns, Vectors::Rows(&w, columns));
    let mut all = Vec::new();
    for x in &blocks {
        let mut margins = vec![T::ZERO; BLOCK * outputs];
        weights.product(wide, x, &mut margins);
        all.extend(margins.iter().map(|m| m.wide().to_bits()));
    }
    let groups = Groups::new(outputs);
    let shape = ModelSize { features: columns, outputs, hidden: None };
    let with_residuals = |(b, x): (usize, Tiles<T>)| {
        let mut block = Block::new(shape, true);
        block.x = x;
        for i in 0..rows(b) {
            let row: Vec<f64> = (0..outputs).map(|k| number(k, b * BLOCK + i)).collect();
            groups.spread(&row, i, &mut block.on_x.double, |r| r);
            groups.spread(&row, i, &mut block.on_x.single, |r| r as f32);
        }
        block
    };
    let blocks: Vec<Block<T>> = blocks.into_iter().enumerate().map(with_residuals).collect();
    // The old content of fresh sums is ignored; panels that do not exist are never written.
    let old = if T::SINGLE { f64::NAN } else { 0.0 };
    let mut sums = vec![PanelLine([old; PANEL]); groups.len(columns)];
    for (pair, sums) in sums.chunks_mut(groups.pair_len()).enumerate() {
        for (group, sums) in sums.chunks_mut(groups.group_len()).enumerate() {
            let place = Place { pair, group, columns };
            if let Some(blocks) = T::single_blocks(&blocks) {
                groups.add_single(wide, blocks, Factors::Features, place, sums, true);
            }
            groups.add(wide, &blocks, Factors::Features, place, sums);
        }
    }
    let mut rows = vec![0.0; outputs * columns];
    for (g, rows) in rows.chunks_mut(groups.size() * columns).enumerate() {
        groups.unpack([&sums[..]].into_iter(), g, columns, rows);
    }
    assert!(rows.iter().all(|sum| sum.is_finite()));
    all.extend(rows.iter().map(|sum| sum.to_bits()));
    all
}

/// [`bits`] in single and in double precision, of blocks that are not full.
#[cfg(target_arch = "x86_64")]
fn both(wide: impl Wide, columns: usize, outputs: usize) -> [Vec<u64>; 2] {
    let single = bits::<f32>(wide, columns, outputs, false);
    [single, bits::<f64>(wide, columns, outputs, false)]
}

#[test]
#[cfg(target_arch = "x86_64")]
fn all_registers_give_the_same_bits() {
    let (v3, v4) = (pulp::x86::V3::try_new(), pulp::x86::V4::try_new());
    // The last have more panels than are taken across in one part, on every kind of register.
    let few: Vec<usize> = (1..=13).chain([16, 17, 23, 31, 33, 37, 48]).collect();
    let deep = [16, 23, 33, 40, 48].as_slice();
    for columns in [1, 15, 16, 17, 40, 300, 560, 1100] {
        for &outputs in if columns > 300 { deep } else { &few } {
            let plain = both(Plain, columns, outputs);
            if let Some(wide) = v3 {
                assert_eq!(both(wide, columns, outputs), plain, "{columns} x {outputs}");
            }
            if let Some(wide) = v4 {
                assert_eq!(both(wide, columns, outputs), plain, "{columns} x {outputs}");
            }
        }
    }
}

#[test]
fn rows_that_are_missing_are_rows_of_zeros() {
    for (columns, outputs) in [(1, 1), (17, 3), (40, 10), (40, 23), (300, 37)] {
        let single = |whole| bits::<f32>(Plain, columns, outputs, whole);
        assert_eq!(single(true), single(false), "{columns} x {outputs}");
        let double = |whole| bits::<f64>(Plain, columns, outputs, whole);
        assert_eq!(double(true), double(false), "{columns} x {outputs}");
    }
}

#[test]
fn weights_side_by_side_are_the_weights_one_after_the_other() {
    for columns in [1, 3, 16, 35, 300] {
        for outputs in [1, 5, 8, 15, 16, 17, 21, 40] {
            let w = vectors(columns, outputs);
            let turned: Vec<f64> =
                (0..w.len()).map(|i| w[i % outputs * columns + i / outputs]).collect();
            let x = &blocks::<f32>(columns, true)[0];
            let margins =
                [Vectors::Rows(&w, columns), Vectors::Columns(&turned, outputs)].map(|w| {
                    let mut weights = Packed::<f32>::default();
                    weights.set(outputs, columns, w);
                    let mut margins = vec![0.0; BLOCK * outputs];
                    weights.product(Plain, x, &mut margins);
                    margins
                });
            assert_eq!(margins[0], margins[1], "{columns} x {outputs}");
            for (k, margin) in margins[0][..outputs].iter().enumerate() {
                let want: f64 = (0..columns).map(|j| number(0, j) * number(j, k + 5)).sum();
                assert!((f64::from(*margin) - want).abs() < 1e-4 * (10.0 + want.abs()));
            }
        }
    }
}

#[test]
fn sums_and_margins_are_what_they_should_be() {
    let (columns, outputs) = (40, 19);
    let blocks = blocks::<f64>(columns, false);
    let mut weights = Packed::<f64>::default();
    let w = vectors(columns, outputs);
    weights.set(outputs, columns, Vectors::Rows(&w, columns));
    for (b, x) in blocks.iter().enumerate() {
        let mut margins = vec![0.0; BLOCK * outputs];
        weights.product(Plain, x, &mut margins);
        for i in 0..rows(b) {
            for k in 0..outputs {
                let want: f64 =
                    (0..columns).map(|j| number(b * BLOCK + i, j) * number(j, k + 5)).sum();
                assert!((margins[i * outputs + k] - want).abs() < 1e-11 * (1.0 + want.abs()));
            }
        }
    }
}

#[test]
fn what_is_charged_for_single_precision_covers_whole_and_partial_chains() {
    let mut worst = 0.0_f64;
    for chains in 1..=CHAINS {
        for last in 1..=CHAIN {
            // The rows that are in a partial sum when it is rounded, for every rounding.
            let mut rounded: Vec<usize> = Vec::new();
            for chain in 1..=chains {
                let rows = if chain == chains { last } else { CHAIN };
                rounded.extend(1..=rows);
                if chain > 1 {
                    rounded.push((chain - 1) * CHAIN + rows);
                }
            }
            let (errors, rows) = (rounded.iter().sum::<usize>(), (chains - 1) * CHAIN + last);
            worst = worst.max(errors as f64 / rows as f64);
        }
    }
    // Both neighbouring sums err, and the factor and the product of each residual.
    let bounds = RowBounds::features(1.0).expect("positive");
    let problem = Problem::new(Loss::Softmax { classes: 10 }, bounds, 60_000, 785);
    for expected in [1.0, 43.0, 500.0, 1024.0] {
        let rate = expected / 60_000.0;
        let most = single_batch(&problem, rate).expect("small enough");
        let unit = 0.5 * f64::from(f32::EPSILON);
        let needed = unit * (2.0 * worst * most + 4.0);
        let charged = clip_rounding(&problem, rate) - 1.0;
        assert!(charged >= needed, "{charged} {needed}");
        assert!(charged <= 1.01 * needed, "noise is wasted: {charged} {needed}");
    }
}
