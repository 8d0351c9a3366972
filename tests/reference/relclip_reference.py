"""RelCLIPScore as slowly and plainly as it can be written: eq. 1–6 of paper 1, one relation after the other.

It takes plain rows and PIL pictures, cuts every crop with `Image.crop`, encodes one crop and one text at a time, and
shares no formula, region, matching or planning code with the package. Faulty relations are left out and counted.
"""

import math

from PIL import Image


def reference_score(
    predictions,
    pictures,
    encoder,
    references=None,
    penalty="guarded",
    context="none",
    fit="model",
    matching="given",
    empty="zero",
    ref_formula="harmonic",
):
    """The flat result, without signature. `pictures` maps image ids to PIL images."""
    count = dict.fromkeys(COUNTS, 0)
    image_means, penalised_means, all_scores, ref_scores = [], [], [], []
    exact, exact_normalised = [], []
    scored_pairs = possible_pairs = 0
    gold_of = {graph["image_id"]: graph for graph in references} if references is not None else {}
    for graph in predictions:
        gold = gold_of.get(graph["image_id"])
        picture = pictures[graph["image_id"]]
        width, height = picture.size
        m = 0
        for item in (gold or graph)["objects"]:
            if item.get("bbox"):
                m += 1
        p = 0
        for i in range(m):
            for _ in range(i + 1, m):
                p += 1
        possible_pairs += p
        labels, boxes = places(graph, gold, matching)
        for box in boxes.values():
            cut = clip(box, width, height)
            if cut != box and area(cut) > 0:
                count["n_clipped_boxes"] += 1
        to_gold = matched_pairs(graph, gold, matching)
        scores, hits, hits_normalised = [], [], []
        seen, pairs = set(), set()
        # Of repeats the first by alphabet is scored, so they are taken in that order.
        for relation in sorted(graph["relations"], key=lambda one, names=labels: spelling(one, names)):
            count["n_predicted"] += 1
            a, b, predicate = relation["subject_id"], relation["object_id"], relation["predicate"]
            if a == b:
                count["n_self"] += 1
                continue
            if any(end not in boxes or area(clip(boxes[end], width, height)) <= 0 for end in (a, b)):
                count["n_invalid"] += 1
                continue
            if to_gold is not None and (a, b) not in to_gold:
                count["n_unmatched"] += 1
                continue
            pair = (a, b) if to_gold is None else to_gold[a, b]
            triplet = (pair, group(predicate))
            if triplet in seen:
                count["n_duplicates"] += 1
                continue
            seen.add(triplet)
            pairs.add(frozenset(pair))
            subject, obj = clip(boxes[a], width, height), clip(boxes[b], width, height)
            rect = crop_rectangle(subject, obj, width, height, context)
            region = encoder.encode_images([fitted(picture.crop(rect), encoder, fit)])
            text = encoder.encode_texts([sentence(labels[a], predicate, labels[b])])
            s = max(float(encoder.score(region, text)[0]), 0.0)  # eq. 1
            scores.append(s)
            count["n_endpoint_cut"] += loses_endpoint(subject, obj, rect, fit, encoder)
            if gold is None:
                continue
            names = {item["id"]: item["category"] for item in gold["objects"]}
            there = [one for one in gold["relations"] if (one["subject_id"], one["object_id"]) == pair]
            if there:
                count["n_ref"] += 1
                hits.append(predicate in [one["predicate"] for one in there])
                hits_normalised.append(group(predicate) in [group(one["predicate"]) for one in there])
                best = None
                for one in there:
                    gold_text = encoder.encode_texts([sentence(names[pair[0]], one["predicate"], names[pair[1]])])
                    r = max(float(encoder.score(gold_text, text)[0]), 0.0)  # eq. 6
                    if ref_formula == "openvocsgg":
                        gold_s = max(float(encoder.score(region, gold_text)[0]), 0.0)
                        best = harmonic(gold_s, 100 * r)
                        break
                    best = harmonic(s, r) if best is None else max(best, harmonic(s, r))
                ref_scores.append(best)
        k = len(scores)
        scored_pairs += len(pairs)
        count["n_images"] += 1
        count["n_relations"] += k
        all_scores += scores
        if hits:
            exact.append(sum(hits) / len(hits))
            exact_normalised.append(sum(hits_normalised) / len(hits_normalised))
        if k == 0 and m >= 2:
            count["n_empty"] += 1
        if k > 0:
            mean = sum(scores) / k  # eq. 2
            image_means.append(mean)
            value, guarded = penalise(mean, p, k, penalty)
            count["n_guarded"] += guarded
        elif m >= 2 and empty == "zero":
            image_means.append(0.0)
            value = 0.0
        else:
            value = None
        if value is None:
            count["n_undefined"] += 1
        else:
            penalised_means.append(value)
            count["n_scored_images"] += 1
    result = {
        "relclipscore": average(penalised_means),
        "mean_score": average(image_means),
        "mean_score_relations": average(all_scores),
        "pair_coverage": scored_pairs / possible_pairs if possible_pairs else None,
        **count,
    }
    if references is None:
        del result["n_ref"]
        return result
    more = {"ref_relclipscore": ref_scores, "exact_match": exact, "exact_match_normalised": exact_normalised}
    return result | {name: average(values) for name, values in more.items()}


