//! How fast noise is drawn, against the source that feeds it and against `rand_distr`.
//!
//! `cargo bench -p reticent-noise --bench noise` prints one table. Every figure is the best of many
//! short runs on one thread, so that a busy machine disturbs it little; ratios come from the same
//! run.

#![allow(clippy::too_many_lines, reason = "one row after the other")]
#![allow(clippy::print_stdout, reason = "printing the table is what this program is for")]

use std::cell::RefCell;
use std::convert::Infallible;
use std::hint::black_box;
use std::time::{Duration, Instant};

use rand_core::{Rng, SeedableRng as _, TryRng};
use rand_distr::{Distribution as _, StandardNormal};
use reticent_noise::fast::FastGaussian;
use reticent_noise::integer::{DiscreteGaussian, DiscreteLaplace};
use reticent_noise::lattice::{GaussianLattice, GeneralizedGaussianLattice, L2LaplaceLattice};
use reticent_noise::{Purpose, Source, Stream, batch, fast};

/// Numbers per run.
const BATCH: usize = 1 << 15;
/// Time given to each row.
const PATIENCE: Duration = Duration::from_millis(1500);

/// Million units a second, best run.
fn rate(units: usize, mut run: impl FnMut()) -> f64 {
    let [rate] = race(units, [&mut run]);
    rate
}

/// The same for several that are to be compared, in turn: a machine that slows down slows all of
/// them down.
fn race<const N: usize>(units: usize, mut runs: [&mut dyn FnMut(); N]) -> [f64; N] {
    let mut best = [f64::MAX; N];
    for run in &mut runs {
        run();
    }
    let start = Instant::now();
    while start.elapsed() < PATIENCE * N as u32 {
        for (run, best) in runs.iter_mut().zip(&mut best) {
            let t = Instant::now();
            run();
            *best = best.min(t.elapsed().as_secs_f64());
        }
    }
    best.map(|best| units as f64 / best / 1e6)
}

fn stream() -> Stream {
    Source::seeded_not_private(1).stream(Purpose::Noise)
}

/// The words that feed the fast Gaussian, by way of a buffer in the nearest cache.
struct Buffered {
    stream: Stream,
    words: [u64; 1024],
    used: usize,
}

impl TryRng for Buffered {
    type Error = Infallible;

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        if self.used == self.words.len() {
            fast::fill_words(&mut self.words, &mut self.stream);
            self.used = 0;
        }
        let word = self.words[self.used];
        self.used += 1;
        Ok(word)
    }

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.next_u64() as u32)
    }

    fn try_fill_bytes(&mut self, dst: &mut [u8]) -> Result<(), Infallible> {
        for bytes in dst.chunks_mut(8) {
            bytes.copy_from_slice(&self.next_u64().to_le_bytes()[..bytes.len()]);
        }
        Ok(())
    }
}

/// `rand_distr`'s normal numbers.
fn ziggurats(out: &RefCell<Vec<f64>>, rng: &mut impl Rng) {
    for x in black_box(&mut *out.borrow_mut()) {
        *x = StandardNormal.sample(rng);
    }
}

