//! The flags of all declared settings: made from the declarations, so that a new setting is a flag.

use clap::builder::PossibleValue;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, value_parser};
use reticent::optim::setting::{Declared, Kind, declared};
use reticent::optim::{ALGORITHMS, Settings};

/// More algorithms than these are not named in a flag's help.
const FEW: usize = 4;

/// The settings that were given, of any algorithm.
#[derive(Debug)]
pub(crate) struct DeclaredArgs {
    pub(crate) settings: Settings,
}

/// A text of the declarations, with settings named as they are typed.
pub(crate) fn as_typed(text: &str) -> String {
    declared().iter().fold(text.to_owned(), |text, Declared { setting, flag, .. }| {
        text.replace(&format!("`{}`", setting.name), &format!("`--{flag}`"))
    })
}

/// The flag of a setting.
fn flag(declared: &'static Declared) -> Arg {
    let setting = &declared.setting;
    let help = as_typed(setting.help);
    let help = match &declared.algorithms[..] {
        few if few.len() <= FEW => format!("{help} ({})", few.join(", ")),
        all if all.len() == ALGORITHMS.len() => help,
        many => format!("{help} ({} algorithms)", many.len()),
    };
    let flag = Arg::new(setting.name)
        .long(declared.flag.as_str())
        .value_name(declared.value_name.as_str())
        .help(help);
    let flag = match setting.alias {
        Some(alias) => flag.alias(alias),
        None => flag,
    };
    let flag = if setting.common { flag } else { flag.hide_short_help(true) };
    match setting.kind {
        Kind::Flag => flag
            .value_parser(value_parser!(bool))
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .hide_possible_values(true)
            .value_name("BOOL"),
        Kind::Whole { .. } => flag.value_parser(value_parser!(u64)).allow_hyphen_values(true),
        Kind::Number(_) => flag.value_parser(value_parser!(f64)).allow_hyphen_values(true),
        Kind::Choice(_) => {
            let words = declared.words.iter();
            flag.value_parser(
                words.map(|(word, help)| PossibleValue::new(*word).help(*help)).collect::<Vec<_>>(),
            )
        }
    }
    .help_heading(if setting.common { "Common settings" } else { "Settings" })
}

impl Args for DeclaredArgs {
    fn augment_args(command: Command) -> Command {
        command.args(declared().iter().map(flag))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for DeclaredArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut args = Self { settings: Settings::default() };
        args.update_from_arg_matches(matches)?;
        Ok(args)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for Declared { setting, words, .. } in declared() {
            let given = &mut self.settings;
            match setting.kind {
                Kind::Flag => {
                    if let Some(on) = matches.get_one::<bool>(setting.name) {
                        given.give(setting, *on);
                    }
                }
                Kind::Whole { .. } => {
                    if let Some(whole) = matches.get_one::<u64>(setting.name) {
                        given.give(setting, *whole);
                    }
                }
                Kind::Number(_) => {
                    if let Some(number) = matches.get_one::<f64>(setting.name) {
                        given.give(setting, *number);
                    }
                }
                Kind::Choice(_) => {
                    let word = matches.get_one::<String>(setting.name);
                    let known = |word: &String| words.iter().find(|(known, _)| known == word);
                    if let Some((word, _)) = word.and_then(known) {
                        given.give(setting, *word);
                    }
                }
            }
        }
        Ok(())
    }
}
