"""Reads lists to their ends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, TypeVar

from .models import Page

T = TypeVar("T")


def all_items(read: Callable[..., Page[T]], *arguments: Any, **conditions: Any) -> Iterator[T]:
    """Reads a list to its end: `all_items(recall.facts, relation="LIVES_IN")`."""
    after: str | None = None
    while True:
        page = read(*arguments, **conditions, after=after)
        yield from page.items
        after = page.next
        if after is None:
            return


async def all_items_async(read: Callable[..., Awaitable[Page[T]]], *arguments: Any, **conditions: Any) -> AsyncIterator[T]:
    """Reads a list to its end: `all_items_async(recall.facts, relation="LIVES_IN")`."""
    after: str | None = None
    while True:
        page = await read(*arguments, **conditions, after=after)
        for item in page.items:
            yield item
        after = page.next
        if after is None:
            return
