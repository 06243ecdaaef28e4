//! Bounds on an attacker: the trade-off curve, beliefs, and the privacy profile.

use std::fmt::Write;

use reticent_privacy::risk::RiskBounds;
use reticent_privacy::{Epsilon, Event, Relation, deltas_upper, tradeoff};

use super::figure;
use super::page::{begin_fold, begin_part, end_fold, end_part, escape, heading, table};
use crate::certificate::unit_of;
use crate::draft::Spent;
use crate::{Error, Model};
use reticent_problem::number::{at_most, percent_at_most, round_up, show};

const ATTACKER: &str = "What an attacker can learn about one person";
const PROFILE: &str = "The privacy profile";
const TWO_STEPS: &str = "Its belief about their values may move twice as far: 2 epsilon, and (1 + e^epsilon) times delta";

/// The same part of a file that does not verify.
pub(super) fn no_attacker(page: &mut String, epsilon: Epsilon) {
    heading(page, "attacker", ATTACKER);
    page.push_str(if epsilon.is_infinite() {
        "<p class=\"void\">Everything: no noise was added.</p>\n"
    } else {
        "<p class=\"void\">Unknown: the file does not verify, so nothing here bounds it.</p>\n"
    });
}

/// The profile of a file that does not verify.
pub(super) fn no_profile(page: &mut String) {
    begin_part(page, "profile-part", PROFILE);
    page.push_str("<p>There is none.</p>\n");
    end_part(page);
}

/// Bounds on an attacker's knowledge about one person.
pub(super) fn attacker(page: &mut String, model: &Model) -> Result<(), Error> {
    const SHOWN: [f64; 4] = [0.001, 0.01, 0.05, 0.1];
    const BELIEFS: [f64; 4] = [0.001, 0.01, 0.1, 0.5];
    let Spent { event, budget } = &model.spent()?;
    let unit = unit_of(&model.certificate.plan);
    let (those, were) = match unit {
        None => ("the row", "was"),
        Some(_) => ("those rows", "were"),
    };
    let question = match budget.adjacency.relation() {
        Relation::Replace if unit.is_some() => {
            "whether those rows are one unit's or another's, and how many they are".to_owned()
        }
        Relation::Replace => "whether the row is one person's or another's".to_owned(),
        Relation::AddRemove => format!("whether {those} {were} in the table at all"),
        Relation::ZeroOut => format!(
            "whether {those} {were} in the table or left out as a row of zeros, with the middle of the range for a number"
        ),
    };
    let all_but = unit.map_or_else(|| "one row".to_owned(), |unit| escape(&unit.protected()));
    heading(page, "attacker", ATTACKER);
    _ = writeln!(
        page,
        "<p>Suppose an attacker knows everything but {all_but}, sees the model, and must tell {question}. The curve bounds how often any attacker is right, against how often it accuses wrongly, whatever it computes and whatever else it knows.</p>"
    );
    let rates: Vec<f64> = (0..=100).map(|i| f64::from(i) / 100.0).collect();
    page.push_str(&figure::trade_off(&tradeoff::curve(event, &rates)?));
    begin_fold(page, "Rates, beliefs, and the limits of this");
    let rows: Vec<Vec<String>> = tradeoff::curve(event, &SHOWN)?
        .iter()
        .map(|p| [p.false_positive_rate, p.true_positive_rate].map(percent_at_most).to_vec())
        .collect();
    let caption = "True-positive rates: of a hundred people, how many it finds";
    table(page, caption, &["Accuses wrongly", "Detects, at most"], &rows, &[0, 1]);
    in_one_number(page, model)?;
    let factor = budget.epsilon.get().exp();
    let rows: Vec<Vec<String>> = BELIEFS
        .iter()
        .map(|before| {
            // Written without a ratio of two infinities.
            let after = before / (before + (1.0 - before) / factor);
            [*before, after].map(percent_at_most).to_vec()
        })
        .collect();
    let after = "before it saw the model, and after, where the loss keeps to epsilon (delta is for outcomes where it does not)";
    let caption = match budget.adjacency.relation() {
        Relation::Replace => format!("Beliefs: how sure it was of something about {those} {after}"),
        Relation::AddRemove => format!(
            "Beliefs: how sure it was that {those} {were} in the table {after}. {TWO_STEPS}"
        ),
        Relation::ZeroOut => {
            format!("Beliefs: how sure it was that {those} {were} blanked out {after}. {TWO_STEPS}")
        }
    };
    table(page, &caption, &["Before", "After, at most"], &rows, &[0, 1]);
    page.push_str("<p>This does not say that the model teaches nothing about people in general, which then also applies to this person, whether or not the row was used. ");
    let speaks = unit.map_or_else(
        || "And it speaks of one row: a person with k rows is protected k times less (epsilon times k, at a larger delta).".to_owned(),
        |unit| format!(
            "It speaks of {} together, as many as the table holds: a person's rows are protected at once if they all carry the same value there.",
            escape(&unit.protected())
        ),
    );
    _ = writeln!(page, "{speaks}</p>");
    end_fold(page);
    Ok(())
}

