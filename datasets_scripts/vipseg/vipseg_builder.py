"""VIPSeg as a builder of `datasets`. The reader is `sgeval.readers.vipseg`.

Versions: 1.0.0, first. A change of what rows hold raises it; the fingerprint of the cache sees any change of code besides.
"""

from sgeval.hub.builder import GraphBuilder


class Vipseg(GraphBuilder):
    """VIPSeg; configs `720p` and `raw`."""

    data_set = "vipseg"
    VERSION = "1.0.0"
