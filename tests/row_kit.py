"""Rows for the tests of the border: a dog on a mat, whole or with some part changed."""

import pytest

from sgeval.errors import InvalidInput
from sgeval.validation import parse_graphs


def dog(**more):
    return {"id": 0, "category": "dog", "bbox": [5, 5, 10, 10], **more}


def mat(**more):
    return {"id": 1, "category": "mat", "bbox": [20, 10, 10, 10], **more}


def on(**more):
    return {"subject_id": 0, "object_id": 1, "predicate": "on", **more}


def row(objects=None, relations=None, **more):
    return {"image_id": "a", "objects": objects or [dog(), mat()], "relations": relations or [on()], **more}


def faults(rows, **options):
    with pytest.raises(InvalidInput) as caught:
        parse_graphs(rows, **options)
    assert all(len(fault.splitlines()) == 1 for fault in caught.value.faults)
    return list(caught.value.faults)
