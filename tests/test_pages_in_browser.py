"""Pages in a real browser: they ask for nothing, run nothing of a stranger, fit a phone, follow the reader's colours."""

import re

import pytest
from browser_kit import serving
from hostile_kit import PAYLOADS, Pages
from report_kit import TAGS

pytestmark = pytest.mark.browser

KINDS = ("relclip", "theta", "roles", "temporal", "ranking", "side by side")
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
MARK = "<hr>"
FOUND = """(() => {
  const all = [...document.querySelectorAll('*')];
  return {
    tags: [...new Set(all.map(each => each.localName))],
    handlers: all.flatMap(each => [...each.attributes]).filter(each => /^on|^src|^action$/.test(each.name)).length,
    links: [...document.links].map(each => each.protocol),
  };
})()"""
"""What stands in the page that the browser made of the file."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    return Pages(tmp_path_factory.mktemp("pages"))


@pytest.fixture(scope="module")
def address(pages):
    """Pages are served, so that an address without a scheme would be asked for too."""
    with serving(pages.folder) as address:
        yield f"{address}/served.html"


@pytest.fixture
def tab(browser):
    tab = browser.tab()
    yield tab
    tab.close()


def without_policy(page):
    """The text of a page without the policy that would stop a script: escaping alone has to hold."""
    text, n = POLICY.subn("", page.read_text(encoding="utf-8"))
    assert n == 1
    return text


@pytest.mark.parametrize("kind", KINDS)
def test_strangers_texts_run_and_fetch_nothing(pages, address, tab, kind):
    """The pages of all payloads, one under the other; those that aim at the title also alone."""
    whole, bodies = "", []
    for payload in PAYLOADS:
        whole = without_policy(pages.write(kind, payload))
        bodies.append(MARK + whole[whole.index("<body>") + len("<body>") : whole.rindex("</body>")])
        if "</title>" in payload:
            check(pages, address, tab, whole)
    check(pages, address, tab, whole[: whole.index("<body>")] + "<body>" + "".join(bodies) + "</body></html>")
    # None of them took what follows into itself.
    assert tab.run("document.querySelectorAll('body > hr').length") == len(PAYLOADS)


def check(pages, address, tab, text):
    (pages.folder / "served.html").write_text(text, encoding="utf-8")
    tab.requests.clear()
    found = tab.open(address).run(FOUND)
    assert all(TAGS.fullmatch(tag) for tag in {*found["tags"]} - {"hr"}), found["tags"]
    assert not found["handlers"] and set(found["links"]) <= {"http:"}, found
    assert tab.requests == [address] and not tab.dialogs and not tab.faults


def test_the_browser_sees_what_runs(pages, address, tab):
    page = pages.folder / "served.html"
    page.write_text("<p>x</p><script>alert('here')</script><img src=//127.0.0.1:1/p.png>", encoding="utf-8")
    found = tab.open(address).run(FOUND)
    assert "script" in found["tags"] and found["handlers"] == 1
    assert tab.dialogs == ["here"] and len(tab.requests) == 2
    tab.faults.clear()
    page.write_text(
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'"><script>alert(2)</script>'
    )
    tab.open(address)
    assert tab.dialogs == ["here"] and tab.faults


@pytest.mark.parametrize("kind", KINDS)
def test_pages_fit_and_follow_the_reader(pages, tab, kind):
    grounds = set()
    for text in ("plain ", "w" * 119):
        page = pages.write(kind, text)
        for width, dark in ((1200, False), (360, False), (360, True)):
            tab.look(width, dark=dark)
            tab.open(page.as_uri())
            assert tab.run("document.documentElement.scrollWidth") <= width, (text, width)
            grounds.add(tab.run("getComputedStyle(document.body).backgroundColor"))
            # What has to be scrolled sideways can be reached by keyboard.
            hidden = "[...document.querySelectorAll('body *')].filter(each => each.scrollWidth > each.clientWidth + 1"
            hidden += " && getComputedStyle(each).overflowX == 'auto' && each.tabIndex < 0).length"
            assert tab.run(hidden) == 0
    assert grounds == {"rgb(255, 255, 255)", "rgb(21, 24, 28)"}
    tab.press("Tab", 9)
    assert (
        tab.run("document.activeElement != document.body && getComputedStyle(document.activeElement).outlineStyle")
        == "solid"
    )
