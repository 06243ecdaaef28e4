//! The owner's public statement about a table, and the facts that follow from it alone.
//!
//! A [`Declaration`] is read from a small JSON file: the columns, their types, categories, missing
//! marks and bounds, the target and the task. An [`Encoding`] says how columns become features. The
//! two together give a [`Layout`]: the features by name, their number, the bound on a row's norm
//! and the rule for labels. No row is needed for any of it, and none is looked at.
//!
//! # Guarantee
//!
//! A layout is a function of the declaration and the encoding. In particular no bound, category or
//! class is ever taken from rows: a bound that is not declared is an error that says what to add.
//!
//! A model file, like any other file that is written, holds only a closed list of checked values of
//! a declaration ([`Declaration::published`]). Fields of the file that mean nothing here are named
//! to the owner ([`Declaration::unpublished`]); their values are not even read.
//!
//! # Example
//!
//! ```
//! use reticent_problem::declaration::{Declaration, Encoding};
//!
//! let declaration = Declaration::from_json(r#"{
//!     "target": "income",
//!     "columns": [
//!         {"name": "age", "type": "integer", "bounds": {"min": 17, "max": 90}},
//!         {"name": "sex", "type": "categorical", "categories": ["Female", "Male"]},
//!         {"name": "income", "type": "categorical", "categories": ["<=50K", ">50K"]}
//!     ]
//! }"#)?;
//! let layout = declaration.layout(&Encoding::default())?;
//! assert_eq!(layout.feature_names(), ["age", "sex=Female", "sex=Male", "(intercept)"]);
//! assert!((layout.norm_bound() - 3_f64.sqrt()).abs() < 1e-9);
//! # Ok::<(), reticent_problem::declaration::DeclarationError>(())
//! ```

mod check;
mod curve;
mod date;
mod encoding;
mod error;
mod explain;
mod form;
mod hash;
mod layout;
mod place;
mod published;
mod raw;
mod replaced;
mod schema;
mod skeleton;
mod spelling;
mod unpublished;
mod weights;

pub use curve::{Basis, Curve, Knots, Place, ReadyCurve, Scale, Shape};
pub use date::{DateColumn, DatePart, DateValue, PartForm, days, iso_of_days, moment};
pub use encoding::{Encoding, NumericRange, Precision};
pub use error::DeclarationError;
pub use explain::{ExplainedColumn, Explanation, not_published};
pub use hash::{bucket_of_category, bucket_of_number, count_words};
pub use layout::{DateInput, Factor, Input, InputKind, Labels, Layout, Pair, ROUND_UP};
pub use place::Located;
pub use schema::{
    BareTarget, BoundsBasis, Column, Declaration, Kind, Role, TaskKind, VectorBounds,
};
pub use skeleton::{Skeleton, SkeletonColumn, SkeletonType};
pub use spelling::{MISSING_SPELLINGS, number_spelled, spells_missing};
pub use weights::{BALANCED, WeightColumn, Weights};
