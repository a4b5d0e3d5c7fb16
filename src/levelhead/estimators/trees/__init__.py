"""Boosted trees with a GCP head: training, and a safe text format."""
