"""The documents are right about the tree, and the checks that say so find each kind of error."""

import pytest
from conftest import ROOT
from documents import __main__ as documents
from documents import figures, shown, strings, width
from documents.pages import Page
from documents.tree import Tree

# A small project with everything that a page can speak of.
FILES = {
    "Cargo.toml": 'rust-version = "1.90"\n',
    "crates/house/Cargo.toml": '[package]\nname = "house"\n',
    "crates/house/src/plan/mod.rs": """//! See `tests/doors.rs` and decision 0001.
pub struct Plan { pub norm_bound: f64 }
impl Plan { pub fn outline(&self) -> &str { "`reticent fit --epsilon 1`, docs/rooms/kitchen.md" } }
const SLACK: f64 = 0.015;
""",
    "crates/house/tests/doors.rs": "#[test]\nfn doors_are_shut() { save() }\n",
    "python/src/reticent/__init__.py": "def load(path): ...\n",
    "xtask/src/main.rs": 'fn main() { match chore {\n        "test" => test(&root),\n    } }\n',
    "bench/house/RESULTS.md": "We reach 97 % of the gain in 34 cells, in 0.125 s.\n",
    "docs/decisions/0001-one-way.md": "# 0001: One way\n\n## What we chose\n",
    "docs/rooms/kitchen.md": "# Kitchen\n",
}

# A text that a page may hold, and the error of the same kind with its message.
SEEDS = {
    "path": ("`crates/house/src/plan/mod.rs`", "`crates/house/src/plan.rs`", "the tree has no `crates/house/src/plan.rs`"),
    "end of a path": ("`plan/mod.rs`", "`arguments.rs`", "the tree has no `arguments.rs`"),
    "folder": ("`crates/house/`", "`crates/garden/`", "the tree has no `crates/garden/`"),
    "flag": ("`--epsilon`", "`--epsylon`", "no command has the flag `--epsylon`"),
    "flag of a command": ("`reticent fit --data F`", "`reticent verify --data F`", "`reticent verify` has no flag `--data`"),
    "flag without the name": ("`fit --data F`", "`fit --sigma 1`", "`reticent fit` has no flag `--sigma`"),
    "flag in a block": ("    reticent fit --data F", "    reticent fit --dota F", "`reticent fit` has no flag `--dota`"),
    "command": ("`reticent verify`", "`reticent certify`", "`reticent` has no command `certify`"),
    "command of a command": ("`reticent ledger init`", "`reticent ledger begin`", "`reticent ledger` has no command `begin`"),
    "value of a flag": ("`fit --loss save`", "`fit --loss logistics`", "the code has no `logistics`"),
    "command of cargo": ("`cargo test`", "`cargo tests`", "`cargo` has no command `tests`"),
    "chore": ("`cargo xtask test`", "`cargo xtask tests`", "`cargo xtask` has no chore `tests`"),
    "test behind a variable": (
        "`WRITE=1 cargo test -p house --test doors`",
        "`WRITE=1 cargo test --test windows`",
        "cargo builds nothing named `windows`",
    ),
    "package": ("`cargo test -p house`", "`cargo test -p garden`", "cargo builds nothing named `garden`"),
    "Rust type": ("`Plan`", "`PlanOfOld`", "the code has no `PlanOfOld`"),
    "Rust method": ("`Plan::outline`", "`Plan::doors_are_shut`", "no file that has `Plan` defines `doors_are_shut`"),
    "Rust field": ("`norm_bound`", "`norm_limit`", "the code has no `norm_limit`"),
    "Rust test": ("`doors_are_shut`", "`doors_are_open`", "the code has no `doors_are_open`"),
    "Python name": ("`reticent.load(path)`", "`reticent.save(path)`", "the Python package has no `reticent.save`"),
    "link": ("[a](docs/rooms/kitchen.md)", "[a](docs/kitchen.md)", "the link `docs/kitchen.md` leads nowhere"),
    "anchor": (
        "[a](docs/decisions/0001-one-way.md#what-we-chose)",
        "[a](docs/decisions/0001-one-way.md#what-we-lost)",
        "has no heading for the link",
    ),
    "decision": ("See decision 0001.", "See decision 0002.", "there is no decision 0002"),
    "figure of a file": (
        "97<!-- = bench/house/RESULTS.md: We reach {} % -->",
        "98<!-- = bench/house/RESULTS.md: We reach {} % -->",
        "98 is stated",
    ),
    "figure without its place": ("", "9<!-- = bench/house/RESULTS.md: They reach {} % -->", "gives 0 numbers, not one"),
    "figure of the code": ("1.5<!-- = const SLACK | percent -->", "2.0<!-- = const SLACK | percent -->", "2.0 is stated"),
    "number of files": ("1<!-- = count docs/rooms/*.md -->", "2<!-- = count docs/rooms/*.md -->", "2 is stated"),
    "figure of a cited page": (
        "It takes 0.13 s ([measured](bench/house/RESULTS.md)).",
        "It takes 0.14 s ([measured](bench/house/RESULTS.md)).",
        "0.14 is not in bench/house",
    ),
    "figure without a source": ("Exit code 2.", "It is 12.5 times as fast.", "12.5 has no source"),
}


