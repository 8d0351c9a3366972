"""Files of predictions that no one should be asked to read: by class and name, the bytes and what is said of them."""

import bz2
import gzip
import json
import lzma
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

from archive_kit import zip_of

DEEP = 100_000
DIGITS = "7" * 5000

ROW = {
    "image_id": "a",
    "objects": [{"id": 0, "category": "dog", "bbox": [1, 2, 3, 4]}, {"id": 1, "category": "mat", "bbox": [1, 2, 3, 4]}],
    "relations": [{"subject_id": 0, "object_id": 1, "predicate": "on"}],
}
"""A row that nothing is wrong with."""
SOUND = json.dumps(ROW).encode()


def swapped(old: str, new: str) -> bytes:
    """The sound row with a part of its text in another form."""
    text = json.dumps(ROW)
    assert old in text
    return text.replace(old, new, 1).encode()


def relation(text: str) -> bytes:
    """The sound row with another relation, as text."""
    return swapped('{"subject_id": 0, "object_id": 1, "predicate": "on"}', text)


def more(text: str) -> bytes:
    """The sound row with another key, as text."""
    return swapped('"image_id": "a"', f'"image_id": "a", {text}')


LEVELS = "expected at most 16 levels of nesting"
LABEL = "expected a text with more than blanks and punctuation"
FINITE = "expected a finite number, got "
ONCE = "expected each key once, got the key "
HALF = "half of a surrogate pair"
LONG = "expected numbers of at most 4,300 digits, got one of more"
WHOLE = "expected a whole number of 0 or more"
ID = "expected a non-empty string"

Case = tuple[bytes, str, str | None]
"""The bytes of a file; words of one of its faults; the pointer of that one, where it is worth telling."""

DEPTH: dict[str, Case] = {
    "lists without end": (b"[" * DEEP, "many more", ""),
    "lists": (b"[" * DEEP + b"]" * DEEP, "many more", ""),
    "objects without end": (b'{"a":' * DEEP, LEVELS, "/0"),
    "objects": (b'{"a":' * DEEP + b"1" + b"}" * DEEP, LEVELS, "/0"),
    "lists in a key": (more(f'"extra": {"[" * DEEP}{"]" * DEEP}'), LEVELS, "/0"),
    "objects in a key": (more('"b": ' + '{"c": ' * 999 + "1" + "}" * 999), LEVELS, "/0"),
    "seventeen": (b'{"image_id": "a", "extra": ' + b'{"a":' * 17 + b"1" + b"}" * 18, LEVELS, "/0"),
    "lists in a relation": (relation("[" * 50 + "]" * 50), LEVELS, "/0"),
    "lists in a list": (b"[" + SOUND + b"," + b"[" * 99 + b"]" * 99 + b"]", LEVELS, ""),
}

NUMBERS: dict[str, Case] = {
    **{
        f"{word} as a {name}": (data, f"{FINITE}{said}", where)
        for word, said in (("NaN", "NaN"), ("Infinity", "Infinity"), ("-Infinity", "-Infinity"), ("1e999", "Infinity"))
        for name, data, where in (
            ("score", relation(f'{{"subject_id":0,"object_id":1,"predicate":"on","score":{word}}}'), "/0/relations/0/score"),
            ("side of a box", swapped("[1, 2, 3, 4]", f"[1, 2, {word}, 4]"), "/0/objects/0/bbox/2"),
        )
    },
    "NaN as an id": (swapped('"image_id": "a"', '"image_id": NaN'), f"{FINITE}NaN", "/0/image_id"),
    "NaN as an object": (swapped('{"id": 0', 'NaN, {"id": 0'), f"{FINITE}NaN", "/0/objects/0"),
    "NaN in extra": (more('"extra": {"a/b": [1, NaN]}'), f"{FINITE}NaN", "/0/extra/a~1b/1"),
    "NaN under an unknown key": (more('"~": {"": NaN}'), f"{FINITE}NaN", "/0/~0/"),
    "NaN as a row": (b"NaN", f"{FINITE}NaN", "/0"),
    "NaN in a list of rows": (b"[" + SOUND + b", -Infinity]", f"{FINITE}-Infinity", "/1"),
    "-1e999 as an end": (swapped('"object_id": 1', '"object_id": -1e999'), f"{FINITE}-Inf", "/0/relations/0/object_id"),
    "5,000 digits as an id": (swapped('"image_id": "a"', f'"image_id": {DIGITS}'), LONG, "/0"),
    "5,000 digits as a score": (relation(f'{{"subject_id":0,"object_id":1,"predicate":"on","score":{DIGITS}}}'), LONG, "/0"),
    "5,000 digits in a list": (f"[{DIGITS}]".encode(), LONG, ""),
    "400 digits": (swapped('"id": 1', f'"id": {DIGITS[:400]}'), "that fits 64 bits", "/0/objects/1/id"),
    "65 bits": (swapped('"object_id": 1', '"object_id": 18446744073709551616'), "one of 65 bits", "/0/relations/0/object_id"),
    "a box of light years": (swapped("[1, 2, 3, 4]", "[1, 2, 3, 1e300]"), "at most 1,000,000,000", "/0/objects/0/bbox/3"),
}  # fmt: skip

