//! The fast Gaussian against exact digits; statistics are in `tests/it/fast_gaussian.rs`.

use rand_core::Rng as _;

use super::kernel::Plain;
use super::*;
use crate::{Purpose, Source};

fn stream(seed: u64) -> Stream {
    Source::seeded_not_private(seed).stream(Purpose::Noise)
}

/// Groups whose radius words visit both ends of the range and every power of two.
fn groups(seed: u64, count: usize) -> Vec<[u64; GROUP]> {
    let mut rng = stream(seed);
    (0..count)
        .map(|_| {
            let mut words = core::array::from_fn(|_| rng.next_u64());
            for (i, word) in words[..PAIRS / 2].iter_mut().enumerate() {
                *word >>= i % 17;
                if i % 2 == 1 {
                    *word = !(*word >> 7);
                }
            }
            words
        })
        .collect()
}

fn kernel_error(arithmetic: impl Arithmetic) -> f64 {
    let key = [9; 32];
    let mut worst: f64 = 0.0;
    for words in groups(3, 40) {
        let mut out = [0.0; GROUP];
        kernel::group::<_, false>(arithmetic, &words, 1.0, 1.0, &mut Between::new(), &mut out);
        for i in 0..PAIRS {
            if !(kernel::LEAST..=kernel::LARGEST).contains(&words[i]) {
                continue;
            }
            let u = Uniform::fast(words[i], i as u64);
            let w = Uniform::fast(words[PAIRS + i], (PAIRS + i) as u64);
            let (a, b) = settle(|further| exact(&key, &u, &w, further));
            let distance = |ball: &Ball, near: f64| {
                let near = Ball::float(near, 256);
                ball.rescale(256).sub(&near).to_f64().0.abs()
            };
            let radius = out[i].hypot(out[PAIRS + i]);
            let bound = kernel::ERROR_PER_RADIUS * radius + kernel::ERROR_FIXED;
            worst = worst.max(distance(&a, out[i]) / bound);
            worst = worst.max(distance(&b, out[PAIRS + i]) / bound);
        }
    }
    worst
}

#[test]
fn the_kernel_errs_by_less_than_its_bound() {
    let mut all = vec![kernel_error(Plain::<false>), kernel_error(Plain::<true>)];
    #[cfg(target_arch = "x86_64")]
    all.extend(pulp::x86::V4::try_new().map(kernel_error));
    for worst in all {
        assert!(worst <= 1.0, "error {worst} times the bound");
        assert!(worst > 0.1, "the bound is idle: {worst}");
    }
}

#[test]
fn every_number_is_the_ideal_one_rounded() {
    let key = [5; 32];
    let (first, scale, step) = (3, 0.7, 2_f64.powi(-28));
    let mut out = vec![0.0; 40 * GROUP];
    fill(&key, first * GROUP as u64, scale, step, &mut out);
    let mut source = Words::new(&key, first);
    for (g, group) in (first..).zip(out.as_chunks::<GROUP>().0) {
        let mut words = [0; GROUP];
        source.next(&mut words);
        for i in 0..PAIRS {
            let index = g * GROUP as u64 + i as u64;
            let u = Uniform::fast(words[i], index);
            let w = Uniform::fast(words[PAIRS + i], index + PAIRS as u64);
            let (a, b) = exact_cells(&key, &u, &w, scale / step);
            assert_eq!((group[i], group[PAIRS + i]), (a as f64 * step, b as f64 * step));
        }
    }
}

#[test]
fn a_machine_without_vectors_gives_the_same_numbers() {
    let key = [6; 32];
    // A grid fine enough that many roundings are open and settled.
    let step = 2_f64.powi(-36);
    let (mut here, mut there) = (vec![0.0; 1 << 18], vec![0.0; 1 << 18]);
    fill(&key, 5, 1.0, step, &mut here);
    Fill { key: &key, start: 5, scale: 1.0, step, out: &mut there }
        .run(Plain::<false>, Words::new(&key, 0));
    assert_eq!(here, there);
    there.fill(0.0);
    Fill { key: &key, start: 5, scale: 1.0, step, out: &mut there }
        .run(Plain::<true>, Words::new(&key, 0));
    assert_eq!(here, there);
}

