#!/usr/bin/env python3
"""Measures how a running server finds and cites the documents of a file of questions.

The server must be empty, because a question searches everything that the caller has. Figures of the development documents and of those
set aside are printed apart. Failures are listed for one half only, so that the other half stays unseen while code is changed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
import unicodedata
import urllib.error
import urllib.parse
import urllib.request
import uuid
from pathlib import Path
from typing import Any

QUESTIONS = Path(__file__).with_name("questions.json")
HALVES = ("development", "set aside")
COLLECTION = "measured"
FIRST = 5
"""Chunks in which the expected page is looked for."""
CONTEXT = """query ($query: String!, $first: Int!, $rerank: Boolean!, $expand: Boolean!) {
  context(input: { query: $query, first: $first, sources: [DOCUMENTS], rerank: $rerank, expandQuery: $expand }) {
    chunks { score chunk { text heading pages { first last } document { id } } } } }"""

Json = dict[str, Any]


class Server:
    """The server under test."""

    def __init__(self, url: str, token: str | None) -> None:
        self._url = url.rstrip("/")
        self._headers = {"authorization": f"Bearer {token}"} if token else {}

    def call(self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> Any:
        """Sends a request. A server that limits the rate is asked again after the time that it names."""
        while True:
            request = urllib.request.Request(self._url + path, body, self._headers | (headers or {}), method=method)
            try:
                with urllib.request.urlopen(request, timeout=180) as response:
                    content = response.read()
                    return json.loads(content) if content else None
            except urllib.error.HTTPError as error:
                if error.code != 429:
                    sys.exit(f"{method} {path}: {error.code} {error.read().decode(errors='replace')}")
                time.sleep(float(error.headers.get("retry-after", "1")))

    def send(self, path: str, body: Json, headers: dict[str, str] | None = None) -> Any:
        return self.call("POST", path, json.dumps(body).encode(), {"content-type": "application/json"} | (headers or {}))

    def query(self, query: str, variables: Json) -> Json:
        answer = self.send("/graphql", {"query": query, "variables": variables})
        if answer.get("errors"):
            sys.exit(f"GraphQL: {answer['errors']}")
        return answer["data"]

    def upload(self, file: Path) -> str:
        """Adds a file and returns the id of the document."""
        boundary = uuid.uuid4().hex
        parts = [
            f'--{boundary}\r\ncontent-disposition: form-data; name="collection"\r\n\r\n{COLLECTION}\r\n'.encode(),
            f'--{boundary}\r\ncontent-disposition: form-data; name="file"; filename="{file.name}"\r\n\r\n'.encode(),
            file.read_bytes(),
            f"\r\n--{boundary}--\r\n".encode(),
        ]
        added = self.call("POST", "/documents", b"".join(parts), {"content-type": f"multipart/form-data; boundary={boundary}"})
        return added["id"]

    def chunks(self, document: str) -> dict[str, str]:
        """Returns the texts of a document's chunks, by id."""
        texts: dict[str, str] = {}
        after = ""
        while True:
            page = self.call("GET", f"/documents/{document}/chunks?first=100{after}")
            texts |= {chunk["id"]: chunk["text"] for chunk in page["items"]}
            if not page["next"]:
                return texts
            after = f"&after={urllib.parse.quote(page['next'])}"


def wait(server: Server, document: str) -> tuple[float, float, Json]:
    """Waits for a document. Returns the seconds until all its chunks are found and until everything is done, and the document."""
    started, searchable = time.monotonic(), None
    while True:
        found = server.call("GET", f"/documents/{document}")
        past = time.monotonic() - started
        if found["status"] == "failed":
            sys.exit(f"{found['filename']}: {found['error']}")
        # The chunks are stored first, then their facts are extracted.
        if searchable is None and 0 < found["chunk_count"] <= found["done"]:
            searchable = past
        if found["status"] == "completed":
            return past if searchable is None else searchable, past, found
        time.sleep(0.1)


def plain(text: str) -> str:
    """Brings texts of different extractors to one form."""
    text = unicodedata.normalize("NFKC", text).replace("’", "'").replace("\u00ad", "")
    return " ".join(re.sub(r"(?<=\w)-\s*\n\s*(?=[a-z])", "", text).split()).lower()


def contains(text: str, words: str) -> bool:
    """Whether a text has the words, and not only as parts of longer ones."""
    found, text = plain(words), plain(text)
    before = r"(?<!\w)" if found[0].isalnum() else ""
    after = r"(?!\w)" if found[-1].isdigit() or len(found) < 4 else ""
    return re.search(before + re.escape(found) + after, text) is not None


