"""Fits and audits of Dask data frames, on one machine or many.

The steps are those of `levelhead.large`: a model of a sample judges every label where its partition is, and trees are
fitted to all rows by LightGBM's own Dask interface. Needs the extras `dask` and `boosting`.

>>> import numpy as np, pandas as pd
>>> import dask.dataframe as dd
>>> from levelhead import GCPBoostingRegressor
>>> from levelhead.dask import DaskRegressor
>>> rng = np.random.default_rng(0)
>>> table = pd.DataFrame(rng.normal(size=(2000, 2)), columns=["a", "b"])
>>> table["y"] = np.sign(table["a"]) + 0.1 * rng.normal(size=2000)
>>> table.loc[::50, "y"] += 3  # one label in fifty is wrong
>>> ddf = dd.from_pandas(table, npartitions=3)
>>> model = DaskRegressor(GCPBoostingRegressor(max_iter=40, random_state=0, n_jobs=1), sample_rows=1000)
>>> verdict = model.fit_judge(ddf[["a", "b"]], ddf["y"]).audit(ddf[["a", "b"]], ddf["y"]).compute()
>>> bool(verdict["is_label_issue"].to_numpy()[::50].mean() > 0.9)
True
"""

from levelhead.dask.regressor import DaskRegressor

__all__ = ["DaskRegressor"]