TEXTS: dict[str, Case] = {
    "half a pair in a label": (swapped('"dog"', r'"\ud800"'), HALF, "/0"),
    "half a pair in a key": (more(r'"\uDFFF": 1'), HALF, "/0"),
    "half a pair in an id": (swapped('"a"', r'"\udbff\ud800"'), HALF, "/0"),
    "a label of 20,000 characters": (swapped('"dog"', f'"{"x" * 20_000}"'), LABEL, "/0/objects/0/category"),
    "an id of 2,000 characters": (swapped('"a"', f'"{"x" * 2000}"'), ID, "/0/image_id"),
    "a blank label": (swapped('"dog"', '"  "'), LABEL, "/0/objects/0/category"),
    "a label of nothing seen": (swapped('"on"', r'"\u200b\u202e\u2066"'), LABEL, "/0/relations/0/predicate"),
    "a label of line ends": (swapped('"on"', r'"\n\r\u2028"'), LABEL, "/0/relations/0/predicate"),
    "a label of escapes": (swapped('"on"', r'"\u001b[\u007f"'), LABEL, "/0/relations/0/predicate"),
    "a line end as a key": (more(r'"\n\u001b]0;x\u0007": NaN'), FINITE, "/0/\n\x1b]0;x\x07"),
}

KEYS: dict[str, Case] = {
    "an id twice": (more('"image_id": "b"'), f'{ONCE}"image_id" twice', "/0/image_id"),
    "objects twice": (more('"objects": []'), f'{ONCE}"objects" twice', "/0/objects"),
    "a category twice": (swapped('"category"', '"category": "x", "category"'), ONCE, "/0/objects/0/category"),
    "a predicate twice": (swapped('"predicate"', '"predicate": "x", "predicate"'), ONCE, "/0/relations/0/predicate"),
    "a role twice": (
        swapped('"predicate"', '"roles": [{"role": "x", "value": "y", "role": "z"}], "predicate"'),
        ONCE,
        "/0/relations/0/roles/0/role",
    ),
    "twice in extra": (more('"extra": {"x": [{"y": 1, "y": 1}]}'), ONCE, "/0/extra/x/0/y"),
    "an empty key twice": (more('"": 1, "": 2'), ONCE, "/0/"),
    "twice in a list": (b'[{"image_id": "a"}, {"image_id": "b", "image_id": "c"}]', ONCE, "/1/image_id"),
    "__proto__ for a row": (b'{"__proto__": {"image_id": "a"}}', f"{ID} (at most 1,024 characters)", "/0/image_id"),
    "constructor for a list": (swapped('"objects": [', '"objects": {"constructor": 1}, "old": ['), "a list of", "/0/objects"),
    "an id of another row": (SOUND + b"\n" + SOUND, 'expected each id once, got "a" again', "/1/image_id"),
    "an object again": (swapped('"id": 1', '"id": 0'), "expected each object id once, got 0 again", "/0/objects/1/id"),
    "an end that is nowhere": (swapped('"object_id": 1', '"object_id": 7'), "of the 2 objects", "/0/relations/0/object_id"),
}  # fmt: skip