#[test]
fn open_roundings_and_words_at_the_ends_are_settled_exactly() {
    // Every pair of a group with impossible luck: radius words at and beyond both ends.
    let key = [7; 32];
    let mut words = groups(8, 1)[0];
    for (i, word) in words[..PAIRS].iter_mut().enumerate() {
        *word = if i % 2 == 0 { (1 << (i % 48)) - 1 } else { !((1 << (i % 39)) - 1) };
    }
    let mut out = [0.0; GROUP];
    let step = 1.0 / CELLS;
    let plain = Plain::<false>;
    assert!(!kernel::group::<_, true>(plain, &words, 1.0, step, &mut Between::new(), &mut out));
    settle_group(&key, 0, &words, 1.0, step, &mut out);
    for i in 0..PAIRS {
        let u = Uniform::fast(words[i], i as u64);
        let w = Uniform::fast(words[PAIRS + i], (PAIRS + i) as u64);
        let (a, b) = exact_cells(&key, &u, &w, CELLS);
        assert_eq!((out[i], out[PAIRS + i]), (a as f64 * step, b as f64 * step));
        let radius = out[i].hypot(out[PAIRS + i]);
        if words[i] == 0 {
            // 64 zero digits: the radius must lie beyond √(128 ln 2) = 9.419 and go on.
            assert!(radius > 9.419, "{radius}");
        } else if i % 2 == 0 {
            let wanted = (-2.0 * ((words[i] as f64 + 0.5).ln() - 64.0 * 2_f64.ln())).sqrt();
            let room = 0.3 / words[i] as f64 + 1e-8;
            assert!((radius - wanted).abs() < room, "{radius} {wanted}");
        }
    }
}

fn one_word_at_an_end_makes_doubt(arithmetic: impl Arithmetic) {
    for end in [0, kernel::LEAST - 1, kernel::LARGEST + 1, u64::MAX] {
        for place in 0..PAIRS {
            let mut words = [1 << 63; GROUP];
            words[..PAIRS].fill(0x9e37_79b9_7f4a_7c15);
            let mut out = [0.0; GROUP];
            let mut sure = |words: &_| {
                let step = 1.0 / CELLS;
                let between = &mut Between::new();
                kernel::group::<_, true>(arithmetic, words, 1.0, step, between, &mut out)
            };
            assert!(sure(&words));
            words[place] = end;
            assert!(!sure(&words));
        }
    }
}

#[test]
fn one_word_at_an_end_is_enough_for_doubt() {
    one_word_at_an_end_makes_doubt(Plain::<false>);
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V4::try_new() {
        one_word_at_an_end_makes_doubt(simd);
    }
}

#[test]
fn beyond_eight_deviations_the_law_is_still_normal() {
    // Importance sampling: force the first 46 digits of u to 0, an event of odds 2^-46 that puts R
    // beyond √(2·46·ln 2) = 7.986. Then R²/2 - 46 ln 2 is a standard exponential number, and the
    // share of |Z| > 8.2, times 2^-46, estimates P(|Z| > 8.2) = erfc(8.2/√2).
    let key = [4; 32];
    let mut rng = stream(10);
    let pairs = 8000;
    let (mut surplus, mut beyond) = (Vec::new(), 0);
    for i in 0..pairs {
        let u = Uniform::fast(rng.next_u64() >> 46, 2 * i);
        let w = Uniform::fast(rng.next_u64(), 2 * i + 1);
        let (a, b) = exact_cells(&key, &u, &w, CELLS);
        let (a, b) = (a as f64 / CELLS, b as f64 / CELLS);
        surplus.push(f64::midpoint(a * a, b * b) - 46.0 * core::f64::consts::LN_2);
        beyond += u32::from(a.abs() > 8.2) + u32::from(b.abs() > 8.2);
    }
    surplus.sort_by(f64::total_cmp);
    let n = pairs as f64;
    let distance = surplus.iter().enumerate().fold(0.0_f64, |worst, (i, x)| {
        let cdf = -(-x).exp_m1();
        worst.max((cdf - i as f64 / n).abs()).max((cdf - (i + 1) as f64 / n).abs())
    });
    assert!(distance < (2e9_f64.ln() / (2.0 * n)).sqrt(), "{distance}"); // false alarm 1e-9
    let wanted = libm::erfc(8.2 / core::f64::consts::SQRT_2) * 2_f64.powi(46) * 2.0 * n;
    let off = (f64::from(beyond) - wanted) / wanted.sqrt();
    // Six deviations of a Poisson count: false alarm 2e-9 by the normal approximation.
    assert!(wanted > 200.0 && off.abs() < 6.0, "{beyond} beyond, {wanted} expected");
}

