//! What the owner of a table states publicly about it, and what follows from that alone.
//!
//! A [`Declaration`] is read from a small JSON file: the columns, their types, categories, missing
//! marks and bounds, the target and the task. An [`Encoding`] says how columns become features. The
//! two together give a [`Layout`]: the features by name, their number, the bound on a row's norm and
//! the rule for labels. No row is needed for any of it, and none is looked at.
//!
//! # Guarantee
//!
//! A layout is a function of the declaration and the encoding. In particular no bound, category or
//! class is ever taken from rows: a bound that is not declared is an error that says what to add.
//!
//! What is written of a declaration, into a model file or anywhere else, is a closed list of checked
//! values ([`Declaration::published`]). Fields of the file that mean nothing here are named to the owner
//! ([`Declaration::unpublished`]); their values are not even read.
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
mod encoding;
mod error;
mod explain;
mod layout;
mod published;
mod raw;
mod schema;
mod spelling;
mod unpublished;

pub use encoding::{Encoding, NumericRange, Precision};
pub use error::DeclarationError;
pub use explain::{ExplainedColumn, Explanation, not_published};
pub use layout::{Input, InputKind, Labels, Layout, ROUND_UP};
pub use schema::{BareTarget, Basis, Column, Declaration, Kind, Role, Task, VectorBounds};
pub use spelling::{MISSING_SPELLINGS, number_spelled, spells_missing};
