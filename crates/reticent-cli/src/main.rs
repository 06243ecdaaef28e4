//! The `reticent` command: reads arguments, calls the library, prints.

mod arguments;
mod command;
mod interruption;
mod output;
mod progress;

use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use clap::error::ErrorKind;

use arguments::{Cli, as_typed};
use reticent::Error;

/// Where the last panic happened.
static PLACE: Mutex<Option<String>> = Mutex::new(None);

fn main() -> ExitCode {
    // A panic's message may quote a value, and a value may be private: only the place is kept.
    std::panic::set_hook(Box::new(|panic| {
        let mut place = PLACE.lock().unwrap_or_else(PoisonError::into_inner);
        *place = panic.location().map(ToString::to_string);
    }));
    let cli = match Cli::typed() {
        Ok(cli) => cli,
        Err(error) => return explain_usage(&error),
    };
    interruption::install();
    match std::panic::catch_unwind(|| command::run(cli)) {
        Ok(Ok(code)) => code,
        Ok(Err(error)) => {
            output::complain(&sentence(&error));
            ExitCode::from(2)
        }
        Err(_) => {
            let place = PLACE.lock().unwrap_or_else(PoisonError::into_inner);
            let place = place.as_deref().unwrap_or("an unknown place");
            output::complain(&format!("internal error at {place}; please report this bug"));
            ExitCode::from(101)
        }
    }
}

/// What is wrong, with settings named as they are typed: errors of plans speak of them, and quote
/// nothing that a file holds.
fn sentence(error: &Error) -> String {
    match error {
        Error::Plan(plan) => as_typed(&plan.to_string()),
        other => other.to_string(),
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
