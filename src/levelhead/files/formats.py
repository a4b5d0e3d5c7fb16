"""What a model has learnt about the columns of raw tables, and later tables read by it."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from levelhead import tables
from levelhead.tables import errors

if TYPE_CHECKING:
    from levelhead.tables import TableFormats


class Reader:
    """Reads chunks of a table by what a model has learnt about its columns, and counts what it cannot read."""

    def __init__(self, model: Any, settings: dict[str, Any], data: Path) -> None:
        known = known_formats(model)
        self._formats = known if known is None else known.rewritten(**settings)
        self._model, self._settings, self.data = model, settings, data
        self._unreadable, self._iso_dates = Counter[str](), Counter[str]()
        self._categories = _categories(model)
        self._unknown: dict[str, Counter[str]] = {name: Counter() for name in self._categories}

    @property
    def columns(self) -> list[str]:
        """Names of the columns that the model has learnt; none for models of version 0.1."""
        return [] if self._formats is None else list(self._formats.columns_)

    def inputs(self, piece: Any) -> Any:
        """The features of a chunk."""
        if self._formats is None:
            self._formats = formats_for(self._model, piece, self._settings, self.data)
        tables.choose(piece, list(self._formats.columns_), self.data)
        read = self._formats.convert(piece)
        self._iso_dates.update(read.iso_dates)
        self._unreadable.update({name: len(places) for name, places in read.unreadable.items()})
        for name, known in self._categories.items():
            cells = read.frame[name].dropna()
            self._unknown[name].update(cells[~cells.isin(known)])
        return read.frame

    def remarks(self) -> list[str]:
        """What was assumed about cells unlike those of the fit, one sentence for each column."""
        from levelhead.tables.schema import iso_remark  # loads scikit-learn, which `--help` does not need

        formats = {} if self._formats is None else self._formats.columns_
        unread = (
            f"{name}: {errors.counted(n, 'cell')} that could not be read are missing"
            for name, n in self._unreadable.items()
        )
        iso = (iso_remark(name, n, formats[name]) for name, n in self._iso_dates.items())
        new = (
            f"{name}: {errors.counted(found.total(), 'cell')} with categories that were not there in the fit: "
            f"{errors.examples(list(found))}"
            for name, found in self._unknown.items()
            if found
        )
        return [*unread, *iso, *new]


def _categories(model: Any) -> dict[str, set[Any]]:
    """The columns of text that a model uses as categories, and those that it knows."""
    last = model[-1] if hasattr(model, "steps") else model
    first = next(iter(getattr(last, "estimators_", [last])))
    described = getattr(first, "columns_", None)
    return {
        column.name: {*column.levels}
        for column in (described.columns if described is not None else ())
        if column.kind == "category" and all(isinstance(level, str) for level in column.levels)
    }


def known_formats(model: Any) -> "TableFormats | None":
    """What a model has learnt about raw columns; None for models of version 0.1 and from Python."""
    first = model.steps[0][1] if hasattr(model, "steps") else None
    return first if isinstance(first, tables.TableFormats) else None


def after_formats(model: Any) -> Any:
    """What follows the formats of a model: an estimator, or a pipeline in files of earlier versions."""
    return model[1] if len(model) == 2 else model[1:]


def formats_of(model: Any) -> "TableFormats":
    """What a model has learnt about raw columns; a model that has learnt nothing cannot read a table again."""
    known = known_formats(model)
    if known is None:
        raise ValueError("the model does not hold the formats of its table; fit it again with levelhead fit")
    return known


def formats_for(model: Any, frame: Any, settings: dict[str, Any], data: Path) -> "TableFormats":
    """Formats learnt from a table, for a model that holds none. Dates stay text, which such models parse."""
    inputs = tables.choose(frame, list(getattr(model, "feature_names_in_", frame.columns)), data)
    formats = tables.TableFormats(**settings).fit(inputs)
    words = _categories(model)  # such as 01067, which is not the number 1067
    formats.columns_ = {
        name: form._replace(kind="text") if form.date is not None or name in words else form
        for name, form in formats.columns_.items()
    }
    return formats
