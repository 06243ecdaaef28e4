//! Every machine computes the same bits.

use super::outer::{Groups, Place};
use super::product::Packed;
use super::real::{BLOCK, Real, panels};
use super::tiles::{Line, Tiles};
use super::wide::{Plain, Wide};

/// Numbers of mixed size and sign.
fn number(i: usize, j: usize) -> f64 {
    let t = (i * 31 + j * 17 + 3) as f64;
    (t * 0.73).sin() * (1.0 + (t * 0.11).cos()).exp()
}

/// Blocks of rows, the last of which are zero.
fn blocks<T: Real>(columns: usize) -> Vec<Tiles<T>> {
    (0..3)
        .map(|b| {
            let mut x = Tiles::new(columns);
            for i in 0..BLOCK - b {
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
fn bits<T: Real>(wide: impl Wide, columns: usize, outputs: usize) -> Vec<u64> {
    let blocks = blocks::<T>(columns);
    let mut weights = Packed::<T>::default();
    let w = vectors(columns, outputs);
    weights.set(outputs, columns, |k| w[k * columns..][..columns].iter());
    let mut all = Vec::new();
    for x in &blocks {
        let mut margins = vec![T::ZERO; BLOCK * outputs];
        weights.product(wide, x, &mut margins);
        all.extend(margins.iter().map(|m| m.wide().to_bits()));
    }
    let groups = Groups::new(outputs);
    let residuals: Vec<(Vec<f64>, Vec<f32>)> = (0..blocks.len())
        .map(|b| {
            let (mut double, mut single) =
                (vec![0.0; groups.block_len()], vec![0.0; groups.block_len()]);
            for i in 0..BLOCK - b {
                let row: Vec<f64> = (0..outputs).map(|k| number(k, b * BLOCK + i)).collect();
                let short: Vec<f32> = row.iter().map(|r| *r as f32).collect();
                groups.spread(&row, i, &mut double);
                groups.spread(&short, i, &mut single);
            }
            (double, single)
        })
        .collect();
    let mut sums = vec![Line::<f64>::ZERO; groups.len(columns)];
    for (pair, sums) in sums.chunks_mut(groups.pair_len()).enumerate() {
        for (group, sums) in sums.chunks_mut(groups.group_len()).enumerate() {
            let place = Place { pair, group, panels: panels(columns) };
            if T::SINGLE {
                let parts = blocks.iter().zip(&residuals).map(|(x, s)| (x, &s.1[..]));
                groups.add_single(wide, &parts, place, sums);
            }
            let parts = blocks.iter().zip(&residuals).map(|(x, s)| (x, &s.0[..]));
            groups.add(wide, &parts, place, sums);
        }
    }
    all.extend(sums.iter().flat_map(|line| line.0).map(f64::to_bits));
    all
}

#[test]
#[cfg(target_arch = "x86_64")]
fn all_registers_give_the_same_bits() {
    let (v3, v4) = (pulp::x86::V3::try_new(), pulp::x86::V4::try_new());
    for columns in [1, 15, 16, 17, 40, 300] {
        for outputs in (1..=13).chain([16, 17, 23, 31, 33, 37, 48]) {
            let single = bits::<f32>(Plain, columns, outputs);
            let double = bits::<f64>(Plain, columns, outputs);
            if let Some(wide) = v3 {
                assert_eq!(bits::<f32>(wide, columns, outputs), single, "{columns} x {outputs}");
                assert_eq!(bits::<f64>(wide, columns, outputs), double, "{columns} x {outputs}");
            }
            if let Some(wide) = v4 {
                assert_eq!(bits::<f32>(wide, columns, outputs), single, "{columns} x {outputs}");
                assert_eq!(bits::<f64>(wide, columns, outputs), double, "{columns} x {outputs}");
            }
        }
    }
}

#[test]
fn sums_and_margins_are_what_they_should_be() {
    let (columns, outputs) = (40, 19);
    let blocks = blocks::<f64>(columns);
    let mut weights = Packed::<f64>::default();
    let w = vectors(columns, outputs);
    weights.set(outputs, columns, |k| w[k * columns..][..columns].iter());
    for (b, x) in blocks.iter().enumerate() {
        let mut margins = vec![0.0; BLOCK * outputs];
        weights.product(Plain, x, &mut margins);
        for i in 0..BLOCK - b {
            for k in 0..outputs {
                let want: f64 =
                    (0..columns).map(|j| number(b * BLOCK + i, j) * number(j, k + 5)).sum();
                assert!((margins[i * outputs + k] - want).abs() < 1e-11 * (1.0 + want.abs()));
            }
        }
    }
}
