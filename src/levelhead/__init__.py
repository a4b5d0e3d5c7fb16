"""Robust probabilistic regression with gradient conjugate priors."""

__version__ = "0.1.0"
