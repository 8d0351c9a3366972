"""Four findings on the released evaluation code and the printed tables of arXiv 2509.01209, as checks and figures."""
