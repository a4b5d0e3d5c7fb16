"""What the columns of a table mean, learnt once and used for every later table.

>>> import pandas as pd
>>> formats = TableFormats().fit(pd.DataFrame({"price": ["1.200,50", "900,00"], "kind": ["old", "new "]}))
>>> formats.columns_["price"].decimal, formats.columns_["kind"].kind
(',', 'text')
>>> formats.transform(pd.DataFrame({"price": ["3,221"], "kind": ["old"]})).to_dict("list")
{'price': [3.221], 'kind': ['old']}
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from levelhead._checks import FloatArray
from levelhead.tables import _frames, decisions, missing
from levelhead.tables.columns import UNUSABLE, ColumnFormat, Learning, Typed, learn, typed
from levelhead.tables.errors import TableError, counted, examples
from levelhead.tables.missing import Code

Frame = Any  # a pandas frame
EVERY = "*"  # stands for every column, in settings by column


class Converted(NamedTuple):
    """A table in the meaning of its columns.

    Attributes
    ----------
    frame : pandas.DataFrame
        Numbers as float64, dates as datetime64, text.
    unreadable : dict of str to ndarray of int
        For each column that has some, the places of the cells that are something else and were read as missing.
    codes : dict of str to list of Code
        For each column that has some, the numbers that stand for "missing".
    learnt : list of Learning
        What the cells of each column say, where it was learnt from them.
    iso_dates : dict of str to int
        For each column that has some, the number of dates that were read as ISO dates, unlike the others.
    """

    frame: Frame
    unreadable: dict[str, NDArray[np.intp]]
    codes: dict[str, list[Code]]
    learnt: list[Learning]
    iso_dates: dict[str, int]


class TableFormats(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turns raw text into numbers, dates and categories, in the same way for every table.

    `fit` learns from all cells of a column how its numbers and dates are written, and which numbers stand for
    "missing". `transform` reads other tables by what was learnt: the same text is always the same number. It is
    the first step of the pipeline that `levelhead fit` saves.

    Parameters
    ----------
    decimal : str, mapping of str to str, or None, default=None
        Decimal mark, "." or ",", for all columns or by column ("*" stands for the others); None learns it.
    thousands : str, mapping of str to str, or None, default=None
        Mark between groups of digits: ",", ".", "'", " ", or "" for none; None learns it.
    missing : "auto", sequence of float, or mapping of str to sequence of float, default="auto"
        Numbers that stand for "missing", in all columns or by column; "auto" finds them.
    separator : str or None, default=None
        Separator of the file that the columns come from, which helps to distinguish 1.234 from 1234.

    Attributes
    ----------
    columns_ : dict of str to ColumnFormat
        The meaning of each column.
    target_ : dict of str to ColumnFormat
        The meaning of the column with the labels, if there was one.
    feature_names_in_ : ndarray of str
        Names of the columns.
    n_features_in_ : int
        Number of columns.
    remarks_ : list of str
        What was assumed.
    """

    def __init__(
        self,
        *,
        decimal: str | Mapping[str, str] | None = None,
        thousands: str | Mapping[str, str] | None = None,
        missing: str | Sequence[float] | Mapping[str, Sequence[float]] = "auto",
        separator: str | None = None,
    ) -> None:
        self.decimal = decimal
        self.thousands = thousands
        self.missing = missing
        self.separator = separator

    def fit(self, X: Frame, y: Any = None) -> Self:
        """Learn the meaning of the columns.

        Parameters
        ----------
        X : pandas.DataFrame
            Cells as they were read.
        y : None, default=None
            Ignored.

        Returns
        -------
        TableFormats
            The fitted transformer.

        Raises
        ------
        TableError
            If the numbers of a column can be read in two ways and nothing shows which is right, or are written in
            several ways.
        """
        self.learn(X)
        return self

    def learn(self, X: Frame, target: str | None = None) -> Converted:
        """Learn the meaning of the columns, and return the table in that meaning.

        Parameters
        ----------
        X : pandas.DataFrame
            Cells as they were read.
        target : str or None, default=None
            Column with the labels. It is read as numbers, and is not an input of `transform`. Codes for "missing" are
            reported for it, but replaced only if they were given.

        Returns
        -------
        Converted
            The table, the cells that could not be read, and the codes for "missing".
        """
        learnt = [
            learn(name, X[name], _of(self.decimal, name), _of(self.thousands, name), name == target)
            for name in map(str, X.columns)
        ]
        formats, self.remarks_ = decisions.decide(learnt, self.separator, target)
        read = {name: typed(X[name], form) for name, form in formats.items()}
        numeric = {name: read[name].values for name, form in formats.items() if form.kind == "number"}
        codes = self._find_codes(numeric)
        values = {name: column.values for name, column in read.items()}
        for name, found in codes.items():
            if name != target or self.missing != "auto":
                formats[name] = formats[name]._replace(codes=tuple(code.value for code in found))
                values[name] = missing.blanked(values[name], formats[name].codes)
        self.target_ = {target: formats.pop(target)} if target is not None else {}
        self.columns_ = formats
        self.feature_names_in_ = np.array(list(formats), dtype=object)
        self.n_features_in_ = len(formats)
        frame = _frames.pandas().DataFrame(values, copy=False)
        said = _with_formats(learnt, {**formats, **self.target_})
        return Converted(frame, _unreadable(read), codes, said, _iso_dates(read))

    def transform(self, X: Frame) -> Frame:
        """Read a table by what was learnt.

        Parameters
        ----------
        X : pandas.DataFrame
            Cells as they were read. Columns that already hold numbers or dates stay what they are.

        Returns
        -------
        pandas.DataFrame
            Numbers as float64, dates as datetime64, text; in the order of `feature_names_in_`.

        Raises
        ------
        TableError
            If a column does not exist, or more than a fifth of the cells of a column cannot be read.
        """
        return self._read(X, dict(self._checked(X))).frame

    def convert(self, X: Frame, target: str | None = None) -> Converted:
        """Read a table by what was learnt, and report the cells that could not be read.

        Parameters
        ----------
        X : pandas.DataFrame
            Cells as they were read.
        target : str or None, default=None
            Column with the labels, to be read as well.

        Returns
        -------
        Converted
            The table, and the cells that could not be read.

        Raises
        ------
        TableError
            If a column does not exist, more than a fifth of the cells of a column cannot be read, or a column holds
            numbers without the unit that they had, where a number without it means another one: 0.15 is not 15 %.
        """
        formats = dict(self._checked(X))
        for name, form in formats.items():
            _refuse_without_unit(X[name], name, form)
        return self._read(X, formats, target)

    def _checked(self, X: Frame) -> dict[str, ColumnFormat]:
        """The formats of the columns, if all of them are there."""
        check_is_fitted(self)
        absent = [name for name in self.columns_ if name not in X.columns]
        if absent:
            raise TableError(
                f"the table lacks {counted(len(absent), 'column')} of the model: {examples(absent)}"
            )
        return self.columns_

    def _read(self, X: Frame, formats: dict[str, ColumnFormat], target: str | None = None) -> Converted:
        if target is not None:
            formats[target] = self.target_.get(target) or self._target_format(X[target], target)
        for name, form in formats.items():
            if form.kind == "number" and not form.marks_known:
                decisions.refuse_two_readings(learn(name, X[name]), form)
        read = {name: typed(X[name], form) for name, form in formats.items()}
        for name, column in read.items():
            if name != target:
                refuse_unreadable(X[name], name, formats[name], column.unreadable)
        frame = _frames.pandas().DataFrame({name: column.values for name, column in read.items()}, copy=False)
        return Converted(frame, _unreadable(read), {}, [], _iso_dates(read))

    def rewritten(self, decimal: Any = None, thousands: Any = None, missing: Any = "auto") -> Self:
        """The same formats with other marks or codes, for a table that is written in another way.

        Parameters
        ----------
        decimal : str, mapping of str to str, or None, default=None
            Decimal mark; None keeps what was learnt.
        thousands : str, mapping of str to str, or None, default=None
            Mark between groups of digits; None keeps what was learnt, unless it is the new decimal mark.
        missing : "auto", sequence of float, or mapping of str to sequence of float, default="auto"
            Numbers that stand for "missing"; "auto" keeps what was learnt.

        Returns
        -------
        TableFormats
            A fitted transformer.
        """
        check_is_fitted(self)
        other = self.restricted(list(self.columns_))
        change = partial(_changed, decimal=decimal, thousands=thousands, missing=missing)
        other.columns_ = {name: change(name, form) for name, form in self.columns_.items()}
        other.target_ = {name: change(name, form) for name, form in self.target_.items()}
        return other

    @property
    def unusual(self) -> list[str]:
        """Columns whose text must be read by what was learnt, because it is not plain numbers."""
        return [name for name, form in {**self.columns_, **self.target_}.items() if not form.is_plain]

    def _target_format(self, column: Any, name: str) -> ColumnFormat:
        """The format of a target that the model does not know."""
        learnt = learn(name, column, number=True)
        return decisions.decide([learnt], None, name)[0][name]

    def restricted(self, names: Sequence[str]) -> Self:
        """The same formats, for some of the columns.

        Parameters
        ----------
        names : sequence of str
            Columns to keep.

        Returns
        -------
        TableFormats
            A fitted transformer.
        """
        other = type(self)(**self.get_params(deep=False))
        other.__dict__.update(self.__dict__)
        other.columns_ = {name: self.columns_[name] for name in names}
        other.feature_names_in_ = np.array(list(names), dtype=object)
        other.n_features_in_ = len(names)
        return other

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns, which stay the same.

        Parameters
        ----------
        input_features : None, default=None
            Ignored.

        Returns
        -------
        ndarray of str
            Names of the columns.
        """
        check_is_fitted(self)
        return self.feature_names_in_

    def _find_codes(self, numeric: Mapping[str, FloatArray]) -> dict[str, list[Code]]:
        if isinstance(self.missing, str):
            return missing.codes(numeric)
        counted_codes = {
            name: [Code(float(code), int((values == code).sum())) for code in _of(self.missing, name) or ()]
            for name, values in numeric.items()
        }
        return {name: found for name, found in counted_codes.items() if found}


def _unreadable(read: Mapping[str, Typed]) -> dict[str, NDArray[np.intp]]:
    return {name: column.unreadable for name, column in read.items() if len(column.unreadable)}


def _iso_dates(read: Mapping[str, Typed]) -> dict[str, int]:
    return {name: column.iso_dates for name, column in read.items() if column.iso_dates}


def iso_remark(name: str, count: int, form: ColumnFormat) -> str:
    """One sentence about dates that are not written like those of the fit, but in the way that has one meaning."""
    usual = f"the others are written as {form.date}" if form.date else "in the fit they were not text"
    return f"{name}: {counted(count, 'date')} read as year, month, day (%Y-%m-%d); {usual}"


def _with_formats(learnt: Sequence[Learning], formats: Mapping[str, ColumnFormat]) -> list[Learning]:
    return [column._replace(format=formats[column.name]) for column in learnt]


def _changed(name: str, form: ColumnFormat, decimal: Any, thousands: Any, missing: Any) -> ColumnFormat:
    """A format with the marks and codes that were given for its column."""
    mark, grouping = _of(decimal, name), _of(thousands, name)
    if form.kind != "number":
        return form
    if mark is not None:
        other = "" if form.grouping == mark else form.grouping
        form = form._replace(decimal=mark, grouping=other, marks_known=True)
    if grouping is not None:
        form = form._replace(grouping=grouping, marks_known=True)
    return form if missing == "auto" else form._replace(codes=tuple(map(float, _of(missing, name) or ())))


def refuse_unreadable(column: Any, name: str, form: ColumnFormat, unreadable: NDArray[np.intp]) -> None:
    """Stop if more than a fifth of the cells of a column are not what the column holds.

    Parameters
    ----------
    column : pandas.Series
        Cells as they were read.
    name : str
        The column.
    form : ColumnFormat
        What it holds.
    unreadable : ndarray of int
        Places of the cells that are something else.

    Raises
    ------
    TableError
        With examples, and the option that helps.
    """
    if not len(unreadable):
        return
    total = int(column.notna().sum())
    if len(unreadable) <= UNUSABLE * total:
        return
    cells = [column.iloc[k] for k in unreadable[:20]]
    raise TableError(
        f"column {name!r}: {counted(len(unreadable), 'cell')} of {total:,} cannot be read ({examples(cells)}); the "
        f"column holds {_written(form)}. {decisions.advice(name, cells, form)}"
    )


def _written(form: ColumnFormat) -> str:
    """How the cells of a column are written."""
    if form.kind == "date":
        return f"dates written as {form.date}" if form.date else "dates"
    unit = f" and the unit {form.unit!r}" if form.unit else ""
    return f"numbers with the decimal mark {form.decimal!r}{unit}"


def _refuse_without_unit(column: Any, name: str, form: ColumnFormat) -> None:
    """Stop if numbers have lost a unit that changes their value."""
    types = _frames.pandas().api.types
    if form.kind != "number" or form.bare or not types.is_numeric_dtype(column) or not column.notna().any():
        return
    raise TableError(
        f"column {name!r} holds numbers without a unit ({examples(column.dropna()[:3].tolist())}), but the model was "
        f"fitted to numbers with the unit {form.unit!r}; write them with it, such as '15{form.unit}'"
    )


def _of(setting: Any, name: str) -> Any:
    """A setting for a column, if it is given by column."""
    return setting.get(name, setting.get(EVERY)) if isinstance(setting, Mapping) else setting
