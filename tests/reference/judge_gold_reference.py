"""The category of a row of the gold set, derived anew from its evidence: a reading of WordNet and LVIS of its own, kept
apart from `benchmarks/judge_gold` and `sgeval.judges.dictionary`, slow and plain."""

import gzip
import json
import re
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORDNET = ROOT / "sgeval/assets/wordnet/wordnet.txt.gz"
LVIS = ROOT / "benchmarks/judge_gold/lvis_v1_categories.json.gz"

OPPOSITES = """above/below above/under over/under over/beneath on/under on/below on top of/underneath on top of/beneath
in front of/behind in front of/in back of left of/right of to the left of/to the right of on the left of/on the right of
inside/outside in/outside of into/out of toward/away from near/far from with/without up/down"""
ACTS = """
looking at:look.v.01 staring at:stare.v.01 glancing at:glance.v.01 listening to:listen.v.01 watching:watch.v.01
+ sniffing:sniff.v.01
talking to:talk.v.01 speaking to:speak.v.01 shouting at:shout.v.01 whispering to:whisper.v.01 barking at:bark.v.01
pointing to:point.v.01 waving at:wave.v.01 nodding to:nod.v.01 winking at:wink.v.01
sitting on:sit.v.01 standing on:stand.v.01 lying on:lie.v.02 leaning on:lean_on.v.01 hanging from:hang.v.01
+ kneeling on:kneel.v.01
walking on:walk.v.01 walking with:walk.v.01 running on:run.v.01 jumping over:jump.v.01 climbing on:climb.v.01
+ swimming in:swim.v.01
+ flying over:fly.v.01 riding on:ride.v.01 sailing on:sail.v.01 chasing:chase.v.01 entering:enter.v.01
kissing:kiss.v.01 hugging:hug.v.01 caressing:caress.v.01
holding:hold.v.02 carrying:carry.v.01 pushing:push.v.01 pulling:pull.v.01 throwing:throw.v.01 closing:close.v.01
+ wearing:wear.v.01
+ unlocking:unlock.v.01 squeezing:squeeze.v.01
eating:eat.v.01 drinking from:drink.v.01 biting:bite.v.01
feeding:feed.v.02 cleaning:clean.v.01 watering:water.v.01 brushing:brush.v.03
kicking:kick.v.03 hitting:hit.v.03 cutting:cut.v.01 hammering:hammer.v.01
"""
"""Groups of acts, one a line, that WordNet's senses go with."""
GROUPS = [dict(re.findall(r"(\w+(?: \w+)?):(\S+)", line)) for line in ACTS.replace("\n+", "").strip().split("\n")]
BARE = {"on", "on top of", "in", "inside", "beside", "next to", "near", "behind", "under", "above", "in front of"}
BARE |= {"below", "beneath", "over", "outside", "between", "against"}
SAME_PLACE = """beside/next to above/over under/below under/beneath in/inside on/on top of behind/in back of near/close to
in front of/ahead of toward/towards between/in between outside/outside of next to/adjacent to"""
KINDS = {"=": "synonym", "@": "hypernym", "&": "overlap", "$": "overlap", "*": "overlap", "!": "mismatch"}
ENDINGS = {
    "n": "s: ses:s xes:x zes:z ches:ch shes:sh men:man ies:y",
    "v": "s: ies:y es:e es: ed:e ed: ing:e ing:",
}


