//! Random features: norms, the kernel they stand for, and that blocks change nothing.

use reticent_data::feature_map::{FeatureMap, features_of, walsh_hadamard};
use reticent_data::{Csr, Dense, Features};
use reticent_problem::feature_map::{Construction, Form, Kernel, MapLaw};

const ISOTROPIC: [Kernel; 4] = [
    Kernel::Gaussian,
    Kernel::Matern { nu: 0.5 },
    Kernel::Matern { nu: 1.5 },
    Kernel::RationalQuadratic { shape: 1.5 },
];
const CONSTRUCTIONS: [Construction; 4] = [
    Construction::Independent,
    Construction::Orthogonal,
    Construction::Structured,
    Construction::Fastfood,
];

fn law(kernel: Kernel, construction: Construction, features: usize, seed: u64) -> MapLaw {
    MapLaw { kernel, bandwidth: 0.7, construction, form: Form::Paired, features, seed }
}

/// Every kernel with every construction it has.
fn laws(features: usize, seed: u64) -> Vec<MapLaw> {
    let mut list = Vec::new();
    for kernel in ISOTROPIC {
        list.extend(CONSTRUCTIONS.map(|c| law(kernel, c, features, seed)));
    }
    for kernel in [Kernel::Laplace, Kernel::Cauchy] {
        list.push(law(kernel, Construction::Independent, features, seed));
    }
    list
}

/// Unit vectors in eight dimensions, spread by a simple recurrence.
fn unit_rows(count: usize) -> Vec<Vec<f64>> {
    let mut state = 0.123_456_7_f64;
    (0..count)
        .map(|_| {
            let row: Vec<f64> = (0..8)
                .map(|_| {
                    state = (state * 997.0 + 0.317).fract();
                    state - 0.5
                })
                .collect();
            let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
            row.iter().map(|x| x / norm).collect()
        })
        .collect()
}

fn dense(rows: &[Vec<f64>]) -> Features {
    Features::F64(Dense::new(rows.len(), rows[0].len(), rows.concat()))
}