#[test]
fn words_and_numbers_share_no_digits() {
    let mut s = stream(12);
    let (mut before, mut after) = ([0.0; 70], [0.0; 70]);
    fill_standard_gaussian(&mut before, &mut s);
    let mut words = [0; 300];
    fill_words(&mut words, &mut s);
    fill_standard_gaussian(&mut after, &mut s);
    // The words are groups 1 to 3 of the lane, the numbers come from groups 0 and 4.
    let key = *stream(12).key().clone();
    let mut source = Words::new(&key, 1);
    let mut group = [0; GROUP];
    source.next(&mut group);
    assert_eq!(words[..GROUP], group);
    let mut wanted = [0.0; 70];
    fill(&key, 4 * GROUP as u64, 1.0, 1.0 / CELLS, &mut wanted);
    assert_eq!(after, wanted);
    fill(&key, 0, 1.0, 1.0 / CELLS, &mut wanted);
    assert_eq!(before, wanted);
}

#[test]
fn threads_and_chunks_do_not_change_a_number() {
    let mut whole = vec![0.0; 5000];
    fill_standard_gaussian(&mut [0.0; 13], &mut stream(1));
    let mut s = stream(1);
    fill_standard_gaussian(&mut [0.0; 13], &mut s);
    fill_standard_gaussian(&mut whole, &mut s);

    let mut s = stream(1);
    fill_standard_gaussian(&mut [0.0; 13], &mut s);
    let reserved = Reserved::new(5000, &mut s);
    let mut parts = vec![0.0; 5000];
    std::thread::scope(|scope| {
        let mut rest = parts.as_mut_slice();
        let mut offset = 0;
        for size in [1, 700, 127, 128, 129, 2000, 1915] {
            let (part, tail) = rest.split_at_mut(size);
            rest = tail;
            let reserved = &reserved;
            scope.spawn(move || reserved.fill(offset, part).unwrap());
            offset += size;
        }
    });
    assert_eq!(whole, parts);
    assert!(reserved.fill(4999, &mut [0.0; 2]).is_err());
}

#[test]
fn a_release_does_not_depend_on_its_cutting_and_lies_on_the_grid() {
    let mechanism = FastGaussian::new(0.3, 1.7, 999).unwrap();
    let values: Vec<f64> = (0..999).map(|i| (f64::from(i) * 0.37).sin() * 1e3).collect();
    let mut whole = values.clone();
    mechanism.release_in_place(&mut whole, &mut stream(4));
    let mut parts = values;
    let reserved = Reserved::new(999, &mut stream(4));
    let mut offset = 0;
    for chunk in parts.chunks_mut(100) {
        mechanism.release_chunk(offset, chunk, &reserved);
        offset += 100;
    }
    assert_eq!(whole, parts);
    assert!(whole.iter().all(|v| (v / mechanism.grid()).fract() == 0.0));
    assert!(mechanism.sigma() >= 1.7 * (0.3 + mechanism.grid() * 999_f64.sqrt()));
    assert!(mechanism.sigma() < 1.7 * 0.3 * 1.0001);
}

