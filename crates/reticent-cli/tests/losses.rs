//! Losses by name, end to end. A loss that has something of its own to test has it here.
#![allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails

mod common;

use common::Folder;
use reticent::problem::Loss;

#[test]
fn every_loss_has_a_name_in_the_help_and_a_plan() {
    let folder = Folder::new();
    let help = folder.run("plan --help").succeeds().stdout;
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for about in Loss::ALL {
        let line = format!("- {}: {}", about.name, about.help);
        assert!(help.contains(&line), "{line}");
        // A ball bounds the slope of those that have no bound of their own; least squares takes none.
        let set = if about.name == "one-hot" { "" } else { "--radius 2" };
        let line = format!("plan --n 500 --d 3 --loss {} --epsilon 2 {set} --json", about.name);
        let json = folder.run(&line).succeeds().json();
        let loss = &json["ranking"][0]["plan"]["problem"]["loss"]["name"];
        assert_eq!(loss, about.name, "{json}");
    }
    folder.run("plan --n 500 --d 3 --loss log --epsilon 2").refuses("logistic, softmax");
}