fn features(law: MapLaw, x: &Features) -> Vec<f64> {
    let map = FeatureMap::new(law, x.columns()).unwrap();
    let mut out = vec![9.0; x.rows() * law.features];
    map.write(x, 0..x.rows(), &mut out, &mut map.scratch());
    out.into_iter().map(f64::from).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[test]
fn every_row_has_the_stated_norm_whatever_it_holds() {
    let mut rows = unit_rows(3);
    rows.push(vec![0.0; 8]);
    rows.push(vec![1e6; 8]);
    rows.push(vec![-1e300; 8]);
    rows.push(vec![f64::NAN, f64::INFINITY, 1.0, 0.0, -1.0, f64::MAX, 5e-324, 1e-300]);
    let x = dense(&rows);
    for law in laws(64, 5) {
        for row in features(law, &x).chunks(64) {
            let norm = dot(row, row).sqrt();
            assert!((1.0 - 2e-6..=1.0).contains(&norm), "{law:?}: {norm}");
        }
        let cosine = MapLaw { form: Form::Cosine, ..law };
        for row in features(cosine, &x).chunks(64) {
            assert!(dot(row, row).sqrt() <= std::f64::consts::SQRT_2, "{cosine:?}");
            assert!(row.iter().all(|x| x.abs() <= 32_f64.sqrt().recip()), "{cosine:?}");
        }
    }
}

#[test]
fn any_number_of_inputs_and_features_is_filled() {
    for inputs in [0, 1, 2, 3, 5, 8, 70, 300] {
        let rows: Vec<Vec<f64>> = (0..50)
            .map(|i| (0..inputs).map(|j| f64::from(i * 7 + j * 3).sin()).collect())
            .collect();
        let x = Features::F64(Dense::new(50, inputs as usize, rows.concat()));
        for m in [2, 14, 16, 34, 200] {
            for base in laws(m, 9) {
                for form in [Form::Paired, Form::Cosine] {
                    let law = MapLaw { form, ..base };
                    let out = features(law, &x);
                    let most = (2.0 / m as f64).sqrt();
                    assert!(out.iter().all(|v| v.abs() <= most), "{law:?} on {inputs} inputs");
                    // A row alone gives what it gives among others, bit for bit.
                    let last = Features::F64(Dense::new(1, inputs as usize, rows[49].clone()));
                    assert_eq!(features(law, &last), out[49 * m..], "{law:?} on {inputs} inputs");
                }
            }
        }
    }
}

/// Root mean square error of the kernel over all pairs of rows, for one draw of the frequencies.
fn kernel_error(law: MapLaw, rows: &[Vec<f64>]) -> f64 {
    let out = features(law, &dense(rows));
    let mut total = 0.0;
    let mut pairs = 0.0;
    for (i, x) in rows.iter().enumerate() {
        for (j, y) in rows.iter().enumerate().take(i) {
            let m = law.features;
            let got = dot(&out[i * m..][..m], &out[j * m..][..m]);
            total += (got - law.kernel.value(x, y, law.bandwidth).unwrap()).powi(2);
            pairs += 1.0;
        }
    }
    (total / pairs).sqrt()
}

#[test]
fn the_kernel_is_approximated_as_well_as_each_construction_can() {
    let rows = unit_rows(12);
    let mean = |law: MapLaw| {
        (0..20).map(|seed| kernel_error(MapLaw { seed, ..law }, &rows)).sum::<f64>() / 20.0
    };
    // 256 frequencies; the limits are those of the specification.
    let of = |construction| mean(law(Kernel::Gaussian, construction, 512, 0));
    let independent = of(Construction::Independent);
    assert!(independent < 0.06, "{independent}");
    assert!(of(Construction::Orthogonal) <= independent);
    assert!(of(Construction::Structured) < 0.06);
    assert!(of(Construction::Fastfood) < 0.07);
    for kernel in [Kernel::Laplace, Kernel::Cauchy, Kernel::Matern { nu: 1.5 }] {
        assert!(mean(law(kernel, Construction::Independent, 512, 0)) < 0.06, "{kernel:?}");
    }
    let cosine =
        MapLaw { form: Form::Cosine, ..law(Kernel::Gaussian, Construction::Independent, 512, 0) };
    assert!(mean(cosine) < 0.08);
}

#[test]
fn the_error_falls_like_one_over_the_root_of_the_number_of_features() {
    let rows = unit_rows(12);
    let mean = |features: usize| {
        let law = law(Kernel::Gaussian, Construction::Independent, features, 0);
        (0..40).map(|seed| kernel_error(MapLaw { seed, ..law }, &rows)).sum::<f64>() / 40.0
    };
    let (few, many) = (mean(128), mean(2048));
    let ratio = few / many;
    assert!((3.4..4.7).contains(&ratio), "sixteen times the features, error {ratio} times smaller");
}

#[test]
fn no_construction_is_biased() {
    let rows = unit_rows(6);
    for base in laws(512, 0) {
        let m = base.features;
        let mut sums = vec![0.0; 36];
        for seed in 0..200 {
            let out = features(MapLaw { seed, ..base }, &dense(&rows));
            for i in 0..6 {
                for j in 0..6 {
                    sums[6 * i + j] += dot(&out[i * m..][..m], &out[j * m..][..m]) / 200.0;
                }
            }
        }
        let limit = if base.construction == Construction::Structured { 0.05 } else { 0.02 };
        for i in 0..6 {
            for j in 0..6 {
                let want = base.kernel.value(&rows[i], &rows[j], base.bandwidth).unwrap();
                assert!((sums[6 * i + j] - want).abs() < limit, "{base:?} {i} {j}");
            }
        }
    }
}

#[test]
fn blocks_threads_and_layouts_change_nothing() {
    let rows = unit_rows(77);
    let x = dense(&rows);
    let (offsets, indices) =
        ((0..=77).map(|i| 8 * i).collect(), (0..77 * 8).map(|i| i % 8).collect());
    let sparse = Features::Sparse(Csr::new(8, offsets, indices, rows.concat()));
    for law in laws(48, 3) {
        let whole = features(law, &x);
        assert_eq!(whole, features(law, &sparse), "{law:?}");
        let map = FeatureMap::new(law, 8).unwrap();
        let wide = |out: Vec<f32>| -> Vec<f64> { out.into_iter().map(f64::from).collect() };
        for block in [1, 7, 64] {
            let mut out = vec![0.0; whole.len()];
            for (i, out) in out.chunks_mut(block * 48).enumerate() {
                let first = i * block;
                map.write(&x, first..first + out.len() / 48, out, &mut map.scratch());
            }
            assert_eq!(whole, wide(out), "{law:?} in blocks of {block}");
        }
        let mut out = vec![0.0; whole.len()];
        map.write_parallel(&x, 0..77, &mut out);
        assert_eq!(whole, wide(out));
    }
}

#[test]
fn the_transform_is_its_own_inverse_and_sylvesters() {
    for size in [1, 2, 4, 8, 16, 64, 1024] {
        let x: Vec<f64> = (0..size).map(|i| f64::from(i) * 0.37 - 2.0).collect();
        let twice = walsh_hadamard(&walsh_hadamard(&x));
        assert!(x.iter().zip(&twice).all(|(a, b)| (a - b).abs() < 1e-9));
        // Entry (i, j) is the parity of i & j.
        let slow: Vec<f64> = (0..size)
            .map(|i: i32| {
                let sign = |j: usize| {
                    if (i as usize & j).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 }
                };
                x.iter().enumerate().map(|(j, v)| sign(j) * v).sum::<f64>() / f64::from(size).sqrt()
            })
            .collect();
        assert!(walsh_hadamard(&x).iter().zip(&slow).all(|(a, b)| (a - b).abs() < 1e-9));
    }
}

