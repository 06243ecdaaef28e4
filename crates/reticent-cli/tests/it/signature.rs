//! Signatures: `ssh-keygen` verifies those of `reticent`, and the other way round; any mismatch is
//! refused.
#![allow(clippy::unwrap_used)] // in a test, a step that fails is a test that fails
#![allow(clippy::print_stdout)] // says what was skipped

use crate::common::{FIT, Folder, Run};

/// A folder with a model, keys of Ann and Bob, and a list that names both; none where there is no
/// `ssh-keygen`.
fn folder() -> Option<Folder> {
    let folder = Folder::new();
    if folder.shell("command -v ssh-keygen").code != Some(0) {
        println!("skipped: ssh-keygen is not installed");
        return None;
    }
    folder.run(&format!("{FIT} --delta 0")).succeeds();
    keys(&folder, "ann", "ed25519");
    keys(&folder, "bob", "ecdsa -b 256");
    folder
        .shell("for who in ann bob; do echo \"$who@clinic.org $(cat $who.pub)\"; done > signers")
        .succeeds();
    Some(folder)
}

fn keys(folder: &Folder, who: &str, kind: &str) {
    folder.shell(&format!("ssh-keygen -q -t {kind} -N '' -C {who} -f {who}")).succeeds();
}

/// The verdict of `reticent verify` on the model.
fn verify(folder: &Folder, flags: &str) -> Run {
    folder.run(&format!("verify model.json --allowed-signers signers {flags}"))
}

/// Asserts exit code 1 and that the signature's line says why.
#[track_caller]
fn fails(run: &Run, why: &str) {
    assert_eq!(run.code, Some(1), "{run:#?}");
    let line = run.stdout.lines().find(|line| line.contains("signed by an allowed signer"));
    let line = line.unwrap_or_else(|| panic!("{run:#?}"));
    assert!(line.starts_with("  FAILS") && line.contains(why), "{run:#?}");
}

#[test]
fn both_programs_read_what_the_other_writes() {
    let Some(folder) = folder() else { return };
    for who in ["ann", "bob"] {
        let wrote = folder.run(&format!("sign model.json --key {who}")).succeeds();
        assert!(wrote.stdout.contains("model.json.sig"), "{wrote:#?}");
        folder
            .shell(&format!("ssh-keygen -Y verify -f signers -I {who}@clinic.org -n reticent -s model.json.sig < model.json"))
            .succeeds();
        let ours = verify(&folder, "").succeeds();
        assert!(
            ours.stdout.contains(&format!("holds  signed by an allowed signer: {who}@clinic.org")),
            "{ours:#?}"
        );
        folder
            .shell(&format!(
                "rm model.json.sig; ssh-keygen -q -Y sign -f {who} -n reticent model.json"
            ))
            .succeeds();
        let theirs = verify(&folder, &format!("--signer {who}@clinic.org")).succeeds();
        assert_eq!(theirs.stdout, ours.stdout);
        assert!(!theirs.stdout.contains("who made the file"), "{theirs:#?}");
    }
    let json = verify(&folder, "--json").succeeds().json();
    assert_eq!(json["compared"][0]["holds"], true);
    assert_eq!(json["pass"], true);
}

#[test]
fn whatever_does_not_fit_is_refused() {
    let Some(folder) = folder() else { return };
    fails(&verify(&folder, ""), "cannot read `model.json.sig`");
    folder.run("sign model.json --key ann").succeeds();
    verify(&folder, "--signer ann@clinic.org").succeeds();
    fails(&verify(&folder, "--signer bob@clinic.org"), "`bob@clinic.org` was asked for");
    // Altered after it was signed, even in white space that no other check sees.
    let honest = folder.read("model.json");
    folder.write("model.json", format!("{honest}\n"));
    let altered = verify(&folder, "");
    fails(&altered, "it was altered");
    assert_eq!(altered.stdout.matches("FAILS").count(), 1, "{altered:#?}");
    folder.write("model.json", &honest);
    // For another purpose.
    folder.shell("mv model.json.sig kept; ssh-keygen -q -Y sign -f ann -n file model.json; mv model.json.sig file.sig").succeeds();
    fails(&verify(&folder, "--signature file.sig"), "another purpose");
    verify(&folder, "--signature kept").succeeds();
    folder.write("model.json.sig", "no signature");
    fails(&verify(&folder, ""), "is not an SSH signature");
    folder.shell("mv kept model.json.sig").succeeds();
    // Not listed, not for this, not now.
    let listed = |options: &str, who: &str| {
        folder
            .shell(&format!("echo '{who}@clinic.org {options} '\"$(cat {who}.pub)\" > signers"))
            .succeeds();
        verify(&folder, "")
    };
    fails(&listed("", "bob"), "is not in `signers`");
    fails(&listed("namespaces=\"git\"", "ann"), "is not for the namespace `reticent`");
    fails(&listed("valid-before=\"20200101Z\"", "ann"), "has expired");
    fails(&listed("valid-after=\"29990101Z\"", "ann"), "not yet valid");
    listed("namespaces=\"git,reticent\",valid-before=\"29990101Z\"", "ann").succeeds();
    listed("touch-required", "ann")
        .refuses("line 1: the option `touch-required` is not understood");
    // A signature does not mend a certificate that fails.
    folder.run(&format!("{FIT} --delta 0 --insecure-seed 1")).succeeds();
    folder.run("sign model.json --key ann").succeeds();
    let void = listed("", "ann");
    assert_eq!(void.code, Some(1), "{void:#?}");
    assert!(
        void.stdout.starts_with("FAIL\n") && void.stdout.contains("holds  signed by"),
        "{void:#?}"
    );
}

#[test]
fn any_file_can_be_signed() {
    let Some(folder) = folder() else { return };
    folder.run("report model.json --out report.html").succeeds();
    folder.run("sign report.html --key ann").succeeds();
    let run = folder.run("verify report.html --allowed-signers signers").succeeds();
    assert!(
        run.stdout
            .contains("`report.html` is not a model: its signature was checked, and nothing else")
    );
    assert!(!run.stdout.contains("PASS"), "{run:#?}");
    folder.write("report.html", "another page");
    let run = folder.run("verify report.html --allowed-signers signers");
    assert_eq!(run.code, Some(1), "{run:#?}");
    // Without a list nothing can be said of it.
    folder.run("verify report.html").refuses("not a reticent model");
    // A file that calls itself a model is verified as one.
    folder.write("broken.json", r#"{"format": "reticent-model/1"}"#);
    folder.run("sign broken.json --key ann").succeeds();
    folder.run("verify broken.json --allowed-signers signers").refuses("not a reticent model");
}

#[test]
fn keys_that_cannot_sign_are_bad_input() {
    let Some(folder) = folder() else { return };
    folder.shell("ssh-keygen -q -t ed25519 -N secret -f locked; ssh-keygen -q -t rsa -b 2048 -N '' -f old").succeeds();
    folder.run("sign model.json --key locked").refuses("protected by a passphrase");
    folder.run("sign model.json --key old").refuses("ssh-ed25519");
    folder.run("sign model.json --key ann.pub").refuses("it is a public key");
    folder.run("sign model.json --key clinic.csv").refuses("not a private key");
    folder.run("sign model.json --key nobody").refuses("cannot read `nobody`");
    folder.run("sign nothing.json --key ann").refuses("cannot read `nothing.json`");
    folder.write("model.json.sig", "minutes of a meeting");
    folder.run("sign model.json --key ann").refuses("is not a signature, so it is not replaced");
    folder.run("verify model.json --signer ann").refuses("--allowed-signers");
}
