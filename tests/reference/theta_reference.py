"""θ as slowly and plainly as it can be written: eq. 7 of paper 1, one relation and one candidate after the other.

It takes plain rows and PIL pictures, encodes one crop and one text at a time, and shares no ranking, vocabulary or
planning code with the package. Crops, clipping and label forms are those of the slow reference of RelCLIPScore; with
`normalisation="none"` labels are compared and written as they stand.
"""

import math

from reference.relclip_reference import area, as_corners, average, clip, crop_rectangle, group, noun, spelling

SYMMETRIC = ("next to", "near", "beside")


def plain(label):
    return label


def label_forms(normalisation):
    """How a class is written, how a predicate is, and what equal ones share."""
    if normalisation == "none":
        return plain, plain, plain, plain
    return noun, as_words, lambda label: group(noun(label)), group


def as_words(predicate):
    return " ".join(predicate.replace("_", " ").split())


def half_tied(own, other):
    return 1.0 if own > other else 0.5 if own == other else 0.0


def candidates_of(graphs, normalisation="words"):
    """For each ordered pair of classes its predicates in first-seen order, each with its most frequent spelling."""
    _, written, class_of, key_of = label_forms(normalisation)
    spellings = {}
    for graph in graphs:
        names = {item["id"]: item["category"] for item in graph["objects"]}
        for relation in graph["relations"]:
            a, b = relation["subject_id"], relation["object_id"]
            if a == b:
                continue
            pair = (class_of(names[a]), class_of(names[b]))
            predicate = relation["predicate"]
            spellings.setdefault(pair, {}).setdefault(key_of(predicate), []).append(written(predicate))
    return {
        pair: {key: sorted(set(found), key=lambda one, of=found: (-of.count(one), one))[0] for key, found in of.items()}
        for pair, of in spellings.items()
    }


def reference_theta(
    graphs,
    pictures,
    encoder,
    protocol="paper",
    singletons="skip",
    cooccurring="keep",
    score="cosine",
    limit=None,
    symmetric=SYMMETRIC,
    normalisation="words",
):
    """The means and counts of a result, as far as no random draw is in them."""
    known = candidates_of(graphs, normalisation)
    class_words, _, class_of, key_of = label_forms(normalisation)
    columns = {name: [] for name in ("theta", "precision", "chance_theta", "mean_score", "direction", "above", "gap")}
    count = dict.fromkeys(
        ("n_relations", "n_singletons", "n_ties", "n_near_ties", "n_duplicates", "n_self", "n_direction"), 0
    )
    confused = {}
    for graph in graphs[:limit]:
        picture = pictures[graph["image_id"]]
        width, height = picture.size
        names = {item["id"]: item["category"] for item in graph["objects"]}
        boxes = {item["id"]: clip(as_corners(item["bbox"]), width, height) for item in graph["objects"]}
        seen = set()
        for relation in sorted(graph["relations"], key=lambda one, of=names: spelling(one, of)):
            a, b, truth = relation["subject_id"], relation["object_id"], key_of(relation["predicate"])
            if a == b:
                count["n_self"] += 1
                continue
            if area(boxes[a]) <= 0 or area(boxes[b]) <= 0:
                continue
            if (a, b, truth) in seen:
                count["n_duplicates"] += 1
                continue
            seen.add((a, b, truth))
            also_true = {
                key_of(one["predicate"])
                for one in graph["relations"]
                if (one["subject_id"], one["object_id"]) == (a, b) and key_of(one["predicate"]) != truth
            }
            listed = known[class_of(names[a]), class_of(names[b])]
            kept = [key for key in listed if cooccurring == "keep" or key not in also_true]
            rect = crop_rectangle(boxes[a], boxes[b], width, height, "none")
            region = encoder.encode_images([picture.crop(rect)])

            def cosine(subject, predicate, obj, region=region):
                text = " ".join(part for part in (class_words(subject), predicate, class_words(obj)) if part)
                return float(encoder.score(region, encoder.encode_texts([text]))[0])

            found = {key: cosine(names[a], listed[key], names[b]) for key in kept}
            own = found[truth]
            if class_of(names[a]) != class_of(names[b]) and group(truth) not in symmetric:
                columns["direction"].append(half_tied(own, cosine(names[b], listed[truth], names[a])))
            bare = cosine(names[a], "", names[b])
            columns["above"].append(half_tied(own, bare))
            columns["gap"].append(own - bare)
            if len(kept) == 1:
                count["n_singletons"] += 1
                if singletons == "skip":
                    continue
            count["n_relations"] += 1
            others = [value for key, value in found.items() if key != truth]
            rank = sum(value > own for value in others) + sum(value == own for value in others) / 2
            count["n_ties"] += own in others
            count["n_near_ties"] += any(abs(value - own) < 1e-4 for value in others)
            if protocol == "openvocsgg":  # truth first, the others as listed; the place of the first best
                in_list = [own, *others]
                best = in_list.index(max(in_list))
                columns["theta"].append(1 - best / len(kept))
                columns["precision"].append(1.0 if best == 0 else 0.0)
            else:
                columns["theta"].append(1 - rank / len(kept))
                tops = [value for value in found.values() if value == max(found.values())]
                columns["precision"].append(1 / len(tops) if own == max(found.values()) else 0.0)
            columns["chance_theta"].append(sum(1 - place / len(kept) for place in range(len(kept))) / len(kept))
            softmax = math.exp(100 * own) / sum(math.exp(100 * value) for value in found.values())
            columns["mean_score"].append(softmax if score == "softmax100" else max(own, 0.0))
            above = [key for key in sorted(kept) if found[key] > own]
            if above:
                top = max(above, key=lambda key: found[key])
                row = (class_of(names[a]), truth, class_of(names[b]), top)
                confused[row] = confused.get(row, 0) + 1
    count["n_direction"] = len(columns["direction"])
    names = {"direction": "direction_accuracy", "above": "above_no_predicate", "gap": "gap_no_predicate"}
    means = {names.get(name, name): average(values) for name, values in columns.items()}
    return means | count, confused