#[test]
fn a_map_is_the_same_for_ever() {
    let x = dense(&unit_rows(1));
    let out = features(law(Kernel::Gaussian, Construction::Structured, 4, 42), &x);
    let stored = [
        0.321_427_214_216_657_5,
        0.629_828_981_518_728_7,
        -0.145_576_836_131_958_88,
        -0.691_959_091_841_279_9,
    ];
    assert!(out.iter().zip(stored).all(|(a, b)| (a - b).abs() < 2e-6), "{out:?}");
}

#[test]
fn bad_laws_are_refused_by_name() {
    let ok = law(Kernel::Gaussian, Construction::Independent, 64, 0);
    let refuse = |law: MapLaw| law.check().unwrap_err().to_string();
    assert!(refuse(MapLaw { bandwidth: 0.0, ..ok }).contains("`bandwidth`"));
    assert!(refuse(MapLaw { features: 63, ..ok }).contains("even"));
    assert!(refuse(MapLaw { features: 0, ..ok }).contains("`features`"));
    assert!(refuse(MapLaw { kernel: Kernel::Matern { nu: -1.0 }, ..ok }).contains("`nu`"));
    let laplace = MapLaw { kernel: Kernel::Laplace, construction: Construction::Structured, ..ok };
    assert!(refuse(laplace).contains("isotropic"));
}

#[test]
fn a_map_that_is_written_out_gives_the_same_features() {
    let rows = unit_rows(5);
    for base in laws(34, 3) {
        for form in [Form::Paired, Form::Cosine] {
            let law = MapLaw { form, ..base };
            let map = FeatureMap::new(law, 8).unwrap();
            let phases: Vec<f64> = map.phases().iter().copied().map(f64::from).collect();
            let phases = (form == Form::Cosine).then_some(&phases[..]);
            let ours = features(law, &dense(&rows));
            for (row, ours) in rows.iter().zip(ours.chunks(34)) {
                let open = features_of(row, &map.frequencies(), phases);
                let most = 1e-5 * (1.0 + row.len() as f64);
                assert!(ours.iter().zip(&open).all(|(a, b)| (a - b).abs() < most), "{law:?}");
            }
            assert!((f64::from(map.scale()) - (2.0_f64 / 34.0).sqrt()).abs() < 1e-6);
        }
    }
}
