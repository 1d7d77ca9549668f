"""The page in a real browser: it renders, answers the pointer, sorts, and hostile names do nothing."""

from __future__ import annotations

import json

import pytest
from plotted_results import HOSTILE, margins_document, solved

import browser
from certmix.reporting import report

pytestmark = pytest.mark.skipif(
    browser.found() is None, reason="there is no Chromium here: the page is not looked at in a browser"
)

# How many colours the picture has; a copy of it is read, which the console does not mind.
INK = """(() => {
  const c = document.getElementById("plane"), copy = new OffscreenCanvas(c.width, c.height);
  const g = copy.getContext("2d", {willReadFrequently: true});
  g.drawImage(c, 0, 0);
  const d = g.getImageData(0, 0, c.width, c.height).data;
  const seen = new Set();
  for (let i = 0; i < d.length; i += 4) if (d[i + 3]) seen.add(`${d[i]},${d[i + 1]},${d[i + 2]}`);
  return seen.size;
})()"""
TIP = "document.getElementById('tip').hidden ? '' : document.getElementById('tip').innerText"
COLUMN = "[...document.querySelectorAll('.sortable tbody tr')].map(r => r.cells[%d].innerText)"


@pytest.fixture(scope="module")
def chromium():
    with browser.Browser() as found:
        yield found


def opened(chromium, path, result, **more):
    chromium.said.clear()
    chromium.fetched.clear()
    report(result, path, **more)
    chromium.open(path)
    return chromium


def places(chromium):
    """Where the samples are in the window, by the coordinates in the page and the frame of the plot."""
    return chromium.run(
        """(() => {
          const s = JSON.parse(document.getElementById("data").textContent), box = document.getElementById("plane");
          box.scrollIntoView({block: "center"});
          const frame = box.getBoundingClientRect(), all = [...s.samples.at, ...s.means];
          const span = [0, 1].map(a => { const v = all.map(p => p[a]), low = Math.min(...v), high = Math.max(...v);
            return [low - 0.05 * (high - low), high + 0.05 * (high - low)]; });
          return s.samples.at.map(p => [
            frame.left + 58 + (frame.width - 68) * (p[0] - span[0][0]) / (span[0][1] - span[0][0]),
            frame.top + 10 + (frame.height - 54) * (span[1][1] - p[1]) / (span[1][1] - span[1][0])]);
        })()"""
    )


def test_it_renders_without_a_word_in_the_console(chromium, tmp_path):
    """The picture has colours, nothing is fetched, nothing is complained of; wide and narrow, light and dark."""
    opened(chromium, tmp_path / "a.html", solved())
    for width, dark in ((1300, False), (360, True), (360, False), (1300, True)):
        chromium.look(width, 900, dark=dark)
        chromium.run("new Promise(done => setTimeout(done, 150))")
        assert chromium.run(INK) > 10
        assert chromium.run("document.documentElement.scrollWidth") <= width
    chromium.look(1200, 900)
    assert chromium.said == []
    assert [url for url in chromium.fetched if not url.startswith("file:")] == []


def test_pointing_at_a_sample_names_it(chromium, tmp_path):
    """The tip has the name, the component, the posterior and the margin; beside all samples there is none."""
    result = solved()
    opened(chromium, tmp_path / "a.html", result, stability=margins_document(result))
    x, y = places(chromium)[1]
    chromium.point(x, y)
    said = chromium.run(TIP)
    assert said.splitlines()[0] == "S1"
    assert f"component {result.component_names[result.labels[1]]}" in said
    assert f"posterior {float(f'{result.posterior[1]:.4g}')}" in said
    assert "margin 0.25 nats (open)" in said
    chromium.point(2, 2)
    assert chromium.run(TIP) == ""
    assert chromium.said == []


def test_a_click_sorts_the_table(chromium, tmp_path):
    """The first click sorts upwards, the second downwards; names are sorted by their numbers."""
    result = solved(n=400)
    opened(chromium, tmp_path / "a.html", result)
    for turn in (1, -1):
        chromium.click(".sortable th:nth-child(4) button")
        values = [float(v) for v in chromium.run(COLUMN % 3)]
        assert values == sorted(values)[::turn]
    chromium.click(".sortable th:nth-child(1) button")
    names = chromium.run(COLUMN % 0)
    assert names == sorted(names, key=lambda name: int(name[1:]))


def test_a_row_shows_its_sample_and_names_are_found(chromium, tmp_path):
    """A row shows the tip of its sample; typing a name counts those that have it; a component can be hidden."""
    opened(chromium, tmp_path / "a.html", solved())
    chromium.click(".sortable tbody tr:nth-child(1)")
    first = chromium.run(COLUMN % 0)[0]
    assert chromium.run(TIP).splitlines()[0] == first
    chromium.click("#find")
    chromium.type("s5")
    assert chromium.run("document.getElementById('matches').innerText") == "11 found"
    chromium.click(".key")
    assert chromium.run("document.querySelector('.key').getAttribute('aria-pressed')") == "false"
    x, y = places(chromium)[0]
    chromium.point(x, y)
    assert not chromium.run(TIP).startswith("S0\n")


def test_hostile_names_do_nothing(chromium, tmp_path):
    """Markup and scripts in names of samples and features are shown as they are written, and do not run."""
    result = solved(names=HOSTILE)
    opened(chromium, tmp_path / "a.html", result)
    for (x, y), name in list(zip(places(chromium), result.names, strict=True))[: len(HOSTILE)]:
        chromium.point(2, 2)
        chromium.point(x, y)
        assert chromium.run("document.querySelector('#tip b').textContent") in (name, *result.names)
    shown = chromium.run("[...document.querySelectorAll('bdi')].map(e => e.textContent)")
    assert HOSTILE[1] in shown
    assert HOSTILE[0] in shown
    assert chromium.run("window.evil === undefined")
    assert chromium.said == []


def test_ten_thousand_samples(chromium, tmp_path):
    """Every one of ten thousand samples is drawn, and the pointer finds the nearest."""
    result = solved(n=10_000, rules=False)
    path = tmp_path / "a.html"
    opened(chromium, path, result)
    assert path.stat().st_size < 6_000_000
    at = places(chromium)
    assert len(at) == 10_000
    lonely = max(range(100), key=lambda i: min(abs(at[i][0] - x) + abs(at[i][1] - y) for x, y in at[100:]))
    chromium.point(*at[lonely])
    assert chromium.run(TIP).splitlines()[0] == result.names[lonely]
    assert chromium.said == []


def test_it_prints(chromium, tmp_path):
    """On paper there is a page or more, whatever colours the reader likes, and every section is on it."""
    opened(chromium, tmp_path / "a.html", solved())
    chromium.call("Emulation.setEmulatedMedia", media="print")
    heights = chromium.run("[...document.querySelectorAll('section')].map(s => [s.id, s.offsetHeight])")
    assert len(heights) > 5
    assert [name for name, height in heights if height == 0] == []
    chromium.call("Emulation.setEmulatedMedia", media="")
    chromium.look(1200, 900, dark=True)
    chromium.printed(tmp_path / "a.pdf")
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    chromium.look(1200, 900)
    assert json.loads(chromium.run("JSON.stringify(document.title)")) == "certmix report"