def is_right(sources: list[Json], document: str | None, pages: Json | None, text: str) -> bool:
    """Whether a place in a document is one of the expected sources."""
    for source in sources:
        if source["document"] != document:
            continue
        if "passage" in source:
            if contains(text, source["passage"]):
                return True
        elif pages and any(pages["first"] <= page <= pages["last"] for page in source["pages"]):
            return True
    return False


def share(values: list[bool]) -> float | None:
    return round(sum(values) / len(values), 3) if values else None


def percentile(values: list[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


class Measurement:
    """Asks the questions and collects what became of them."""

    def __init__(self, server: Server, questions: Json, names: dict[str, str]) -> None:
        self._server, self._names = server, names
        self._texts = {id: text for document in names for id, text in server.chunks(document).items()}
        halves = {document["id"]: document["half"] for document in questions["documents"]}
        self.rows: list[Json] = []
        for asked in questions["questions"]:
            first = asked["sources"][0]
            self.rows.append(asked | {"half": halves[first["document"]], "kind": "pages" if "pages" in first else "passages"})
        for asked in questions["unanswerable"]:
            self.rows.append(asked | {"sources": [], "answer": [], "kind": "unanswerable"})

    def search(self, rerank: bool, expand: bool) -> None:
        """Asks each question through `context`."""
        variables = {"first": FIRST, "rerank": rerank, "expand": expand}
        for row in self.rows:
            started = time.monotonic()
            found = self._server.query(CONTEXT, variables | {"query": row["question"]})["context"]["chunks"]
            row["ms"] = (time.monotonic() - started) * 1000
            chunks = [hit["chunk"] | {"document": self._names.get(hit["chunk"]["document"]["id"]), "score": hit["score"]} for hit in found]
            right = [is_right(row["sources"], chunk["document"], chunk["pages"], chunk["text"]) for chunk in chunks[:FIRST]]
            row["rank"] = right.index(True) + 1 if True in right else None
            row["chunks"] = chunks

    def ask(self) -> None:
        """Asks each question in a chat of its own, and deletes the chats at the end."""
        sessions = []
        for row in self.rows:
            answer = self._server.send("/chat", {"message": row["question"]}, {"prefer": "wait=60"})
            sessions.append(answer["session_id"])
            if answer["status"] not in ("answered", "processed"):
                sys.exit(f"no answer to “{row['question']}”: {answer}")
            row["text"], row["answered"] = answer.get("llm_response"), bool(answer.get("grounded"))
            cited = [citation["chunk"] for citation in answer.get("citations") or [] if citation.get("chunk")]
            row["cited"] = [self._place(chunk) for chunk in cited]
            row["pages_right"] = [is_right(row["sources"], place["document"], place["pages"], place["text"]) for place in row["cited"]]
            nearest = [self._place(citation["chunk"]) for citation in answer.get("nearest") or [] if citation.get("chunk")]
            row["nearest"] = [is_right(row["sources"], place["document"], place["pages"], place["text"]) for place in nearest]
            row["has_words"] = any(contains(row["text"] or "", words) for words in row["answer"])
        for session in sessions:
            self._server.query(
                "mutation ($id: ID!) { deleteSession(input: { id: $id }) { errors { message } } }", {"id": session}
            )

    def _place(self, cited: Json) -> Json:
        text = self._texts.get(cited["chunk_id"], "")
        return {"document": self._names.get(cited["document_id"]), "pages": cited.get("pages"), "text": text}

    def figures(self, half: str) -> Json:
        """Returns the figures of a half."""
        rows = [row for row in self.rows if row["half"] == half]
        asked = [row for row in rows if row["kind"] != "unanswerable"]
        cited = [row for row in asked if row["answered"] and row["cited"]]
        figures: Json = {"questions": len(asked)}
        for kind in ("pages", "passages"):
            of_kind = [row for row in asked if row["kind"] == kind]
            figures[f"recall@{FIRST}, {kind} ({len(of_kind)})"] = share([row["rank"] is not None for row in of_kind])
        figures[f"recall@{FIRST}"] = share([row["rank"] is not None for row in asked])
        figures["recall@1"] = share([row["rank"] == 1 for row in asked])
        figures["answered"] = share([row["answered"] for row in asked])
        figures["page right, first citation"] = share([row["pages_right"][0] for row in cited])
        figures["page right, any citation"] = share([any(row["pages_right"]) for row in cited])
        figures["expected words in answers"] = share([row["has_words"] for row in asked if row["answered"]])
        unknown = [row for row in asked if not row["answered"]]
        figures["unknown, with a nearest page"] = share([bool(row["nearest"]) for row in unknown])
        figures["nearest page right"] = share([row["nearest"][0] for row in unknown if row["nearest"]])
        unanswerable = [row["answered"] for row in rows if row["kind"] == "unanswerable"]
        figures[f"unanswerable answered ({len(unanswerable)})"] = share(unanswerable)
        return figures


def print_failures(rows: list[Json]) -> None:
    for row in rows:
        expected = "; ".join(f"{s['document']} {s.get('pages', s.get('passage'))}" for s in row["sources"]) or "no answer"
        is_bad = row["answered"] if not row["sources"] else row["rank"] is None or not row["answered"] or not any(row["pages_right"])
        if not is_bad:
            continue
        print(f"\n{row['question']}\n  expected: {expected}; rank {row['rank']}\n  answer: {row['text']}")
        for chunk in row["chunks"]:
            pages = chunk["pages"]
            place = f"{chunk['document']} {pages['first']}-{pages['last']}" if pages else chunk["document"]
            print(f"  {chunk['score']:.3f} {place} | {chunk['heading']} | {' '.join(chunk['text'].split())[:150]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the folder that fetch.py filled")
    parser.add_argument("--questions", type=Path, default=QUESTIONS, help="default: %(default)s")
    parser.add_argument("--url", default="http://127.0.0.1:8080", help="the server; default: %(default)s")
    parser.add_argument("--token", default=os.environ.get("RECALL_TOKEN"), help="its token, if it needs one; default: RECALL_TOKEN")
    parser.add_argument("--failures", choices=HALVES, help="list the failures of a half")
    parser.add_argument("--rerank", action="store_true", help="reorder what the search finds")
    parser.add_argument("--expand", action="store_true", help="expand the questions")
    parser.add_argument("--json", type=Path, help="write all figures, and the result of each question, to this file")
    options = parser.parse_args()
    questions = json.loads(options.questions.read_text("utf-8"))
    server = Server(options.url, options.token)

    # A document that the server has already is not stored again, so its times say nothing.
    known = {document["sha256"] for document in server.call("GET", f"/documents?collection={COLLECTION}&first=100")["items"]}
    names, times = {}, {"pages": 0, "searchable": 0.0, "completed": 0.0}
    for document in questions["documents"]:
        file = next((f for f in sorted(options.folder.iterdir()) if f.stem == document["id"]), None)
        if file is None:
            sys.exit(f"{document['id']} is missing. Run fetch.py {options.folder} first.")
        added = server.upload(file)
        names[added] = document["id"]
        searchable, completed, found = wait(server, added)
        is_timed = bool(found["pages"]) and document["sha256"] not in known
        if is_timed:
            times["pages"] += found["pages"]
            times["searchable"] += searchable
            times["completed"] += completed
        print(f"{file.name}: {found['pages'] or 'no'} pages, {found['chunk_count']} chunks"
              + (f", searchable after {searchable:.1f} s, completed after {completed:.1f} s" if is_timed else ""), flush=True)

    measurement = Measurement(server, questions, names)
    measurement.search(options.rerank, options.expand)
    measurement.ask()
    halves = [half for half in HALVES if any(row["half"] == half for row in measurement.rows)]
    figures: Json = {half: measurement.figures(half) for half in halves}
    print(f"\n{'':36}" + "".join(f"{half:>14}" for half in halves))
    for labels in zip(*(figures[half] for half in halves), strict=True):
        counts = "".join(f" {label[label.rindex('('):]}" for label in labels[1:] if label != labels[0])
        print(f"{labels[0] + counts:36}" + "".join(f"{figures[half][label]!s:>14}" for half, label in zip(halves, labels, strict=True)))
    latency = [row["ms"] for row in measurement.rows]
    figures["context"] = {"p50 ms": round(percentile(latency, 0.5), 1), "p99 ms": round(percentile(latency, 0.99), 1)}
    print(f"\ncontext: p50 {figures['context']['p50 ms']} ms, p99 {figures['context']['p99 ms']} ms")
    if times["pages"]:
        figures["pages a second"] = {part: round(times["pages"] / times[part], 1) for part in ("searchable", "completed")}
        print(f"pages a second: {figures['pages a second']['searchable']} to searchable, {figures['pages a second']['completed']} to completed")
    if options.json:
        options.json.write_text(json.dumps({"figures": figures, "questions": measurement.rows}, ensure_ascii=False, indent=1), "utf-8")
    if options.failures:
        print_failures([row for row in measurement.rows if row["half"] == options.failures])


if __name__ == "__main__":
    main()
