"""The mathematics of the paper: special functions, the prior, Student's t, and the dynamics of a fit."""
