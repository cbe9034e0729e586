"""What tests ask of Anki itself: its own backend reads and writes the packages."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from anki.collection import Collection, ExportAnkiPackageOptions, ImportAnkiPackageRequest
from anki.import_export_pb2 import ImportAnkiPackageOptions


@contextmanager
def opened(path: Path) -> Iterator[Collection]:
    """A collection that is closed afterwards, so that no lock outlives a failed test."""
    collection = Collection(str(path))
    try:
        yield collection
    finally:
        collection.close()


def take(collection: Collection, package: Path) -> Any:
    """Import a package with its schedule; return Anki's account of it."""
    options = ImportAnkiPackageOptions(with_scheduling=True, merge_notetypes=True)
    request = ImportAnkiPackageRequest(package_path=str(package), options=options)
    return collection.import_anki_package(request).log


def give(collection: Collection, package: Path, *, legacy: bool) -> None:
    """Export the whole collection with its schedule, in the old or the new format."""
    options = ExportAnkiPackageOptions(
        with_scheduling=True, with_deck_configs=True, with_media=True, legacy=legacy
    )
    collection.export_anki_package(out_path=str(package), options=options, limit=None)


def complaints(collection: Collection) -> str:
    """What "Check Database" reports, empty if nothing is wrong."""
    text, sound = collection.fix_integrity()
    return "" if sound and text == "Database rebuilt and optimized." else text


def rows(collection: Collection, sql: str) -> list[tuple[Any, ...]]:
    """The rows of a query on the collection."""
    assert collection.db
    return [tuple(row) for row in collection.db.all(sql)]
