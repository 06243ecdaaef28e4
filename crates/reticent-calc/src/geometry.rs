//! Formulas of objective perturbation, of shuffling, and of losses in other norms.

use reticent_optim::objective::noise;
use reticent_privacy::{
    Adjacency, Event, ObjectiveClass, gaussian,
    objective::{self, Objective},
    rdp, shuffle,
};
use reticent_problem::Loss;
use serde_json::{Value, json};

use crate::losses::{self, Naming};
use crate::{CalcError, Formula, Inputs, answer, number, refused};

pub(super) const FORMULAS: &[(&str, Formula)] = &[
    ("gauss_delta", |i| number(gaussian::delta(i.number("eps")?, i.number("mu")?))),
    ("gauss_mu", |i| answer(gaussian::mu_lower(i.number("eps")?, i.number("delta")?))),
    ("zcdp_rho", |i| answer(rdp::zcdp_rho(i.number("eps")?, i.number("delta")?))),
    ("eps_det", |i| {
        let (rank, modulus) = (i.positive("k")?, i.positive("Lambda")?);
        number(objective::epsilon_det(rank, i.positive("beta")?, modulus))
    }),
    ("eps_det_softmax", |i| {
        let (classes, modulus) = (i.count("K")?.max(1), i.positive("Lambda")?);
        number(objective::epsilon_det_softmax(classes as f64, i.positive("B")?, modulus))
    }),
    ("objpert_delta", |i| {
        let (class, slope, output_mu) = (class(i)?, i.number("L_over_sigma")?, i.number("mu2")?);
        answer(checked(i, class, slope, output_mu, adjacency(i)?)?.delta_upper(i.number("eps")?))
    }),
    ("objpert_delta_chi", |i| {
        let objective = checked(i, subspace(i)?, i.number("mu")?, 0.0, Adjacency::ZeroOut)?;
        answer(objective.delta_upper(i.number("eps")?))
    }),
    ("objpert_delta_chi_out", |i| {
        let (slope, output_mu) = (i.number("mu")?, i.number("mu2")?);
        let objective = checked(i, subspace(i)?, slope, output_mu, Adjacency::ZeroOut)?;
        answer(objective.delta_upper(i.number("eps")?))
    }),
    ("objpert_sigma1", |i| {
        let objective = checked(i, class(i)?, 0.0, 0.0, adjacency(i)?)?;
        let (lipschitz, share) = (i.number("L")?, i.number("mu2sq_over_mua_sq")?);
        answer(objective.sigma_upper(lipschitz, share, i.number("eps")?, i.number("delta")?))
    }),
    ("objpert_rdp", objective_rdp),
    ("objpert_lambda_min", |i| {
        let (rank, smoothness) = (i.positive("k")?, i.number("beta")?);
        let (rows, budget) = (i.positive("n")?, i.positive("eps_det_budget")?);
        number(noise::least_lambda(rank, smoothness, rows, budget, i.number("mu_strong")?))
    }),
    ("amp_sigma1_paper", |i| {
        number(noise::paper_sigma(i.number("L")?, i.positive("eps")?, i.positive("delta")?))
    }),
    ("amp_sigma2_paper", |i| {
        let (gap, lambda) = (i.number("alpha")?, i.positive("lambda")?);
        number(noise::paper_output_sigma(gap, lambda, i.positive("eps")?, i.positive("delta")?))
    }),
    ("amp_alpha", |i| {
        let (lipschitz, radius, width) = (i.number("L")?, i.number("R2")?, i.positive("G")?);
        let (epsilon, delta, rows) = (i.positive("eps")?, i.positive("delta")?, i.positive("n")?);
        number(noise::paper_gap(lipschitz, radius, width, epsilon, delta, rows))
    }),
    ("shuffle_delta", |i| {
        answer(shuffle::shuffle_delta(i.number("eps")?, i.number("eps0")?, i.count("n")?))
    }),
    ("shuffle_eps", |i| {
        answer(shuffle::shuffle_epsilon(i.number("delta")?, i.number("eps0")?, i.count("n")?))
    }),
    ("shuffle_closed", |i| {
        let (delta, local) = (i.number("delta")?, i.number("eps0")?);
        answer(shuffle::shuffle_epsilon_closed(delta, local, i.count("n")?))
    }),
    ("shuffle_tv_factor", |i| {
        number(shuffle::shuffle_failure_factor(i.number("eps0")?, i.count("n")?))
    }),
    ("shuffle_total_delta", |i| {
        let (epsilon, local) = (i.number("eps")?, i.number("eps0")?);
        let failure = gaussian::delta_upper(local, i.number("mu_loc")?);
        answer(shuffle::shuffle_total_delta(epsilon, local, failure, i.count("n")?))
    }),
    ("loss_constants", loss_constants),
];