def project(folder, **more):
    """A small project in a folder."""
    for name, text in {**FILES, **more}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Tree(folder)


def faults_of(page, folder, binary, path):
    """The faults that the checks find on one page of the small project."""
    tree = project(folder, **{path: f"# Page\n\n{page}\n"})
    return documents.faults(tree, binary, "")


@pytest.mark.parametrize("kind", SEEDS)
def test_an_error_of_each_kind_is_found(kind, tmp_path, reticent):
    right, wrong, what = SEEDS[kind]
    # Only the front page must name a source for every figure.
    page = "README.md" if kind == "figure without a source" else "SECURITY.md"
    assert faults_of(right, tmp_path, reticent.binary, page) == []
    found = faults_of(wrong, tmp_path, reticent.binary, page)
    assert len(found) == 1 and found[0].startswith(f"{page}:3: ") and what in found[0], found


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("`tests/doors.rs`", "`tests/windows.rs`", "mod.rs:1: the tree has no `tests/windows.rs`"),
        ("decision 0001", "decision 0007", "mod.rs:1: there is no decision 0007"),
        ("fit --epsilon 1", "fit --epsylon 1", "mod.rs:3: `reticent fit` has no flag `--epsylon`"),
        ("docs/rooms/kitchen.md", "docs/kitchen.md", "mod.rs:3: the tree has no `docs/kitchen.md`"),
    ],
)
def test_an_error_in_a_comment_or_message_is_found(old, new, what, tmp_path, reticent):
    file = "crates/house/src/plan/mod.rs"
    tree = project(tmp_path, **{file: FILES[file].replace(old, new)})
    found = documents.faults(tree, reticent.binary, "")
    assert len(found) == 1 and what in found[0], found


def test_what_is_allowed_must_be_needed(tmp_path, reticent):
    tree = project(tmp_path, **{"docs/page.md": "`getpid`\n"})
    assert documents.faults(tree, reticent.binary, "getpid  # a call of the system\n") == []
    found = documents.faults(tree, reticent.binary, "getpid\ngetppid\n")
    assert found == ["allowed.txt: no page needs `getppid`: delete it"]


def test_a_word_in_a_comment_is_no_name(tmp_path, reticent):
    tree = project(tmp_path, **{"crates/house/src/old.rs": "// OldPlan is gone\n", "docs/page.md": "`OldPlan`\n"})
    assert documents.faults(tree, reticent.binary, "") == ["docs/page.md:1: the code has no `OldPlan`"]


def test_released_parts_of_the_changelog_are_history(tmp_path, reticent):
    text = "# Changelog\n\n## Unreleased\n\n`Plan`\n\n## 0.1.0\n\n`PlanOfOld`\n"
    assert documents.faults(project(tmp_path, **{"CHANGELOG.md": text}), reticent.binary, "") == []


