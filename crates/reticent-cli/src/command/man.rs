//! `reticent man`: manual pages from the definition that also parses the arguments.

use std::path::Path;
use std::process::ExitCode;

use clap::Command;
use clap_mangen::Man;
use reticent::{Error, write_atomically};
use serde_json::json;

use crate::arguments::Cli;
use crate::output;

pub(super) fn run(folder: &Path, json: bool) -> Result<ExitCode, Error> {
    let cannot =
        |why: String| Error::File { verb: "write", file: folder.display().to_string(), why };
    std::fs::create_dir_all(folder).map_err(|e| cannot(e.to_string()))?;
    let mut definition = Cli::definition();
    definition.build();
    let mut pages = Vec::new();
    for command in with_subcommands(&definition) {
        let man = Man::new(command.clone());
        let (name, mut text) = (man.get_filename(), Vec::new());
        man.render(&mut text).map_err(|e| cannot(e.to_string()))?;
        write_atomically(&folder.join(&name), &text)?;
        pages.push(name);
    }
    if json {
        output::json(&json!({ "out": folder, "pages": pages }));
    } else {
        output::line(&format!(
            "wrote {} pages to {}; read one with `man {}`",
            pages.len(),
            folder.display(),
            folder.join("reticent.1").display()
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// The command and all below it, but for clap's own `help`.
fn with_subcommands(command: &Command) -> Vec<&Command> {
    let below = command.get_subcommands().filter(|sub| sub.get_name() != "help");
    std::iter::once(command).chain(below.flat_map(with_subcommands)).collect()
}
