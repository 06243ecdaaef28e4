//! One step against a gradient that has been paid for.

use rayon::prelude::*;
use reticent_data::threads::shared;
use reticent_noise::fast::{AHEAD, Follow};

/// Weights that a thread moves at a time, and coordinates that it makes noisy. The result is the
/// same for any number of threads.
pub(crate) const CHUNK: usize = AHEAD;

/// `w = keep·w − eta·gradient`.
///
/// `keep` and `eta` are kept apart. Side by side they are read in one go, which has to wait until
/// both have been written to memory.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Step {
    pub(crate) keep: f64,
    /// The squared length of `w` is always summed in the same order where it reaches this. A
    /// shorter one decides nothing, and may differ in the last digits.
    pub(crate) border: f64,
    pub(crate) eta: f64,
}

impl Step {
    /// A step of length `eta` against `share` times a sum, and against the ridge. Nobody asks how
    /// long `w` becomes.
    pub(crate) fn new(eta: f64, share: f64, ridge: f64) -> Self {
        Self { keep: 1.0 - eta * ridge, eta: eta * share, border: f64::INFINITY }
    }

    /// Moves `w` against a gradient that `finish` completes, chunk by chunk and shortly before it
    /// is used, and gives the squared length of `w`. Where `sum` is not empty, the old `w` is added
    /// to it in the same pass.
    pub(crate) fn take(
        self,
        w: &mut [f64],
        gradient: &mut [f64],
        sum: &mut [f64],
        finish: impl Fn(usize, &mut [f64]) + Sync,
    ) -> f64 {
        if w.len() <= CHUNK {
            finish(0, gradient);
            return self.part(w, gradient, sum);
        }
        let all = Self { border: 0.0, ..self };
        let part = |i: usize, w: &mut [f64], gradient: &mut [f64], sum: &mut [f64]| {
            finish(i * CHUNK, gradient);
            all.part(w, gradient, sum)
        };
        let squares: Vec<f64> = shared(|| {
            let parts = w.par_chunks_mut(CHUNK).zip(gradient.par_chunks_mut(CHUNK)).enumerate();
            if sum.is_empty() {
                parts.map(|(i, (w, g))| part(i, w, g, &mut [])).collect()
            } else {
                let parts = parts.zip(sum.par_chunks_mut(CHUNK));
                parts.map(|((i, (w, g)), sum)| part(i, w, g, sum)).collect()
            }
        });
        squares.iter().sum()
    }

    /// [`Step::go`] by one thread.
    fn part(self, w: &mut [f64], gradient: &[f64], sum: &mut [f64]) -> f64 {
        if sum.is_empty() {
            follow(self.mover::<false>(w, sum), gradient)
        } else {
            follow(self.mover::<true>(w, sum), gradient)
        }
    }

    /// Moves `w` as the gradient comes in, chunk by chunk, and adds the old one to `sum` if asked
    /// to `ADD`.
    pub(crate) fn mover<'a, const ADD: bool>(
        self,
        w: &'a mut [f64],
        sum: &'a mut [f64],
    ) -> Mover<'a, ADD> {
        let (w, w_rest) = w.as_chunks_mut();
        let (sum, sum_rest) = sum.as_chunks_mut();
        let (w, sum) = (w.iter_mut(), sum.iter_mut());
        Mover { step: self, w, w_rest, sum, sum_rest }
    }
}

/// Hands a gradient to a mover.
fn follow<const ADD: bool>(mover: Mover<'_, ADD>, gradient: &[f64]) -> f64 {
    pulp::Arch::new().dispatch(
        #[inline(always)]
        move || {
            // moved out: only a closure that runs once is compiled for wide registers
            let mut mover = mover;
            let mut lanes = [0.0; 16];
            let (chunks, rest) = gradient.as_chunks();
            for chunk in chunks {
                mover.chunk(chunk, &mut lanes);
            }
            mover.rest(rest, lanes)
        },
    )
}

/// See [`Step::mover`].
pub(crate) struct Mover<'a, const ADD: bool> {
    step: Step,
    w: std::slice::IterMut<'a, [f64; 16]>,
    w_rest: &'a mut [f64],
    sum: std::slice::IterMut<'a, [f64; 16]>,
    sum_rest: &'a mut [f64],
}

