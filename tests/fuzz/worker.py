"""Opens mutated files and predicts with them, in a process of its own that may die.

Reads lines `subject seed` and writes one line of JSON for each: what happened. Memory beyond what the sound models
need is limited.
"""

import json
import pickle
import resource
import sys
import traceback
import warnings
from pathlib import Path

import mutations

from levelhead import MultiTargetRegressor, load
from levelhead.auditing import judge
from levelhead.persistence import ModelFileError

ROOM = 2**30  # bytes


def use(model, X, y):
    """Everything that a reader may ask of a model."""
    if not hasattr(model, "predict"):  # say a pipeline whose last step passes its input on
        model.transform(X)
        return
    model.predict(X)
    last = model[-1] if hasattr(model, "steps") else model
    if hasattr(last, "predict_dist"):
        X_last = X if last is model else model[:-1].transform(X)
        last.predict_dist(X_last)
        last.predict_interval(X_last)
    if isinstance(model, MultiTargetRegressor):
        model.audit(X, y)
    elif hasattr(last, "audit"):
        judge(model, X, y)


def outcome(path, X, y):
    try:
        model = load(path)
    except ModelFileError:
        return "refused", ""
    except BaseException:
        return "raw error in load", traceback.format_exc()
    try:
        use(model, X, y)
    except ValueError as error:  # says what is wrong, as with rows that do not fit
        return "error in use", f"{type(error).__name__}: {error}\n{traceback.format_exc()}"
    except BaseException:
        return "raw error in use", traceback.format_exc()
    return "works", ""


def main(folder):
    warnings.simplefilter("ignore")
    subjects = pickle.loads((folder / "subjects.pickle").read_bytes())  # written by our own parent process
    files = {name: mutations.read(folder / name) for name in subjects}
    for name, (X, y) in subjects.items():
        what, why = outcome(folder / name, X, y)
        assert what == "works", f"{name} before any mutation: {what} {why}"
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + ROOM, size + ROOM))
    path = folder / "mutated"
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        name, seed = line.split()
        path.write_bytes(mutations.mutated(*files[name], int(seed)))
        what, why = outcome(path, *subjects[name])
        sys.stdout.write(json.dumps({"what": what, "why": why}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
