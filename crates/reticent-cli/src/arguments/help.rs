//! The short help of commands with many flags: the common ones under headings; `--help-all` shows
//! all.

use clap::{Arg, ArgAction, Command};

/// Commands that have settings.
const COMMANDS: [&str; 4] = ["fit", "plan", "tune", "audit"];

/// The flags of the short help, under their headings. Common settings are declared as such.
const SHOWN: [(&str, &[&str]); 4] = [
    ("Data", &["data", "schema", "target", "n", "d", "runs", "single_run", "seed"]),
    ("Privacy", &["epsilon", "delta", "adjacency", "ledger"]),
    ("Model", &["algorithm", "loss", "radius", "tries"]),
    ("Output", &["out", "force", "plot", "verbose", "json"]),
];

/// The heading of a flag that the short help leaves out.
fn heading(name: &str) -> &'static str {
    match name {
        "data_command" | "format" | "separator" | "decimal" | "labels" | "rows" | "threads"
        | "memory" | "numeric_range" | "no_intercept" | "drop" | "precision" | "feature_norm"
        | "normalize" | "classes" | "label_bound" | "entry_bound" => "Data",
        "insecure_seed" | "reserve" | "confidence" | "canaries" | "unit" | "max_rows" => "Privacy",
        "checkpoint" | "checkpoint_every" | "resume" => "Output",
        _ => "Model",
    }
}

fn placed(flag: Arg) -> Arg {
    if flag.get_help_heading().is_some_and(|heading| heading.ends_with("ettings")) {
        return flag;
    }
    let name = flag.get_id().as_str().to_owned();
    match SHOWN.iter().find(|(_, names)| names.contains(&name.as_str())) {
        Some((heading, _)) => flag.help_heading(*heading),
        None => flag.hide_short_help(true).help_heading(heading(&name)),
    }
}

/// The command line with a short and a long help for each command that has settings.
pub(super) fn with_short_help(mut cli: Command) -> Command {
    for name in COMMANDS {
        cli = cli.mut_subcommand(name, |command| {
            let help = Arg::new("help").short('h').long("help").action(ArgAction::HelpShort);
            let all = Arg::new("help-all").long("help-all").action(ArgAction::HelpLong);
            command
                .mut_args(placed)
                .disable_help_flag(true)
                .arg(help.help("Print the common options").help_heading("Help"))
                .arg(all.help("Print all options").help_heading("Help"))
        });
    }
    cli
}
