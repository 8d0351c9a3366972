"""PVSG (Panoptic Video Scene Graph) as a builder of `datasets`. The reader is `sgeval.readers.pvsg`.

Versions: 1.0.0, first; 1.1.0, spans of no length with an inclusive end have the flag `empty` too, relations without
spans `no_spans`. A change of what rows hold raises it; the fingerprint of the cache sees any change of code besides.
"""

from sgeval.hub.builder import GraphBuilder


class Pvsg(GraphBuilder):
    """PVSG (Panoptic Video Scene Graph); configs `annotations`, `frames` and `masks`."""

    data_set = "pvsg"
    VERSION = "1.1.0"
