//! The pages of the algorithms list the declared settings, and no others.
//!
//! With `RETICENT_WRITE_DOCS` set, the tables are written instead of compared.

use std::fmt::Write as _;
use std::path::Path;

use reticent_optim::setting::{Setting, declared};
use reticent_optim::{ALGORITHMS, AlgorithmInfo};

const START: &str = "<!-- settings: made from the declarations, see CONTRIBUTING.md -->\n";
const END: &str = "<!-- end of settings -->\n";

/// A text of the declarations, with settings named as they are typed, in a cell of a table.
fn cell(text: &str) -> String {
    let typed = declared().iter().fold(text.to_owned(), |text, d| {
        text.replace(&format!("`{}`", d.setting.name), &format!("`--{}`", d.flag))
    });
    typed.replace('|', "\\|")
}

fn row(setting: &Setting) -> String {
    let Setting { default, help, .. } = setting;
    let (flag, values) = (setting.flag_name(), cell(&setting.values()));
    format!("| `--{flag}` | {values} | {} | {} |\n", cell(default), cell(help))
}

fn block(info: &AlgorithmInfo) -> String {
    let mut text = format!("{START}## Settings\n\n");
    text.push_str("| flag | values | default | meaning |\n| --- | --- | --- | --- |\n");
    info.settings.iter().for_each(|setting| text.push_str(&row(setting)));
    _ = write!(
        text,
        "\nn rows, d features, B bounds a row's norm, Y a label, beta the curvature.\n{END}"
    );
    text
}

#[test]
fn pages_list_the_declared_settings() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/algorithms");
    for info in ALGORITHMS {
        let path = folder.join(format!("{}.md", info.name));
        let page = std::fs::read_to_string(&path).unwrap();
        let wanted = block(info);
        let (before, after) = match page.split_once(START) {
            Some((before, rest)) => (before, rest.split_once(END).unwrap().1),
            None => (page.as_str(), ""),
        };
        let whole = if page.contains(START) {
            format!("{before}{wanted}{after}")
        } else {
            format!("{}\n\n{wanted}", page.trim_end())
        };
        if std::env::var_os("RETICENT_WRITE_DOCS").is_some() {
            std::fs::write(&path, whole).unwrap();
        } else {
            assert!(
                whole == page,
                "{} is not what is declared: run `RETICENT_WRITE_DOCS=1 cargo test -p reticent-optim --test it settings_docs`",
                path.display()
            );
        }
    }
}
