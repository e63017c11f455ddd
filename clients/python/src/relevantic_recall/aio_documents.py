"""Documents and their comparisons, for programs with an event loop."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import anyio

from . import _calls as calls
from ._events import WORK_TIMEOUT, OnProgress, Progress
from ._http import FilePath, make_upload
from .document_models import Chunk, Comparison, ComparisonReport, Document, DocumentStatus, is_ended
from .errors import NotFound, make_error
from .models import Page

if TYPE_CHECKING:
    from .aio import AsyncRecall


class AsyncDocuments:
    """The documents of the memory: `recall.documents`."""

    def __init__(self, client: AsyncRecall) -> None:
        self._client = client

    async def add(
        self,
        file: FilePath | bytes,
        *,
        filename: str | None = None,
        path: str | None = None,
        collection: str | None = None,
        shared: bool = False,
    ) -> Document:
        """Adds a file (PDF, DOCX, HTML, Markdown or text) and returns at once. The server then finds its passages and facts.

        `file`: the path of the file, or its content; then name it with `filename`. `path`: where you keep it; the same path with another
        content makes a new version. The same content again stores nothing and returns the known document, with `duplicate` set.
        """
        content = file if isinstance(file, bytes) else await anyio.Path(file).read_bytes()
        uploaded = await self._client._upload(make_upload(file, content, filename, path, collection, shared))
        return await self._client._run(calls.added_document(uploaded.id, uploaded.duplicate))

    async def add_text(
        self,
        text: str,
        *,
        path: str | None = None,
        collection: str | None = None,
        media_type: str | None = None,
        shared: bool = False,
    ) -> Document:
        """Adds a text as a document and returns at once.

        `media_type`: `text/plain`, `text/markdown` or `text/html`. Default: judged by the ending of the path.
        """
        return await self._client._run(calls.add_document(text, path, collection, media_type, shared))

    async def wait(self, id: str, *, timeout: float = WORK_TIMEOUT, on_progress: OnProgress | None = None) -> Document:
        """Waits until a document is completed. Raises `DOCUMENT_FAILED` if it cannot be read.

        `on_progress` gets the number of completed steps and of all steps.
        """
        after = await self._client._run(calls.head(id, "document"))
        found = await self.get(id)
        if found and not is_ended(found):
            progress = Progress("document_update", on_progress)
            await self._client._wait(id, after, timeout, progress.is_ended, calls.document(id), is_ended)
            found = await self.get(id)
        if found is None:
            raise NotFound("NOT_FOUND", "There is no such document. Check its id.", 200)
        if found.status == "FAILED":
            raise make_error("DOCUMENT_FAILED", found.error or "The server gave no reason.", 200)
        return found

    async def get(self, id: str) -> Document | None:
        """Returns a document, or None if it does not exist."""
        return await self._client._run(calls.document(id))

    async def list(
        self,
        *,
        collection: str | None = None,
        status: DocumentStatus | None = None,
        text: str | None = None,
        current: bool = False,
        first: int = 20,
        after: str | None = None,
        shared: bool = False,
    ) -> Page[Document]:
        """Lists documents that meet all conditions, latest first.

        `text`: a part of the name, the title or the path. `current`: leaves out versions that a newer one has replaced.
        """
        return await self._client._run(calls.list_documents(collection, status, text, current, first, after, shared))

    async def chunks(self, id: str, *, first: int = 20, after: str | None = None) -> Page[Chunk]:
        """Lists the chunks of a document, in order."""
        return await self._client._run(calls.chunks(id, first, after))

    async def delete(self, id: str, *, original_only: bool = False) -> None:
        """Deletes a document with its file, chunks and evidence. `original_only`: deletes only the file."""
        await self._client._run(calls.delete_document(id, original_only))

    async def compare(self, ids: Iterable[str], question: str | None = None) -> Comparison:
        """Starts to compare two to five documents, and returns at once. `comparisons.wait` waits for the result."""
        return await self._client._run(calls.compare_documents(ids, question))

    async def compare_and_wait(
        self, ids: Iterable[str], question: str | None = None, *, timeout: float = WORK_TIMEOUT, on_progress: OnProgress | None = None
    ) -> ComparisonReport:
        """Compares two to five documents and waits for the result."""
        started = await self.compare(ids, question)
        return await self._client.comparisons.wait(started.id, timeout=timeout, on_progress=on_progress)


class AsyncComparisons:
    """The comparisons of documents: `recall.comparisons`."""

    def __init__(self, client: AsyncRecall) -> None:
        self._client = client

    async def wait(self, id: str, *, timeout: float = WORK_TIMEOUT, on_progress: OnProgress | None = None) -> ComparisonReport:
        """Waits until a comparison is completed. Raises `COMPARISON_FAILED` if the server fails.

        `on_progress` gets the number of completed steps and of all steps.
        """
        after = await self._client._run(calls.head(id, "comparison"))
        found = await self.get(id)
        if found and not is_ended(found):
            progress = Progress("comparison_update", on_progress)
            await self._client._wait(id, after, timeout, progress.is_ended, calls.comparison(id), is_ended)
            found = await self.get(id)
        if found is None:
            raise NotFound("NOT_FOUND", "There is no such comparison. Check its id.", 200)
        if found.status == "FAILED":
            raise make_error("COMPARISON_FAILED", found.error or "The server gave no reason.", 200)
        return found

    async def get(self, id: str) -> ComparisonReport | None:
        """Returns a comparison with the points found so far, or None if it does not exist."""
        return await self._client._run(calls.comparison(id))

    async def list(self, *, document_id: str | None = None, first: int = 20, after: str | None = None) -> Page[Comparison]:
        """Lists comparisons, latest first: all, or those of one document."""
        return await self._client._run(calls.comparisons(document_id, first, after))

    async def delete(self, id: str) -> None:
        """Deletes a comparison. Its documents stay."""
        await self._client._run(calls.delete_comparison(id))
