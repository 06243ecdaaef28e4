//! How to handle the norm of rows, from the declaration alone.

use reticent_optim::tuning::SHORT_ROWS;
use reticent_problem::declaration::{Basis, InputKind};
use reticent_problem::number::{about, norm_at_most};

use crate::{Error, Task};

/// Advice on the norm of rows, in a sentence. Noise is calibrated to the bound and not to the rows:
/// where a typical row, with its values anywhere in their declared ranges, is shorter, normalizing
/// all rows to the sphere uses the whole bound.
///
/// # Errors
///
/// If the declaration and the encoding do not go together.
pub fn norm_advice(task: &Task) -> Result<String, Error> {
    let layout = task.layout()?;
    let bound = layout.norm_bound();
    let shown = norm_at_most(bound);
    if task.map.is_some() {
        return Ok("random features have the norm of their map: nothing to do".to_owned());
    }
    if task.encoding.normalize_rows {
        return Ok(format!("rows lie on the sphere of norm {shown}: nothing to do"));
    }
    if !bound.is_finite() {
        return Ok("rows have no bound; with one (`feature_norm`) more algorithms apply".to_owned());
    }
    let kept = layout.inputs().iter().filter(|input| input.start.is_some());
    // A number that is uniform in a range of one unit from zero, or around it, has a third of the
    // largest square.
    let square: f64 = kept
        .map(|input| match &input.kind {
            InputKind::Number { .. } => 1.0 / 3.0,
            // The mean of (1 - s)^2 + s^2.
            InputKind::Curve { curve, .. } if curve.basis == Basis::Tent => 2.0 / 3.0,
            InputKind::OneHot { .. }
            | InputKind::Curve { .. }
            | InputKind::Periodic { .. }
            | InputKind::Hashed { .. } => 1.0,
            InputKind::Entries { len, .. } => *len as f64 / 3.0,
            InputKind::Vector { norm, .. } => norm * norm,
        })
        .sum();
    let pairs = 0.5 * layout.pairs().len() as f64;
    let typical = (square + pairs + f64::from(u8::from(task.encoding.intercept))).sqrt();
    Ok(if typical < SHORT_ROWS * bound {
        format!(
            "put rows on the sphere (`normalize` rows): noise is paid for norm {shown}, and a row with its numbers anywhere in their ranges has about {}",
            about(typical)
        )
    } else {
        format!("keep the bound {shown}: rows use nearly all of it")
    })
}
