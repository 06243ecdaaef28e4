//! One step against a gradient that has been paid for.

use rayon::prelude::*;

/// Weights that a thread moves at a time. The result is the same for any number of threads.
const CHUNK: usize = 8192;

/// `w = keep·w − eta·gradient`; its squared length.
pub(crate) fn descend(w: &mut [f64], keep: f64, eta: f64, gradient: &[f64]) -> f64 {
    if w.len() <= CHUNK {
        return part(w, keep, eta, gradient);
    }
    let parts = w.par_chunks_mut(CHUNK).zip(gradient.par_chunks(CHUNK));
    let squares: Vec<f64> = parts.map(|(w, g)| part(w, keep, eta, g)).collect();
    squares.iter().sum()
}

fn part(w: &mut [f64], keep: f64, eta: f64, gradient: &[f64]) -> f64 {
    pulp::Arch::new().dispatch(
        #[inline(always)]
        move || {
            let w = w; // moved out: only a closure that runs once is compiled for wide registers
            // In lanes, so that no addition waits for the one before.
            let mut lanes = [0.0; 16];
            let (chunks, rest) = w.as_chunks_mut::<16>();
            let (gradients, gradient) = gradient.as_chunks::<16>();
            for (w, g) in chunks.iter_mut().zip(gradients) {
                for l in 0..16 {
                    w[l] = keep * w[l] - eta * g[l];
                    lanes[l] += w[l] * w[l];
                }
            }
            for ((w, g), lane) in rest.iter_mut().zip(gradient).zip(&mut lanes) {
                *w = keep * *w - eta * g;
                *lane += *w * *w;
            }
            let mut square = 0.0;
            for lane in lanes {
                square += lane;
            }
            square
        },
    )
}

/// Scales `w`, whose squared length is `square`, into the ball of `radius`, and adds it to `sum`.
pub(crate) fn hold_and_add(w: &mut [f64], square: f64, radius: f64, sum: &mut [f64]) {
    // A hair shorter than the radius, so that rounding keeps within it.
    let scale = (radius / square.sqrt() * (1.0 - 1e-14)).min(1.0);
    pulp::Arch::new().dispatch(
        #[inline(always)]
        move || {
            let (w, sum) = (w, sum); // moved out, as above
            if scale < 1.0 {
                for w in w.iter_mut() {
                    *w *= scale;
                }
            }
            for (w, sum) in w.iter().zip(sum) {
                *sum += *w;
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_and_short_vectors_move_alike() {
        for len in [1, 15, 50, 8192, 20_003] {
            let start: Vec<f64> = (0..len).map(|i| f64::from(i).sin()).collect();
            let gradient: Vec<f64> = (0..len).map(|i| f64::from(i).cos()).collect();
            let mut w = start.clone();
            let square = descend(&mut w, 0.9, 0.1, &gradient);
            for ((w, v), g) in w.iter().zip(&start).zip(&gradient) {
                assert_eq!(*w, 0.9 * v - 0.1 * g);
            }
            let want: f64 = w.iter().map(|w| w * w).sum();
            assert!((square - want).abs() <= 1e-12 * want);
        }
    }

    #[test]
    fn what_is_held_stays_in_the_ball_and_what_lies_inside_stays_where_it_is() {
        for (radius, want) in [(0.5, 0.5), (2.0, 1.25), (f64::INFINITY, 1.25)] {
            let (mut w, mut sum) = (vec![0.75, 1.0], vec![1.0, 2.0]);
            hold_and_add(&mut w, 1.5625, radius, &mut sum);
            let length = w[0].hypot(w[1]);
            assert!(length <= radius && (length - want).abs() < 1e-13, "{length}");
            assert_eq!(sum, [1.0 + w[0], 2.0 + w[1]]);
        }
    }
}
