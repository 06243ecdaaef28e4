//! The card at the top: a summary for privacy officers, read in half a minute.

use std::fmt::Write;

use reticent_privacy::{Budget, Event, Relation, delta_upper, tradeoff};

use super::facts;
use super::page::{escape, today};
use crate::certificate::unit_of;
use crate::draft::Spent;
use crate::verify::Verification;
use crate::{Error, Model, ModelKind};
use reticent_problem::number::{at_most, percent_at_most, show};

/// The rate of false accusations at which the card states the rate of detection.
const ACCUSED: f64 = 0.01;

/// Whom the guarantee protects, and against which question.
fn protects(model: &Model) -> String {
    let adjacency = model.certificate.budget.adjacency;
    let unit = unit_of(&model.certificate.plan);
    let whom = unit.map_or_else(|| "every single row".to_owned(), |unit| escape(&unit.protected()));
    let (they, are) = if unit.is_some() { ("them", "they are") } else { ("it", "it is") };
    let without = match adjacency.relation() {
        Relation::Replace => format!("with any others in place of {they}"),
        Relation::AddRemove => format!("without {they} in the table"),
        Relation::ZeroOut => format!("if {are} blanked out"),
    };
    format!("{whom}: the model is nearly as likely {without}")
}

/// The most that a belief of one half becomes under a loss of `epsilon`.
fn even_odds_after(epsilon: f64) -> f64 {
    1.0 / (1.0 + (-epsilon).exp())
}

/// An upper bound on the total variation between the outputs of neighbours: anyone who guesses at
/// even odds is right one half of the time, and half of this more. Each point of the profile bounds
/// it by `(e^ε − 1 + 2δ)/(e^ε + 1)` (Kairouz, Oh, Viswanath 2015, Theorem 3.4); the least of
/// several is taken.
fn distance(event: &Event, promised: f64) -> Result<f64, Error> {
    const POINTS: u32 = 24;
    let mut least = 1.0_f64;
    for i in 0..=POINTS {
        let epsilon = promised * f64::from(i) / f64::from(POINTS);
        // Written so that a large epsilon gives one.
        let shrink = (-epsilon).exp();
        let delta = delta_upper(event, epsilon)?;
        least = least.min((1.0 - shrink + 2.0 * delta * shrink) / (1.0 + shrink));
    }
    Ok(least)
}

/// The meaning of the guarantee for an attacker, from the trade-off curve of the event itself.
pub(super) fn meaning(model: &Model) -> Result<String, Error> {
    let Spent { event, budget } = &model.spent()?;
    meaning_of(event, *budget)
}

/// "(up to a slack of ...)", rounded up; empty where there is none.
fn up_to(slack: f64) -> String {
    if slack == 0.0 { String::new() } else { format!(" (up to a slack of {})", at_most(slack)) }
}

/// The belief about the values of a record that neighbours do not replace by another. From one
/// value to another it is two steps, over the table without the record: if
/// `P(S) ≤ e^ε Q(S) + δ` and `Q(S) ≤ e^ε R(S) + δ`, then `P(S) ≤ e^{2ε} R(S) + (1 + e^ε) δ`.
fn about_values(budget: Budget, whose: &str) -> String {
    let (epsilon, delta) = (budget.epsilon.get(), budget.delta.get());
    let slack = if delta == 0.0 { 0.0 } else { delta * (1.0 + epsilon.exp()) };
    if slack >= 1.0 {
        return format!("About the values of {whose} the promise bounds no belief.");
    }
    format!(
        "From one value of {whose} to another it is two steps: of something about its values, of \
         which it was 50 % sure, it is then at most {} sure{}.",
        percent_at_most(even_odds_after(2.0 * epsilon)),
        up_to(slack)
    )
}

fn meaning_of(event: &Event, budget: Budget) -> Result<String, Error> {
    let units = budget.adjacency.protects_units();
    let others = if units { "the rows of all other units" } else { "all other rows" };
    let whose = if units { "this unit" } else { "this row" };
    let (belief, of) = match (budget.adjacency.relation(), units) {
        (Relation::Replace, false) => ("of something about this one".to_owned(), ""),
        (Relation::Replace, true) => ("of something about the rows of this one".to_owned(), ""),
        (Relation::AddRemove, _) => (format!("that {whose} is in the table"), " of it"),
        (Relation::ZeroOut, _) => (format!("that {whose} was blanked out"), " of it"),
    };
    let after = percent_at_most(even_odds_after(budget.epsilon.get()));
    let slack = match budget.delta.get() {
        0.0 => String::new(),
        delta => format!(" (up to a slack of delta = {})", show(delta)),
    };
    let right = percent_at_most(0.5 + 0.5 * distance(event, budget.epsilon.get())?);
    let found = percent_at_most(tradeoff::true_positive_rate_upper(event, ACCUSED)?);
    let mut text = format!(
        "An attacker who knows {others} and is 50 % sure {belief} is at most {after} sure{of} \
         after seeing the model{slack}, and its guesses{of} are right at most {right} of the time. \
         If it accuses wrongly {} of the time, it detects at most {found}.",
        percent_at_most(ACCUSED),
    );
    if !budget.adjacency.replaces() {
        _ = write!(text, " {}", about_values(budget, whose));
    }
    Ok(text)
}

