"""What the paper proves: special functions, the prior, what is read off a fit, the dynamics."""
