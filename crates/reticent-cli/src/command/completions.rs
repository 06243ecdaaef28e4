//! `reticent completions`.

use clap_complete::Shell;
use serde_json::json;

use crate::arguments::Cli;
use crate::output;

pub(super) fn run(shell: Shell, json: bool) {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::definition(), "reticent", &mut script);
    let script = String::from_utf8_lossy(&script);
    if json {
        output::json(&json!({ "shell": shell.to_string(), "script": script.as_ref() }));
    } else {
        output::line(script.trim_end());
    }
}
