"""Networks with a probabilistic head: which loss each one trains, and how they learn."""
