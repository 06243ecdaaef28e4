//! The five data sets of Table 3 and how their columns become features.
//!
//! Numbers are scaled to `[0, 1]` by declared public ranges, categories become one feature each,
//! and a constant is appended; BANK has one category less in each column and no constant, which
//! alone gives the printed dimension.

use std::path::Path;

use reticent::Error;
use reticent::data::{Rows, table};
use reticent::problem::declaration::{Declaration, Encoding, Layout, Precision};
use reticent::problem::{Loss, RowBounds};
use serde_json::{Value, json};

use crate::read;

/// One data set: its table, its encoding, its loss and the printed facts.
#[derive(Clone, Copy, Debug)]
pub struct Set {
    /// Its printed name.
    pub name: &'static str,
    /// The name of its files.
    pub file: &'static str,
    /// The table.
    pub table: &'static str,
    /// The loss of a row.
    pub loss: Loss,
    /// `D` without ridge and with it, as fitted to the printed times; none where they cannot be.
    pub distances: Option<[f64; 2]>,
    /// The printed number of features.
    pub printed_features: usize,
    ranges: &'static [(&'static str, f64, f64)],
    one_hot: &'static [(&'static str, i64, i64)],
    drop: &'static [&'static str],
    leave_one_out: bool,
}

const HUBER: Loss = Loss::Huber { threshold: 1.0 };

/// All five.
pub const SETS: [Set; 5] = [
    Set {
        name: "BANK",
        file: "bank_full",
        table: "bank_full.csv.gz",
        loss: Loss::Logistic,
        distances: Some([7.2, 1.3]),
        printed_features: 42,
        ranges: &[
            ("age", 0.0, 100.0),
            ("balance", -10_000.0, 110_000.0),
            ("day", 1.0, 31.0),
            ("duration", 0.0, 5_000.0),
            ("campaign", 0.0, 64.0),
            ("pdays", -1.0, 900.0),
            ("previous", 0.0, 300.0),
        ],
        one_hot: &[],
        drop: &[],
        leave_one_out: true,
    },
    Set {
        name: "ADULT",
        file: "adult",
        table: "adult_train.csv.gz",
        loss: Loss::Logistic,
        distances: Some([13.4, 9.6]),
        printed_features: 110,
        ranges: &[
            ("age", 0.0, 100.0),
            ("fnlwgt", 0.0, 1.5e6),
            ("education-num", 1.0, 16.0),
            ("capital-gain", 0.0, 1e5),
            ("capital-loss", 0.0, 5_000.0),
            ("hours-per-week", 0.0, 100.0),
        ],
        one_hot: &[],
        drop: &[],
        leave_one_out: false,
    },
    Set {
        name: "CreditCard",
        file: "credit_default",
        table: "credit_default.csv.gz",
        loss: Loss::Logistic,
        distances: Some([7.4, 4.9]),
        printed_features: 34,
        ranges: &[
            ("LIMIT_BAL", 0.0, 1e6),
            ("AGE", 0.0, 100.0),
            ("PAY_", -2.0, 9.0),
            ("BILL_AMT", -4e5, 2e6),
            ("PAY_AMT", 0.0, 2e6),
        ],
        one_hot: &[],
        drop: &[],
        leave_one_out: false,
    },
    Set {
        name: "WINE",
        file: "wine_quality",
        table: "wine_quality.csv.gz",
        loss: HUBER,
        distances: None,
        printed_features: 12,
        ranges: &[],
        one_hot: &[],
        drop: &["color"],
        leave_one_out: false,
    },
    Set {
        name: "BIKE",
        file: "bike_hour",
        table: "bike_hour.csv.gz",
        loss: HUBER,
        distances: None,
        printed_features: 62,
        ranges: &[],
        one_hot: &[("mnth", 1, 12), ("hr", 0, 23), ("weekday", 0, 6)],
        drop: &[],
        leave_one_out: false,
    },
];

impl Set {
    /// The data set of this name, in any case.
    pub fn named(name: &str) -> Option<&'static Self> {
        SETS.iter().find(|set| set.name.eq_ignore_ascii_case(name))
    }

    /// Reads the encoded rows from `folder`; labels of regression are on the target's own scale.
    ///
    /// # Errors
    ///
    /// If a file is absent or of another structure.
    pub fn read(&self, folder: &Path) -> Result<Rows, Error> {
        let layout = self.layout(&read(&folder.join(format!("{}.schema.json", self.file)))?)?;
        let rows = table::read(&folder.join(self.table), None, &layout, true)?;
        if self.loss.is_classification() {
            return Ok(rows);
        }
        let bounds = rows.bounds();
        let target = |label: f64| layout.labels().to_target(label);
        let largest = target(bounds.label()).abs().max(target(-bounds.label()).abs());
        let labels = rows.labels().iter().map(|y| target(*y)).collect();
        let bounds = RowBounds::new(bounds.norm(), largest)?;
        Ok(Rows::new(rows.features().clone(), labels, bounds))
    }

    /// The schema file with this table's ranges and categories, and the layout that follows.
    fn layout(&self, schema: &str) -> Result<Layout, Error> {
        let mut schema: Value = serde_json::from_str(schema).unwrap_or_default();
        for column in schema["columns"].as_array_mut().into_iter().flatten() {
            self.adjust(column);
        }
        let declaration = Declaration::from_json(&schema.to_string())?;
        let drop = self.drop.iter().map(|name| (*name).to_owned()).collect();
        let encoding = Encoding { intercept: !self.leave_one_out, drop, ..Encoding::default() };
        let layout = declaration.layout(&encoding)?;
        if layout.is_mostly_zero() || self.leave_one_out {
            let encoding = Encoding { precision: Precision::Sparse, ..encoding };
            return Ok(declaration.layout(&encoding)?);
        }
        Ok(layout)
    }

    fn adjust(&self, column: &mut Value) {
        let name = column["name"].as_str().unwrap_or_default().to_owned();
        let is_target = column["role"] == "target";
        // The longest name that fits: `PAY_AMT1` is a `PAY_AMT` and not a `PAY_`.
        let fits = self.ranges.iter().filter(|(start, ..)| name.starts_with(start));
        if let Some((_, min, max)) = fits.max_by_key(|(start, ..)| start.len())
            && column["bounds"].is_object()
        {
            column["bounds"] = json!({ "min": min, "max": max, "basis": "domain" });
        }
        if let Some((_, from, to)) = self.one_hot.iter().find(|(known, ..)| *known == name) {
            let categories: Vec<String> = (*from..=*to).map(|v| v.to_string()).collect();
            column["type"] = json!("categorical");
            column["categories"] = json!(categories);
            column["bounds"] = Value::Null;
        }
        if is_target {
            return;
        }
        if let Some(categories) = column["categories"].as_array_mut() {
            if self.leave_one_out {
                categories.remove(0);
            }
            if column["missing"].is_string() {
                // A missing value is a category like any other, as in the paper's count of
                // features.
                let mark = column["missing"].take();
                if let Some(categories) = column["categories"].as_array_mut() {
                    categories.push(mark);
                }
            }
        }
    }
}
