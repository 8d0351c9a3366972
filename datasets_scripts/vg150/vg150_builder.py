"""VG150 as a builder of `datasets`. The reader is `sgeval.readers.vg150`.

Versions: 1.0.0, first. A change of what rows hold raises it; the fingerprint of the cache sees any change of code besides.
"""

from sgeval.hub.builder import GraphBuilder


class Vg150(GraphBuilder):
    """VG150; configs `reference` and `exact` (how boxes are decoded)."""

    data_set = "vg150"
    VERSION = "1.0.0"
