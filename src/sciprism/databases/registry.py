"""The registry of vector databases, the kinds of addresses."""

from __future__ import annotations

from collections.abc import Callable

from sciprism.databases.address import Address, parse_address
from sciprism.databases.database import VectorDatabase
from sciprism.registry import Registry

databases: Registry[Callable[[Address], VectorDatabase]] = Registry("kind of database")
"""Kind -> a function that connects to the database of an address."""


def open_database(text: str) -> tuple[Address, VectorDatabase]:
    """Connect to the database of an address; the caller closes it (`with`)."""
    address = parse_address(text)
    return address, databases[address.kind](address)
