"""The test set of SVG2 as a builder of `datasets`. The reader is `sgeval.readers.svg2_test`.

Versions: 1.0.0, first; 1.1.0, relations without spans have the flag `no_spans`, and an option says `fps`. A change of what
rows hold raises it; the fingerprint of the cache sees any change of code besides.
"""

from sgeval.hub.builder import GraphBuilder


class Svg2Test(GraphBuilder):
    """SVG2 test; configs `annotations` and `masks`."""

    data_set = "svg2_test"
    VERSION = "1.1.0"
