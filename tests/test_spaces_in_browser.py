"""The four Spaces as they would be pushed, each started alone and opened in a real browser."""

import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from browser_kit import PATIENCE
from PIL import Image

import sgeval
from sgeval.hub import METRICS

pytestmark = pytest.mark.browser

FILES = {"README.md", "app.py", "requirements.txt"}
HEADS = ("title:", "sdk: gradio", "sdk_version:", "app_file: app.py", "license:")


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@pytest.fixture(scope="module")
def spaces(browser, tmp_path_factory):
    """By name of the metric the address of its app. All start at once: most of their time is imports."""
    pytest.importorskip("gradio")
    root, ports, processes = tmp_path_factory.mktemp("spaces"), {}, []
    for name in METRICS:
        ports[name] = free_port()
        pushed = root / name
        pushed.mkdir()
        for file in (*FILES, f"{name}.py"):
            shutil.copy(Path(sgeval.path(name)) / file, pushed)
        given = {
            "PYTHONPATH": str(Path(sgeval.__file__).parents[1]),
            "GRADIO_SERVER_NAME": "127.0.0.1",
            "GRADIO_SERVER_PORT": str(ports[name]),
            "GRADIO_ANALYTICS_ENABLED": "False",
            "HF_HUB_OFFLINE": "1",
        }
        with (root / f"{name}.log").open("w") as log:
            command = [sys.executable, "app.py"]
            processes.append(
                subprocess.Popen(command, cwd=pushed, env=os.environ | given, stdout=log, stderr=subprocess.STDOUT)
            )
    yield {name: (root / f"{name}.log", port) for name, port in ports.items()}
    for process in processes:
        process.kill()
        process.wait()


@pytest.fixture
def opened(spaces, browser):
    """Opens the page of a Space once it answers."""
    tabs = []

    def open(name):
        log, port = spaces[name]
        end = time.monotonic() + PATIENCE
        while True:
            with socket.socket() as one:
                if one.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.2)
        tabs.append(browser.tab())
        return tabs[-1].open(f"http://127.0.0.1:{port}/")

    yield open
    for tab in tabs:
        tab.close()


def app_of(name):
    """The app as a module, for the texts of its examples."""
    spec = importlib.util.spec_from_file_location(f"space_of_{name}", Path(sgeval.path(name)) / "app.py")
    app = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(app)
    return app


def relclipscore(app):
    text, picture = app.example()
    graph = json.loads(text)
    found = sgeval.relclipscore([graph], images={graph["image_id"]: Image.open(picture)}, model="demo")
    return f'"relclipscore" : {found["relclipscore"]}'


def theta(app):
    rows = json.loads(app.LISTS)
    return f'"theta" : {sgeval.theta([row["scores"] for row in rows], [row["truth"] for row in rows])["theta"]}'


def role_values(app):
    found = sgeval.ssg_role_values(app.SAID, app.GOLD, verb_setting="gold")
    return " ".join(
        ["value_two", *(f"{found[f'{kind}value_two']:.2f}" for kind in ("", "person_", "object_", "verb_"))]
    )


def temporal(app):
    found = sgeval.svg2_temporal_accuracy(app.SAID, app.GOLD, judge="exact")
    return f"object {found['object_accuracy']:.2f} {found['object_accuracy_strict']:.2f}"


CASES = {
    "relclipscore": (relclipscore, ()),
    "theta": (theta, ("Lists of scores",)),
    "ssg_role_values": (role_values, ("gold",)),
    "svg2_temporal_accuracy": (temporal, ("exact",)),
}
"""By metric: the words that its number stands in, and what is chosen before Score is clicked."""

CLICK = """(() => {
  const seen = [...document.querySelectorAll('button, label, [role=tab]')].filter(each => each.offsetParent);
  const found = seen.filter(each => each.innerText.trim().replace(/\\s*[▼◀]$/, '') == %s);
  found.forEach(each => each.click());
  return found.length;
})()"""
WORDS = "document.body.innerText.replace(/\\s+/g, ' ')"


@pytest.mark.parametrize("name", METRICS)
def test_a_space_computes_its_example_and_shows_its_card(opened, name):
    shown, choices = CASES[name]
    app, tab = app_of(name), opened(name)

    def asked():
        return sum("/queue/join" in url for url in tab.requests)

    for choice in choices:
        tab.wait(CLICK % json.dumps(choice))
    before = asked()
    tab.wait(CLICK % '"Score"')
    tab.wait(f"{WORDS}.includes({json.dumps(shown(app))})")
    assert asked() > before
    card = (Path(sgeval.path(name)) / "README.md").read_text(encoding="utf-8")
    heading = next(line.removeprefix("## ") for line in card.split("\n") if line.startswith("## "))
    tab.wait(CLICK % '"Card"')
    tab.wait(f"{WORDS}.includes({json.dumps(heading)})")
    assert not [url for url in tab.requests if not url.startswith((tab.run("location.origin"), "data:", "blob:"))]
    assert not tab.dialogs


@pytest.mark.parametrize("name", METRICS)
def test_the_folder_is_a_space(name):
    card = (Path(sgeval.path(name)) / "README.md").read_text(encoding="utf-8")
    head = card.split("---")[1]
    assert card.startswith("---\n") and all(f"\n{line}" in head for line in HEADS), head
    needs = (Path(sgeval.path(name)) / "requirements.txt").read_text(encoding="utf-8").split()
    sdk = head.split("sdk_version:")[1].split()[0]
    assert needs == [f"sgeval=={sgeval.__version__}", f"gradio=={sdk}"]