TYPES: dict[str, Case] = {
    **{f"{word} as a row": (word.encode(), "an object with image_id", "/0") for word in ("null", "1", '"a"', "true")},
    **{f"{word} as an id": (swapped('"a"', word), ID, "/0/image_id") for word in ("null", "true", "1.5", "[]", "{}", '""')},
    **{f"{word} as objects": (b'{"image_id": "a", "objects": %s}' % word.encode(), "a list of", "/0/objects")
       for word in ("1", '"x"', "true", "{}")},
    **{f"{word} as relations": (b'{"image_id": "a", "relations": %s}' % word.encode(), "a list of", "/0/relations")
       for word in ("0", '"x"', "false", "{}")},
    **{f"{word} as a relation": (relation(word), "subject_id, object_id and predicate", "/0/relations/0")
       for word in ("[0, 1]", "null", '"on"', "3")},
    **{f"{word} as an object's id": (swapped('"id": 0', f'"id": {word}'), WHOLE, "/0/objects/0/id")
       for word in ('"0"', "-1", "0.5", "true", "null", "[0]")},
    **{f"{word} as a box": (swapped("[1, 2, 3, 4]", word), "four finite numbers", "/0/objects/0/bbox")
       for word in ('"x"', "[]", "[1, 2, 3]", "[1, 2, 3, 4, 5]", "{}", "7")},
    **{f"{word} as a predicate": (swapped('"on"', word), LABEL, "/0/relations/0/predicate") for word in ("null", "[]", "5")},
    **{f"{word} as a width": (more(f'"width": {word}'), "from 1 to 1,000,000", "/0/width")
       for word in ("0", "-5", '"640"', "1e9", "true", "640.5")},
    "an end too few": (relation('{"subject_id": 0, "predicate": "on"}'), "got nothing", "/0/relations/0/object_id"),
    "numbers for rows": (b"[1, 2, 3]", "expected an object with image_id", "/2"),
}  # fmt: skip

JSON = "expected JSON, got "
UTF8 = "expected UTF-8 text, got bytes that are none"
BYTES: dict[str, Case] = {
    "nothing": (b"", "expected at least one image, got none", ""),
    "blanks": (b" \n\t\r\n \n", "expected at least one image, got none", ""),
    "an empty list": (b"[]", "expected at least one image, got none", ""),
    "a mark of byte order": (b"\xef\xbb\xbf", "expected at least one image, got none", ""),
    "UTF-16": (SOUND.decode().encode("utf-16"), "got UTF-16 text", ""),
    "UTF-16, other way round": (b"\xfe\xff" + SOUND.decode().encode("utf-16-be"), "got UTF-16 text", ""),
    "UTF-16 without a mark": (SOUND.decode().encode("utf-16-le"), JSON, "/0"),
    "UTF-32": (SOUND.decode().encode("utf-32"), "got UTF-16 text", ""),
    "Latin-1": (swapped('"dog"', '"Vögel"').decode().encode("latin-1"), UTF8, "/0"),
    "Latin-1 in a list": (b'["\xe9"]', "expected UTF-8 text, got byte 2 that is none", ""),
    "NUL bytes": (bytes(1000), JSON, "/0"),
    "NUL in a text": (swapped('"dog"', '"d\0g"'), "Invalid control character", "/0"),
    "cut in the middle": (SOUND[:90], "cut short at byte 90", "/0"),
    "cut in a list": (b"[" + SOUND, "cut short", ""),
    "a second value on a line": (SOUND + b" " + SOUND, "Extra data", "/0"),
    "something after the list": (b"[" + SOUND + b"] x", "Extra data", ""),
    "single quotes": (b"{'image_id': 'a'}", JSON, "/0"),
    "undefined": (more('"width": undefined'), JSON, "/0"),
    "a comment": (b"// rows\n" + SOUND, JSON, "/0"),
    "CSV": (b"image_id,subject,predicate\na,0,on\n", JSON, "/1"),
    "YAML": (b"---\nimage_id: a\n", JSON, "/0"),
    "HTML": (b"<!DOCTYPE html><html></html>", JSON, "/0"),
    "ten thousand broken lines": (b"{\n" * 10_000, JSON, "/9999"),
}

