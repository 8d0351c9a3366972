"""Encoders: pictures and texts to features, features to a score. torch lives here and is imported on use."""

from sgeval.encoders.load import check_setup, load_encoder

__all__ = ["check_setup", "load_encoder"]