fn main() {
    let mut out = vec![0.0_f64; BATCH];
    let mut bytes = vec![0_u8; 8 * BATCH];
    let mut raw = vec![0_u64; BATCH];
    let mut normals = vec![0.0_f64; BATCH];
    let room = RefCell::new(vec![0.0_f64; BATCH]);
    let (mut in_bulk, mut side_by_side, mut single, mut fast_lane) =
        (stream(), stream(), stream(), stream());
    let mut same = stream();
    let mut theirs = rand_chacha::ChaCha20Rng::from_seed([1; 32]);
    let mut buffered = Buffered { stream: stream(), words: [0; 1024], used: 1024 };
    let [source, digits, words, ours, ziggurat, ziggurat_rand_chacha, ziggurat_buffered] = race(
        BATCH,
        [
            &mut || in_bulk.fill_bytes(black_box(&mut bytes)),
            &mut || fast::fill_words(black_box(&mut raw), &mut side_by_side),
            &mut || {
                black_box((0..BATCH).fold(0, |sum, _| sum ^ single.next_u64()));
            },
            &mut || fast::fill_standard_gaussian(black_box(&mut normals), &mut fast_lane),
            &mut || ziggurats(&room, &mut same),
            &mut || ziggurats(&room, &mut theirs),
            &mut || ziggurats(&room, &mut buffered),
        ],
    );
    let gaussian = DiscreteGaussian::new((1 << 30) + 12345).expect("in range");
    let mut s = stream();
    let lattice = rate(BATCH / 16, || {
        for _ in 0..BATCH / 16 {
            black_box(gaussian.sample(&mut s));
        }
    });
    let laplace = DiscreteLaplace::new((1 << 30) + 12345).expect("in range");
    let mut s = stream();
    let lattice_laplace = rate(BATCH / 16, || {
        for _ in 0..BATCH / 16 {
            black_box(laplace.sample(&mut s));
        }
    });

    let values = vec![0.5; BATCH];
    let mechanism = FastGaussian::new(1.0, 2.0, BATCH).expect("in range");
    let mut s = stream();
    let release = rate(BATCH, || {
        out.copy_from_slice(&values);
        mechanism.release_in_place(black_box(&mut out), &mut s);
    });
    let one_shot = GaussianLattice::new(1.0, 2.0, BATCH).expect("in range");
    let mut s = stream();
    let lattice_release = rate(BATCH, || drop(black_box(one_shot.release(&values, &mut s))));
    let ball = L2LaplaceLattice::new(1.0, 1.0, BATCH).expect("in range");
    let mut s = stream();
    let ball_release = rate(BATCH, || drop(black_box(ball.release(&values, &mut s))));
    let general = GeneralizedGaussianLattice::new(1.0, 2.0, 4.0, BATCH / 8).expect("in range");
    let mut s = stream();
    let general_release =
        rate(BATCH / 8, || drop(black_box(general.release(&values[..BATCH / 8], &mut s))));
    let mut s = stream();
    let rows = rate(BATCH, || {
        drop(black_box(batch::poisson_batch(BATCH * 1000, 0.001, &mut s)));
    });
    let mut s = stream();
    let order = rate(BATCH, || drop(black_box(batch::permutation(BATCH, &mut s))));
    let sizes = batch::Binomial::new(1_000_000_000, 0.001).expect("in range");
    let mut s = stream();
    let counts = rate(1000, || {
        for _ in 0..1000 {
            black_box(sizes.sample(&mut s));
        }
    });

    println!("| what | million a second |");
    println!("| --- | --- |");
    println!(
        "| source, 64-bit words in blocks side by side (feeds the fast Gaussian) | {digits:.1} |"
    );
    println!("| source, 64-bit words in bulk through `Stream` | {source:.1} |");
    println!("| source, one 64-bit word at a time | {words:.1} |");
    println!("| fast Gaussian, f64 | {ours:.1} |");
    println!("| rand_distr StandardNormal on the same stream | {ziggurat:.1} |");
    println!("| rand_distr StandardNormal on rand_chacha | {ziggurat_rand_chacha:.1} |");
    println!(
        "| rand_distr StandardNormal on a buffer of blocks side by side | {ziggurat_buffered:.1} |"
    );
    println!("| exact discrete Gaussian | {lattice:.2} |");
    println!("| exact discrete Laplace | {lattice_laplace:.2} |");
    println!("| FastGaussian release, coordinates | {release:.1} |");
    println!("| GaussianLattice release, coordinates | {lattice_release:.2} |");
    println!("| L2LaplaceLattice release, coordinates of 32,768 | {ball_release:.2} |");
    println!(
        "| GeneralizedGaussianLattice (r = 4) release, coordinates of 4,096 | {general_release:.2} |"
    );
    println!("| Poisson batch, rows that join | {rows:.1} |");
    println!("| permutation, rows | {order:.1} |");
    println!("| binomial count of a billion trials | {counts:.2} |");
    println!();
    println!("| ratio | |");
    println!("| --- | --- |");
    println!("| fast Gaussian / the source that feeds it | {:.2} |", ours / digits);
    println!("| fast Gaussian / source in bulk through `Stream` | {:.2} |", ours / source);
    println!("| fast Gaussian / rand_distr on the same stream | {:.2} |", ours / ziggurat);
    println!("| fast Gaussian / rand_distr on rand_chacha | {:.2} |", ours / ziggurat_rand_chacha);
    println!(
        "| fast Gaussian / rand_distr on a buffer of blocks side by side | {:.2} |",
        ours / ziggurat_buffered
    );
}
