"""Other ways to find wrong labels, for bench/real_errors.py: cleanlab, and a filter written by hand.

Each returns a score and a flag per label. cleanlab (extra `bench`) is CleanLearning around LightGBM. By hand: the
out-of-fold residual of LightGBM L1 over an L1 model of the log residual, cut at six robust standard deviations.
"""

import numpy as np
from sklearn.model_selection import KFold, cross_val_predict


def cleanlab(X, y, seed):
    from cleanlab.regression.learn import CleanLearning
    from lightgbm import LGBMRegressor

    finder = CleanLearning(LGBMRegressor(verbose=-1, random_state=seed, n_jobs=1), seed=seed)
    found = finder.find_label_issues(X, y)
    return 1 - found["label_quality"].to_numpy(), found["is_label_issue"].to_numpy()


def by_hand(X, y, seed):
    from lightgbm import LGBMRegressor

    folds = KFold(5, shuffle=True, random_state=seed)
    model = lambda: LGBMRegressor(objective="l1", verbose=-1, random_state=seed, n_jobs=1)
    residual = np.abs(y - cross_val_predict(model(), X, y, cv=folds))
    log_residual = np.log(residual + 1e-6 * np.median(residual))
    score = residual / np.exp(cross_val_predict(model(), X, log_residual, cv=folds))
    return score, score > 6 * np.median(score) / 0.6745
