"""The report, opened in a real browser: it loads in silence, its curves are where the numbers say,
anyone can read it."""

import base64
import http.client
import json
import math
import os
import pathlib
import re
import shutil
import statistics
import subprocess

import pytest

NORMAL = statistics.NormalDist()

SCHEMA = {
    "target": "back",
    "positive_class": "yes",
    "name": "clinic & <friends>",
    "columns": [
        {"name": "age", "type": "real", "bounds": {"min": 0, "max": 100}},
        {"name": "ward", "type": "categorical", "categories": ["surgery", "internal", "other"]},
        {"name": "a_column_with_a_name_that_is_much_longer_than_a_phone_is_wide", "type": "real", "bounds": {"min": 0, "max": 9}},
        {"name": "back", "type": "categorical", "categories": ["no", "yes"]},
    ],
}


class Browser:
    """Chromium, through the WebDriver protocol of its own driver."""

    def __init__(self, folder):
        chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        driver = shutil.which("chromedriver")
        assert chromium and driver, "chromium and chromedriver are needed: `cargo xtask test` installs them"
        self.process = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if found := re.search(r"successfully on port (\d+)", line):
                break
        self.port = int(found.group(1))
        flags = [
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
            "--disable-background-networking", "--disable-component-update", "--disable-sync", f"--user-data-dir={folder}",
        ]
        options = {"binary": chromium, "args": flags}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        self.session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]

    def call(self, method, path, body=None):
        """One request; its value."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
        value = json.loads(connection.getresponse().read())["value"]
        connection.close()
        assert not (isinstance(value, dict) and "error" in value), value
        return value

    def post(self, path, **body):
        """A request to the session."""
        return self.call("POST", f"/session/{self.session}{path}", body)

    def run(self, script, *arguments):
        """The result of a script in the page."""
        return self.post("/execute/sync", script=script, args=list(arguments))

    def devtools(self, command, **parameters):
        """A command that is not in WebDriver."""
        return self.post("/goog/cdp/execute", cmd=command, params=parameters)

    def open(self, path, width=1000, scheme="light", media="screen"):
        """Opens a file in a window of this width."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        self.devtools("Emulation.setDeviceMetricsOverride", **size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.devtools("Emulation.setEmulatedMedia", media=media, features=features)
        self.post("/url", url=pathlib.Path(path).as_uri())

    def log(self):
        """The messages of the page on its console."""
        return self.post("/se/log", type="browser")

    def screenshot(self, path, height):
        """A picture of the top of the page."""
        clip = {"x": 0, "y": 0, "width": self.run("return innerWidth"), "height": height, "scale": 1}
        data = self.devtools("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def close(self):
        """Ends the session and the driver."""
        self.call("DELETE", f"/session/{self.session}")
        self.process.terminate()
        self.process.wait()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """One browser for all tests."""
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture
def page(reticent):
    """A report with everything in it: a model with Gaussian noise, its ledger, an audit."""
    reticent.write_schema(**SCHEMA)
    names = [column["name"] for column in SCHEMA["columns"]]
    rows = [[i * 37 % 101, ["surgery", "internal", "other"][i % 3], i % 10, "yes" if i % 5 > 1 else "no"] for i in range(200)]
    reticent.write_csv(dict(zip(names, zip(*rows, strict=True), strict=True)))
    reticent("ledger", "init", "c.ledger", "--epsilon", 2, "--delta", 1e-5)
    budget = ["--epsilon", 0.8, "--delta", 1e-6, "--algorithm", "output-gd", "--noise", "gaussian"]
    reticent.fit("--data", "table.csv", "--schema", "schema.json", *budget, "--ledger", "c.ledger")
    audit = reticent("audit", "--json", "--n", 50, "--d", 3, "--loss", "logistic", "--runs", 200, *budget)
    (reticent.folder / "audit.json").write_text(audit)
    evaluation = reticent("evaluate", "--json", "--model", "model.json", "--data", "table.csv")
    (reticent.folder / "evaluation.json").write_text(evaluation)
    reticent("report", "model.json", "--ledger", "c.ledger", "--audit", "audit.json", "--evaluation", "evaluation.json")
    return reticent.folder / "report.html"


def points(browser, figure, path):
    """The points of a curve, read back through the scale of its axes."""
    scale = {axis: browser.run(f"return document.getElementById('{figure}').dataset.{axis}") for axis in "xy"}
    d = browser.run(f"return document.getElementById('{path}').getAttribute('d')")

    def value(at, axis):
        begin, end, low, high = map(float, scale[axis].split())
        return low + (at - begin) / (end - begin) * (high - low)

    found = re.findall(r"[ML]([-\d.]+),([-\d.]+)", d)
    assert len(found) > 20
    return [(value(float(x), "x"), value(float(y), "y")) for x, y in found]


def gaussian(reticent):
    """Sensitivity over noise of the model's event."""
    event = reticent.model()["certificate"]["event"]
    assert event["kind"] == "approximated"
    return 1 / event["inner"]["noise_multiplier"]


def test_it_loads_in_silence_and_alone(browser, page):
    browser.open(page)
    assert browser.log() == []  # among other things, no violation of the page's policy
    assert browser.run("return performance.getEntriesByType('resource').map(r => r.name)") in ([], ["data:,"])
    assert browser.run("return document.scripts.length") == 0
    assert browser.run("return document.title") == "Privacy report: clinic & <friends>"
    broken = "return [...document.querySelectorAll('nav a')].filter(a => !document.querySelector(a.hash)).length"
    assert browser.run(broken) == 0
    assert browser.run("return document.querySelectorAll('nav a').length") == 16
    # The parts stand where the links to them do, under the six questions of NIST SP 800-226 in its
    # order.
    questions = ["Unit and parameters", "Algorithm and correctness", "Utility and bias", "Trust model", "Side channels", "Data exposure"]
    assert browser.run("return [...document.querySelectorAll('.question')].map(h => h.textContent)") == questions
    assert browser.run("return [...document.querySelectorAll('nav ol > li')].map(li => li.firstChild.textContent.trim())") == questions
    listed = browser.run("return [...document.querySelectorAll('nav a')].map(a => a.hash.slice(1))")
    assert browser.run("const names = arguments[0]; return [...document.querySelectorAll('main [id]')].map(e => e.id).filter(id => names.includes(id))", listed) == listed
    # The card is read without unfolding anything; a link unfolds its part.
    card = browser.run("return document.querySelector('.card').innerText")
    for word in ("Protects", "every single row", "epsilon = 0.8, delta = 1e-6", "50 % sure", "detects at most", "Published", "checks of the file hold", "Signed", "Only the owner can confirm", "the same ledger"):
        assert word in card, word
    assert browser.run("return document.querySelectorAll('details[open]').length") == 0
    browser.run("document.querySelector('nav a[href=\"#assumptions\"]').click()")
    assert browser.run("return document.getElementById('assumptions').closest('details').open")
    text = browser.run(f"{UNFOLD}; return document.body.innerText")
    for word in ("replace-one", "one row", "charge 1", "Shown by attack", "reticent verify", "Needed by", "Why, or why not", "(chosen)", "holds", "log loss", "SHA-256"):
        assert word in text, word
    assert "FAILS" not in text


def test_the_policy_is_enforced_and_the_page_keeps_to_it(browser, page):
    browser.open(page)
    policy = browser.run("return document.querySelector('meta[http-equiv=Content-Security-Policy]').content")
    assert policy.startswith("default-src 'none'; style-src 'sha256-") and "unsafe" not in policy
    # The style sheet of the page applies, so its digest is right.
    assert browser.run("return getComputedStyle(document.querySelector('.scroll')).overflowX") == "auto"
    # Nothing else does: a page with a style or a script that the policy does not name says so on
    # its console.
    text = page.read_text()
    for foreign in ("<style>main { display: none; }</style>", "<script>document.title = 'run'</script>", "<p style='color: red'>"):
        altered = page.parent / "altered.html"
        altered.write_text(text.replace("</main>", foreign + "</main>"))
        browser.open(altered)
        assert any("Content Security Policy" in line["message"] for line in browser.log()), foreign
        assert browser.run("return document.title") != "run"
        assert browser.run("return getComputedStyle(document.querySelector('main')).display") == "block"


def test_the_trade_off_curve_is_where_the_noise_puts_it(browser, page, reticent):
    mu = gaussian(reticent)
    browser.open(page)
    for alpha, beta in points(browser, "trade-off-figure", "trade-off"):
        exact = NORMAL.cdf(NORMAL.inv_cdf(alpha) + mu) if 0.001 < alpha < 0.999 else None
        if exact is not None:
            assert -3e-4 < beta - exact < 2e-3, (alpha, beta, exact)


def test_the_profile_is_where_the_noise_puts_it(browser, page, reticent):
    mu, budget = gaussian(reticent), reticent.model()["certificate"]["budget"]
    browser.open(page)
    for epsilon, log_delta in points(browser, "profile-figure", "profile"):
        delta = NORMAL.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * NORMAL.cdf(-mu / 2 - epsilon / mu)
        if delta > 1e-11:  # below, the difference of two tails has no digits left
            assert abs(log_delta - math.log10(delta)) < 0.03, (epsilon, log_delta, delta)
    scale = {axis: [float(v) for v in browser.run(f"return document.getElementById('profile-figure').dataset.{axis}").split()] for axis in "xy"}
    dot = [browser.run(f"return +document.getElementById('promised').getAttribute('c{axis}')") for axis in "xy"]
    at = [low + (d - begin) / (end - begin) * (high - low) for d, (begin, end, low, high) in zip(dot, scale.values(), strict=True)]
    assert at == pytest.approx([budget["epsilon"], math.log10(budget["delta"])], abs=0.02)


def test_stages_are_as_long_as_their_cost_and_the_total_is_the_promise(browser, page, reticent):
    browser.open(page)
    begin, end, low, high = map(float, browser.run("return document.getElementById('stages-figure').dataset.x").split())
    total = browser.run("return +document.querySelector('#stages-figure .bar').getAttribute('width')")
    certificate = reticent.model()["certificate"]
    assert total / (end - begin) * (high - low) == pytest.approx(certificate["epsilon_upper"], rel=1e-3)


def test_bars_are_as_long_as_the_weights(browser, page, reticent):
    weights = sorted((abs(w) for w in reticent.model()["weights"][0]), reverse=True)
    browser.open(page)
    begin, end, low, high = map(float, browser.run("return document.getElementById('weights-figure').dataset.x").split())
    widths = browser.run("return [...document.querySelectorAll('#weights-figure .bar')].map(b => +b.getAttribute('width'))")
    lengths = [width / (end - begin) * (high - low) for width in widths]
    assert lengths == pytest.approx(weights, abs=0.01 * (high - low))
    noise = reticent.model()["certificate"]["plan"]["noise_deviation"]
    band = browser.run("return +document.getElementById('noise-band').getAttribute('width')")
    assert band / (end - begin) * (high - low) == pytest.approx(4 * noise, rel=0.01)


def test_curves_bars_and_maps_are_where_the_numbers_say(browser, page, reticent):
    budget = ["--epsilon", 0.8, "--algorithm", "output-gd", "--noise", "gaussian", "--knots", 5, "--pairs", "age:ward"]
    reticent.fit("--data", "table.csv", "--schema", "schema.json", *budget)
    reticent("report", "model.json")
    curves = reticent.json("curves", "model.json")
    browser.open(page)
    assert browser.log() == []
    assert browser.run("return document.documentElement.scrollWidth") <= 1000

    def scaled(figure, place, axis):
        begin, end, low, high = map(float, browser.run(f"return document.getElementById('{figure}').dataset.{axis}").split())
        return low + (place - begin) / (end - begin) * (high - low)

    def corners(kind):
        text = browser.run(f"return document.querySelector('#curve-0-0 {kind}').getAttribute('points')")
        points = [tuple(map(float, point.split(","))) for point in text.split()]
        return [(scaled("curve-0-0", x, "x"), scaled("curve-0-0", y, "y")) for x, y in points]

    age = curves["columns"][0]
    values, noise = age["values"][0], age["noise"][0]
    height = max(values) - min(values) + 4 * noise
    line, band = corners(".curve"), corners(".band")
    assert [x for x, _ in line] == pytest.approx(age["knots"], abs=0.1)
    assert [y for _, y in line] == pytest.approx(values, abs=0.001 * height)
    assert [y for _, y in band[:5]] == pytest.approx([v + 2 * noise for v in values], abs=0.001 * height)
    begin, end, low, high = map(float, browser.run("return document.getElementById('curve-0-1').dataset.x").split())
    widths = browser.run("return [...document.querySelectorAll('#curve-0-1 .bar')].map(b => +b.getAttribute('width'))")
    assert [w / (end - begin) * (high - low) for w in widths] == pytest.approx([abs(v) for v in curves["columns"][1]["values"][0]], abs=0.01 * high)
    reach = float(browser.run("return document.getElementById('pair-0-0').dataset.reach"))
    cells = browser.run("return [...document.querySelectorAll('#pair-0-0 rect')].map(r => (r.classList.contains('below') ? -1 : 1) * r.getAttribute('fill-opacity'))")
    assert [reach * cell for cell in cells] == pytest.approx(curves["pairs"][0]["values"][0], abs=0.001 * reach)


@pytest.mark.parametrize("width", [320, 375, 768, 1400])
def test_nothing_sticks_out(browser, page, width):
    browser.open(page, width=width)
    browser.run(UNFOLD)
    assert browser.run("return document.documentElement.scrollWidth") <= width
    wide = "return [...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll') && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.tagName)"
    assert browser.run(wide) == []


UNFOLD = "document.querySelectorAll('details').forEach(d => { d.open = true; })"

CONTRAST = """
const numbers = c => c.match(/[\\d.]+/g).map(Number);
const light = c => { const [r, g, b] = numbers(c).map(v => { v /= 255; return v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }); return .2126 * r + .7152 * g + .0722 * b; };
const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if ((numbers(c)[3] ?? 1) > 0) return c; } return 'rgb(255, 255, 255)'; };
const worst = [];
for (const e of document.querySelectorAll('body *')) {
  if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
  if (!e.getClientRects().length) continue;
  const style = getComputedStyle(e), ink = e instanceof SVGElement ? style.fill : style.color;
  const [a, b] = [light(ink), light(ground(e))].sort((x, y) => y - x);
  worst.push([(a + .05) / (b + .05), e.tagName, ink]);
}
return worst.sort((x, y) => x[0] - y[0]).slice(0, 3);
"""


OUTSIDE = """
const found = [];
document.querySelectorAll('details').forEach(part => { part.open = true; });
for (const svg of document.querySelectorAll('svg')) {
  const box = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll('text')].map(text => [text.textContent, text.getBoundingClientRect()]);
  texts.forEach(([word, a], i) => {
    if (a.left < box.left - 0.5 || a.right > box.right + 0.5 || a.bottom > box.bottom + 2) found.push(`${svg.id}: ${word} is cut`);
    for (const [other, b] of texts.slice(i + 1)) {
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (across > 1 && down > 5) found.push(`${svg.id}: ${word} lies over ${other}`);
    }
  });
}
return found;
"""


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_labels_of_figures_are_whole_and_apart(browser, page, reticent, width):
    """Also those of a regression whose numbers are long and negative."""
    browser.open(page, width=width)
    assert browser.run(OUTSIDE) == [], width
    numbers = [{"name": name, "type": "real", "bounds": {"min": -124.35, "max": -114.31}} for name in ("longitude", "b")]
    target = {"name": "price", "type": "real", "bounds": {"min": -987654.0, "max": 987654.0}}
    reticent.write_schema([*numbers, target], target="price")
    x = [-124.35 + i % 100 / 10 for i in range(2000)]
    reticent.write_csv({"longitude": x, "b": x[::-1], "price": [-187654.0 * (i % 100) / 20 + 400000 for i in range(2000)]})
    reticent.fit("--data", "table.csv", "--schema", "schema.json", "--epsilon", 8, "--delta", 1e-5)
    evaluation = reticent("evaluate", "--json", "--model", "model.json", "--data", "table.csv")
    (reticent.folder / "evaluation.json").write_text(evaluation)
    reticent("report", "model.json", "--evaluation", "evaluation.json", "--out", "long.html")
    browser.open(reticent.folder / "long.html", width=width)
    assert browser.run("return document.getElementById('curve-0-0').textContent").count("-") >= 3
    assert browser.run(OUTSIDE) == [], width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(browser, page, scheme):
    browser.open(page, scheme=scheme)
    browser.run(UNFOLD)
    ground = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") == (scheme == "light")
    worst = browser.run(CONTRAST)
    assert worst[0][0] >= 4.5, worst


def test_it_prints_dark_on_white_without_links_to_itself(browser, page):
    browser.open(page, scheme="dark", media="print")
    assert browser.run("return getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert browser.run("return getComputedStyle(document.querySelector('nav')).display") == "none"
    assert browser.run(CONTRAST)[0][0] >= 4.5
    # Parts that are folded on a screen are on paper, but for the files' own words.
    assert browser.run("return document.querySelector('#assumptions table').getBoundingClientRect().height") > 50
    assert browser.run("return document.querySelector('details.raw pre').getBoundingClientRect().height") == 0


def test_keyboards_and_screen_readers_reach_everything(browser, page):
    browser.open(page)
    assert browser.run("return document.documentElement.lang") == "en"
    levels = browser.run("return [...document.querySelectorAll('h1,h2,h3')].map(h => +h.tagName[1])")
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b - a <= 1 for a, b in zip(levels, levels[1:], strict=False))
    nameless = """return [...document.querySelectorAll('svg,[role=region]')].filter(e => {
        const ids = (e.getAttribute('aria-labelledby') || '').split(' ').filter(Boolean);
        return !(e.getAttribute('aria-label') || ids.length && ids.every(i => document.getElementById(i)?.textContent));
    }).length"""
    assert browser.run(nameless) == 0
    assert browser.run("return [...document.querySelectorAll('th')].every(t => t.scope)")
    assert browser.run("const ids = [...document.querySelectorAll('[id]')].map(e => e.id); return new Set(ids).size === ids.length")
    # Tab goes through links, tables and details, in the order of the page.
    browser.run(UNFOLD)
    focusable = browser.run("return document.querySelectorAll('a[href],[tabindex],summary').length")
    actions = [{"type": kind, "value": "\ue004"} for kind in ("keyDown", "keyUp")]
    seen = []
    for _ in range(focusable):
        browser.post("/actions", actions=[{"type": "key", "id": "keys", "actions": actions}])
        place = "const r = document.activeElement.getBoundingClientRect(); return [r.left + scrollX, r.top + scrollY]"
        seen.append(tuple(browser.run(place)))
    assert len(set(seen)) == focusable > 20
    assert browser.run("return getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_pictures_for_the_eye(browser, page, tmp_path):
    """Kept where RETICENT_PICTURES says, for anyone who looks; here they only have to be pictures
    of a whole page."""
    folder = pathlib.Path(os.environ.get("RETICENT_PICTURES", tmp_path))
    for name, width, scheme in (("light", 800, "light"), ("dark", 800, "dark"), ("phone", 375, "light")):
        browser.open(page, width=width, scheme=scheme)
        height = browser.run("return document.documentElement.scrollHeight")
        browser.screenshot(folder / f"report-{name}.png", height)
        picture = (folder / f"report-{name}.png").read_bytes()
        assert picture[:8] == b"\x89PNG\r\n\x1a\n"
        shape = [int.from_bytes(picture[at : at + 4], "big") for at in (16, 20)]
        assert shape == [width, height] and len(picture) > 20_000, shape