COUNTS = (
    *("n_images", "n_scored_images", "n_relations", "n_predicted", "n_empty", "n_undefined", "n_guarded"),
    *("n_duplicates", "n_self", "n_unmatched", "n_invalid", "n_clipped_boxes", "n_endpoint_cut", "n_ref"),
)


def spelling(relation, names):
    return (names.get(relation["subject_id"], ""), relation["predicate"], names.get(relation["object_id"], ""))


def average(values):
    return math.fsum(values) / len(values) if values else None


def harmonic(a, b):
    return 0.0 if a + b == 0 else 2 * a * b / (a + b)


def penalise(mean, p, k, penalty):
    """Eq. 3, and whether the printed p − k was replaced."""
    left = p - k
    if penalty == "none":
        return mean, 0
    if penalty == "literal":
        return (mean / (math.log(left) + 1e-5) if left > 0 else None), 0
    if penalty == "guarded":
        return mean / (math.log(left if left >= 2 else 2) + 1e-5), int(left < 2)
    return mean / (math.log(left if left >= 3 else math.e) + 1e-5), int(left < 3)


def sentence(subject, predicate, obj):
    return noun(subject) + " " + " ".join(predicate.replace("_", " ").split()) + " " + noun(obj)


def noun(label):
    parts = label.split("_")
    if len(parts) == 2 and parts[0].isdigit() != parts[1].isdigit():
        label = parts[1] if parts[0].isdigit() else parts[0]
    for suffix in ("-stuff", "-merged", "-other"):
        if label.endswith(suffix):
            label = label[: -len(suffix)]
    return " ".join(label.replace("_", " ").split())


def group(predicate):
    return " ".join(predicate.replace("_", " ").replace("-", " ").split()).lower()


def as_corners(box):
    x, y, w, h = box
    return (float(x), float(y), float(x) + float(w), float(y) + float(h))


def clip(box, width, height):
    x1, y1, x2, y2 = box
    return (
        min(max(x1, 0.0), float(width)),
        min(max(y1, 0.0), float(height)),
        min(max(x2, 0.0), float(width)),
        min(max(y2, 0.0), float(height)),
    )


def area(box):
    return max(box[2] - box[0], 0.0) * max(box[3] - box[1], 0.0)


def common(a, b):
    return (max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3]))


def around(a, b):
    return (min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3]))


def overlap(a, b):
    both = area(common(a, b))
    total = area(a) + area(b) - both
    return both / total if total > 0 else 0.0


