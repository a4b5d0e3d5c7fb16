"""`levelhead study …`: experiments from the first run to the last page."""

from levelhead.cli.study.app import study_app

__all__ = ["study_app"]
