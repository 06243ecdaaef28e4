//! The `reticent` command: reads arguments, calls the library, prints.

mod arguments;
mod command;
mod interruption;
mod output;
mod progress;

use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use clap::error::{ContextKind, ContextValue, ErrorKind};

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
    let json = std::env::args().any(|word| word == "--json");
    let cli = match Cli::typed() {
        Ok(cli) => cli,
        Err(error) => return explain_usage(&error, json),
    };
    interruption::install();
    match std::panic::catch_unwind(|| command::run(cli)) {
        Ok(Ok(code)) => code,
        Ok(Err(error)) => {
            output::complain(&sentence(&error), 2, json);
            ExitCode::from(2)
        }
        Err(_) => {
            let place = PLACE.lock().unwrap_or_else(PoisonError::into_inner);
            let place = place.as_deref().unwrap_or("an unknown place");
            let sentence = format!("internal error at {place}; please report this bug");
            output::complain(&sentence, 101, json);
            ExitCode::from(101)
        }
    }
}

/// The error message, with settings named as they are typed: errors of plans name settings, and
/// quote nothing that a file holds.
fn sentence(error: &Error) -> String {
    match error {
        Error::Plan(plan) => flags_as_typed(&as_typed(&plan.to_string())),
        Error::Problem(_) | Error::Arguments(_) => flags_as_typed(&error.to_string()),
        Error::LossMismatch { .. } => error.to_string().replacen("`loss`", "`--loss`", 1),
        // It may quote names of columns, so only what is no name is replaced.
        Error::Declaration(declaration) => declaration
            .to_string()
            .replace(
                "give `feature_norm` to clip them, or `none`",
                "give `--feature-norm` to clip them, or `--feature-norm none`",
            )
            .replace("`feature_norm` must", "`--feature-norm` must")
            .replace("`feature_norm` is", "`--feature-norm` is")
            .replace("`knots` must", "`--knots` must"),
        // An event in a file has these names; a number that was typed has its flag's.
        Error::Privacy(privacy) if std::env::args().any(|word| word == "--sigma") => {
            let text = privacy.to_string();
            flags_as_typed(
                &text.replace("`noise_multiplier`", "`sigma`").replace("`sample_rate`", "`q`"),
            )
        }
        Error::Privacy(privacy) => flags_as_typed(&privacy.to_string()),
        other => without_temporary(&other.to_string())
            .replace("No such file or directory (os error 2)", "no such file or folder")
            .replace("entity not found", "no such file or folder"),
    }
}

/// The sentence with flags of the command at hand as they are typed. It must not quote a name that
/// a user chose.
fn flags_as_typed(sentence: &str) -> String {
    let definition = Cli::definition();
    let words = std::env::args().skip(1).filter(|word| !word.starts_with('-'));
    let command = words.fold(&definition, |at, word| at.find_subcommand(word).unwrap_or(at));
    command.get_arguments().fold(sentence.to_owned(), |sentence, flag| match flag.get_long() {
        Some(long) => sentence.replace(&format!("`{}`", flag.get_id()), &format!("`--{long}`")),
        None => sentence,
    })
}

/// The sentence without the path of a temporary file.
fn without_temporary(sentence: &str) -> String {
    match sentence.split_once(" at path \"") {
        Some((before, after)) if after.contains(".reticent-tmp-") => {
            let rest = after.split_once('"').map_or("", |(_, rest)| rest);
            format!("{before}{rest}")
        }
        _ => sentence.to_owned(),
    }
}

/// Help goes to standard output; a mistake becomes one sentence and exit code 2.
fn explain_usage(error: &clap::Error, json: bool) -> ExitCode {
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
            let joint = if line.starts_with("tip:") { "; " } else { " " };
            sentence.push_str(if sentence.is_empty() { "" } else { joint });
            sentence.push_str(line);
        }
    }
    let sentence = sentence.strip_prefix("error: ").unwrap_or(&sentence);
    let sentence =
        sentence.replace("invalid float literal", "not a number; write it as 0.5").replace(
            "invalid digit found in string",
            "not a whole number; write digits only, such as 70000",
        );
    let sentence = match meant(error) {
        Some(command) => format!("{sentence}; did you mean `reticent {command}`?"),
        None => sentence,
    };
    output::complain(&format!("{sentence}; see `{} --help`", command_typed()), 2, json);
    ExitCode::from(2)
}

/// The command that was typed, with its subcommand: `reticent ledger init`.
fn command_typed() -> String {
    let definition = Cli::definition();
    let (mut at, mut typed) = (&definition, "reticent".to_owned());
    for word in std::env::args().skip(1).filter(|word| !word.starts_with('-')) {
        let Some(command) = at.find_subcommand(&word) else { break };
        at = command;
        typed = format!("{typed} {word}");
    }
    typed
}

/// The command that other tools call by the name that was typed.
fn meant(error: &clap::Error) -> Option<&'static str> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    match word.as_str() {
        "train" | "learn" => Some("fit"),
        "test" | "score" => Some("evaluate"),
        "validate" => Some("verify"),
        _ => None,
    }
}