def test_what_a_command_prints_is_compared_and_rewritten(tmp_path, reticent):
    command = "reticent calc output-gd.sigma_tight_gaussian eps=1 delta=1e-6 Delta=1"
    page = f"```text\n$ {command}\n4.3\n```\n"
    tree = project(tmp_path, **{"README.md": page})
    (fault,) = documents.output_faults(tree, reticent.binary)
    assert f"README.md:2: `{command}` prints something else" in fault
    documents.write(tree, reticent.binary)
    written = (tmp_path / "README.md").read_text()
    assert written.startswith(page.split("4.3")[0] + "4.2246788893")
    assert documents.output_faults(tree, reticent.binary) == []


def test_a_figure_is_rewritten_from_its_source(tmp_path):
    tree = project(tmp_path)
    stale = "98<!-- = bench/house/RESULTS.md: reach {} % --> and 9.9<!-- = const SLACK | percent -->"
    text = figures.rewrite(stale, tree)
    assert text == stale.replace("98", "97").replace("9.9", "1.5")
    assert figures.check(Page("docs/page.md", text), tree) == []


def test_a_figure_of_a_table_is_found_by_its_cells(tmp_path):
    rows = "| adult | 1 | default | 16 knots | 0.855 | 0.907 |\n| adult | 1 | DP-EBM | | 0.811 | 0.889 |\n| adult | 2 | default | | 0.1 | 0.2 |\n"
    tree = project(tmp_path, **{"bench/house/RESULTS.md": rows})
    stale = r"0.1<!-- = bench/house/RESULTS.md: \| adult \| 1 \| default \| * \| * \| {} --> and 9<!-- = bench/house/RESULTS.md: \| DP-EBM \|* \| {} -->"
    text = figures.rewrite(stale, tree)
    assert text == stale.replace("0.1<", "0.907<").replace("9<", "0.811<")
    # A star stands for one cell alone.
    (fault,) = figures.check(Page("docs/page.md", r"0.1<!-- = bench/house/RESULTS.md: \| adult \| * \| {} -->"), tree)
    assert "gives 0 numbers" in fault


def test_the_documents_are_true(reticent):
    found = documents.faults(Tree(ROOT), reticent.binary, documents.ALLOWED.read_text())
    assert found == [], "\n".join(found)


def test_the_documents_show_what_the_commands_print(reticent):
    found = documents.output_faults(Tree(ROOT), reticent.binary)
    assert found == [], "\n".join([*found, "`cargo xtask docs --write` rewrites it"])


def test_users_read_the_words_of_the_field_and_lines_are_not_too_wide(reticent):
    found = documents.wording_faults(Tree(ROOT), reticent.binary)
    assert found == [], "\n".join(found)


def test_a_banned_phrase_is_found_in_code_and_in_the_package(reticent, tmp_path):
    bad = {
        "crates/house/src/error.rs": 'fn f() -> &str { "the plan rests on what was asked" }\n',
        "crates/house/src/tests.rs": 'fn f() -> &str { "the plan was made anew from its parts" }\n',
        "python/src/reticent/more.py": '"""Two tables that are made up."""\n',
    }
    found = strings.check(project(tmp_path, **bad), strings_commands(tmp_path, reticent.binary))
    ours = [fault for fault in found if "is not a phrase" in fault]
    assert [fault.split(":")[0] for fault in ours] == ["crates/house/src/error.rs", "python/src/reticent/more.py"]
    assert "write assumes" in ours[0] and "write simulated" in ours[1]
    assert found[-1].startswith("docs/strings.txt: it is behind the sources")


def test_texts_keep_their_letters_and_only_tests_are_left_out(tmp_path):
    source = (
        'const A: &str = "bad rows are refused";\nconst B: &str = r#"raw bytes \\ are read r"#;\n'
        '#[cfg(test)]\nuse house::door;\n'
        '#[cfg(test)]\nmod tests { fn f() -> &str { "of a test, with { and }" } }\n'
        'const C: &[u8] = b"text behind the tests \\\n   is read";\n'
    )
    tree = project(tmp_path, **{"crates/house/src/error.rs": source})
    texts = dict(strings.rust_texts(tree))["crates/house/src/error.rs"]
    assert texts == ["bad rows are refused", "raw bytes \\ are read r", "text behind the tests is read"]


