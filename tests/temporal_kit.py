"""Small video graphs and judges for the tests of SVG2 temporal accuracy."""

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
