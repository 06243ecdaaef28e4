//! Tables that come from a command: any one, and a query of a real database.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use crate::common::{FIT, Folder};

/// The fit of the tests with its table from a command.
fn fit(folder: &Folder, command: &str) -> crate::common::Run {
    let arguments = FIT.replace("--data clinic.csv", "--format csv --algorithm output-gd");
    folder.run_with(&format!("{arguments} --insecure-seed 1"), &["--data-command", command])
}

#[test]
fn what_a_command_prints_is_a_table_and_a_command_that_fails_is_none() {
    let folder = Folder::new();
    fit(&folder, "cat clinic.csv").succeeds();
    let model = folder.read("model.json");
    folder.run(&format!("{FIT} --algorithm output-gd --insecure-seed 1")).succeeds();
    assert_eq!(folder.read("model.json"), model, "the same bits as from the file");
    // It may have printed a part of the table.
    fit(&folder, "head -20 clinic.csv; exit 3").refuses("it failed: exit status: 3");
    let bare = FIT.replace("--data clinic.csv", "");
    folder.run(&bare).refuses("--data");
    folder.run_with(&bare, &["--data-command", "cat clinic.csv"]).refuses("--format");
    folder.run_with(FIT, &["--data-command", "cat clinic.csv"]).refuses("--data");
}

/// The clinic's table in two parts of a folder, with what Spark leaves beside them.
fn in_parts(folder: &Folder) {
    let table = folder.read("clinic.csv");
    let (header, rows) = table.split_once('\n').unwrap();
    let middle = rows.match_indices('\n').nth(20).unwrap().0 + 1;
    fs::create_dir(folder.path("parts")).unwrap();
    folder.write("parts/part-0.csv", format!("{header}\n{}", &rows[..middle]));
    folder.write("parts/part-1.csv", format!("{header}\n{}", &rows[middle..]));
    folder.write("parts/_SUCCESS", "");
    folder.write("parts/.part-0.csv.crc", "crc");
}

#[test]
fn parts_give_the_bits_of_the_whole_table() {
    let folder = Folder::new();
    in_parts(&folder);
    let named = "--data parts/part-1.csv --data parts/part-0.csv";
    let seed = "--algorithm output-gd --insecure-seed 1";
    for more in ["", " --memory 300MB"] {
        folder.run(&format!("{FIT} {seed}{more}")).succeeds();
        let model = folder.read("model.json");
        for data in ["--data parts", "--data parts/part-*.csv", named] {
            let fit = FIT.replace("--data clinic.csv", data);
            folder.run(&format!("{fit} {seed}{more}")).succeeds();
            assert_eq!(folder.read("model.json"), model, "{data}{more}");
        }
    }
    for command in ["evaluate --model model.json", "data check --schema clinic.json"] {
        let whole = folder.run(&format!("{command} --data clinic.csv")).succeeds().stdout;
        assert_eq!(folder.run(&format!("{command} {named}")).succeeds().stdout, whole);
    }
    let predict = |data: &str| {
        folder.run(&format!("predict --model model.json {data} --out p.csv")).succeeds();
        folder.read("p.csv")
    };
    assert_eq!(predict("--data parts"), predict("--data clinic.csv"));
    let init = folder.run("schema init --data parts --target back").succeeds().stdout;
    assert!(["age", "ward", "visit"].iter().all(|name| init.contains(name)), "{init}");
}

#[test]
fn what_is_no_table_of_several_files_is_refused_before_anything_is_spent() {
    let folder = Folder::new();
    in_parts(&folder);
    folder.write("parts/part-2.csv", "age,back\n31415926,no\n");
    let fit = |data: &str| folder.run(&FIT.replace("--data clinic.csv", data));
    let unlike = fit("--data parts").refuses("part-2.csv` is not like `parts/part-0.csv`");
    assert!(!unlike.stderr.contains("31415926"));
    fit("--data clinic.csv --data ./clinic.csv").refuses("is named twice");
    fit("--data no-such-*.csv").refuses("has no file to read");
    fit("--data - --data clinic.csv --format csv").refuses("stands alone");
    fit("--data clinic.csv --sheet one").refuses("`--sheet` is for Excel workbooks");
    // A part is an input, so it is not written, however it is named.
    fs::remove_file(folder.path("parts/part-2.csv")).unwrap();
    for data in ["--data parts/part-0.csv --data parts/part-1.csv", "--data parts"] {
        let fit = FIT.replace("--data clinic.csv", data);
        folder.run(&fit.replace("model.json", "parts/part-1.csv")).refuses("--data");
    }
    assert!(!folder.path("model.json").exists());
}

/// The folder of PostgreSQL's programs, where Debian or the path has them.
fn postgres() -> Option<PathBuf> {
    let debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = debian.map(|version| version.path().join("bin")).collect();
    folders.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
    folders.into_iter().find(|folder| folder.join("initdb").is_file())
}

/// A program of PostgreSQL's, which refuses to run as root: then as the user of its package.
fn program(bin: &Path, name: &str, arguments: &str, at: &Path) -> Command {
    let owner = Command::new("id").arg("-u").output().unwrap().stdout;
    let mut command = if owner == b"0\n" {
        let mut command = Command::new("runuser");
        command.args(["-u", "postgres", "--"]).arg(bin.join(name));
        command
    } else {
        Command::new(bin.join(name))
    };
    command.args(arguments.split_whitespace()).current_dir(at);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// A server that is stopped however the test ends.
struct Server<'a>(&'a Path, &'a Path);

impl Drop for Server<'_> {
    fn drop(&mut self) {
        _ = program(self.0, "pg_ctl", "-D data -m immediate stop", self.1).status();
    }
}

#[test]
#[allow(clippy::print_stdout, reason = "says what was skipped")]
fn a_query_of_a_real_database_gives_the_same_model() {
    let Some(bin) = postgres() else {
        println!("skipped: PostgreSQL is not installed (Debian: apt install postgresql)");
        return;
    };
    let folder = Folder::new();
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    // Its user must reach the folder, and own it.
    let given = Command::new("chown").arg("postgres").arg(at).stderr(Stdio::null()).status();
    drop(given);
    let ran = |name: &str, arguments: &str| {
        program(&bin, name, arguments, at).status().unwrap().success()
    };
    assert!(ran("initdb", "-D data -U tester -A trust --no-sync"));
    let _server = Server(&bin, at);
    let socket = at.display();
    let options = format!("-k {socket} -c listen_addresses= -F");
    let mut start = program(&bin, "pg_ctl", "-D data -w -l log -o", at);
    assert!(start.arg(options).arg("start").status().unwrap().success());
    let psql = format!(
        "{} -X -q -v ON_ERROR_STOP=1 -h {socket} -U tester postgres",
        bin.join("psql").display()
    );
    folder.write("load.sql", "create table clinic (age real, ward text, visit text, back text);\n\\copy clinic from 'clinic.csv' csv header\n");
    folder.shell(&format!("{psql} -f load.sql")).succeeds();
    fit(&folder, &format!("{psql} -c 'copy clinic to stdout csv header'")).succeeds();
    let model = folder.read("model.json");
    fit(&folder, "cat clinic.csv").succeeds();
    assert_eq!(folder.read("model.json"), model, "the same rows");
    fit(&folder, &format!("{psql} -c 'copy nothing to stdout csv header' 2>/dev/null"))
        .refuses("it failed");
}
