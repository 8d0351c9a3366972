"""The leaderboard under load: many results, many submissions at once, a large submission.

python benchmarks/perf/board.py --results 1000 --submissions 20 --relations 100000
"""

import argparse
import json
import math
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image

if __package__ in (None, ""):  # run as a script
    sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.perf.board_client import ANSWER, LEADERBOARD, Served, Visitor, copied, serving

BOARD = "board.yaml"
PICTURE, SIZE = "scene.png", (640, 480)
PREDICATES = ("riding", "on", "holding", "next to", "looking at", "wearing", "behind")


def fill(folder: Path, task: str, n_results: int) -> None:
    """Add so many entries to a board's folder: the first of a task with other names, sizes and numbers."""
    first = min((folder / "results" / task).iterdir())
    entry = json.loads((first / "entry.json").read_text(encoding="utf-8"))
    told = entry["sample"]["ratios"]
    draw = random.Random(0)
    for number in range(n_results):
        share = draw.uniform(0.3, 1)
        entry["id"] = f"20261201-{number // 3600:02d}{number // 60 % 60:02d}{number % 60:02d}-{number:08x}"
        entry["about"] = {
            "system": f"system {number}",
            "team": f"team {number % 37}",
            "link": "",
            "size": draw.choice((0.5, 7.0, 70.0, None)),
        }
        entry["sample"]["ratios"] = {
            part: [[value * share * draw.uniform(0.7, 1) for value in above], below]
            for part, (above, below) in told.items()
        }
        ((above, below),) = entry["sample"]["ratios"].values()
        entry["result"][entry["metric"]] = math.fsum(above) / math.fsum(below)
        made = folder / "results" / task / entry["id"]
        made.mkdir()
        (made / "entry.json").write_text(json.dumps(entry), encoding="utf-8")


