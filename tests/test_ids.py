"""The hash of ids against hashlib on a text written by hand, and against the tools that its docstring names."""

import hashlib
import subprocess
from random import Random

from sgeval.data.ids import ids_hash


def test_by_hand():
    # The bytes are the ids by character ("10" before "2"), each with a line end.
    assert ids_hash(["2", "10"]) == hashlib.sha256(b"10\n2\n").hexdigest()
    assert ids_hash([]) == hashlib.sha256(b"").hexdigest()
    assert ids_hash(["é", "z"]) == hashlib.sha256(b"z\n\xc3\xa9\n").hexdigest()
    assert ids_hash(["a", "a"]) == hashlib.sha256(b"a\na\n").hexdigest()
    assert ids_hash(["a\nb"]) == hashlib.sha256(b"a\\nb\n").hexdigest()
    assert ids_hash(["a\\nb"]) == hashlib.sha256(b"a\\\\nb\n").hexdigest()


def test_order_does_not_count_and_each_id_does():
    ids = [str(number) for number in range(200)]
    shuffled = Random(0).sample(ids, len(ids))
    assert ids_hash(shuffled) == ids_hash(ids)
    assert len({ids_hash(ids[:at] + ids[at + 1 :]) for at in range(200)} | {ids_hash(ids)}) == 201
    assert ids_hash(["ab", "c"]) != ids_hash(["a", "bc"]) and ids_hash(["a\nb"]) != ids_hash(["a", "b"])


def test_sort_and_sha256sum_give_the_same():
    ids = ["2350", "107902", "é", "😀", "A", "a", "VIDEO.mp4/000123.png"]
    command = "LC_ALL=C sort | sha256sum"
    done = subprocess.run(command, shell=True, input="".join(f"{each}\n" for each in ids).encode(), capture_output=True)
    assert done.stdout.split()[0].decode() == ids_hash(ids)
