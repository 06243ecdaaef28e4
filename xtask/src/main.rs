//! The project's own chores. `cargo xtask test` sets up what the tests need and runs them all.

mod api;

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const HELP: &str = "usage: cargo xtask <chore>

  test     build everything, then run the Rust tests and, beside them, the Python tests in environments under target/;
           installs Chromium, Java, PostgreSQL and R from the system's packages if they are not there
  portable the tests of the crates that have code for single processors: what other processors run
  lint     rustfmt, cargo-deny where it is installed, the listing of public items, clippy and rustdoc,
           warnings are errors
  quick    rustfmt, then clippy and the tests of the crates named, or of those that differ from the last
           commit, in the dev profile: debug assertions and overflow checks are on
  docs     check every path, flag, name and figure of the documents, the words that a user reads and the
           width of comments and pages; --write rewrites figures, outputs and docs/strings.txt, --wrap wraps
  site     make the documents a site in target/site/book, searchable, without a link that leads nowhere; installs
           mdBook under target/ first if it is not there (minutes)
  api      compare the public items with docs/api; --write writes the listing
  dist     make all that is handed over, in target/dist: crates, wheel, an archive of the command, a bill of
           materials, sums; then install the wheel for every CPython that is here and fit (release builds: minutes).
           `cargo xtask dist PART` makes one: crates, wheel, binary, sbom, sums or try
  bench    measure what bench/RESULTS.md reports (minutes)";

