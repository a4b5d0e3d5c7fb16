"""Numbers as text, rounded to the precision of their noise.

>>> with_noise(91.281, 11.03), with_noise(0.4079, 0.06699), with_noise(719_134.0, 211_400.0)
('91', '0.408', '720,000')
"""

import math

_DIGITS = 2  # of the standard deviation that are kept
_MOST_DECIMALS = 12


def with_noise(value: float, std: float) -> str:
    """Return a number with the digits that its standard deviation leaves meaningful.

    Parameters
    ----------
    value : float
        The number.
    std : float
        Its standard deviation; if it is not positive, four significant digits are kept.

    Returns
    -------
    str
        The number, rounded to two digits of the standard deviation.
    """
    if not (math.isfinite(value) and math.isfinite(std) and std > 0):
        return f"{value:,.4g}"
    decimals = _DIGITS - 1 - math.floor(math.log10(std))
    if decimals > _MOST_DECIMALS or abs(value) >= 10**_MOST_DECIMALS:
        return f"{value:.4g}"
    return f"{round(value, decimals) + 0.0:,.{max(decimals, 0)}f}"
