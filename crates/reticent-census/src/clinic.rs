//! The table of the guide: patients that do not exist, with what is public about them.

use std::fmt::Write;

/// Patients of a clinic, and whether they were readmitted.
#[derive(Clone, Copy, Debug)]
pub struct Clinic;

const WARDS: [&str; 5] = ["surgery", "internal", "intensive", "other", "?"];

impl Clinic {
    /// How many patients the guide has.
    pub const ROWS: usize = 4000;

    /// The table as CSV with a header. It follows from the number of rows: nothing is drawn.
    pub fn csv(rows: usize) -> String {
        let mut text = "patient,age,systolic,ward,readmitted\n".to_owned();
        for i in 0..rows {
            let (age, pressure) = (20 + i * 37 % 71, 100 + i * 13 % 90);
            let readmitted = if age + pressure + i * 29 % 60 > 220 { "yes" } else { "no" };
            _ = writeln!(text, "p{i},{age},{pressure},{},{readmitted}", WARDS[i % 5]);
        }
        text
    }

    /// The schema.
    pub fn schema() -> &'static str {
        include_str!("clinic.schema.json")
    }
}