class WordNet:
    def __init__(self):
        synsets, words, forms = gzip.decompress(WORDNET.read_bytes()).decode().split("\n\n")
        self.pointers, self.file = [], []
        for line in synsets.split("\n"):
            first, *groups = line.split(" ")
            self.file.append(int(first[1:]))
            self.pointers.append({group[0]: {int(one) for one in group[1:].split(",")} for group in groups})
        self.senses, self.counts = {}, {}
        for line in words.split("\n"):
            word, *entries = line.split("\t")
            for entry in entries:
                items = [item.split(":") for item in entry[1:].split(",")]
                self.senses[word, entry[0]] = [int(item[0]) for item in items]
                self.counts[word, entry[0]] = [int(item[1]) if item[1:] else 0 for item in items]
        self.forms = {line.split("\t")[0]: line.split("\t")[1:] for line in forms.strip().split("\n")}

    def named(self, name):
        word, part, order = name.rsplit(".", 2)
        return self.senses[word.replace("_", " ").lower(), part][int(order) - 1]

    def to(self, sense, symbol):
        return self.pointers[sense].get(symbol, set())

    def above(self, sense):
        found, level = set(), {sense}
        while level := {up for one in level for up in self.to(one, "@")} - found:
            found |= level
        return found

    def all_senses(self, label, part):
        """With hyphens as blanks, in every mixture that WordNet has."""
        plain = form(label)
        return {
            sense
            for spelling in {plain, plain.replace(" ", "-"), *hyphened(plain)}
            for sense in self.senses.get((spelling, part), [])
        }

    def bases(self, label, part):
        words = label.split(" ")
        place = 0 if part == "v" else -1
        listed = self.forms.get(part + words[place])
        ends = (end.split(":") for end in ENDINGS[part].split())
        found = listed or [words[place][: -len(end)] + base for end, base in ends if words[place].endswith(end)]
        made = {" ".join([*words[:place], base] if place else [base, *words[1:]]) for base in found}
        return {word for word in made if self.all_senses(word, part)} - {label}


def hyphened(label):
    """The label with any of its blanks as hyphens."""
    first, blank, rest = label.partition(" ")
    return {first + mark + more for mark in " -" for more in hyphened(rest)} if blank else {label}


def form(label):
    return " ".join(label.replace("_", " ").replace("-", " ").lower().split())


