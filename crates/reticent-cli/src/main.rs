//! The `reticent` command: reads arguments, calls the library, prints.

mod arguments;
mod command;
mod output;
mod progress;

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use arguments::Cli;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return explain_usage(&error),
    };
    match command::run(cli) {
        Ok(code) => code,
        Err(error) => {
            output::complain(&error.to_string());
            ExitCode::from(2)
        }
    }
}

/// Help goes to standard output; a mistake becomes one sentence and exit code 2.
fn explain_usage(error: &clap::Error) -> ExitCode {
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    ) {
        _ = error.print();
        return ExitCode::from(u8::from(error.use_stderr()) * 2);
    }
    let text = error.to_string();
    let mut sentence = String::new();
    for line in text.lines().map(str::trim).take_while(|l| !l.starts_with("Usage:")) {
        if !line.is_empty() && !line.starts_with("For more information") {
            sentence.push_str(if sentence.is_empty() { "" } else { " " });
            sentence.push_str(line);
        }
    }
    let sentence = sentence.strip_prefix("error: ").unwrap_or(&sentence);
    output::complain(&format!("{sentence}; see `reticent --help`"));
    ExitCode::from(2)
}
