//! The project's own chores. `cargo xtask test` sets up what the tests need and runs them all.

mod api;

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const HELP: &str = "usage: cargo xtask <chore>

  test     build everything, run the Rust tests, then the Python tests in an environment under target/;
           installs Chromium and Java from the system's packages if they are not there
  lint     rustfmt, the listing of public items, clippy and rustdoc, warnings are errors
  quick    rustfmt, then clippy and the tests of the crates named, or of those that differ from the last
           commit, in the dev profile: debug assertions and overflow checks are on
  docs     check every path, flag, name and figure of the documents; --write rewrites figures and outputs
  api      compare the public items with docs/api; --write writes the listing
  bench    measure what bench/RESULTS.md reports (minutes)";

fn main() -> ExitCode {
    let chore = env::args().nth(1).unwrap_or_default();
    let root = root();
    let done = match chore.as_str() {
        "test" => test(&root),
        "lint" => lint(&root),
        "quick" => quick(&root, &env::args().skip(2).collect::<Vec<_>>()),
        "docs" => is_writing().and_then(|write| docs(&root, write)),
        "api" => is_writing().and_then(|write| api::run(&root, write)),
        "bench" => bench(&root),
        _ => Err(HELP.to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            say(&why);
            ExitCode::FAILURE
        }
    }
}

/// Whether a chore that checks is asked to write what it would compare with.
fn is_writing() -> Result<bool, String> {
    let rest: Vec<_> = env::args().skip(2).collect();
    match rest.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Ok(false),
        ["--write"] => Ok(true),
        _ => {
            Err(format!("`{}` is no option of this chore: type --write or nothing", rest.join(" ")))
        }
    }
}

/// The workspace: the folder above this crate's.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// What tests, lints, the binary and the wheel that they use are built with.
const PROFILE: &str = "checked";

fn test(root: &Path) -> Result<(), String> {
    // The environments of the Python tests come from the network while the compiler has the cores.
    std::thread::scope(|scope| {
        let environments = scope.spawn(|| environments(root));
        let rust = rust_tests(root);
        let environments =
            environments.join().map_err(|_| "the Python environments failed".to_owned())?;
        rust?;
        python_tests(root, environments?)
    })
}

/// The Rust tests: each a process of its own where `cargo nextest` is installed, then those in the
/// documentation. This builds the binary too: the tests of the command run it.
fn rust_tests(root: &Path) -> Result<(), String> {
    if !has_nextest() {
        return cargo(root, ["test", "--profile", PROFILE, "--workspace", "--locked"]);
    }
    cargo(root, ["nextest", "run", "--cargo-profile", PROFILE, "--workspace", "--locked"])?;
    cargo(root, ["test", "--profile", PROFILE, "--workspace", "--locked", "--doc"])
}

fn has_nextest() -> bool {
    is_there("cargo-nextest")
}

/// What the Python tests need: a browser, Java, the pinned packages, and the oldest supported ones.
fn environments(root: &Path) -> Result<[PathBuf; 2], String> {
    browser()?;
    java()?;
    Ok([
        python(root, "python", "requirements-test.txt")?,
        python(root, "python-oldest", "requirements-oldest.txt")?,
    ])
}

fn python_tests(root: &Path, [python, oldest]: [PathBuf; 2]) -> Result<(), String> {
    let wheel = wheel(root, &python)?;
    install(&python, &wheel)?;
    pytest(root, &python, &["python/tests"])?;
    // The oldest versions run scikit-learn's checks and the tests of the estimators.
    install(&oldest, &wheel)?;
    let tests = [
        "python/tests/test_sklearn_checks.py",
        "python/tests/test_estimators.py",
        "python/tests/test_cells.py",
    ];
    pytest(root, &oldest, &tests)
}

/// The loop of an edit: what a change of one crate is likely to break, in minutes.
fn quick(root: &Path, named: &[String]) -> Result<(), String> {
    cargo(root, ["fmt", "--all", "--check"])?;
    let crates = if named.is_empty() { changed(root)? } else { named.to_vec() };
    if crates.is_empty() {
        say("no crate differs from the last commit; name one: cargo xtask quick reticent-data");
        return Ok(());
    }
    let packages: Vec<&str> = crates.iter().flat_map(|name| ["--package", name]).collect();
    let chore = |first: &[&str], last: &[&str]| {
        run(Command::new(cargo_path())
            .args(first)
            .arg("--locked")
            .args(&packages)
            .args(last)
            .current_dir(root))
    };
    chore(&["clippy", "--all-targets"], &["--", "-D", "warnings"])?;
    if has_nextest() {
        return chore(&["nextest", "run", "--no-tests", "pass"], &[]);
    }
    chore(&["test"], &[])
}

