//! Lines or curves, and how many knots: from public numbers alone.
//!
//! A curve has a weight for each knot, and each weight gets noise. More knots follow the truth more
//! closely and carry more noise; which of the two matters more depends on the number of rows,
//! epsilon and the number of weights. No row is looked at.

use reticent_optim::tuning::{KNOT_STEPS, MOST_EPSILON_OF_KNOTS, WITH_PAIRS};
use reticent_privacy::Epsilon;

use crate::{Error, Task};

/// The task with a number of knots where nobody chose: those whose features the rows and the budget
/// can carry, or none for lines. Models of random features, networks, rows that are clipped or
/// normalised by request, and algorithms that are named stay as they were asked for.
///
/// # Errors
///
/// As [`Task::layout`].
pub fn with_curves(
    task: Task,
    rows: usize,
    epsilon: Epsilon,
    algorithm: &str,
) -> Result<Task, Error> {
    let own = &task.encoding;
    let asked = own.knots.is_some() || task.map.is_some() || task.hidden.is_some();
    let clipped = own.unbounded_rows || own.normalize_rows || own.feature_norm.is_some();
    if algorithm != "auto" || asked || clipped {
        return Ok(task);
    }
    let place = usize::from(!task.loss.is_classification());
    let coded = holds_codes(&task)?;
    for step in &KNOT_STEPS {
        let curved = with_knots(&task, step.knots);
        let mut alone = curved.clone();
        alone.encoding.interactions = Some(Vec::new());
        let least = if coded { step.coded[place] } else { step.measured[place] };
        let least =
            least * (alone.dimension()? as f64).max(WITH_PAIRS * curved.dimension()? as f64);
        if rows as f64 * epsilon.get().min(MOST_EPSILON_OF_KNOTS) >= least {
            return Ok(curved);
        }
    }
    Ok(task)
}

fn with_knots(task: &Task, knots: usize) -> Task {
    let mut curved = task.clone();
    curved.encoding.knots = Some(knots);
    curved
}

/// Whether a column of whole numbers has a knot for each of more than four values once there are
/// enough knots.
fn holds_codes(task: &Task) -> Result<bool, Error> {
    let [few, many] = [KNOT_STEPS[2].knots, KNOT_STEPS[1].knots];
    let counts = |knots: usize| -> Result<Vec<usize>, Error> {
        let layout = with_knots(task, knots).layout()?;
        Ok(layout.inputs().iter().map(|input| input.kind.features()).collect())
    };
    let mut pairs = counts(few)?.into_iter().zip(counts(many)?);
    Ok(pairs.any(|(few, finer)| few < finer && finer != many))
}

#[cfg(test)]
mod tests {
    use reticent_privacy::Epsilon;
    use reticent_problem::declaration::{Declaration, Encoding};

    use super::*;

    /// The knots chosen for two numbers from 0 to 23 and a category, with these pairs.
    fn chosen(rows: usize, pairs: &[[&str; 2]]) -> Option<usize> {
        let declaration = Declaration::from_json(
            r#"{"target": "y", "columns": [
            {"name": "hour", "type": "integer", "bounds": {"min": 0, "max": 23}},
            {"name": "heat", "type": "integer", "bounds": {"min": 0, "max": 23}},
            {"name": "day", "type": "categorical", "categories": ["a", "b"]},
            {"name": "y", "type": "real", "bounds": {"min": 0, "max": 1}}]}"#,
        )
        .unwrap();
        let interactions =
            Some(pairs.iter().map(|p| p.iter().map(ToString::to_string).collect()).collect());
        let task = Task::new(declaration, Encoding { interactions, ..Encoding::default() });
        let epsilon = Epsilon::new(1.0).unwrap();
        with_curves(task, rows, epsilon, "auto").unwrap().encoding.knots
    }

    #[test]
    fn knots_follow_the_weights_of_columns_and_a_quarter_of_all() {
        // 24 + 24 + 2 + 1 weights from 8 knots on, 4 + 4 + 2 + 1 with 4.
        for (rows, knots) in [
            (54, None),
            (55, Some(4)),
            (2549, Some(4)),
            (2550, Some(8)),
            (11_219, Some(8)),
            (11_220, Some(16)),
        ] {
            assert_eq!(chosen(rows, &[]), knots, "{rows}");
        }
        // 48 more: half as many again do not count.
        assert_eq!(chosen(2550, &[["hour", "day"]]), Some(8));
        // 576 more: 627 weights need a quarter of 50 rows each.
        let heavy = [["hour", "heat"]];
        assert_eq!((chosen(7837, &heavy), chosen(7838, &heavy)), (Some(4), Some(8)));
    }

    #[test]
    fn columns_without_codes_get_8_knots_later() {
        let knots = |rows: usize, columns: &str| {
            let text = format!(
                r#"{{"target": "y", "columns": [{columns},
                {{"name": "y", "type": "categorical", "categories": [0, 1]}}]}}"#
            );
            let task = Task::new(Declaration::from_json(&text).unwrap(), Encoding::default());
            let epsilon = Epsilon::new(1.0).unwrap();
            with_curves(task, rows, epsilon, "auto").unwrap().encoding.knots
        };
        let real = r#"{"name": "a", "type": "real", "bounds": {"min": 0, "max": 9}}"#;
        // Nine weights at 8 knots, 17 at 16.
        assert_eq!((knots(3599, real), knots(3600, real)), (Some(4), Some(8)));
        assert_eq!((knots(25_499, real), knots(25_500, real)), (Some(8), Some(16)));
        let code = r#"{"name": "b", "type": "integer", "bounds": {"min": 0, "max": 9}}"#;
        let both = format!("{real}, {code}");
        assert_eq!((knots(1899, &both), knots(1900, &both)), (Some(4), Some(8)));
        // No code: too many values, two values, or knots that the owner gave.
        for other in [
            code.replace("\"max\": 9", "\"max\": 99"),
            code.replace("\"max\": 9", "\"max\": 1"),
            code.replace(
                "{\"min\": 0, \"max\": 9}",
                r#"{"min": 0, "max": 9}, "basis": {"knots": 5}"#,
            ),
        ] {
            assert_eq!(knots(2500, &format!("{real}, {other}")), Some(4), "{other}");
        }
    }
}
