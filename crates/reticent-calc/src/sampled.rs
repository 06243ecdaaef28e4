//! Formulas of noisy steps on a sample of fixed size, a row replaced; `s` is the noise in replace
//! sensitivities.

use reticent_privacy::{
    Adjacency, Event,
    calibrate::{Sampling, sampled_gaussian},
    delta_upper, pair, rdp,
};

use crate::{CalcError, Formula, Inputs, answer, number, refused};

pub(super) const FORMULAS: &[(&str, Formula)] = &[
    ("subsampled_one_step_delta", |i| {
        let (rate, noise) = (i.share("q")?, i.positive("s")?);
        number(pair::fixed_size_replace_delta(i.number("eps")?, rate, 1.0 / noise))
    }),
    ("subsampled_rdp_M_minus_1", |i| {
        let order = i.number("lam")?;
        let one = rdp::rdp_fixed_size_replace(order, i.share("q")?, clip_units(i.positive("s")?));
        number(rdp::moment_excess(order, one.map_err(refused)?))
    }),
    ("subsampled_rdp_N", |i| answer(rdp::rdp(&steps(i)?, i.number("lam")?))),
    ("rdp_to_eps", |i| {
        answer(rdp::rdp_to_epsilon(i.number("lam")?, i.number("rho")?, i.number("delta")?))
    }),
    ("subsampled_pld_delta", |i| answer(delta_upper(&steps(i)?, i.number("eps")?))),
];

/// Noise in replace sensitivities, which are two clips, as noise in clips.
pub(super) fn clip_units(noise: f64) -> f64 {
    2.0 * noise
}

fn steps(i: &Inputs<'_>) -> Result<Event, CalcError> {
    let (sampling, noise) = (Sampling::FixedSize { rate: i.share("q")? }, i.positive("s")?);
    Ok(sampled_gaussian(sampling, clip_units(noise), i.count("N")?, Adjacency::ReplaceOne))
}