#[test]
fn what_lies_beyond_the_noise_set_aside_becomes_zero() {
    let mechanism = FastGaussian::new(1.0, 1.0, 300).unwrap();
    let mut whole = [0.5; 300];
    mechanism.release_in_place(&mut whole, &mut stream(4));
    let reserved = Reserved::new(300, &mut stream(4));
    for offset in [0, 17, 128, 299, 300, 1000] {
        let mut values = [0.5; 400];
        mechanism.release_chunk(offset, &mut values, &reserved);
        let within = 300_usize.saturating_sub(offset);
        assert_eq!(values[..within], whole[300 - within..]);
        assert_eq!(values[within..], [0.0; 400][within..]);
    }
}

#[test]
fn values_that_are_not_numbers_become_noise_and_nothing_else() {
    let mechanism = FastGaussian::new(1.0, 1.0, 4).unwrap();
    let mut odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX];
    mechanism.release_in_place(&mut odd, &mut stream(4));
    let mut zeros = [0.0; 4];
    mechanism.release_in_place(&mut zeros, &mut stream(4));
    assert_eq!(odd[..3], zeros[..3]);
    assert!(odd[3].is_finite());
}

#[test]
fn values_of_any_size_are_rounded_alike_before_noise_is_added() {
    let grid = 2_f64.powi(-30);
    let usual = [0.0, -0.0, 0.3, -1e-9, 5.5 * grid, -6.5 * grid, 1e5, -2_f64.powi(20)];
    // At 2^51 cells and beyond, and no numbers at all.
    let odd =
        [2_f64.powi(21), -2_f64.powi(22) + 0.5 * grid, 1e30, -f64::MAX, f64::INFINITY, f64::NAN];
    for len in [1, 3, 7, 8, 15, 64] {
        for odd_at in [None, Some(0), Some(len / 2), Some(len - 1)] {
            for odd in odd {
                let mut values: Vec<f64> = usual.iter().copied().cycle().take(len).collect();
                if let Some(at) = odd_at {
                    values[at] = odd;
                }
                let noise: Vec<f64> = (0..len).map(|i| (i as f64 - 3.0) * 7.0 * grid).collect();
                let want: Vec<f64> =
                    values.iter().zip(&noise).map(|(v, n)| to_cells(*v, grid) * grid + n).collect();
                round_and_add(&mut values, &noise, grid, ());
                assert_eq!(values, want);
            }
        }
    }
}

/// Keeps what it sees.
struct Seen<'a>(&'a mut Vec<f64>);

impl Follow for Seen<'_> {
    type Output = f64;

    fn chunk(&mut self, noisy: &[f64; 16], lanes: &mut [f64; 16]) {
        self.0.extend_from_slice(noisy);
        lanes[0] += 1.0;
    }

    fn rest(self, noisy: &[f64], lanes: [f64; 16]) -> f64 {
        self.0.extend_from_slice(noisy);
        lanes.iter().sum()
    }
}

#[test]
fn noise_drawn_ahead_is_the_same_for_vectors_of_any_length_and_what_follows_sees_it() {
    let law = FastGaussian::new(1.0, 2.0, 50).unwrap();
    let mut ahead = Ahead::new(law, stream(5));
    let mut direct = stream(5);
    for len in (0..400).map(|i| [50_usize, 1, 4096, 0, 333, 16, 4000, 9000, 2049][i % 9]) {
        let values: Vec<f64> = (0..len).map(|i| (i as f64).sin()).collect();
        let (mut a, mut b) = (values.clone(), values);
        law.release_in_place(&mut b, &mut direct);
        if len > 4096 {
            ahead.release_in_place(&mut a);
        } else {
            let mut seen = Vec::new();
            assert_eq!(ahead.release_to(&mut a, Seen(&mut seen)), (len / 16) as f64);
            assert_eq!(seen, a);
        }
        assert_eq!(a, b, "{len}");
    }
}