fn main() -> ExitCode {
    let chore = env::args().nth(1).unwrap_or_default();
    let root = root();
    let done = match chore.as_str() {
        "test" => test(&root),
        "portable" => portable(&root),
        "lint" => lint(&root),
        "quick" => quick(&root, &env::args().skip(2).collect::<Vec<_>>()),
        "docs" => docs(&root, &env::args().skip(2).collect::<Vec<_>>()),
        "site" => site(&root),
        "api" => is_writing().and_then(|write| api::run(&root, write)),
        "dist" => dist(&root, &env::args().skip(2).collect::<Vec<_>>()),
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

/// The profile of tests, lints, the binary and the wheel that they use.
const PROFILE: &str = "checked";

/// The version that makes the site.
const MDBOOK: &str = "0.5.4";

fn test(root: &Path) -> Result<(), String> {
    // A plan of an earlier run must not decide how a test ends.
    if plans(root).exists() {
        std::fs::remove_dir_all(plans(root)).map_err(|e| format!("`{PLANS}`: {e}"))?;
    }
    // The environments of the Python tests come from the network while the compiler has the cores.
    let [python, oldest] = std::thread::scope(|scope| {
        let environments = scope.spawn(|| {
            environments(root).inspect_err(|why| say(&format!("{why}\n(the build goes on)")))
        });
        let built = build_tests(root);
        let environments = environments.join().unwrap_or_else(|_| Err(failed("environments")));
        built.and(environments)
    })?;
    let wheel = wheel(root, &python)?;
    // Spark, the browser and most tests in Python leave a core idle: the Rust tests run beside
    // them.
    let (rust, python) = std::thread::scope(|scope| {
        let python = scope.spawn(|| {
            r_tests(root)?;
            python_tests(root, &wheel, [&python, &oldest])
        });
        let rust = rust_tests(root);
        (rust, python.join().unwrap_or_else(|_| Err(failed("tests"))))
    });
    match (rust, python) {
        (Err(rust), Err(python)) => Err(format!("{rust}\n{python}")),
        (rust, python) => rust.and(python),
    }
}

fn failed(what: &str) -> String {
    format!("the Python {what} ended in a panic")
}

/// Builds the Rust tests, and with them the binary: the tests of the command run it.
fn build_tests(root: &Path) -> Result<(), String> {
    cargo(root, ["test", "--profile", PROFILE, "--workspace", "--locked", "--no-run", "--quiet"])
}

/// The Rust tests: those in the documentation, then all others, each a process of its own where
/// `cargo nextest` is installed.
fn rust_tests(root: &Path) -> Result<(), String> {
    database();
    let chore = |words: &str| {
        run(Command::new(cargo_path())
            .args(words.split(' '))
            .args(["--workspace", "--locked"])
            .env(PLANS, plans(root))
            .current_dir(root))
    };
    if !has_nextest() {
        return chore(&format!("test --profile {PROFILE}"));
    }
    // Those of the documentation take seconds: what fails cheaply fails first.
    chore(&format!("test --profile {PROFILE} --doc"))?;
    chore(&format!("nextest run --cargo-profile {PROFILE}"))
}

/// Names the folder of the plans that the engine remembers.
const PLANS: &str = "RETICENT_CACHE";

/// Where plans are remembered while the tests run: not where those of the user are.
fn plans(root: &Path) -> PathBuf {
    target(root).join("test-plans")
}

fn has_nextest() -> bool {
    is_there("cargo-nextest")
}

/// Sets up the Python tests: a browser, Java, the pinned packages, and the oldest supported ones.
fn environments(root: &Path) -> Result<[PathBuf; 2], String> {
    browser()?;
    java()?;
    r();
    Ok([
        python(root, "python", "requirements-test.txt")?,
        python(root, "python-oldest", "requirements-oldest.txt")?,
    ])
}

fn python_tests(root: &Path, wheel: &Path, [python, oldest]: [&Path; 2]) -> Result<(), String> {
    install(python, wheel)?;
    pytest(root, python, &["python/tests"])?;
    // The oldest versions run the tests of the estimators, and scikit-learn's checks of one
    // estimator of each kind: what differs between versions is in their shared base.
    install(oldest, wheel)?;
    let tests = [
        "python/tests/test_sklearn_checks.py",
        "python/tests/test_estimators.py",
        "python/tests/test_cells.py",
        "-k",
        "not test_check or DeclaredLogisticRegression or KernelRegressor or DeclaredAdditiveClassifier \
         or BoundedScaler or StatedEncoder",
    ];
    pytest(root, oldest, &tests)
}

/// The crates whose kernels are written once for some processors and once for all.
const KERNELS: [&str; 3] = ["reticent-data", "reticent-noise", "reticent-math"];

/// Their tests, which on another processor run the code for all.
fn portable(root: &Path) -> Result<(), String> {
    let packages = KERNELS.iter().flat_map(|name| ["--package", name]);
    run(Command::new(cargo_path())
        .args(["test", "--profile", PROFILE, "--locked"])
        .args(packages)
        .current_dir(root))
}

/// The tests of the R package, where R is installed or the system's packages have it.
fn r_tests(root: &Path) -> Result<(), String> {
    if !is_there("Rscript") {
        say("R is not here and cannot be installed: the tests of its package are left out");
        return Ok(());
    }
    let library = target(root).join("r-library");
    std::fs::create_dir_all(&library).map_err(|e| format!("`{}`: {e}", library.display()))?;
    run(Command::new("R")
        .args(["CMD", "INSTALL", "--no-docs", "--no-test-load"])
        .arg(format!("--library={}", library.display()))
        .arg(root.join("r")))?;
    run(Command::new("Rscript")
        .arg("testthat.R")
        .env("RETICENT", target(root).join(PROFILE).join("reticent"))
        .env("R_LIBS", &library)
        .current_dir(root.join("r").join("tests")))
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

/// Runs tests in Python. Their output is shown at their end, in one piece: the Rust tests print
/// meanwhile.
fn pytest(root: &Path, python: &Path, tests: &[&str]) -> Result<(), String> {
    let mut command = Command::new(python);
    command
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "--durations=10"])
        .args(tests)
        .env("RETICENT", target(root).join(PROFILE).join("reticent"))
        .env(PLANS, plans(root))
        .current_dir(root);
    let line = shown(&command);
    say(&format!("> {line}"));
    let output =
        command.output().map_err(|error| format!("`{line}` could not be started: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    say(&format!("> {line}\n{}{}", text(&output.stdout), text(&output.stderr)));
    if output.status.success() {
        return Ok(());
    }
    Err(format!("`{line}` ended with {}", output.status))
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
    if is_there("cargo-deny") {
        cargo(root, ["deny", "--locked", "check"])?;
    } else {
        say(
            "NOT CHECKED: licences and advisories of the dependencies, because cargo-deny is not here; install it: cargo install cargo-deny --locked",
        );
    }
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
    cargo_doc(root)
}

/// The libraries' own pages.
fn cargo_doc(root: &Path) -> Result<(), String> {
    run(Command::new(cargo_path())
        .args(["doc", "--profile", PROFILE, "--workspace", "--no-deps", "--lib", "--locked"])
        .arg("--quiet")
        .env("RUSTDOCFLAGS", "-D warnings")
        .current_dir(root))
}

/// Holds the documents to the tree and to the built command.
fn docs(root: &Path, flags: &[String]) -> Result<(), String> {
    cargo(root, ["build", "--profile", PROFILE, "--locked", "--bin", "reticent"])?;
    run(Command::new("python3")
        .args(["-m", "documents"])
        .args(flags)
        .env("RETICENT", target(root).join(PROFILE).join("reticent"))
        .current_dir(root.join("xtask")))
}

/// The documents as a site, by the pinned mdBook.
fn site(root: &Path) -> Result<(), String> {
    let tools = target(root).join("tools");
    if !is_there(tools.join("bin").join("mdbook")) {
        // Without optimisation it is compiled in half the time, and renders in seconds.
        run(Command::new(cargo_path())
            .args(["install", "mdbook", "--version", MDBOOK, "--locked", "--debug"])
            .args(["--no-default-features", "--features", "search", "--root"])
            .arg(&tools))?;
    }
    cargo_doc(root)?;
    run(Command::new("python3").args(["-m", "book"]).current_dir(root.join("xtask")))
}

/// Makes what is handed over, with pinned tools in an environment of their own.
fn dist(root: &Path, parts: &[String]) -> Result<(), String> {
    let python = python(root, "python-dist", "requirements-dist.txt")?;
    run(Command::new(python)
        .args(["-m", "dist"])
        .args(parts)
        .env("CARGO", cargo_path())
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
    let (first, python) = if cfg!(windows) {
        ("python", home.join("Scripts").join("python.exe"))
    } else {
        ("python3", home.join("bin").join("python"))
    };
    if !python.exists() {
        run(Command::new(first).args(["-m", "venv"]).arg(&home))?;
    }
    let wanted = root.join("python").join(requirements);
    run(Command::new(&python)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"])
        .arg(wanted))?;
    Ok(python)
}

/// Whether a program can be started.
fn is_there(name: impl AsRef<OsStr>) -> bool {
    Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Chromium and its driver, for the tests of the report: from the system's packages if they are not
/// there yet.
fn browser() -> Result<(), String> {
    let all = || is_there("chromedriver") && (is_there("chromium") || is_there("google-chrome"));
    if all() || (from_packages(&["chromium", "chromium-driver"]).is_ok() && all()) {
        return Ok(());
    }
    Err("the report is tested in a browser: install `chromium` and `chromedriver` (Debian: chromium, chromium-driver) and try again".to_owned())
}

/// PostgreSQL, for the test of tables from a database: likewise, but that test is skipped with a
/// message where there is none.
fn database() {
    if !Path::new("/usr/lib/postgresql").is_dir() && !is_there("initdb") {
        _ = from_packages(&["postgresql"]);
    }
}

/// Java, for the tests on Spark: likewise.
fn java() -> Result<(), String> {
    if is_there("java") || (from_packages(&["openjdk-17-jre-headless"]).is_ok() && is_there("java"))
    {
        return Ok(());
    }
    Err("the tests on Spark need Java 17 or newer: install it (Debian: openjdk-17-jre-headless) and try again".to_owned())
}

/// R with what its package and tests need; nothing fails without it.
fn r() {
    if !is_there("Rscript") {
        _ = from_packages(&["r-base-core", "r-cran-jsonlite", "r-cran-testthat"]);
    }
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

/// A command as it is typed.
fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

/// Runs a command and shows what is run.
fn run(command: &mut Command) -> Result<(), String> {
    let line = shown(command);
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
