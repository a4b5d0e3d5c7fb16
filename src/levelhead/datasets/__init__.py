"""The data sets of the paper, five public and one synthetic, and two more synthetic ones.

>>> data = synthetic(n=400, contamination=0.05, random_state=0)
>>> data.X.shape, data.y.shape, data.mask.shape
((400, 1), (400,), (400,))

`load` searches for `<name>.csv` in the folder given by the environment variable LEVELHEAD_DATA, then in the cache of
the user, and otherwise downloads it. A checksum of the numbers and the order of the rows is verified in each case.

Boston is included because the paper reports it. One of its columns encodes a racial assumption; use it only to compare
with published results.
"""

from levelhead.datasets.loading import ENVIRONMENT, ORIGIN, Dataset, fingerprint, load, user_cache
from levelhead.datasets.public_tables import TABLES, Table
from levelhead.datasets.simulated import Synthetic, heteroscedastic, rents, synthetic

__all__ = [
    "ENVIRONMENT",
    "ORIGIN",
    "TABLES",
    "Dataset",
    "Synthetic",
    "Table",
    "fingerprint",
    "heteroscedastic",
    "load",
    "rents",
    "synthetic",
    "user_cache",
]
