"""How long one raw row and a thousand take through `predict_dist`, beside a pipeline of skrub and LightGBM.

`python bench/latency.py`: a frame of numbers, categories, dates and gaps; the fastest of nine repetitions, in
milliseconds. The target is 5 ms for a row and 20 ms for a thousand.
"""

import timeit

import numpy as np
import pandas as pd
from lightgbm import LGBMRegressor
from sklearn.pipeline import make_pipeline
from skrub import TableVectorizer

from levelhead import AutoRegressor, GCPBoostingRegressor, GCPRegressor

TARGETS = {1: 5.0, 1000: 20.0}
N = 2000


def table() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "area": np.where(rng.random(N) < 0.1, np.nan, rng.uniform(30, 120, N)),
            "rooms": rng.integers(1, 6, N),
            "heating": rng.choice(["gas", "oil", "heat pump"], N),
            "street": rng.choice([f"street {k}" for k in range(50)], N),
            "built": pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 25_000, N), unit="D"),
        }
    )
    y = 10 * frame["area"].fillna(75) + 200 * (frame["heating"] == "oil") + 50 * rng.normal(size=N)
    return frame, y.to_numpy()


def milliseconds(call) -> float:
    call()
    return 1e3 * min(timeit.repeat(call, number=3, repeat=9)) / 3


def main() -> None:
    frame, y = table()
    peer = make_pipeline(TableVectorizer(), LGBMRegressor(n_jobs=1, verbosity=-1)).fit(frame, y)
    auto = AutoRegressor(random_state=0).fit(frame, y)
    models = {
        f"AutoRegressor ({auto.chosen_})": auto.predict_dist,
        "GCPRegressor(n_members=5)": GCPRegressor(n_members=5, random_state=0).fit(frame, y).predict_dist,
        "GCPBoostingRegressor": GCPBoostingRegressor(random_state=0).fit(frame, y).predict_dist,
        "skrub + LightGBM, mean only": peer.predict,
    }
    print(f"{'':32}" + "".join(f"{n:>8,} rows" for n in TARGETS))
    for name, predict in models.items():
        times = [milliseconds(lambda n=n, predict=predict: predict(frame.head(n))) for n in TARGETS]
        print(f"{name:32}" + "".join(f"{time:>10.1f} ms" for time in times), flush=True)
    print(f"{'target':32}" + "".join(f"{target:>10.1f} ms" for target in TARGETS.values()))


if __name__ == "__main__":
    main()
