"""The leaderboard as its README starts it, in a real browser: read, filtered, sorted, submitted to."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from hostile_kit import PAYLOADS

from benchmarks.perf.board_client import LEADERBOARD, Visitor, copied, serving
from sgeval.board import Results, read_board
from sgeval.comparison import compare
from sgeval.runs import read_run

pytestmark = pytest.mark.browser

WORDS = "document.body.innerText.replace(/\\s+/g, ' ')"
ROWS = """[...document.querySelectorAll('#%s [role=row]')].map(row =>
  [...row.querySelectorAll('[role=gridcell]')].map(cell => cell.innerText.trim())).filter(row => row.length)"""
CLICK = """(() => {
  const seen = [...document.querySelectorAll('button, [role=tab], [role=option], [role=menuitem]')];
  const found = seen.filter(each => each.offsetParent && each.innerText.trim() == %s);
  found.forEach(each => each.click());
  return found.length;
})()"""
RANK, TIE, SYSTEM, PAGE, SCORE, INTERVAL = range(6)
TABS = {
    "demo_relations": "Relations of drawn scenes",
    "demo_videos": "Triplets of made videos",
    "demo_situations": "Roles of made situations",
}
FILE = "input[type=file][accept*=jsonl]"
HOSTILE = [text for text in PAYLOADS if len(text) <= 80 and text.isprintable() and text.strip() == text]
ANSWER = "document.querySelector('#answer textarea').value"


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    """The board of the demo systems."""
    pytest.importorskip("gradio")
    root = tmp_path_factory.mktemp("leaderboard")
    with serving(copied(root / "leaderboard"), root / "log") as served:
        yield served


@pytest.fixture
def opened(board, browser):
    """Opens the board with one of its tabs; nothing of it comes from elsewhere, and nothing speaks."""
    tabs = []

    def open(name="demo_relations", **look):
        tab = browser.tab(**look)
        tabs.append(tab)
        tab.open(f"{board.url}/")
        tab.wait(f"({ROWS % 'demo_relations-ranked'}).length")
        if name != "demo_relations":
            tab.wait(CLICK % json.dumps(TABS.get(name, name)))
        if name in TABS:
            tab.wait(f"({ROWS % f'{name}-ranked'}).length")
        return tab

    yield open
    for tab in tabs:
        assert not tab.dialogs and not tab.faults
        assert not [url for url in tab.requests if not url.startswith((board.url, "blob:"))]
        tab.close()


def rows(tab, name):
    """Cells of a table."""
    return tab.run(ROWS % name)


def names(tab, name):
    """Its systems."""
    return [row[SYSTEM if name.endswith("ranked") else 0] for row in rows(tab, name)]


def select(tab, label, choice):
    """Choose in the dropdown of the tab that is seen."""
    tab.wait(
        f"""(() => {{
          const all = [...document.querySelectorAll('input[aria-label={json.dumps(label)}]')];
          const seen = all.filter(each => each.offsetParent);
          seen.forEach(each => {{ each.focus(); each.click(); }});
          return seen.length;
        }})()"""
    )
    option = (
        f"[...document.querySelectorAll('[role=option]')].find(each => each.innerText.includes({json.dumps(choice)}))"
    )
    tab.wait(f"(each => each && (each.dispatchEvent(new MouseEvent('mousedown', {{bubbles: true}})), true))({option})")


@pytest.mark.parametrize("name", TABS)
def test_a_table_is_what_compare_says(opened, board, name):
    tab, task = opened(name), read_board(board.folder).tasks[name]
    entries = Results(LEADERBOARD / "results", read_board(LEADERBOARD).tasks).entries(name)
    ranked = [entry for entry in entries if not entry.differs and not entry.repeats_references]
    runs = [read_run(LEADERBOARD / "results" / name / entry.id / "run") for entry in ranked]
    found = compare(runs, (task.key,))
    (group,) = found.groups
    assert len(ranked) == (4 if name == "demo_relations" else 3)  # three systems, and a floor
    seen = rows(tab, f"{name}-ranked")
    for line, row in zip(group.lines[task.key], seen, strict=True):
        low, high = (found.factor * end for end in (line.interval.low, line.interval.high))
        shown = [line.rank, line.name, round(found.factor * line.value, 2), f"[{low:.2f}, {high:.2f}]"]
        assert [int(row[RANK]), row[SYSTEM], float(row[SCORE]), row[INTERVAL]] == shown
    assert tab.run("document.documentElement.scrollWidth <= innerWidth")


def test_what_another_judge_says_stands_apart(opened):
    tab = opened("demo_videos")
    assert names(tab, "demo_videos-ranked") == ["careful", "hasty", "vague"]
    ((system, _, score, _, why, judge, *_),) = rows(tab, "demo_videos-apart")
    assert (system, score, why, judge) == (
        "careful, judged exactly",
        "16.67",
        "judge exact (ranked: wordnet)",
        "exact",
    )


def test_tables_are_filtered_and_sorted(opened):
    tab = opened("demo_videos")

    def shows(ranked, apart):
        found = [
            f"({ROWS % f'demo_videos-{part}'}).map(row => row[{at}])" for part, at in (("ranked", 2), ("apart", 0))
        ]
        tab.wait(f"JSON.stringify([{', '.join(found)}]) == JSON.stringify({json.dumps([ranked, apart])})")

    everything = ["careful", "hasty", "vague"]
    search = "#demo_videos-search textarea, #demo_videos-search input"
    tab.write(search, "HASTY")
    shows(["hasty"], [])
    tab.write(search, "the demo vague")
    shows(["vague"], [])
    tab.write(search, "nobody")
    shows([], [])
    tab.write(search, "")
    shows(everything, ["careful, judged exactly"])
    select(tab, "Model size", "1 to 10 B")
    shows(["careful", "hasty"], ["careful, judged exactly"])
    select(tab, "Judge or scoring model", "exact")
    shows([], ["careful, judged exactly"])
    select(tab, "Judge or scoring model", "all")
    select(tab, "Model size", "all")
    select(tab, "Protocol", "ranked")
    shows(everything, ["careful, judged exactly"][1:])
    select(tab, "Protocol", "all")
    shows(everything, ["careful, judged exactly"])
    tab.run("document.querySelector('#demo_videos-ranked th[title=Score] .cell-menu-button').click()")
    tab.wait(CLICK % '"Sort ascending"')
    shows(everything[::-1], ["careful, judged exactly"])


def submitted(tab, task, file, button, **fields):
    """Fill in the form and click; the answer."""
    if file:
        tab.choose(FILE, file)
    tab.wait(f"{WORDS}.includes('B ⇣')")  # its size: it was uploaded
    select(tab, "Task", TABS[task])
    for place, text in fields.items():
        tab.write(f"#submit-{place} textarea, #submit-{place} input", text)
    before = tab.run(ANSWER)
    tab.wait(CLICK % json.dumps(button))
    return tab.wait(f"{ANSWER} != {json.dumps(before)} && {ANSWER}")


def test_a_good_file_is_ranked_and_has_a_page(opened, board, tmp_path):
    file = tmp_path / "mine.jsonl"
    data = (LEADERBOARD / "submissions/situations/attentive.jsonl").read_bytes()
    file.write_bytes(data.replace(b'"carefully"', b'"with care"', 1))  # its frame has another role that is right
    tab = opened("Submit")
    told = submitted(tab, "demo_situations", file, "Validate only")
    assert told == "No faults: 60 rows, 60 frames."
    fields = {"system": "mine", "team": "my team", "link": "https://example.org/mine", "size": "70"}
    told = submitted(tab, "demo_situations", None, "Score and publish", **fields)  # the same file
    assert told.startswith("Published with 96.67 [88.33, 100.00], rank 1 of 4. 60 rows, 60 frames.")
    page = tab.wait("(document.querySelector('#answer-page a') || {}).href")
    again = opened("demo_situations")
    again.wait(f"({ROWS % 'demo_situations-ranked'}).length == 4")
    first, second = rows(again, "demo_situations-ranked")[:2]
    assert {first[SYSTEM], second[SYSTEM]} == {"mine", "attentive"}
    assert [first[RANK], first[TIE], first[SCORE]] == [second[RANK], second[TIE], second[SCORE]] == ["1", "=", "96.67"]
    assert again.run("document.querySelector('#demo_situations-ranked [role=gridcell] a').href").startswith(board.url)
    tab.open(page)
    shown = tab.run(WORDS)
    for words in (
        "mine",
        "96.67",
        "Rank 1 of 4 systems.",
        "my team",
        "https://example.org/mine",
        "scored by the board",
    ):
        assert words in shown
    assert any(url == f"{page}/report" for url in tab.requests)
    assert "96.67" in tab.open(f"{page}/report").run(WORDS)


def test_every_fault_of_a_bad_file_is_shown(opened, board, tmp_path):
    lines = (LEADERBOARD / "submissions/videos/careful.jsonl").read_text(encoding="utf-8").splitlines()
    first = json.loads(lines[0])
    first["relations"][0]["object_id"] = 99
    first["objects"][1]["category"] = 7
    lines[:2] = [json.dumps(first), '["<img src=x onerror=alert(1)>"]']
    file = tmp_path / "bad.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    tab = opened("Submit")
    there = sorted((board.folder / "results").rglob("*"))
    told = submitted(tab, "demo_videos", file, "Score and publish", system="bad")
    assert told.startswith("Not published: 3 faults.")
    pointers = [row[0] for row in rows(tab, "faults")]
    assert {*pointers} == {"/0/relations/0/object_id", "/0/objects/1/category", "/1"}
    assert any('got "<img' in row[1] or "<img src=x" in row[1] for row in rows(tab, "faults"))
    assert not tab.run("document.querySelectorAll('img[src=x]').length")
    assert sorted((board.folder / "results").rglob("*")) == there
    assert tab.run("document.documentElement.scrollWidth <= innerWidth")


def test_what_strangers_write_stays_text(opened, board, tmp_path):
    assert len(HOSTILE) > 60
    frames = [json.loads(line) for line in (LEADERBOARD / "submissions/situations/guesser.jsonl").open()]
    for frame, text in zip(frames, HOSTILE, strict=False):
        frame["roles"][0]["value"] = text
    named = HOSTILE[::17]

    def submit(at):
        own = [{**frames[0], "roles": [{"role": "tool", "value": named[at]}]}, *frames[1:]]
        data = "\n".join(map(json.dumps, own)).encode()
        told = Visitor(board).submit("demo_situations", data, named[at], team=HOSTILE[-17 * at - 1], file=f"{at}.jsonl")
        assert told[0].startswith("Published"), told
        return named[at], told[1].split('"')[1]

    with ThreadPoolExecutor(2) as pool:
        pages = list(pool.map(submit, range(len(named))))
    tab = opened("demo_situations", height=2400)
    tab.wait(f"({ROWS % 'demo_situations-ranked'}).length >= {3 + len(pages)}")
    seen = {row[SYSTEM] for row in rows(tab, "demo_situations-ranked")}
    assert {" ".join(name.split()) for name, _ in pages} <= {" ".join(name.split()) for name in seen}
    odd = ("[onerror]", "[onload]", "[onclick]", "[onfocus]", "[src*=evil]", "[href*=evil]", "[href^=java]")
    strange = f"document.querySelectorAll('{', '.join(odd)}')"
    assert tab.run(f"{strange}.length") == 0
    for name, page in pages:
        tab.open(f"{board.url}/{page}")
        assert " ".join(name.split()) in tab.run(WORDS)
        assert tab.run(f"{strange}.length + document.scripts.length") == 0
        tab.open(f"{board.url}/{page}/report")
        assert tab.run(f"{strange}.length + document.scripts.length") == 0


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [400, 1200])
def test_pages_fit_and_can_be_read(opened, board, width, dark):
    fits = "document.documentElement.scrollWidth <= innerWidth"
    tab = opened(width=width, dark=dark)
    assert tab.run(fits)
    shade = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).every(each => each %s 128)"
    tab.wait(shade % ("<" if dark else ">"))
    entry = Results(LEADERBOARD / "results", read_board(LEADERBOARD).tasks).entries("demo_videos")[-1]
    tab.open(f"{board.url}/submission/{entry.id}")
    assert tab.run(fits) and tab.run(shade % ("<" if dark else ">"))
