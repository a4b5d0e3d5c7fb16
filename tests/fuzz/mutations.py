"""Random changes of a model file: of its JSON, of its arrays, of its bytes."""

import copy
import io
import json
import zipfile

import numpy as np

DOCUMENT = "levelhead.json"
HOLDERS = ("attributes", "fields")
STRANGE = [
    None, True, False, -1, 0, 1, 2, 7, 10**9, 2**31, 2**62, 2**63 - 1, -(2**63), 10**30, 0.5, -0.0, 1e-300, 1e308, "",
    "x", "passthrough", "drop", "٥٠٠٠٠١", "nan", [], {}, [[]], [None], {"tuple": []}, {"dict": []}, {"set": []},
    {"float": "nan"}, {"float": "inf"}, {"array": 0}, {"array": 1}, {"same": 0}, {"same": 1}, {"builtin": "str"},
    {"dtype": "<f4"}, {"dtype": "|O"}, {"dtype": "<U9"}, {"numpy type": "int8"}, {"function": "numpy.log"},
    {"scalar": ["<i8", "ff" * 8]}, {"scalar": ["<f8", "ff" * 8]}, {"objects": [[1], [None]]}, {"objects": [[0, 3], []]},
    {"slice": [None, None, None]}, {"record": "levelhead.engine.Network", "fields": {}},
    {"instance": "sklearn.preprocessing.StandardScaler", "number": 999, "attributes": {"copy": True,
        "with_mean": True, "with_std": True}},
]  # fmt: skip


def read(path):
    """JSON document and members of a file."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(members.pop(DOCUMENT).decode("utf-8", "surrogatepass")), members


def mutated(document, members, seed):
    """The bytes of a file that differs from a sound one in up to three places."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(["json", "arrays", "text", "npy", "bytes"], p=[0.6, 0.25, 0.05, 0.05, 0.05])
    document, members = copy.deepcopy(document), dict(members)
    times = rng.integers(1, 4)
    if kind == "json":
        for _ in range(times):
            change_json(document["model"], rng)
    elif kind == "arrays" and members:
        for _ in range(times):
            change_array(members, rng)
    elif kind == "npy" and members:
        name = rng.choice(sorted(members))
        members[name] = with_flipped_bits(members[name], rng)
    text = json.dumps(document, ensure_ascii=False, indent=1).encode("utf-8", "surrogatepass")
    if kind == "text":
        text = with_flipped_bits(text, rng)
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr(DOCUMENT, text)
        for name, content in members.items():
            archive.writestr(name, content)
    return with_flipped_bits(whole.getvalue(), rng) if kind == "bytes" else whole.getvalue()


def with_flipped_bits(content, rng):
    changed = bytearray(content)
    for place in rng.integers(0, len(changed), size=rng.integers(1, 6)):
        changed[place] ^= 1 << rng.integers(8)
    return bytes(changed)


def places(node, found):
    """All (container, key) in a JSON tree."""
    for key in node if isinstance(node, dict) else range(len(node)):
        found.append((node, key))
        if isinstance(node[key], (dict, list)):
            places(node[key], found)
    return found


def is_holder(node, name):
    return name in HOLDERS and isinstance(node[name], dict)


def change_json(model, rng):
    everywhere = places(model, [])
    named = [(node[name], key) for node, name in everywhere if is_holder(node, name) for key in node[name]]
    chosen = named if named and rng.random() < 0.5 else everywhere
    container, key = chosen[rng.integers(len(chosen))]
    other, other_key = everywhere[rng.integers(len(everywhere))]
    value = container[key]
    how = rng.integers(8)
    if how <= 1:
        container[key] = copy.deepcopy(STRANGE[rng.integers(len(STRANGE))])
    elif how == 2:
        container[key] = copy.deepcopy(other[other_key])
    elif how == 3:
        del container[key]
    elif how == 4 and isinstance(container, list):
        container.insert(key, copy.deepcopy(value))
    elif how == 5 and isinstance(container, dict) and isinstance(other_key, str):
        container[other_key] = container.pop(key)
    elif isinstance(value, str) and value:
        container[key] = change_text(value, rng)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        container[key] = [value + 1, value - 1, -value, value * 2, value * 10**6, value / 3][rng.integers(6)]
    else:
        container[key] = copy.deepcopy(STRANGE[rng.integers(len(STRANGE))])


def change_text(text, rng):
    k = int(rng.integers(len(text)))
    if rng.random() < 0.5 and any(map(str.isdigit, text)):  # numbers inside, as in a forest
        k = rng.choice([k for k, c in enumerate(text) if c.isdigit()])
    return text[:k] + str(rng.choice(["", "٥", "9", "-", " ", "\n", "x", "1e9", "\x00"])) + text[k + 1 :]


def change_array(members, rng):
    name = rng.choice(sorted(members))
    try:
        array = np.load(io.BytesIO(members[name]), allow_pickle=False)
    except ValueError:  # changed beyond reading already
        return
    flat = array.reshape(-1).copy()
    how = rng.integers(7)
    if how == 0 and flat.size and flat.dtype.kind == "f":
        flat[rng.integers(flat.size)] = rng.choice([np.nan, np.inf, -np.inf, 1e30, -1e30, 0, -1])
    elif how == 1 and flat.size and flat.dtype.kind in "iu":
        flat[rng.integers(flat.size)] = rng.choice([0, 1, 127])
    elif how == 2:
        flat = flat[: rng.integers(flat.size + 1)]
    elif how == 3:
        flat = np.concatenate([flat, flat])
    elif how == 4:
        kinds = [np.float32, np.float64, np.int64, np.uint8, bool, "<U5", "<M8[D]", complex]
        flat = np.zeros(flat.shape, dtype=kinds[rng.integers(len(kinds))])
    elif how == 5:
        flat = rng.permutation(flat)
    else:
        shapes = [(1, -1), (-1, 1), (-1,), (1, 1, -1)]
        array = array.reshape(shapes[rng.integers(4)])
    result = flat.reshape(array.shape) if flat.size == array.size else flat
    stream = io.BytesIO()
    np.save(stream, result, allow_pickle=False)
    members[name] = stream.getvalue()
