"""Small video graphs and judges for the tests of SVG2 temporal accuracy."""

import random

from sgeval.judges.verdicts import Verdict


def relation(subject, predicate, obj, *spans):
    row = {"subject_id": subject, "object_id": obj, "predicate": predicate}
    return row | ({"spans": [{"start": start, "end": end} for start, end in spans]} if spans else {})


def graph(video_id, labels, relations, attributes=None, **more):
    objects = [{"id": number, "category": label} for number, label in enumerate(labels)]
    for number, listed in (attributes or {}).items():
        objects[number]["attributes"] = listed
    return {"video_id": video_id, "objects": objects, "relations": relations, **more}


class judge_of:
    """A judge by a table of (kind, reference, prediction); `None` in it is no verdict. `ask` takes its place, seen by it."""

    def __init__(self, table, default="mismatch", name="table", ask=None):
        self.table, self.default, self.name, self.ask = table, default, name, ask

    def __call__(self, pairs):
        if self.ask is not None:
            return self.ask(pairs)
        found = [self.table.get((pair.kind, pair.reference, pair.prediction), self.default) for pair in pairs]
        return [Verdict(category, None if category else "timeout") for category in found]


def random_graphs(seed, n):
    """Predictions and references of n videos: some labels other, some spans moved, some relations and objects without."""
    draw = random.Random(seed)
    words = {"dog": "puppy", "ball": "sphere", "man": "person", "chasing": "following", "on": "above", "brown": "tan"}
    words |= {"big": "small", "cup": "table", "holding": "near"}
    sides = [], []
    for number in range(n):
        labels = [draw.choice(("dog", "ball", "man", "cup")) for _ in range(draw.randint(2, 5))]
        labels[0] = "dog" if number % 2 else labels[0]
        attributes = {0: ["brown", "big"], 1: []}
        relations = []
        for _ in range(draw.randint(1, 6)):
            start = draw.randint(0, 20) / 3
            spans = [(start, start + draw.randint(1, 9) / 7)] * draw.randint(0, 2)
            ends = draw.sample([-1, *range(len(labels))], 2)
            row = relation(ends[0], draw.choice(("chasing", "on", "holding")), ends[1], *spans)
            relations.append(row | draw.choice(({"type": "spatial"}, {})))
        gold = graph(f"v{number}", labels, relations, attributes, **draw.choice(({"duration": 8.5}, {})))
        said = graph(
            f"v{number}",
            [words.get(label, label) if draw.random() < 0.4 else label for label in labels],
            [
                {**row, "predicate": words[row["predicate"]] if draw.random() < 0.3 else row["predicate"]}
                | ({"spans": [{"start": 0, "end": 9}]} if draw.random() < 0.3 else {})
                for row in relations
                if draw.random() < 0.9
            ],
            {0: ["tan"], 1: ["round"]},
        )
        said["objects"][0]["category"] = "puppy" if number % 2 else said["objects"][0]["category"]
        sides[0].append(said)
        sides[1].append(gold)
    return sides