/// The curve as numbers: the largest advantage, and the mu of Gaussian noise that covers it.
fn in_one_number(page: &mut String, model: &Model) -> Result<(), Error> {
    let Spent { event, budget } = &model.spent()?;
    let bounds = RiskBounds::of(event, budget.epsilon, budget.delta)?;
    let mut facts = vec![(
        "Largest advantage",
        format!(
            "{}: true-positive less false-positive rate",
            percent_at_most(bounds.advantage_upper)
        ),
    )];
    if let Some(mu) = bounds.mu_upper {
        let slack = match bounds.slack {
            0.0 => String::new(),
            slack => format!(", but for a slack of {}", show(slack)),
        };
        let mu = at_most(mu);
        facts.push((
            "Gaussian privacy",
            format!("mu = {mu}: no attack is better than on Gaussian noise of that mu{slack}"),
        ));
    }
    let facts: Vec<Vec<String>> =
        facts.into_iter().map(|(what, value)| vec![what.to_owned(), value]).collect();
    table(page, "The curve in one number", &[], &facts, &[]);
    Ok(())
}

/// Points `(epsilon, delta)` of the profile from 0 to twice the promise, which is the middle one. A
/// bound at an epsilon holds at every larger one, so the curve never rises; it passes at or below
/// the promise, which was verified.
fn profile_points(event: &Event, promised: (f64, f64)) -> Result<Vec<(f64, f64)>, Error> {
    const HALF: u32 = 24;
    let at = |i: u32| match i {
        HALF => promised.0,
        _ => promised.0 * f64::from(i) / f64::from(HALF),
    };
    let epsilons: Vec<f64> = (0..=2 * HALF).map(at).collect();
    let deltas = deltas_upper(event, &epsilons)?;
    let mut least = 1.0_f64;
    let point = |(epsilon, delta): (f64, f64)| {
        least = least.min(delta);
        if epsilon >= promised.0 {
            least = least.min(promised.1);
        }
        (epsilon, least)
    };
    Ok(epsilons.into_iter().zip(deltas).map(point).collect())
}

/// Delta as a function of epsilon.
pub(super) fn profile(page: &mut String, model: &Model) -> Result<(), Error> {
    const EVERY: usize = 6;
    let Spent { event, budget } = &model.spent()?;
    let promised = (budget.epsilon.get(), budget.delta.get());
    begin_part(page, "profile-part", PROFILE);
    page.push_str("<p>The promise is one point of a curve. The same model keeps a smaller epsilon with a larger delta, and the other way round.</p>\n");
    let points = profile_points(event, promised)?;
    page.push_str(&figure::profile(&points, promised));
    let rows: Vec<Vec<String>> = points.iter().step_by(EVERY).map(|p| row(*p, promised)).collect();
    table(page, "Points of the curve", &["epsilon", "delta, at most"], &rows, &[0, 1]);
    end_part(page);
    Ok(())
}

/// A point for the table: the promise to the last digit, any other bound with four digits, rounded
/// up.
fn row((epsilon, delta): (f64, f64), promised: (f64, f64)) -> Vec<String> {
    let mut shown = round_up(delta, 4).min(1.0);
    if epsilon >= promised.0 {
        shown = shown.min(promised.1);
    }
    let at = if epsilon == promised.0 { epsilon } else { round_up(epsilon, 4) };
    vec![show(at), show(shown)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_privacy::Adjacency;

    #[test]
    fn the_curve_never_rises_and_the_promise_is_one_of_its_points() {
        let adjacency = Adjacency::ReplaceOne;
        for event in [
            Event::Gdp { mu: 0.25, adjacency },
            Event::Approximated {
                inner: Box::new(Event::Gdp { mu: 0.25, adjacency }),
                total_variation: 1e-12,
            },
        ] {
            let promised = (1.0, 1.000_3 * reticent_privacy::delta_upper(&event, 1.0).unwrap());
            let points = profile_points(&event, promised).unwrap();
            assert!(points.windows(2).all(|w| w[1].1 <= w[0].1 && w[0].1 <= 1.0), "{points:?}");
            assert_eq!(points[24].0, 1.0);
            let shown = row(points[24], promised);
            assert_eq!(shown[0], "1");
            assert!(shown[1].parse::<f64>().unwrap() <= promised.1, "{shown:?} {promised:?}");
        }
    }

    #[test]
    fn promised_points_are_printed_exactly_and_no_delta_exceeds_one() {
        for (epsilon, delta, words) in
            [(1.0, 1e-6, ["1", "1e-6"]), (0.4, 1e-7, ["0.4", "1e-7"]), (0.25, 0.0, ["0.25", "0"])]
        {
            assert_eq!(row((epsilon, delta), (epsilon, delta)), words);
            // The computed delta may be below by rounding only.
            assert_eq!(row((epsilon, delta * (1.0 - 1e-9)), (epsilon, delta)), words);
        }
        assert_eq!(row((0.0, 1.0), (1.0, 1e-6)), ["0", "1"]);
        assert_eq!(row((0.5, 0.999_99), (1.0, 1e-6)), ["0.5", "1"]);
        assert_eq!(row((0.123_456, 0.01), (1.0, 1e-6)), ["0.1235", "0.01"]);
    }
}
