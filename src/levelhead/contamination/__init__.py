"""Models of wrong labels: they replace some of the clean labels and return a mask of the changed ones.

A contamination is called with clean data and the share of labels to make wrong:

>>> import numpy as np
>>> X, y = np.arange(20.0)[:, None], np.arange(20.0)
>>> contaminated = Replaced()(X, y, contamination=0.1, random_state=0)
>>> int(contaminated.mask.sum()), bool((contaminated.y[~contaminated.mask] == y[~contaminated.mask]).all())
(2, True)

The share of wrong labels, `contamination`, is a number (then exactly `int(contamination·n)` rows are chosen, without
replacement, as in the paper), an array with the probability of every row, or a function of X that returns one, such
as `Ramp`.

A new kind of wrong labels is a frozen dataclass with one method, `wrong_labels`.
"""

from collections.abc import Mapping
from types import MappingProxyType

from levelhead.contamination.base import Contaminated, Contamination, Rows
from levelhead.contamination.kinds import Cluster, Replaced, Shifted, SignFlip, Swapped, Uniform, UnitError
from levelhead.contamination.shares import Ramp, Share

__all__ = [
    "CONTAMINATIONS",
    "Cluster",
    "Contaminated",
    "Contamination",
    "Ramp",
    "Replaced",
    "Rows",
    "Share",
    "Shifted",
    "SignFlip",
    "Swapped",
    "Uniform",
    "UnitError",
    "get_contamination",
]

# The path of a class is part of the digest and the seeds of a study, so it must not depend on the file of the class.
for _class in (Contamination, Cluster, Ramp, Replaced, Shifted, SignFlip, Swapped, Uniform, UnitError):
    _class.__module__ = __name__

CONTAMINATIONS: Mapping[str, Contamination] = MappingProxyType(
    {
        "replaced": Replaced(),
        "uniform": Uniform(),
        "cluster": Cluster(),
        "swapped": Swapped(),
        "unit": UnitError(),
        "sign": SignFlip(),
        "shift2": Shifted(2.0),
        "shift3": Shifted(3.0),
        "shift3_up": Shifted(3.0, one_sided=True),
    }
)


def get_contamination(name: str) -> Contamination:
    """Look up a contamination by its name.

    Parameters
    ----------
    name : str
        One of the keys of `CONTAMINATIONS`; "replaced" is the contamination of the paper.

    Returns
    -------
    Contamination
        The contamination with this name.

    Raises
    ------
    ValueError
        If there is no contamination with this name.
    """
    if name not in CONTAMINATIONS:
        raise ValueError(f"there is no contamination {name!r}; choose one of {', '.join(CONTAMINATIONS)}")
    return CONTAMINATIONS[name]