fn word<T>(name: &str, got: &str, known: &[(&str, T)]) -> Result<T, CalcError>
where
    T: Copy,
{
    known.iter().find(|(word, _)| *word == got).map(|(_, value)| *value).ok_or_else(|| {
        let known: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
        CalcError::Refused(format!("`{name}` must be {}, got `{got}`", known.join(" or ")))
    })
}

fn class(i: &Inputs<'_>) -> Result<ObjectiveClass, CalcError> {
    let known = [("monotone", ObjectiveClass::Monotone), ("two_sided", ObjectiveClass::TwoSided)];
    word("class", i.word("class")?, &known)
}

/// Adding or removing is against a null row here: the objective's scale is that of a public number
/// of rows.
fn adjacency(i: &Inputs<'_>) -> Result<Adjacency, CalcError> {
    let known = [("replace", Adjacency::ReplaceOne), ("add_remove", Adjacency::ZeroOut)];
    word("adjacency", i.word("adjacency")?, &known)
}

fn subspace(i: &Inputs<'_>) -> Result<ObjectiveClass, CalcError> {
    let dimension = u32::try_from(i.count("m")?).map_err(|_| CalcError::Argument {
        name: "m".to_owned(),
        expected: "a whole number below 2^32",
    })?;
    Ok(ObjectiveClass::Subspace { dimension })
}

/// The objective, its numbers checked as those of an event are.
fn checked(
    i: &Inputs<'_>,
    class: ObjectiveClass,
    slope: f64,
    output_mu: f64,
    adjacency: Adjacency,
) -> Result<Objective, CalcError> {
    let epsilon_det = i.number("eps_det")?;
    Event::ObjectivePerturbation { class, epsilon_det, slope, output_mu, adjacency }
        .check()
        .map_err(refused)?;
    Ok(Objective { class, epsilon_det, slope, output_mu, adjacency })
}

fn objective_rdp(i: &Inputs<'_>) -> Result<Value, CalcError> {
    let known = [
        ("two_sided_add_remove", (ObjectiveClass::TwoSided, Adjacency::ZeroOut)),
        ("monotone_add_remove", (ObjectiveClass::Monotone, Adjacency::ZeroOut)),
        ("replace", (ObjectiveClass::TwoSided, Adjacency::ReplaceOne)),
    ];
    let (class, adjacency) = word("kind", i.word("kind")?, &known)?;
    // `mu` is the whole sensitivity over the deviation.
    let slope = i.number("mu")? / adjacency.sum_sensitivity();
    answer(checked(i, class, slope, 0.0, adjacency)?.rdp(i.number("alpha")?))
}

fn loss_constants(i: &Inputs<'_>) -> Result<Value, CalcError> {
    let p = i.number("p")?;
    if p.is_nan() || p < 1.0 {
        return Err(CalcError::Argument { name: "p".to_owned(), expected: "a number >= 1" });
    }
    let problem = losses::problem(i, Naming::Geometry)?;
    let (lipschitz, smoothness) =
        problem.loss.dual_constants(problem.bounds, &problem.domain, p, 1);
    let class = match problem.loss {
        Loss::Softmax { .. } => "chi",
        loss if loss.is_monotone() => "monotone",
        _ => "two_sided",
    };
    Ok(json!({
        "L": number(lipschitz)?,
        "beta": number(smoothness.unwrap_or(f64::INFINITY))?,
        "k": problem.regularity().hessian_rank,
        "class": class,
    }))
}
