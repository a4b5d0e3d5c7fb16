"""Networks with a probabilistic head: the losses, and how networks are trained."""