def crop_rectangle(subject, obj, width, height, context):
    x1, y1, x2, y2 = around(subject, obj)
    if context == "openvocsgg":  # the released loader, line by line
        x, y, w, h = int(x1), int(y1), int(x2 - x1), int(y2 - y1)
        x, y = max(x - 20, 0), max(y - 20, 0)
        w, h = min(w + 20, width), min(h + 20, height)
        return (x, y, x + w, y + h)
    if context != "none":
        unit, amount = context
        dx, dy = (amount, amount) if unit == "px" else (amount * (x2 - x1), amount * (y2 - y1))
        x1, y1, x2, y2 = clip((x1 - dx, y1 - dy, x2 + dx, y2 + dy), width, height)
    return (math.floor(x1), math.floor(y1), math.ceil(x2), math.ceil(y2))


def fitted(crop, encoder, fit):
    if fit == "squash":
        return crop.resize((encoder.image_size, encoder.image_size), Image.BICUBIC)
    if fit == "pad":
        side = max(crop.size)
        square = Image.new("RGB", (side, side), encoder.fill)
        square.paste(crop, ((side - crop.size[0]) // 2, (side - crop.size[1]) // 2))
        return square
    return crop


def loses_endpoint(subject, obj, rect, fit, encoder):
    if fit != "model" or encoder.image_mode != "shortest":
        return 0
    x1, y1, x2, y2 = rect
    side = min(x2 - x1, y2 - y1)
    left, top = x1 + (x2 - x1 - side) / 2, y1 + (y2 - y1 - side) / 2
    window = (left, top, left + side, top + side)
    for end in (subject, obj):
        here = common(end, rect)
        if area(common(here, window)) < 0.5 * area(here):
            return 1
    return 0


def places(graph, gold, matching):
    """Labels and corner boxes by object id: where the crops come from."""
    labels = {item["id"]: item["category"] for item in (gold or graph)["objects"]} if matching == "given" else {}
    labels.update({item["id"]: item["category"] for item in graph["objects"]})
    source = gold if gold is not None and matching == "given" else graph
    return labels, {item["id"]: as_corners(item["bbox"]) for item in source["objects"] if item.get("bbox")}


def matched_pairs(graph, gold, matching):
    """Predicted ordered pairs to the reference's, or None where the ids are shared."""
    if matching == "given" or gold is None:
        return None
    mine = [(item["id"], as_corners(item["bbox"])) for item in graph["objects"]]
    theirs = [(item["id"], as_corners(item["bbox"])) for item in gold["objects"]]
    found = {}
    if matching == "pair_iou":
        best_score = {number: -1.0 for number, _ in mine}
        for relation in graph["relations"]:
            for end in (relation["subject_id"], relation["object_id"]):
                best_score[end] = max(best_score[end], relation["score"])
        taken, partner = set(), {}
        for number, box in sorted(mine, key=lambda one: -best_score[one[0]]):
            choices = [
                (overlap(box, other), -place, key) for place, (key, other) in enumerate(theirs) if key not in taken
            ]
            if choices and max(choices)[0] >= 0.5:
                partner[number] = max(choices)[2]
                taken.add(partner[number])
        return {(a, b): (partner[a], partner[b]) for a in partner for b in partner if a != b}
    pairs = [(a, b) for place, a in enumerate(theirs) for b in theirs[place + 1 :]]
    boxes, best_score, taken = dict(mine), {}, set()
    for relation in graph["relations"]:
        low, high = sorted((relation["subject_id"], relation["object_id"]))
        if low != high:
            best_score[low, high] = max(best_score.get((low, high), -1.0), relation["score"])
    for low, high in sorted(best_score, key=lambda pair: -best_score[pair]):
        whole = around(boxes[low], boxes[high])
        choices = [
            (overlap(whole, around(a[1], b[1])), -place, (a, b))
            for place, (a, b) in enumerate(pairs)
            if place not in taken
        ]
        if not choices or max(choices, key=lambda one: one[:2])[0] < 0.5:
            continue
        _, place, (a, b) = max(choices, key=lambda one: one[:2])
        taken.add(-place)
        straight = overlap(boxes[low], a[1]) + overlap(boxes[high], b[1])
        crossed = overlap(boxes[low], b[1]) + overlap(boxes[high], a[1])
        first, second = (a[0], b[0]) if straight >= crossed else (b[0], a[0])
        found[low, high], found[high, low] = (first, second), (second, first)
    return found
