"""The site: every page of the documents is part of it, no link leads nowhere, and it can be read on
a phone."""

import os

import pytest
from book import __main__ as book
from book import check, sources, summary
from conftest import ROOT
from documents.tree import Tree
from test_documents import project

WIDTHS = (360, 820, 1400)


def test_every_page_of_the_documents_is_on_the_site_and_every_link_leads_somewhere(tmp_path):
    tree = Tree(ROOT)
    assert book.write(tree, tmp_path) == []
    made, copied = sources.make(tree)
    assert {sources.placed(file) for file in tree.files if file.startswith("docs/") and file.endswith(".md")} <= set(made)
    assert len(made) > 150 and "docs/guide/report-light.png" in copied
    written = {path.relative_to(tmp_path / "src").as_posix() for path in (tmp_path / "src").rglob("*") if path.is_file()}
    assert written == {*made, *copied, "SUMMARY.md"}
    # Algorithms, glossary and gallery have their places, and examples their code.
    order = summary.make(made)
    for page in ("docs/algorithms/clipped-sgd.md", "docs/glossary.md", "docs/gallery.md", "python/examples/gallery/digits.md"):
        assert order.count(f"({page})") == 1
    assert "reticent.Ledger.init" in made["python/examples/gallery/digits.md"]


def test_what_would_lead_nowhere_is_found(tmp_path):
    pages = {
        "README.md": "# House\n\n[rooms](docs/rooms/kitchen.md) 97<!-- = bench/house/RESULTS.md: {} --> % and [code](crates/house/src/plan/mod.rs)\n",
        "docs/README.md": "# Pages\n\n[Kitchen](rooms/kitchen.md#kitchen) and [all](rooms)\n\n```html\n<!-- stays -->\n```\n",
    }
    tree = project(tmp_path, **pages)
    made, copied = sources.make(tree)
    assert "<!--" not in made["index.md"] and "97 %" in made["index.md"]
    assert "<!-- stays -->" in made["docs/index.md"]
    assert copied == {"crates/house/src/plan/mod.rs.txt": "crates/house/src/plan/mod.rs"}
    assert "(crates/house/src/plan/mod.rs.txt)" in made["index.md"]
    order = summary.make(made)
    assert check.faults(made, copied, order) == []
    made["docs/more.md"] = "# More\n\n[no](none.md) [room](rooms/kitchen.md#garden)\n"
    found = check.faults(made, copied, order)
    assert found == [
        "docs/more.md: the link `none.md` leads nowhere",
        "docs/more.md: `docs/rooms/kitchen.md` has no heading for the link `rooms/kitchen.md#garden`",
        "the summary lists no `docs/more.md`",
    ]
    broken = {**pages, "README.md": "# House\n\n[gone](docs/gone.md)\n"}
    with pytest.raises(sources.Faulty, match="README.md: the link `docs/gone.md` leads nowhere"):
        sources.make(project(tmp_path / "broken", **broken))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The rendered site."""
    tool = book.renderer()
    if tool is None and "RETICENT_SITE" not in os.environ:
        pytest.skip("mdBook is not here: `cargo xtask site` installs it, and makes the site")
    assert tool, "RETICENT_SITE is set, and mdBook is not here"
    folder = tmp_path_factory.mktemp("site")
    assert book.write(Tree(ROOT), folder) == []
    assert book.render(tool, folder) == []
    return folder / "book"


@pytest.mark.parametrize("width", WIDTHS)
def test_pages_fit_a_browser_and_the_search_finds_words(site, tmp_path, width):
    from test_report import Browser

    browser = Browser(tmp_path)
    try:
        for page in ("index", "docs/glossary", "docs/algorithms/clipped-sgd", "python/examples/gallery/digits", "bench/python/RESULTS"):
            browser.open(site / f"{page}.html", width=width)
            wide = browser.run("return document.documentElement.scrollWidth - window.innerWidth")
            assert wide <= 0, (page, wide)
            assert browser.run("return document.querySelector('main h1') !== null"), page
        browser.open(site / "index.html", width=width)
        browser.run("document.getElementById('mdbook-search-toggle').click()")
        browser.run(
            "const bar = document.getElementById('mdbook-searchbar'); bar.value = 'sensitivity';"
            "bar.dispatchEvent(new KeyboardEvent('keyup', {key: 'y'})); bar.dispatchEvent(new Event('input'))"
        )
        found = 0
        for _ in range(50):
            found = browser.run("return document.querySelectorAll('#mdbook-searchresults li').length")
            if found:
                break
            browser.run("return new Promise(done => setTimeout(done, 100))")
        assert found > 3
        assert [entry for entry in browser.log() if entry["level"] == "SEVERE"] == []
    finally:
        browser.close()
