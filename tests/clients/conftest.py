"""Libraries that no extra installs; `nox -s clients` does, and runs these tests. Elsewhere they are left out."""

from levelhead._extras import available

LIBRARY = {
    "test_lightning_uq_box.py": "lightning_uq_box",
    "test_skpro.py": "skpro",
    "test_torch_uncertainty.py": "torch_uncertainty",
}
collect_ignore = [test for test, library in LIBRARY.items() if not available(library)]
