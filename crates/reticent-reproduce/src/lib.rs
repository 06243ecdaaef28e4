//! Published tables reproduced: ours beside the paper's.
//!
//! Everything here is measured on the rows themselves. A table of errors is not a private release,
//! so run it on public rows only. A table needs many runs on the same rows and shows the best of
//! them: the stated epsilon is that of one run, and every page says so.
//!
//! | module | table |
//! | --- | --- |
//! | [`clipped`] | accuracy by clip norm and epsilon (Das et al., ICML 2023) |
//! | [`table3`] | minimisation error and time (Zhang et al., IJCAI 2017) |

pub mod clipped;
mod figure;
pub mod table3;

use std::path::Path;

use reticent::Error;

/// The text of a file.
fn read(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|e| file_error("read", path, &e))
}

/// The error of a file that cannot be read or written.
fn file_error(verb: &'static str, path: &Path, why: &std::io::Error) -> Error {
    Error::File { verb, file: path.display().to_string(), why: why.to_string() }
}