/// The crates whose files differ from the last commit.
fn changed(root: &Path) -> Result<Vec<String>, String> {
    let status = Command::new("git")
        .args(["status", "--porcelain", "--untracked-files=all"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("`git status` could not be started: {error}"))?;
    let text = String::from_utf8_lossy(&status.stdout);
    let names: std::collections::BTreeSet<_> = text
        .lines()
        .filter_map(|line| line.get(3..))
        .filter_map(|path| path.rsplit(" -> ").next()?.strip_prefix("crates/")?.split('/').next())
        .map(str::to_owned)
        .collect();
    Ok(names.into_iter().collect())
}

fn pytest(root: &Path, python: &Path, tests: &[&str]) -> Result<(), String> {
    run(Command::new(python)
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider"])
        .args(tests)
        .env("RETICENT", target(root).join(PROFILE).join("reticent"))
        .current_dir(root))
}

/// The wheel of the package, built with the profile and in the folder of everything else.
fn wheel(root: &Path, python: &Path) -> Result<PathBuf, String> {
    let folder = target(root).join("wheels");
    let old = |error: std::io::Error| format!("`{}`: {error}", folder.display());
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(old)?;
    }
    run(Command::new(python)
        .args(["-m", "maturin", "build", "--profile", PROFILE, "--locked", "--quiet"])
        .arg("--interpreter")
        .arg(python)
        .arg("--out")
        .arg(&folder)
        .current_dir(root.join("python")))?;
    let mut files = std::fs::read_dir(&folder).map_err(old)?;
    match files.next() {
        Some(Ok(file)) => Ok(file.path()),
        _ => Err(format!("`{}` holds no wheel", folder.display())),
    }
}

fn install(python: &Path, wheel: &Path) -> Result<(), String> {
    run(Command::new(python)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
        .args(["--force-reinstall", "--no-deps"])
        .arg(wheel))
}

fn lint(root: &Path) -> Result<(), String> {
    cargo(root, ["fmt", "--all", "--check"])?;
    api::run(root, false)?;
    cargo(
        root,
        [
            "clippy",
            "--profile",
            PROFILE,
            "--workspace",
            "--all-targets",
            "--locked",
            "--",
            "-D",
            "warnings",
        ],
    )?;
    run(Command::new(cargo_path())
        .args(["doc", "--profile", PROFILE, "--workspace", "--no-deps", "--lib", "--locked"])
        .arg("--quiet")
        .env("RUSTDOCFLAGS", "-D warnings")
        .current_dir(root))
}

/// Holds the documents to the tree and to the built command.
fn docs(root: &Path, write: bool) -> Result<(), String> {
    cargo(root, ["build", "--profile", PROFILE, "--locked", "--bin", "reticent"])?;
    run(Command::new("python3")
        .args(["-m", "documents"])
        .args(write.then_some("--write"))
        .env("RETICENT", target(root).join(PROFILE).join("reticent"))
        .current_dir(root.join("xtask")))
}

fn bench(root: &Path) -> Result<(), String> {
    cargo(root, ["build", "--release", "--locked", "--bin", "reticent"])?;
    let python = python(root, "python", "requirements-test.txt")?;
    run(Command::new(python)
        .arg("bench/run.py")
        .env("RETICENT", target(root).join("release").join("reticent"))
        .current_dir(root))
}

/// Where cargo puts what it builds.
fn target(root: &Path) -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// A Python with the pinned packages of a file, in an environment of its own.
fn python(root: &Path, name: &str, requirements: &str) -> Result<PathBuf, String> {
    let home = target(root).join(name);
    let python = home.join("bin").join("python");
    if !python.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&home))?;
    }
    let wanted = root.join("python").join(requirements);
    run(Command::new(&python)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"])
        .arg(wanted))?;
    Ok(python)
}

/// Whether a program can be started.
fn is_there(name: &str) -> bool {
    Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Chromium and its driver, for the tests of the report: from the system's packages if they are not there yet.
fn browser() -> Result<(), String> {
    let all = || is_there("chromedriver") && (is_there("chromium") || is_there("google-chrome"));
    if all() || (from_packages(&["chromium", "chromium-driver"]).is_ok() && all()) {
        return Ok(());
    }
    Err("the report is tested in a browser: install `chromium` and `chromedriver` (Debian: chromium, chromium-driver) and try again".to_owned())
}

/// Java, for the tests on Spark: likewise.
fn java() -> Result<(), String> {
    if is_there("java") || (from_packages(&["openjdk-17-jre-headless"]).is_ok() && is_there("java"))
    {
        return Ok(());
    }
    Err("the tests on Spark need Java 17 or newer: install it (Debian: openjdk-17-jre-headless) and try again".to_owned())
}

/// Installs packages of the system.
fn from_packages(names: &[&str]) -> Result<(), String> {
    let quietly = |arguments: &[&str]| {
        run(Command::new("apt-get").args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
    };
    let packages = [&["install", "-y", "--no-install-recommends"], names].concat();
    quietly(&packages).or_else(|_| {
        quietly(&["update"])?;
        quietly(&packages)
    })
}

fn cargo<const N: usize>(root: &Path, arguments: [&str; N]) -> Result<(), String> {
    run(Command::new(cargo_path()).args(arguments).current_dir(root))
}

/// The cargo that runs this.
fn cargo_path() -> std::ffi::OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Runs a command and shows what is run.
fn run(command: &mut Command) -> Result<(), String> {
    let words: Vec<_> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(OsStr::to_string_lossy)
        .collect();
    let line = words.join(" ");
    say(&format!("> {line}"));
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{line}` ended with {status}")),
        Err(error) => Err(format!("`{line}` could not be started: {error}")),
    }
}

#[allow(clippy::print_stderr, reason = "a chore tells what it does")]
fn say(text: &str) {
    eprintln!("{text}");
}
