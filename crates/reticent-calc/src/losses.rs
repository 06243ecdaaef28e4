//! A loss and its bounds, as the formulas name them.

use reticent_problem::{Domain, Loss, Problem, RowBounds};

use crate::{CalcError, Inputs};

/// Whose names the arguments have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Naming {
    /// `R` is the radius, `kappa` Huber's threshold, and `q` must be given.
    Holder,
    /// `U` bounds the margin where the loss needs it, `h` is Huber's threshold, and `q` is two
    /// unless given.
    Geometry,
}

/// The problem of the loss called `loss` with row norm `B`, and label bound `Y` for regression.
pub(super) fn problem(i: &Inputs<'_>, naming: Naming) -> Result<Problem, CalcError> {
    let geometry = naming == Naming::Geometry;
    let q = || if geometry && !i.has("q") { Ok(2.0) } else { i.number("q") };
    let loss = match i.word("loss")? {
        "logistic" => Loss::Logistic,
        "softmax" => Loss::Softmax { classes: i.count("K")? as usize },
        "q_hinge" => Loss::Hinge { q: q()? },
        "squared_hinge" => Loss::Hinge { q: 2.0 },
        "q_regression" => Loss::Power { q: q()? },
        "squared" => Loss::Squared,
        "huber" => Loss::Huber { threshold: i.number(if geometry { "h" } else { "kappa" })? },
        other => {
            return Err(CalcError::Refused(format!(
                "`loss` must be logistic, softmax, q_hinge, squared_hinge, q_regression, squared or huber, got `{other}`"
            )));
        }
    };
    let norm = i.number("B")?;
    let margin_matters = matches!(loss, Loss::Squared | Loss::Power { .. } | Loss::Hinge { .. });
    let domain = match naming {
        Naming::Holder if i.has("R") => ball(i.number("R")?),
        Naming::Geometry if margin_matters && i.has("U") => ball(i.number("U")? / norm),
        _ => Domain::Unbounded,
    };
    // Without a limit on the margin the slope of Huber's loss does not depend on the labels.
    let without_labels = loss.is_classification() || (geometry && !margin_matters);
    let bounds = if without_labels {
        RowBounds::features(norm)
    } else {
        RowBounds::new(norm, i.number("Y")?)
    };
    let bounds = bounds.map_err(|e| CalcError::Refused(e.to_string()))?;
    let problem = Problem { domain, ..Problem::new(loss, bounds, 1, 1) };
    problem.check().map_err(|e| CalcError::Refused(e.to_string()))?;
    Ok(problem)
}

fn ball(radius: f64) -> Domain {
    if radius == f64::INFINITY { Domain::Unbounded } else { Domain::Ball { radius } }
}