def timed(what: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and what came."""
    began = time.perf_counter()
    found = what()
    return time.perf_counter() - began, found


def middle(what: Callable[[], Any], rounds: int = 9) -> float:
    """The median of the seconds of some rounds."""
    return statistics.median(timed(what)[0] for _ in range(rounds))


def many_results(folder: Path, n_results: int, task: str) -> dict[str, Any]:
    """Start, answers and the page in a browser with so many results in the first table."""
    folder.mkdir()
    board = copied(folder / "board")
    fill(board, task, n_results)
    began = time.perf_counter()
    with serving(board, folder / "log") as served:
        start = time.perf_counter() - began
        visitor = Visitor(served)
        number = first_filter(visitor)
        return {
            "start": start,
            "page": middle(lambda: visitor.get("/")),
            "page_bytes": len(visitor.get("/")),
            "config": middle(lambda: visitor.get("/config")),
            "filter_all": middle(lambda: visitor.filter(number, "", "all", "all", "all")),
            "filter_one": middle(lambda: visitor.filter(number, "system 77", "all", "all", "all")),
            "in_browser": in_browser(served, folder),
        }


def first_filter(visitor: Visitor) -> int:
    """The event of the search field of the first table."""
    return min(int(number) for number, event in visitor.events.items() if event["targets"][0][1] == "change")


def in_browser(served: Served, folder: Path) -> dict[str, float] | None:
    """Seconds from asking for the page until its first table stands: with an empty cache, and the median of five visits
    after that. `None` where there is no Chromium or no checkout."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
    try:
        from browser_kit import Browser, chromium  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return None
    if chromium() is None:
        return None
    browser = Browser(folder / "profile")
    seen = []
    for _ in range(6):
        tab = browser.tab(1280, 900)
        tab.run("1")
        browser.call("Network.setCacheDisabled", tab._session, cacheDisabled=False)
        script = (
            "const look = () => { if (document.querySelector('[id$=-ranked] [role=gridcell]')) "
            "window.stands ??= performance.now(); requestAnimationFrame(look); }; look();"
        )
        browser.call("Page.addScriptToEvaluateOnNewDocument", tab._session, source=script)
        tab.open(f"{served.url}/")
        seen.append(tab.wait("window.stands") / 1000)
        time.sleep(1)
        tab.close()
    browser.close()
    return {"first": seen[0], "later": statistics.median(seen[1:])}


def at_once(folder: Path, n_submissions: int) -> dict[str, Any]:
    """So many submissions at once, and what others wait meanwhile."""
    board = copied(folder / "busy")
    with serving(board, folder / "busy.log") as served:
        visitors = [Visitor(served) for _ in range(n_submissions)]
        with asked_all_the_time(served) as waits, ThreadPoolExecutor(n_submissions) as pool:
            seconds, told = timed(lambda: list(pool.map(_send, range(n_submissions), visitors)))
        n_entries = len(list((board / "results").glob("*/20*/entry.json"))) - 12
    return {
        "seconds": seconds,
        "published": sum(answer.startswith("Published with") for answer in told),
        "refused": [answer for answer in told if not answer.startswith("Published with")],
        "entries": n_entries,
        **{
            f"{name}_{word}": value
            for name, each in waits.items()
            for word, value in (("median", statistics.median(each)), ("worst", max(each)), ("n", len(each)))
        },
    }


def _send(number: int, visitor: Visitor) -> str:
    """Half to the table of videos, half to that of relations."""
    task, file = (
        ("demo_videos", LEADERBOARD / "submissions/videos/hasty.jsonl"),
        ("demo_relations", LEADERBOARD.parents[1] / "sgeval/assets/demo_scenes/predictions_guessing.jsonl"),
    )[number % 2]
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    rows[number]["relations"][0]["predicate"] = "touching"  # no two are the same
    data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    try:
        return str(visitor.submit(task, data, f"system {number}", file=f"{number}.jsonl")[ANSWER])
    except RuntimeError as fault:
        return str(fault)


@contextmanager
def asked_all_the_time(served: Served) -> Any:
    """Every 100 ms the page and a filter, each by a reader of its own; seconds by name."""
    reader = Visitor(served)
    number, ended = first_filter(reader), threading.Event()
    waits: dict[str, list[float]] = {"page": [], "filter": []}
    asks = {"page": lambda: reader.get("/"), "filter": lambda: reader.filter(number, "", "all", "all", "all")}

    def ask(name: str) -> None:
        while not ended.wait(0.1):
            waits[name].append(timed(asks[name])[0])

    readers = [threading.Thread(target=ask, args=(name,)) for name in waits]
    for each in readers:
        each.start()
    yield waits
    ended.set()
    for each in readers:
        each.join()


def large(folder: Path, n_relations: int) -> dict[str, Any]:
    """A submission of so many relations to a task as large, validated through the board: with no fault, and with one in
    each fiftieth relation."""
    board = copied(folder / "large")
    settings = (board / BOARD).read_text(encoding="utf-8")
    task = (
        "  - {id: large, title: Large, what: Large., metric: relclipscore, key: relclipscore, references: data/large.jsonl,\n"
        "     images: data/images, settings: {model: demo, pairs: gold, missing: zero}}\n"
    )
    (board / BOARD).write_text(settings.replace("tasks:\n", f"tasks:\n{task}"), encoding="utf-8")
    graphs = _graphs(n_relations)
    data = b"".join(json.dumps(graph).encode() + b"\n" for graph in graphs)
    (board / "data/large.jsonl").write_bytes(data)
    (board / "data/images").mkdir()
    Image.new("RGB", SIZE).save(board / "data/images" / PICTURE)  # of all: a board refuses to start without pictures
    for graph in graphs:
        graph["relations"][7]["object_id"] = 99
    broken = b"".join(json.dumps(graph).encode() + b"\n" for graph in graphs)
    with serving(board, folder / "large.log") as served:
        found: dict[str, Any] = {}
        for name, sent in (("valid", data), ("broken", broken)):
            seconds, told = timed(lambda sent=sent: Visitor(served).submit("large", sent, None))  # type: ignore[misc]
            found |= {f"{name}_seconds": seconds, f"{name}_answer": told[ANSWER]}
    return {"megabytes": len(data) / 1e6, **found}


def _graphs(n_relations: int) -> list[dict[str, Any]]:
    """Graphs of ten objects and twenty relations between them."""
    draw = random.Random(0)
    graphs = []
    for number in range(n_relations // 20):
        boxes = [[draw.random() * 400, draw.random() * 300, 20 + draw.random() * 50, 30.0] for _ in range(10)]
        objects = [{"id": at, "category": f"class {draw.randrange(50)}", "bbox": box} for at, box in enumerate(boxes)]
        relations = [
            {"subject_id": at % 10, "object_id": (at % 10 + 1 + at // 10) % 10, "predicate": draw.choice(PREDICATES)}
            for at in range(20)
        ]
        whole = {"image_id": str(number), "file_name": PICTURE, "width": SIZE[0], "height": SIZE[1]}
        graphs.append({**whole, "objects": objects, "relations": relations})
    return graphs


def main() -> None:
    """Measure and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=int, default=1000)
    parser.add_argument("--submissions", type=int, default=20)
    parser.add_argument("--relations", type=int, default=100_000)
    parser.add_argument("--task", default="demo_relations", help="which table holds the results")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        found = {
            "no_more_results": many_results(folder / "few", 0, given.task),
            "results": many_results(folder / "many", given.results, given.task),
            "submissions": at_once(folder, given.submissions),
            "large": large(folder, given.relations),
        }
    print(json.dumps(found, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