/// The risk that epsilon was chosen to keep, in words; none where epsilon was given itself.
pub(super) fn kept_risk(model: &Model) -> Option<String> {
    let risk = model.certificate.risk?;
    let of_whom = if model.draft.is_some() { " of the weights alone" } else { "" };
    Some(format!("epsilon was chosen so that {risk}: a bound on this release{of_whom}"))
}

/// The coefficients that are zero because no data was seen for their features; none if there are
/// no such features.
pub(super) fn without_data(model: &Model) -> Option<String> {
    const NAMED: usize = 12;
    let named = model.unseen.iter().filter_map(|j| model.features.get(*j));
    let named: Vec<&str> = named.map(String::as_str).collect();
    let (first, many) = (named.first()?, named.len());
    let list = named[..many.min(NAMED)].join(", ");
    let more = if many > NAMED { format!(" and {} more", many - NAMED) } else { String::new() };
    let (features, their) = if many == 1 {
        (format!("feature {first}"), "its coefficient is zero")
    } else {
        (format!("{many} features ({list}{more})"), "their coefficients are zero")
    };
    Some(format!(
        "The noisy moments of the rows show no data for {features}: {their}. The rows have none of \
         it, or too few to be told from noise"
    ))
}

/// The published quantities.
pub(super) fn published(model: &Model) -> String {
    let problem = &model.certificate.plan.outline().problem;
    let weights: usize = model.weights.iter().map(Vec::len).sum();
    let target = &model.task.declaration.target().name;
    let kind = match model.kind() {
        ModelKind::Kernel => "weights of a kernel model",
        ModelKind::Network => "weights of a network",
        ModelKind::Additive => "weights of an additive model",
        ModelKind::Linear => "coefficients of a linear model",
    };
    let intervals = match (&model.curvature, &model.blocks) {
        (Some(_), _) => ", the noisy curvature of the loss at these weights",
        (None, Some(_)) => ", the private weights of each block of records whose mean they are",
        (None, None) => "",
    };
    let drafted = match &model.draft {
        None => String::new(),
        Some(draft) => format!(
            ", bounds and categories of {} columns, released with noise by the draft of the schema",
            draft.columns.len()
        ),
    };
    format!(
        "{weights} {kind} for {target} ({} loss){intervals}{drafted}, and the size of the table: \
         {}. No row and no statistic of rows besides.",
        problem.loss.name(),
        facts::size(model)
    )
}

/// Facts that only the owner of the data can confirm.
pub(super) fn owner(model: &Model) -> [String; 3] {
    let settings = match &model.certificate.selection {
        None => "and so were epsilon and all settings",
        Some(_) => "and so were epsilon and the list of settings to try",
    };
    let paid = match &model.certificate.payment {
        None => "No ledger was charged: this is the only release about these rows, or its cost is added to that of the others".to_owned(),
        Some(_) => "Every other release about these rows was charged to the same ledger".to_owned(),
    };
    let person = match unit_of(&model.certificate.plan) {
        None => "One row is one person. If a person has k rows, the promise holds at k times epsilon, and a larger delta".to_owned(),
        Some(unit) => format!(
            "All rows of one person carry the same value of `{}`. With k values the promise holds at k times epsilon, and a larger delta",
            unit.column
        ),
    };
    [
        person,
        match &model.draft {
            None => {
                format!(
                    "Bounds and categories were declared without looking at the table, {settings}"
                )
            }
            Some(_) => format!(
                "Bounds and categories were released by the draft of the schema, or declared without looking at the table, {settings}"
            ),
        },
        paid,
    ]
}

fn fact(page: &mut String, name: &str, value: &str) {
    _ = writeln!(page, "<div><dt>{name}</dt><dd>{value}</dd></div>");
}

