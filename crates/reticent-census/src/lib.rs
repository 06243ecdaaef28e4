//! A synthetic census: a table to try things on that no person is in.
//!
//! # Law
//!
//! Columns are independent. `age` is uniform on 18..=90; `hours` on 1..=99 with weight
//! `e^{−|h−40|/8}`; `children` on 0..=6 with weight `0.55^k`; the categories have the weights
//! below. The income is above 40K with probability `1/(1 + e^{−logit})`, and the logit is a sum of
//! one term for each column, linear in the encoded features. So the best possible classifier is a
//! linear one, and its accuracy is known: [`Census::best_accuracy`] adds it up over all rows there
//! can be.

mod clinic;

use std::fmt::Write;

use rand_core::Rng;
use reticent_noise::{Purpose, Source};
use reticent_problem::declaration::{Declaration, DeclarationError};

pub use clinic::Clinic;

/// A category, how often it occurs, and what it adds to the logit.
type Level = (&'static str, f64, f64);

const EDUCATION: &[Level] = &[
    ("none", 0.05, -1.6),
    ("primary", 0.15, -1.1),
    ("secondary", 0.30, -0.4),
    ("vocational", 0.20, 0.1),
    ("bachelor", 0.18, 1.0),
    ("master", 0.09, 1.6),
    ("doctorate", 0.03, 2.2),
];
const OCCUPATION: &[Level] = &[
    ("clerical", 0.16, 0.1),
    ("craft", 0.15, 0.2),
    ("farming", 0.07, -1.2),
    ("health", 0.14, 0.4),
    ("management", 0.11, 1.5),
    ("service", 0.20, -1.0),
    ("technical", 0.12, 1.2),
    ("transport", 0.05, -0.3),
];
const REGION: &[Level] =
    &[("north", 0.3, 0.0), ("east", 0.2, 0.0), ("south", 0.25, 0.0), ("west", 0.25, 0.0)];
const SEX: &[Level] = &[("female", 0.51, -0.3), ("male", 0.49, 0.3)];
const BASE: f64 = -5.0;
const AGE: f64 = 3.0;
const HOURS: f64 = 7.0;
const CHILDREN: f64 = 0.8;

/// Rows of the synthetic census.
#[derive(Clone, Copy, Debug)]
pub struct Census;

/// One independent column: what it says, how often, and what it adds to the logit.
fn columns() -> Vec<Vec<(String, f64, f64)>> {
    let number = |from: u32, to: u32, weight: &dyn Fn(f64) -> f64, slope: f64| {
        let total: f64 = (from..=to).map(|v| weight(f64::from(v))).sum();
        (from..=to)
            .map(|v| {
                let scaled = f64::from(v - from) / f64::from(to - from);
                (v.to_string(), weight(f64::from(v)) / total, slope * scaled)
            })
            .collect()
    };
    let levels = |list: &[Level]| {
        let total: f64 = list.iter().map(|l| l.1).sum();
        list.iter().map(|(name, p, logit)| ((*name).to_owned(), p / total, *logit)).collect()
    };
    vec![
        number(18, 90, &|_| 1.0, AGE),
        number(1, 99, &|h| (-(h - 40.0).abs() / 8.0).exp(), HOURS),
        number(0, 6, &|k| 0.55_f64.powf(k), CHILDREN),
        levels(EDUCATION),
        levels(OCCUPATION),
        levels(REGION),
        levels(SEX),
    ]
}

const NAMES: [&str; 7] = ["age", "hours", "children", "education", "occupation", "region", "sex"];

impl Census {
    /// The table as CSV with a header. The seed only chooses the synthetic people.
    pub fn csv(rows: usize, seed: u64) -> String {
        let columns = columns();
        let mut stream = Source::seeded_not_private(seed).stream(Purpose::Initial);
        let mut uniform = || (stream.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let mut text = NAMES.join(",") + ",income\n";
        for _ in 0..rows {
            let mut logit = BASE;
            for column in &columns {
                let mut left = uniform();
                let level = column.iter().find(|level| {
                    left -= level.1;
                    left < 0.0
                });
                let (name, _, adds) = level.unwrap_or(&column[column.len() - 1]);
                logit += adds;
                _ = write!(text, "{name},");
            }
            let above = uniform() < 1.0 / (1.0 + (-logit).exp());
            text.push_str(if above { ">40K\n" } else { "<=40K\n" });
        }
        text
    }

    /// The schema: what is public about the table.
    pub fn schema() -> String {
        let number = |name: &str, from: u32, to: u32| {
            serde_json::json!({"name": name, "role": "feature", "type": "integer",
                "bounds": {"min": from, "max": to, "basis": "domain"}})
        };
        let levels = |name: &str, list: &[Level]| {
            let categories: Vec<_> = list.iter().map(|l| l.0).collect();
            serde_json::json!({"name": name, "role": "feature", "type": "categorical", "categories": categories})
        };
        let schema = serde_json::json!({
            "name": "synthetic-census",
            "publish": {"description": "A synthetic census: no person is in it"},
            "task": "binary_classification",
            "target": "income",
            "positive_class": ">40K",
            "columns": [
                number(NAMES[0], 18, 90), number(NAMES[1], 1, 99), number(NAMES[2], 0, 6),
                levels(NAMES[3], EDUCATION), levels(NAMES[4], OCCUPATION), levels(NAMES[5], REGION), levels(NAMES[6], SEX),
                {"name": "income", "role": "target", "type": "categorical", "categories": ["<=40K", ">40K"]},
            ],
        });
        format!("{schema:#}\n")
    }

    /// The accuracy of the best possible classifier, `E max(p, 1 − p)`, summed over all rows there
    /// can be.
    pub fn best_accuracy() -> f64 {
        // Columns without effect are left out; the others are added up level by level.
        let columns: Vec<_> =
            columns().into_iter().filter(|c| c.iter().any(|l| l.2 != 0.0)).collect();
        let mut sums = vec![(1.0, BASE)];
        for column in &columns[..columns.len() - 1] {
            sums = sums
                .iter()
                .flat_map(|(p, logit)| column.iter().map(move |(_, q, adds)| (p * q, logit + adds)))
                .collect();
        }
        let last = &columns[columns.len() - 1];
        sums.iter()
            .flat_map(|(p, logit)| last.iter().map(move |(_, q, adds)| (p * q, logit + adds)))
            .map(|(p, logit)| p / (1.0 + (-logit.abs()).exp()))
            .sum()
    }
}

/// The declaration of the synthetic census.
///
/// # Errors
///
/// None in practice: the schema is written here.
pub fn census_declaration() -> Result<Declaration, DeclarationError> {
    Declaration::from_json(&Census::schema())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_follows_its_law() {
        let text = Census::csv(20_000, 1);
        let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|l| l.split(',').collect()).collect();
        assert_eq!(rows.len(), 20_000);
        let share = |column: usize, word: &str| {
            rows.iter().filter(|r| r[column] == word).count() as f64 / 20_000.0
        };
        // Five standard deviations of a share are at most 0.018: false alarms below 1e-5 together.
        assert!((share(3, "secondary") - 0.30).abs() < 0.018);
        assert!((share(6, "female") - 0.51).abs() < 0.018);
        let above = share(7, ">40K");
        assert!((0.2..0.5).contains(&above), "{above}");
    }

    #[test]
    fn the_best_accuracy_is_between_the_majority_and_one() {
        let best = Census::best_accuracy();
        assert!((0.75..0.95).contains(&best), "{best}");
    }
}