impl<const ADD: bool> Follow for Mover<'_, ADD> {
    type Output = f64;

    #[inline(always)]
    fn chunk(&mut self, gradient: &[f64; 16], lanes: &mut [f64; 16]) {
        let Step { keep, eta, .. } = self.step;
        let Some(w) = self.w.next() else { return };
        let mut moved = *w; // whole chunks are read and written, or the compiler takes them apart
        if ADD && let Some(sum) = self.sum.next() {
            let mut more = *sum;
            for l in 0..16 {
                more[l] += moved[l];
            }
            *sum = more;
        }
        for l in 0..16 {
            moved[l] = gradient[l].mul_add(-eta, keep * moved[l]);
        }
        // Squares, in lanes, so that no addition waits for the one before.
        for l in 0..16 {
            lanes[l] += moved[l] * moved[l];
        }
        *w = moved;
    }

    #[inline(always)]
    fn rest(self, gradient: &[f64], lanes: [f64; 16]) -> f64 {
        let Self { step: Step { keep, eta, border }, w_rest, sum_rest, .. } = self;
        if ADD {
            for (sum, w) in sum_rest.iter_mut().zip(&*w_rest) {
                *sum += *w;
            }
        }
        let mut rest = 0.0;
        for (w, g) in w_rest.iter_mut().zip(gradient) {
            *w = g.mul_add(-eta, keep * *w);
            rest += *w * *w;
        }
        // The additions below are kept out of the compiler's sight: seeing them, it narrows the
        // loop over chunks.
        let lanes = std::hint::black_box(lanes);
        let mut fourth = [0.0; 4];
        for l in 0..4 {
            fourth[l] = (lanes[l] + lanes[l + 4]) + (lanes[l + 8] + lanes[l + 12]);
        }
        let nearly = ((fourth[0] + fourth[2]) + (fourth[1] + fourth[3])) + rest;
        if nearly < border {
            return nearly;
        }
        let mut square = rest;
        for lane in lanes {
            square += lane;
        }
        square
    }
}

/// The squared length below which `w` lies inside a ball of `radius` however it was summed.
pub(crate) fn border(radius: f64) -> f64 {
    radius * radius * (1.0 - 1e-11)
}

/// Scales `w`, whose squared length is `square`, into the ball of `radius`.
pub(crate) fn hold(w: &mut [f64], square: f64, radius: f64) {
    // Beyond doubt inside: neither a root nor a quotient is needed to know that the scale is one.
    if square < radius * radius * (1.0 - 1e-12) {
        return;
    }
    // A hair shorter than the radius: rounding hardly leaves it, and the guarantee does not depend
    // on that.
    let scale = (radius / square.sqrt() * (1.0 - 1e-14)).min(1.0);
    if scale < 1.0 {
        for w in w.iter_mut() {
            *w *= scale;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_and_short_vectors_move_alike() {
        for len in [1, 15, 50, 8192, 20_003] {
            let start: Vec<f64> = (0..len).map(|i| f64::from(i).sin()).collect();
            let gradient: Vec<f64> = (0..len).map(|i| f64::from(i).cos()).collect();
            let whole = |first: usize, part: &mut [f64]| {
                part.copy_from_slice(&gradient[first..first + part.len()]);
            };
            let mut room = vec![f64::NAN; len as usize];
            let mut w = start.clone();
            for border in [0.0, f64::INFINITY] {
                w.clone_from(&start);
                let step = Step { keep: 0.9, eta: 0.1, border };
                let square = step.take(&mut w, &mut room, &mut [], whole);
                for ((w, v), g) in w.iter().zip(&start).zip(&gradient) {
                    assert_eq!(*w, g.mul_add(-0.1, 0.9 * v));
                }
                let want: f64 = w.iter().map(|w| w * w).sum();
                assert!((square - want).abs() <= 1e-12 * want);
                let (moved, mut sum) = (w.clone(), vec![0.25; len as usize]);
                w.clone_from(&start);
                assert_eq!(step.take(&mut w, &mut room, &mut sum, whole), square);
                assert_eq!(w, moved);
                assert!(sum.iter().zip(&start).all(|(sum, v)| *sum == 0.25 + v));
            }
        }
    }

    #[test]
    fn what_is_held_stays_in_the_ball_and_what_lies_inside_stays_where_it_is() {
        for (radius, want) in [(0.5, 0.5), (2.0, 1.25), (f64::INFINITY, 1.25)] {
            let mut w = vec![0.75, 1.0];
            hold(&mut w, 1.5625, radius);
            let length = w[0].hypot(w[1]);
            assert!(length <= radius && (length - want).abs() < 1e-13, "{length}");
        }
    }

    #[test]
    fn next_to_the_border_the_length_decides_as_a_root_and_a_quotient_do() {
        for radius in [1e-140, 0.7, 1.0, 1e140] {
            for off in [-1e-10, -1.1e-12, -1e-12, -1e-14, -1e-15, 0.0, 1e-15, 1e-13, 1e-3] {
                let length = radius * (1.0 + off);
                let (mut w, square) = ([length], length * length);
                hold(&mut w, square, radius);
                assert_eq!(w[0], length * (radius / square.sqrt() * (1.0 - 1e-14)).min(1.0));
            }
        }
    }
}