IN_DISGUISE = "expected JSON lines, a JSON list, or a zip of one such file, got "
DISGUISED: dict[str, Case] = {
    "gzip": (gzip.compress(SOUND), f"{IN_DISGUISE}a gzip file", ""),
    "bzip2": (bz2.compress(SOUND), f"{IN_DISGUISE}a bzip2 file", ""),
    "xz": (lzma.compress(SOUND), f"{IN_DISGUISE}an xz file", ""),
    "zstd": (b"\x28\xb5\x2f\xfd\x00", f"{IN_DISGUISE}a zstd file", ""),
    "PNG": (b"\x89PNG\r\n\x1a\n" + bytes(50), f"{IN_DISGUISE}a PNG picture", ""),
    "JPEG": (b"\xff\xd8\xff\xe0", f"{IN_DISGUISE}a JPEG picture", ""),
    "PDF": (b"%PDF-1.7", f"{IN_DISGUISE}a PDF", ""),
    "Parquet": (b"PAR1" + bytes(20), f"{IN_DISGUISE}a Parquet file", ""),
    "HDF5": (b"\x89HDF\r\n\x1a\n", f"{IN_DISGUISE}an HDF5 file", ""),
    "numpy": (b"\x93NUMPY\x01\x00", f"{IN_DISGUISE}a numpy array", ""),
    "tar": (b"a".ljust(257, b"\0") + b"ustar\x0000" + bytes(300), f"{IN_DISGUISE}a tar archive", ""),
    "a program": (b"\x7fELF\x02", f"{IN_DISGUISE}a program", ""),
    **{f"pickle {n}": (pickle.dumps([ROW], n), f"{IN_DISGUISE}a Python pickle", "") for n in range(2, 6)},
    "pickle 0": (pickle.dumps(None, 0), JSON, "/0"),
}

FILES = {
    f"{group}: {name}": case
    for group, cases in (
        ("depth", DEPTH),
        ("number", NUMBERS),
        ("text", TEXTS),
        ("key", KEYS),
        ("type", TYPES),
        ("bytes", BYTES),
        ("disguise", DISGUISED),
    )
    for name, case in cases.items()
}


# --- zips, beside those of `archive_attacks_kit.ZIPS`


def _of(*members: tuple[str, bytes]) -> Callable[[Path], Path]:
    return lambda path: zip_of(path, members)


def _plain(data: bytes) -> Callable[[Path], Path]:
    def write(path: Path) -> Path:
        path.write_bytes(data)
        return path

    return write


def _nested(path: Path) -> Path:
    inner = zip_of(path.with_suffix(".inner"), [("p.jsonl", SOUND)])
    data = inner.read_bytes()
    inner.unlink()
    return zip_of(path, [("p.jsonl", data)])


def _stored(path: Path) -> Path:
    return zip_of(path, [(f"{number}.jsonl", SOUND) for number in range(10_000)], zipfile.ZIP_STORED)


ONE_FILE = "expected one file in the archive (.json, .jsonl, .ndjson), got "
OWN_ZIPS: dict[str, tuple[Callable[[Path], Path], str]] = {
    "an empty zip": (_of(), f"{ONE_FILE}none"),
    "a folder alone": (_of(("top/", b"")), f"{ONE_FILE}none"),
    "files of macOS alone": (_of(("__MACOSX/._p.jsonl", b"x"), (".DS_Store", b"x")), f"{ONE_FILE}none"),
    "two files": (_of(("b.jsonl", SOUND), ("a.jsonl", SOUND)), f'{ONE_FILE}2 files: "a.jsonl", "b.jsonl"'),
    "a file and a note": (_of(("p.jsonl", SOUND), ("README.md", b"x")), f'{ONE_FILE}2 files: "README.md", "p.jsonl"'),
    "another ending": (_of(("p.txt", SOUND)), 'expected a file that ends in .json, .jsonl, .ndjson, got "p.txt"'),
    "no ending": (_of(("p", SOUND)), 'got "p"'),
    "a pickle": (_of(("p.pkl", pickle.dumps(ROW))), 'got "p.pkl"'),
    "a pickle that is called JSON": (_of(("p.json", pickle.dumps(ROW))), "expected JSON lines or a JSON list, got a Python"),
    "a zip within": (_nested, "expected JSON lines or a JSON list, got a zip archive"),
    "gzip within": (_of(("p.jsonl", gzip.compress(SOUND))), "expected JSON lines or a JSON list, got a gzip file"),
    "ten thousand files": (_stored, "expected at most 1,000 members, got more"),
    "a folder at the top": (_of(("top/p.jsonl", SOUND)), 'got it in the folder "top"'),
    "nothing in it": (_of(("p.jsonl", b"")), "expected at least one image, got none"),
    "no JSON in it": (_of(("p.jsonl", b"x")), 'expected JSON, got "x"'),
    "a list without end in it": (_of(("p.json", b"[" * DEEP)), "many more"),
    "rows that are called a zip": (_plain(SOUND), "expected a zip archive, got something else"),
    "gzip that is called a zip": (_plain(gzip.compress(SOUND)), "expected a zip archive, got a gzip file"),
    "nothing that is called a zip": (_plain(b""), "expected a zip archive, got something else"),
    "the beginning of a zip": (_plain(b"PK\x03\x04"), "got a damaged one"),
}  # fmt: skip