class Reference:
    def __init__(self):
        self.wordnet = WordNet()
        self.lvis = {row["id"]: row for row in json.loads(gzip.decompress(LVIS.read_bytes()))}
        self.owners = {}
        for row in self.lvis.values():
            for name in row["synonyms"]:
                self.owners.setdefault(name, []).append(row["id"])

    def category(self, row):
        """The category that the evidence stands for; a ValueError where it does not hold."""
        rule = getattr(self, "_" + row["rule"].replace(" ", "_"))
        found = rule(row["kind"], row["reference"], row["prediction"], row["evidence"])
        if found is None:
            raise ValueError(f"the evidence does not hold: {row}")
        return found

    def _name_of(self, label, number):
        """Whether a label is a name of a category that WordNet has in its sense, without note, and of no other."""
        sense = self.wordnet.named(self.lvis[number]["synset"])
        names = [name for name in self.lvis[number]["synonyms"] if form(name) == form(label)]
        alone = any("(" not in name and self.owners[name] == [number] for name in names)
        return alone and sense in self.wordnet.all_senses(label, "n")

    def _pair_of(self, one, two, numbers):
        ways = (zip((one, two), numbers, strict=True), zip((two, one), numbers, strict=True))
        return any(all(self._name_of(label, number) for label, number in way) for way in ways)

    def _spelling(self, kind, one, two, evidence):
        return "identical" if one != two and form(one) == form(two) == evidence["form"] else None

    def _article(self, kind, one, two, evidence):
        short, long = sorted((one, two), key=len)
        return "identical" if long == f"{evidence['article']} {short}" else None

    def _inflection(self, kind, one, two, evidence):
        labels = {form(one), form(two)}
        base, part = evidence["base"], evidence["part"]
        fits = labels == {base, evidence["form"]} and self.wordnet.bases(evidence["form"], part) == {base}
        return "identical" if fits and not self.wordnet.all_senses(evidence["form"], part) else None

    def _lvis(self, kind, one, two, evidence):
        if "path" not in evidence:
            sense = self.wordnet.named(evidence["sense"])
            both = all(self._name_of(label, evidence["lvis"]) for label in (one, two))
            same = sense == self.wordnet.named(self.lvis[evidence["lvis"]]["synset"])
            return "synonym" if both and same and form(one) != form(two) else None
        path = [self.wordnet.named(name) for name in evidence["path"]]
        ends = [self.wordnet.named(self.lvis[number]["synset"]) for number in evidence["lvis"]]
        steps = all(up in self.wordnet.to(low, "@") for low, up in pairwise(path))
        fits = 2 <= len(path) <= 4 and [path[0], path[-1]] == ends and steps
        return "hypernym" if fits and self._pair_of(one, two, evidence["lvis"]) else None

    def _every(self, number):
        names = [name for name in self.lvis[number]["synonyms"] if "(" not in name and self.owners[name] == [number]]
        names = [name for name in names if self._name_of(name, number)] + [self.lvis[number]["name"].split("(")[0]]
        return {sense for name in names for sense in self.wordnet.all_senses(name, "n")}

    def _apart(self, numbers):
        to, above = self.wordnet.to, self.wordnet.above
        return not any(
            one == two
            or one in above(two)
            or two in above(one)
            or two in to(one, "#")
            or one in to(two, "#")
            or to(one, "@") & to(two, "@")
            for one in self._every(numbers[0])
            for two in self._every(numbers[1])
        )

    def _far(self, kind, one, two, evidence):
        senses = [self.wordnet.named(self.lvis[number]["synset"]) for number in evidence["lvis"]]
        files = [self.wordnet.file[sense] for sense in senses]
        fits = files == evidence["files"] and files[0] != files[1] and self._pair_of(one, two, evidence["lvis"])
        return "mismatch" if fits and self._apart(evidence["lvis"]) else None

    def _shared_word(self, kind, one, two, evidence):
        words = [form(label).split() for label in (one, two)]
        shared = all(evidence["word"] in label for label in words) and words[0][-1] != words[1][-1]
        fits = shared and self._pair_of(one, two, evidence["lvis"])
        return "mismatch" if fits and self._apart(evidence["lvis"]) else None

    def _part(self, kind, one, two, evidence):
        part, whole = (self.wordnet.named(name) for name in evidence["senses"])
        stated = [self.wordnet.named(self.lvis[number]["synset"]) for number in evidence["lvis"]] == [part, whole]
        fits = stated and whole in self.wordnet.to(part, "#") and self._pair_of(one, two, evidence["lvis"])
        above = self.wordnet.above
        akin = any(
            a == b or a in above(b) or b in above(a)
            for a in self._every(evidence["lvis"][0])
            for b in self._every(evidence["lvis"][1])
        )
        return "mismatch" if fits and not akin else None

    def _sense_trap(self, kind, one, two, evidence):
        """Either label stands for its LVIS category, or is a word for people; every meeting of senses is by a rare one."""
        wordnet, above = self.wordnet, self.wordnet.above
        person = wordnet.named("person.n.01")
        names = self.lvis[793]["synonyms"] + ["adult"]
        meant = [wordnet.named(name) for name in evidence["senses"]]

        def stands(label, number, sense):
            if number == 793:
                likeliest = wordnet.senses[form(label), "n"][0] == sense
                return label in names and likeliest and person in above(sense) | {sense}
            return self._name_of(label, number) and sense == wordnet.named(self.lvis[number]["synset"])

        ways = [
            pair
            for pair in ((one, two), (two, one))
            if all(stands(*each) for each in zip(pair, evidence["lvis"], meant, strict=True))
        ]
        if not ways:
            return None
        kinds = {wordnet.file[sense] for sense in meant}
        is_apart = kinds in ({5, 6}, {5, 20}, {6, 13}) or (
            evidence["lvis"][1] == 793 and person not in above(meant[0]) | {meant[0]}
        )

        def rare(label, intended, sense):
            counts = {}
            for spelling in {form(label), form(label).replace(" ", "-"), *hyphened(form(label))}:
                for each, count in zip(
                    wordnet.senses.get((spelling, "n"), []), wordnet.counts.get((spelling, "n"), [])
                ):
                    counts.setdefault(each, count)
            return sense == intended or (
                counts[sense] <= counts[intended] and 10 * counts[sense] <= sum(counts.values())
            )

        met = [
            (a, b)
            for a in wordnet.all_senses(ways[0][0], "n")
            for b in wordnet.all_senses(ways[0][1], "n")
            if a == b or a in above(b) or b in above(a)
        ]
        all_rare = all(rare(*each) for pair in met for each in zip(ways[0], meant, pair, strict=True))
        stated = tuple(wordnet.named(name) for name in evidence["meeting"]) in met
        unrelated = tuple(meant) not in met
        return "mismatch" if is_apart and stated and all_rare and unrelated else None

    def _acts_apart(self, kind, one, two, evidence):
        groups = [next(n for n, group in enumerate(GROUPS) if act in group) for act in evidence["acts"]]
        named = [GROUPS[n][act] for n, act in zip(groups, evidence["acts"])]
        senses = [self.wordnet.named(name) for name in named]
        fits = {one, two} == {*evidence["acts"]} and named == evidence["senses"] and groups[0] != groups[1]
        to, above = self.wordnet.to, self.wordnet.above
        joined = senses[0] == senses[1] or any(
            b in above(a) or any(b in to(a, mark) for mark in "&$*!") for a, b in (senses, senses[::-1])
        )
        return "mismatch" if fits and not joined else None

    def _aim(self, kind, one, two, evidence):
        act, place = evidence["act"], evidence["place"]
        is_aimed = any(act in group for group in GROUPS[:3]) and act.split()[-1] in ("at", "to")
        return "mismatch" if is_aimed and place in BARE and {one, two} == {act, place} else None

    def _placed_act(self, kind, one, two, evidence):
        act, place = evidence["act"], evidence["place"]
        is_placed = any(act in group for group in GROUPS[3:5]) and act.split()[1:] == [place]
        return "hypernym" if is_placed and place in ("on", "in", "over") and {one, two} == {act, place} else None

    def _same_place(self, kind, one, two, evidence):
        left, right = evidence["places"]
        listed = f" {left}/{right} " in f" {' '.join(SAME_PLACE.split())} "
        return "synonym" if listed and {one, two} == {left, right} else None

    def _opposites(self, kind, one, two, evidence):
        left, right = evidence["opposites"]
        listed = f"{left}/{right}" in " ".join(OPPOSITES.split())
        labels = {f"{evidence['verb']} {place}".strip() for place in (left, right)}
        return "mismatch" if listed and {one, two} == labels else None

    def _clear(self, one, two, evidence, symbol):
        part, words = evidence["part"], evidence["words"]
        senses = [self.wordnet.named(name) for name in evidence["senses"]]
        for word, sense, others in zip(words, senses, words[::-1], strict=True):
            counts = self.wordnet.counts[word, part]
            dominant = self.wordnet.senses[word, part][0] == sense and counts[0] >= max(2, 0.6 * sum(counts))
            if not dominant or word == others:
                return False
        labels = {one, two}
        if part == "v" and {base for label in labels for base in self.wordnet.bases(label, "v")} != set(words):
            return False
        if part == "a" and labels != set(words):
            return False
        joined = senses[0] == senses[1] if symbol == "=" else senses[1] in self.wordnet.to(senses[0], symbol)
        return joined and self._kinds(words, part) == {KINDS[symbol]}

    def _kinds(self, words, part):
        found = set()
        for one in self.wordnet.all_senses(words[0], part):
            for two in self.wordnet.all_senses(words[1], part):
                if one == two:
                    found.add("synonym")
                    continue
                if one in self.wordnet.above(two) or two in self.wordnet.above(one):
                    found.add("hypernym")
                sideways = (
                    mark for mark in "&$*!" if two in self.wordnet.to(one, mark) or one in self.wordnet.to(two, mark)
                )
                found |= {KINDS[mark] for mark in sideways}
        return found

    def _synonym(self, kind, one, two, evidence):
        return "synonym" if self._clear(one, two, evidence, "=") else None

    def _hypernym(self, kind, one, two, evidence):
        return "hypernym" if self._clear(one, two, evidence, "@") else None

    def _similar(self, kind, one, two, evidence):
        return "overlap" if self._clear(one, two, evidence, "&") else None

    def _group(self, kind, one, two, evidence):
        return "overlap" if self._clear(one, two, evidence, "$") else None

    def _entailment(self, kind, one, two, evidence):
        return "overlap" if self._clear(one, two, evidence, "*") else None

    def _antonym(self, kind, one, two, evidence):
        return "mismatch" if self._clear(one, two, evidence, "!") else None
