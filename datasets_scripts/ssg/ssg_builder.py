"""SSG (Situational Scene Graph) as a builder of `datasets`. The reader is `sgeval.readers.ssg`.

Versions: 1.0.0, first. A change of what rows hold raises it; the fingerprint of the cache sees any change of code besides.
"""

from sgeval.hub.builder import GraphBuilder


class Ssg(GraphBuilder):
    """SSG (Situational Scene Graph); configs `default` and `released_subset`."""

    data_set = "ssg"
    VERSION = "1.0.0"
