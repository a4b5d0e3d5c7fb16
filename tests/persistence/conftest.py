import io
import json
import zipfile

import numpy as np
import pytest

from levelhead import load, save


@pytest.fixture
def forged(tmp_path):
    """A function that saves a model, lets `change(document, members)` alter the file, and returns its path."""

    def forge(model, change):
        sound = save(model, tmp_path / "sound", overwrite=True)
        with zipfile.ZipFile(sound) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        document = json.loads(members.pop("levelhead.json"))
        load(sound)
        change(document["model"], members)
        path = tmp_path / "forged"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("levelhead.json", json.dumps(document))
            for name, content in members.items():
                archive.writestr(name, content)
        return path

    return forge


@pytest.fixture
def instances():
    """A function that lists the JSON of all instances of a class in a description, by the end of its name."""

    def find(node, name):
        found = [node] if isinstance(node, dict) and str(node.get("instance", "")).endswith(name) else []
        inner = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        return found + [one for value in inner for one in find(value, name)]

    return find


@pytest.fixture
def npy():
    """A function that gives an array as the bytes of an .npy file."""

    def written(array):
        stream = io.BytesIO()
        np.save(stream, array)
        return stream.getvalue()

    return written
