"""What the tests of θ share: rows whose relations have objects of their own, and scores by hand."""

import sgeval


def score(graphs, images, encoder, **options):
    return sgeval.theta(references=graphs, config="graphs", images=images, model=encoder, **options)


def row(image_id="a", relations=(("dog", "on", "mat"),), boxes=None, size=(64, 48)):
    """A graph whose relations have objects of their own: the n-th has 2n and 2n + 1."""
    objects = [
        {"id": number, "category": label, "bbox": (boxes or {}).get(number, [2 + 5 * number, 3, 10, 10])}
        for number, label in enumerate(label for subject, _, obj in relations for label in (subject, obj))
    ]
    triplets = [
        {"subject_id": 2 * number, "object_id": 2 * number + 1, "predicate": predicate}
        for number, (_, predicate, _) in enumerate(relations)
    ]
    return {"image_id": image_id, "width": size[0], "height": size[1], "objects": objects, "relations": triplets}


DOG = row("a", [("dog", "on", "mat"), ("dog", "beside", "mat"), ("dog", "near", "mat")])
VALUES = {
    "dog on mat": 0.4,
    "dog beside mat": 0.3,
    "dog near mat": 0.2,
    "mat on dog": 0.5,
    "dog mat": 0.25,
    "mat beside dog": 0.1,
}
