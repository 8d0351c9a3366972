"""No text of a stranger does anything in a page: 80 of them, each in every slot, in the pages of all metrics."""

import re

import pytest
from hostile_kit import PAYLOADS, SLOT, Pages
from report_kit import Page, assert_harmless

from sgeval.errors import one_line


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    return Pages(tmp_path_factory.mktemp("hostile"))


KINDS = ("relclip", "theta", "roles", "temporal", "ranking", "role ranking", "side by side")
LEAST = dict(zip(KINDS, (30, 50, 25, 40, 30, 8, 8)))
"""How often a page of each kind shows the text at least."""


@pytest.mark.parametrize("kind", KINDS)
def test_no_text_of_a_stranger_does_anything(pages, kind):
    plain = Page(pages.write(kind, "plain"))
    slots = plain.words.count("plain")
    assert slots >= LEAST[kind], slots
    for payload in PAYLOADS:
        page = Page(pages.write(kind, payload))
        links = [str(attrs["href"]) for tag, attrs in page.tags if tag == "a"]
        assert not [link for link in links if re.match(r"[a-z0-9+.-]+:|/|\\", link, re.IGNORECASE)], links
        assert_harmless(page, tuple(links))
        # The tags are those of the same page about harmless words, links apart.
        kinds = [[tag for tag, _ in each.tags if tag != "a"] for each in (page, plain)]
        assert kinds[0] == kinds[1], payload
        shown = " ".join(one_line(payload).split())[:30]
        assert page.words.count(shown) >= 0.5 * slots, (payload, page.words.count(shown), slots)


def test_the_test_can_fail(pages):
    page = pages.write("roles", SLOT)
    page.write_text(page.read_text().replace(SLOT, "<img src=x onerror=alert(1)>", 1))
    with pytest.raises(AssertionError, match="img"):
        assert_harmless(Page(page))
