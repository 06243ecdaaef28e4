//! How fast noise is drawn, against the source that feeds it and against `rand_distr`.
//!
//! `cargo bench -p reticent-noise --bench noise` prints one table. Every figure is the best of many
//! short runs on one thread, so that a busy machine disturbs it little; ratios come from the same run.

#![allow(clippy::too_many_lines, reason = "one row after the other")]
#![allow(clippy::print_stdout, reason = "printing the table is what this program is for")]

use std::cell::RefCell;
use std::convert::Infallible;
use std::hint::black_box;
use std::time::{Duration, Instant};

use chacha20::cipher::{Block, KeyIvInit as _, StreamCipherCore as _};
use chacha20::{ChaCha20LegacyCore, ChaCha20Rng};
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

/// The same for several that are to be compared, in turn: a machine that slows down slows all of them down.
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

/// Where the words of a block stand in a group (`fast/words.rs`).
const ORDER: [usize; 8] = [0, 1, 4, 5, 2, 3, 6, 7];

/// Puts eight blocks where their words stand.
#[inline(always)]
fn place<'a>(blocks: impl Iterator<Item = &'a [u8]>, half: &mut [u64; 64]) {
    for (block, place) in blocks.zip(ORDER) {
        for (j, word) in block.as_chunks::<8>().0.iter().enumerate() {
            half[8 * j + place] = u64::from_le_bytes(*word);
        }
    }
}

/// The words of groups from the crate's cipher: sixteen blocks at a time, by its widest backend.
struct Cipher<'a>(&'a mut ChaCha20LegacyCore, &'a mut [u64]);

impl pulp::NullaryFnOnce for Cipher<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let mut blocks = [Block::<ChaCha20LegacyCore>::default(); 16];
        for group in self.1.as_chunks_mut::<128>().0 {
            self.0.write_keystream_blocks(&mut blocks);
            for (half, blocks) in group.as_chunks_mut().0.iter_mut().zip(blocks.as_chunks::<8>().0)
            {
                place(blocks.iter().map(AsRef::as_ref), half);
            }
        }
    }
}

/// The same from the crate's generator, which has no AVX-512.
fn from_generator(rng: &mut ChaCha20Rng, out: &mut [u64]) {
    let mut bytes = [0; 512];
    for half in out.as_chunks_mut::<64>().0 {
        rng.fill_bytes(&mut bytes);
        place(bytes.chunks_exact(64), half);
    }
}

/// Steps of `bench/dpsgd` on one thread: numbers of noise, and milliseconds.
const STEPS: [(&str, f64, f64); 3] = [
    ("784 features, 10 classes", 7_850.0, 0.467),
    ("512 features, 257 classes", 131_841.0, 4.000),
    ("784 features, 128 tanh units, 10 classes", 101_770.0, 3.699),
];

/// Own words against the crate's, and what an epoch of DP-SGD would lose by the latter: the difference in a step's noise, over
/// the step.
fn keystreams() {
    let key = [7; 32];
    let mut stream = stream();
    let mut generator = ChaCha20Rng::from_seed(key);
    let mut cipher = ChaCha20LegacyCore::new(&key.into(), &[0; 8].into());
    let mut room = [vec![0_u64; BATCH], vec![0_u64; BATCH], vec![0_u64; BATCH]];
    let [first, second, third] = &mut room;
    let [own, by_generator, by_cipher] = race(
        BATCH,
        [
            &mut || fast::fill_words(black_box(first), &mut stream),
            &mut || from_generator(&mut generator, black_box(second)),
            &mut || pulp::Arch::new().dispatch(Cipher(&mut cipher, black_box(third))),
        ],
    );
    println!("| words in the order of the fast Gaussian | million a second |");
    println!("| --- | --- |");
    println!("| own blocks side by side | {own:.1} |");
    println!("| generator of the chacha20 crate | {by_generator:.1} |");
    println!("| cipher of the chacha20 crate | {by_cipher:.1} |");
    println!();
    println!("| an epoch loses | by the generator | by the cipher |");
    println!("| --- | --- | --- |");
    for (name, numbers, milliseconds) in STEPS {
        let loss = |rate: f64| numbers * (1.0 / rate - 1.0 / own) * 1e-3 / milliseconds * 100.0;
        println!("| {name} | {:.1} % | {:.1} % |", loss(by_generator), loss(by_cipher));
    }
    println!();
}

/// `rand_distr`'s normal numbers.
fn ziggurats(out: &RefCell<Vec<f64>>, rng: &mut impl Rng) {
    for x in black_box(&mut *out.borrow_mut()) {
        *x = StandardNormal.sample(rng);
    }
}

fn main() {
    keystreams();
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
