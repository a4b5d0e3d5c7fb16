"""The paper's experiments: its published numbers, its specs, how far ours agree, its grid search and figures."""