def test_a_banned_phrase_is_found_in_comments_and_pages_but_not_in_quotations(tmp_path):
    tree = project(
        tmp_path,
        **{
            "crates/house/src/a.rs": 'fn f() {} // too dear\nfn g() { h("http://x/anew") }\n',
            "docs/a.md": "It is made anew.\n\nThe word `anew` is not ours.\n",
        },
    )
    rules = list(strings.banned())
    found = [fault for place, line in strings.read_by_developers(tree) for fault in strings.broken(rules, place, line)]
    assert {fault.split(": ")[0] for fault in found} == {"crates/house/src/a.rs:1", "docs/a.md:1"}


def test_every_word_of_the_list_has_a_paragraph():
    glossary = "**Step size.** A.\n\n**Charge, reserve, refund.** B.\n\n**Warm start.** C.\n"
    faults = list(strings.unexplained(glossary, "a step size and a charge"))
    missing = {fault.split("**")[1] for fault in faults if "no paragraph" in fault}
    assert "epsilon." in missing and not missing & {"step size.", "charge.", "reserve.", "refund."}
    assert any("nothing prints `epsilon`" in fault for fault in faults)
    assert not any("nothing prints `charge`" in fault for fault in faults)


def test_what_is_shown_has_no_number_that_varies():
    line = "released  2026-11-19T19:56:05Z  epsilon = -0.25 (3e-7)  ▏▎▍  9f86d081884c7d65  12, 7, 5"
    assert shown.masked(line) == "released  #  epsilon = # (#)  #  #"


def strings_commands(folder, binary):
    """The commands of the built binary, for a tree elsewhere."""
    return documents.Commands(Tree(folder), binary)


LONG = "a word and another one " * 6


def test_docstrings_and_comments_of_the_package_are_wrapped():
    before = (
        f'"""{LONG}.\n\nParameters\n----------\nlimit : float, default=None\n    {LONG}\n    more of it\n'
        f'\n>>> print("{LONG}")\n"""\n\n# {LONG}\nX = "{LONG}"  # {LONG}\n'
    )
    after = width.python(before)
    assert width.python(after) == after and " ".join(after.split()).count("one a word") > 20
    wide = [line for line in after.split("\n") if len(line) > 100]
    assert [line[:4] for line in wide] == [">>> ", "X = "]
    assert "limit : float, default=None\n    a word" in after and "\n# a word" in after


@pytest.mark.parametrize(
    "before",
    [
        f"//! {LONG}\nfn f() {{}}\n",
        f"    /// - {LONG}\n    ///   {LONG}\n    fn f() {{}}\n",
        f"fn f() {{}} // {LONG}\n",
        f"/// {LONG}`a span with blanks` {LONG}- {LONG}\nfn f() {{}}\n",
    ],
)
def test_comments_are_wrapped_and_lose_no_word(before):
    after = width.source(before)
    assert after != before and width.source(after) == after
    assert all(len(line) <= 100 for line in after.split("\n"))

    def words(text):
        return sorted(word for word in text.split() if not word.startswith("//"))

    assert words(after) == words(before)
    assert "`a span with blanks`" in after or "span" not in before
    # A dash in the text does not become an item.
    assert not any(line.strip().removeprefix("///").startswith(" - ") for line in after.split("\n")[1:])


@pytest.mark.parametrize(
    "text",
    [
        f"| a table | {LONG.strip()} |\n",
        f"```sh\n{LONG.strip()}\n```\n",
        f"# {LONG.strip()}\n",
        f"    {LONG.strip()}\n",
        f"[a link](https://example.org/{'x' * 100})\n",
    ],
)
def test_tables_code_headings_and_links_stay(text):
    assert width.page(text) == text
    comment = "".join(f"/// {line}\n" for line in text.splitlines())
    assert width.source(comment) == comment


def test_what_looks_like_a_comment_in_a_text_stays():
    text = f'let text = "\n// {LONG}\n";\nlet url = "https://example.org/{LONG}";\n'
    assert width.source(text) == text
