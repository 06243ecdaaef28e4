//! One step against a gradient that has been paid for.

use rayon::prelude::*;

/// Weights that a thread moves at a time. The result is the same for any number of threads.
const CHUNK: usize = 8192;

/// `w = keep·w − eta·gradient`; its squared length, always summed in the same order where it reaches `border`. A shorter one
/// decides nothing, and may differ in the last digits.
pub(crate) fn descend(w: &mut [f64], keep: f64, eta: f64, gradient: &[f64], border: f64) -> f64 {
    if w.len() <= CHUNK {
        return part::<false>(w, keep, eta, gradient, border, &mut []);
    }
    let parts = w.par_chunks_mut(CHUNK).zip(gradient.par_chunks(CHUNK));
    let squares: Vec<f64> =
        parts.map(|(w, g)| part::<false>(w, keep, eta, g, 0.0, &mut [])).collect();
    squares.iter().sum()
}

/// `sum += w`, then [`descend`], in one pass.
pub(crate) fn add_and_descend(
    w: &mut [f64],
    keep: f64,
    eta: f64,
    gradient: &[f64],
    border: f64,
    sum: &mut [f64],
) -> f64 {
    if w.len() <= CHUNK {
        return part::<true>(w, keep, eta, gradient, border, sum);
    }
    let sums = sum.par_chunks_mut(CHUNK);
    let parts = w.par_chunks_mut(CHUNK).zip(gradient.par_chunks(CHUNK)).zip(sums);
    let squares: Vec<f64> =
        parts.map(|((w, g), sum)| part::<true>(w, keep, eta, g, 0.0, sum)).collect();
    squares.iter().sum()
}

/// The squared length below which `w` lies inside a ball of `radius` however it was summed.
pub(crate) fn border(radius: f64) -> f64 {
    radius * radius * (1.0 - 1e-11)
}

/// Moves `w`, and adds where it was to `sum` if asked to `ADD`.
fn part<const ADD: bool>(
    w: &mut [f64],
    keep: f64,
    eta: f64,
    gradient: &[f64],
    border: f64,
    sum: &mut [f64],
) -> f64 {
    pulp::Arch::new().dispatch(
        #[inline(always)]
        move || {
            let (w, sum) = (w, sum); // moved out: only a closure that runs once is compiled for wide registers
            // In lanes, so that no addition waits for the one before.
            let mut lanes = [0.0; 16];
            let (chunks, rest) = w.as_chunks_mut::<16>();
            let (gradients, gradient) = gradient.as_chunks::<16>();
            let (sums, sum) = sum.as_chunks_mut::<16>();
            let mut sums = sums.iter_mut();
            for (w, g) in chunks.iter_mut().zip(gradients) {
                let mut moved = *w; // whole chunks are read and written, or the compiler takes them apart
                if ADD && let Some(sum) = sums.next() {
                    let mut more = *sum;
                    for l in 0..16 {
                        more[l] += moved[l];
                    }
                    *sum = more;
                }
                for l in 0..16 {
                    moved[l] = keep * moved[l] - eta * g[l];
                }
                for l in 0..16 {
                    lanes[l] += moved[l] * moved[l];
                }
                *w = moved;
            }
            for (sum, w) in sum.iter_mut().zip(&*rest) {
                *sum += *w;
            }
            // The additions below are kept out of the compiler's sight: seeing them, it narrows the loop above.
            let mut lanes = std::hint::black_box(lanes);
            for ((w, g), lane) in rest.iter_mut().zip(gradient).zip(&mut lanes) {
                *w = keep * *w - eta * g;
                *lane += *w * *w;
            }
            let mut fourth = [0.0; 4];
            for l in 0..4 {
                fourth[l] = (lanes[l] + lanes[l + 4]) + (lanes[l + 8] + lanes[l + 12]);
            }
            let nearly = (fourth[0] + fourth[2]) + (fourth[1] + fourth[3]);
            if nearly < border {
                return nearly;
            }
            let mut square = 0.0;
            for lane in lanes {
                square += lane;
            }
            square
        },
    )
}

/// Scales `w`, whose squared length is `square`, into the ball of `radius`.
pub(crate) fn hold(w: &mut [f64], square: f64, radius: f64) {
    // Beyond doubt inside: neither a root nor a quotient is needed to know that the scale is one.
    if square < radius * radius * (1.0 - 1e-12) {
        return;
    }
    // A hair shorter than the radius: rounding hardly leaves it, and the guarantee does not rest on that.
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
            let mut w = start.clone();
            for border in [0.0, f64::INFINITY] {
                w.clone_from(&start);
                let square = descend(&mut w, 0.9, 0.1, &gradient, border);
                for ((w, v), g) in w.iter().zip(&start).zip(&gradient) {
                    assert_eq!(*w, 0.9 * v - 0.1 * g);
                }
                let want: f64 = w.iter().map(|w| w * w).sum();
                assert!((square - want).abs() <= 1e-12 * want);
                let (moved, mut sum) = (w.clone(), vec![0.25; len as usize]);
                w.clone_from(&start);
                assert_eq!(add_and_descend(&mut w, 0.9, 0.1, &gradient, border, &mut sum), square);
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