/// The card of a file that verifies.
pub(super) fn card(
    page: &mut String,
    model: &Model,
    verification: &Verification,
) -> Result<(), Error> {
    let Spent { budget, .. } = model.spent()?;
    page.push_str("<section class=\"card\" aria-label=\"In short\"><dl>\n");
    fact(page, "Protects", &protects(model));
    let promise = format!(
        "<strong>epsilon = {}, delta = {}</strong> ({} adjacency)",
        budget.epsilon,
        show(budget.delta.get()),
        budget.adjacency
    );
    fact(page, "Promise", &promise);
    if let Some(risk) = kept_risk(model) {
        fact(page, "Risk", &escape(&risk));
    }
    fact(page, "Meaning", &escape(&meaning(model)?));
    fact(page, "Published", &escape(&published(model)));
    let checks = verification.recomputed.len();
    let verified = format!(
        "all {checks} checks of the file hold, recomputed without the data on <span class=\"keep\">{}</span>",
        today()
    );
    fact(page, "Verified", &verified);
    let signed = match verification.compared.iter().find(|c| c.name == crate::signature::CHECK) {
        Some(check) => format!("by {}", escape(&check.found)),
        None => "not checked here; <code>reticent report --allowed-signers</code> shows who signed the file".to_owned(),
    };
    fact(page, "Signed", &signed);
    let confirm = owner(model).map(|line| format!("<li>{}.</li>", escape(&line))).concat();
    fact(page, "Only the owner can confirm", &format!("<ol>{confirm}</ol>"));
    page.push_str("</dl></section>\n");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_privacy::{Adjacency, Delta, Epsilon};

    #[test]
    fn even_odds() {
        assert_eq!(percent_at_most(even_odds_after(1.0)), "73.2 %");
        assert_eq!(percent_at_most(even_odds_after(0.0)), "50 %");
        assert_eq!(percent_at_most(even_odds_after(1e4)), "100 %");
    }

    #[test]
    fn the_distance_of_two_normals_is_not_understated_nor_far_above() {
        // Φ(μ/2) − Φ(−μ/2) for μ = 1/2.
        let (event, exact) =
            (Event::Gdp { mu: 0.5, adjacency: Adjacency::ReplaceOne }, 0.197_412_651_36);
        let found = distance(&event, 1.0).unwrap();
        assert!((exact..exact + 1e-6).contains(&found), "{found}");
    }

    fn budget(epsilon: f64, delta: f64, adjacency: Adjacency) -> Budget {
        let (epsilon, delta) = (Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap());
        Budget { epsilon, delta, adjacency }
    }

    /// The shares in percent that a text names after a word.
    fn percents_after(text: &str, word: &str) -> Vec<f64> {
        let parts = text.split(word).skip(1);
        parts.map(|part| part.split(" %").next().unwrap().parse().unwrap()).collect()
    }

    /// The belief in `a` of one who was 50 % sure of it, where the output shows most: the ratio of
    /// two Laplace densities of this scale around `a` and `b` is `e^(|a − b|/scale)` beyond `a`.
    fn belief(a: f64, b: f64, scale: f64) -> f64 {
        let density = |centre: f64| (-(10.0 - centre).abs() / scale).exp();
        100.0 * density(a) / (density(a) + density(b))
    }

    /// The sum of values in [−1, 1] with Laplace noise that hides one step: the belief that the
    /// sentence bounds is attained by the values 1 and −1, under every adjacency.
    #[test]
    fn the_belief_about_a_laplace_sum_is_bounded_under_every_adjacency_and_attained() {
        for adjacency in Adjacency::ALL {
            let scale = adjacency.sum_sensitivity();
            let event = Event::Laplace { noise_multiplier: 1.0, adjacency };
            let text = meaning_of(&event, budget(1.0, 0.0, adjacency)).unwrap();
            let said = percents_after(&text, "is at most ");
            let one_step = if adjacency.replaces() { (1.0, -1.0) } else { (1.0, 0.0) };
            let found = belief(one_step.0, one_step.1, scale);
            assert!(said[0] >= found && said[0] < found + 0.1, "{found}: {text}");
            // Of the values: all that the sentence says, or its second bound.
            let values = percents_after(&text, "then at most ");
            assert_eq!(values.len(), usize::from(!adjacency.replaces()), "{text}");
            let found = belief(1.0, -1.0, scale);
            let bound = values.first().copied().unwrap_or(said[0]);
            assert!(bound >= found && bound < found + 0.1, "{found}: {text}");
            assert!(!text.contains("slack"), "{text}");
            let units = adjacency.protects_units();
            assert_eq!(text.contains("the rows of all other units"), units, "{text}");
            let question = match adjacency.relation() {
                Relation::Replace => "something about",
                Relation::AddRemove => "is in the table",
                Relation::ZeroOut => "was blanked out",
            };
            assert!(text.split("% sure").nth(1).unwrap().contains(question), "{text}");
        }
    }

    #[test]
    fn two_steps_cost_their_delta_too() {
        let adjacency = Adjacency::AddRemoveOne;
        let event = Event::ApproxDp { epsilon: 1.0, delta: 1e-6, adjacency };
        let text = meaning_of(&event, budget(1.0, 1e-6, adjacency)).unwrap();
        // (1 + e) 1e-6 = 3.7183e-6.
        assert!(text.contains("delta = 1e-6)") && text.contains("slack of 3.719e-6)"), "{text}");
        // Two steps at once may reveal everything: no belief is bounded, and none is stated.
        let event = Event::ApproxDp { epsilon: 12.0, delta: 1e-5, adjacency };
        let text = meaning_of(&event, budget(12.0, 1e-5, adjacency)).unwrap();
        assert!(text.ends_with("bounds no belief.") && !text.contains("two steps"), "{text}");
    }
}
