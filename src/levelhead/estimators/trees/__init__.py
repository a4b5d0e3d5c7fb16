"""Boosted trees with a GCP head: how they grow, and how they are kept."""
