#!/usr/bin/env python3
"""Trains models/minilm-answers, the network that tells whether a message answers a question, and with which words.

See README.md for the commands. `questions/` has the labels; `cargo run --example prepare` splits the texts as the server does. The first layers are
those of all-MiniLM-L6-v2 and are not trained; models/minilm-reader and models/minilm-encoder have them already.
"""

import argparse
import json
import pathlib
import random
import re
import sys
import time

import numpy as np

from train import BATCH, HIDDEN, ROOT, adam_for, add_layers, add_linear, base_weights, build, chunks, layers_of, read_model, rounded, rounded_layer, transformer, write_model

MODEL = ROOT / "models/minilm-answers"
APART = ("dalia", "farid", "gia")  # authors of messages that are for measuring only
STEPS_APART = ("xavi",)  # authors of questions in two steps that are for measuring only
LAYERS, FROZEN = 6, 3
LENGTHS = (32, 40, 48, 64, 96, 128)
QUESTION, PAIR, ANSWER = 48, 128, 16  # most pieces of a question, of a pair, and of an answer
MARKS = 2  # the piece is one of the message; the other side has the same piece
HARD, OTHERS = 8, 2  # nearest messages from which wrong ones are drawn, and wrong ones for a question in an epoch


# ---- Labels

def jsonl(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def author(message):
    return re.split(r"[:-]", message)[0]


def is_apart(question):
    """Whether a question is for measuring only."""
    return author(question["message"]) in APART or question["by"] in STEPS_APART


def labels():
    """All labelled questions: {"question", "answer", "message", "text", "by"}, those in two steps with "parts", the two messages that are their text."""
    told = [path for folder in ("messages", "passages") for path in sorted((ROOT / "training" / folder).glob("*.jsonl"))]
    texts = {m["id"]: m["text"] for path in told for m in jsonl(path)}
    found = []
    for path in sorted((ROOT / "training/questions").glob("*.jsonl")):
        found += [q | {"text": texts[q["message"]], "by": path.stem} for q in jsonl(path)]
    for path in sorted((ROOT / "training/steps").glob("*.jsonl")):
        for q in jsonl(path):
            # As the server joins them: the earlier one first.
            parts = [texts[m] for m in sorted(q["messages"])]
            found.append(q | {"message": q["messages"][1], "text": "\n".join(parts), "parts": parts, "told": texts[q["messages"][1]], "by": path.stem})
    return found


def print_texts():
    """Prints each text once, for `prepare`."""
    for text in sorted({t for q in labels() for t in (q["question"], q["text"], *q.get("parts", ()))}):
        print(json.dumps({"text": text}, ensure_ascii=False))


class Texts:
    """The pieces of each text, as the server splits it."""

    def __init__(self, prepared):
        self.seen = {m["text"]: m["seen"] for m in jsonl(prepared)}
        pieces = (ROOT / "models/minilm-reader/vocabulary.txt").read_text(encoding="utf-8").split("\n")
        self.end = pieces.index("[SEP]")

    def pair(self, question, message, answer=None):
        return Pair(self.seen[question], self.seen[message], self.end, message, answer)


class Pair:
    """A question with a message: [CLS] question [SEP] message [SEP]."""

    def __init__(self, question, message, end, text, answer):
        asked, told = question["ids"][:QUESTION], message["ids"][1:]
        told = told[: PAIR - len(asked) - 2]
        self.first = len(asked) + 1
        self.ids = [*asked, end, *told, end]
        self.last = len(self.ids) - 1  # behind the last piece of the message
        here, there = set(asked[1:]), set(told)
        inside = lambda i: self.first <= i < self.last
        self.marks = [(float(inside(i)), float(p in (here if inside(i) else there))) for i, p in enumerate(self.ids)]
        self.answers, self.spans = answer is not None, message["spans"][1 : 1 + len(told)]
        self.span = self.place(text, answer) if answer else None

    def place(self, text, answer):
        """The pieces of the first occurrence of the answer."""
        start = text.index(answer)
        covered = [i for i, (a, b) in enumerate(self.spans) if a < start + len(answer) and start < b]
        return (self.first + covered[0], self.first + covered[-1]) if covered else None


# ---- Network

def network(dropout):
    import jax
    import jax.numpy as jnp

    _, drop, block = transformer(dropout)
    how = argparse.Namespace(dropout=0.0, frozen=FROZEN)
    lower, _, _ = build(how, 0, 0)

    def upper(p, x, batch, key=None):
        t = x.shape[1]
        keys = [None] * (len(p["layers"]) + 1) if key is None else jax.random.split(key, len(p["layers"]) + 1)
        mask = jnp.where(jnp.arange(t)[None] < batch["lengths"][:, None], 0.0, -1e9)
        x = x + batch["marks"] @ p["marks"]
        for q, k in zip(p["layers"], keys):
            x = block(x, mask, q, k)
        h = drop(x, keys[-1], dropout)
        told = batch["marks"][..., :1]
        mean = (h * told).sum(1) / jnp.maximum(told.sum(1), 1)
        answers = (jnp.concatenate([h[:, 0], mean], -1) @ p["answers"] + p["answers_bias"])[:, 0]
        ends = h @ p["ends"] + p["ends_bias"] + (1 - told) * -1e9
        return answers, ends[..., 0], ends[..., 1]

    def loss(p, x, batch, key):
        answers, first, last = upper(p, x, batch, key)
        wanted = batch["answers"]
        own = jnp.maximum(answers, 0) - answers * wanted + jnp.log1p(jnp.exp(-jnp.abs(answers)))
        span = -sum((jax.nn.log_softmax(logits) * batch[side]).sum(-1) for logits, side in ((first, "first"), (last, "last")))
        return (own * batch["weight"] + 0.5 * span * batch["has_span"]).sum() / batch["weight"].sum()

    return lower, jax.jit(upper), loss


def collate(pairs):
    t = next(n for n in LENGTHS if n >= max(len(p.ids) for p in pairs))
    b = BATCH
    batch = {
        "ids": np.zeros((b, t), np.int32), "lengths": np.ones(b, np.int32), "marks": np.zeros((b, t, MARKS), np.float32),
        "answers": np.zeros(b, np.float32), "first": np.zeros((b, t), np.float32), "last": np.zeros((b, t), np.float32),
        "has_span": np.zeros(b, np.float32), "weight": np.zeros(b, np.float32),
    }
    for i, p in enumerate(pairs):
        n = len(p.ids)
        batch["ids"][i, :n], batch["lengths"][i], batch["marks"][i, :n] = p.ids, n, p.marks
        batch["answers"][i], batch["weight"][i] = p.answers, 1.0
        if p.span:
            batch["first"][i, p.span[0]] = batch["last"][i, p.span[1]] = batch["has_span"][i] = 1.0
    return batch


def fresh(rng, base):
    small = lambda *shape: (rng.standard_normal(shape) * 0.02).astype(np.float32)
    return {
        "layers": base["layers"][FROZEN:], "marks": small(MARKS, HIDDEN),
        "answers": small(2 * HIDDEN, 1), "answers_bias": np.zeros(1, np.float32),
        "ends": small(HIDDEN, 2), "ends_bias": np.zeros(2, np.float32),
    }


def kept():
    """The trained weights of the network of the repository, rounded as they are there. The words that answer are not part of it."""
    t = read_model(MODEL)
    return {"layers": layers_of(t, range(FROZEN, LAYERS)), "marks": t["marks"], "answers": t["answers"], "answers_bias": t["answers.bias"]}


def vectors(base, texts, wanted):
    """The meaning of each text: the mean of the states of the base network."""
    import jax

    lower, _, _ = build(argparse.Namespace(dropout=0.0, frozen=LAYERS), 0, 0)
    base, found = jax.tree.map(np.asarray, base), {}
    for chunk in chunks(sorted(wanted, key=lambda text: len(texts.seen[text]["ids"]))):
        ids = [[*texts.seen[text]["ids"][: PAIR - 1], texts.end] for text in chunk]
        batch, lengths = np.zeros((BATCH, next(n for n in LENGTHS if n >= max(map(len, ids)))), np.int32), np.ones(BATCH, np.int32)
        for i, row in enumerate(ids):
            batch[i, : len(row)], lengths[i] = row, len(row)
        states = np.asarray(lower(base, batch, lengths))
        for i, text in enumerate(chunk):
            v = states[i, : lengths[i]].mean(0)
            found[text] = v / np.linalg.norm(v)
    return found


def nearest(base, texts, questions, most):
    """For each question, the texts with questions by the same author that are nearest to it, without its own."""
    found = vectors(base, texts, {t for q in questions for t in (q["question"], q["text"])})
    result = []
    for by in sorted({q["by"] for q in questions}):
        own = [q for q in questions if q["by"] == by]
        told = sorted({q["text"] for q in own})
        near = np.stack([found[q["question"]] for q in own]) @ np.stack([found[t] for t in told]).T
        for q, row in zip(own, near):
            result.append((q, [told[i] for i in np.argsort(-row) if told[i] != q["text"]][:most]))
    return result


def train(args, questions):
    """Trains, and keeps the weights after each epoch."""
    import pickle

    import jax
    import optax

    rng, texts, base = random.Random(args.seed), Texts(args.prepared), base_weights(LAYERS)
    asked = nearest(base, texts, questions, HARD)
    lower, upper, loss = network(args.dropout)
    base = jax.tree.map(jax.numpy.asarray, base)
    is_newest = lambda group: group[0]["by"] in args.newest.split(",")
    newest, others = ([group for group in asked if is_newest(group) == wanted] for wanted in (True, False))
    if args.newest and not newest:
        sys.exit(f"There are no questions of {args.newest}.")
    drawn = min(len(newest) or len(others), len(others))
    start = pickle.load(open(args.start, "rb")) if args.start else fresh(np.random.default_rng(args.seed), base)
    if newest:
        start |= kept()
    params = jax.tree.map(jax.numpy.asarray, start)
    optimiser = adam_for(args, params, args.epochs * -(-(len(newest) + drawn) * (1 + OTHERS) // BATCH))
    state = optimiser.init(params)

    @jax.jit
    def step(params, state, base, batch, key):
        x = lower(base, batch["ids"], batch["lengths"])
        value, grads = jax.value_and_grad(loss)(params, x, batch, key)
        updates, state = optimiser.update(grads, state, params)
        return optax.apply_updates(params, updates), state, value

    key, began = jax.random.key(args.seed), time.time()
    for epoch in range(args.epochs):
        pairs = []
        for q, near in newest + rng.sample(others, drawn):
            pairs.append(texts.pair(q["question"], q["text"], q["answer"]))
            parts = q.get("parts", ())
            pairs += [texts.pair(q["question"], text) for text in rng.sample(near, OTHERS - bool(parts))]
            # The message that only tells who or what is meant.
            pairs += [texts.pair(q["question"], text) for text in parts if text != q["told"]]
        pairs.sort(key=lambda p: len(p.ids) + rng.uniform(-4, 4))
        batches, total = chunks(pairs), 0.0
        rng.shuffle(batches)
        for chunk in batches:
            key, sub = jax.random.split(key)
            params, state, value = step(params, state, base, collate(chunk), sub)
            total += float(value)
        print(f"epoch {epoch + 1}: loss {total / len(batches):.3f}, {time.time() - began:.0f} s", flush=True)
        pickle.dump(jax.tree.map(np.asarray, params), open(args.weights, "wb"))


def average(args):
    """Averages the weights of one training at different times: a model soup (Wortsman et al., 2022, arXiv:2203.05482)."""
    import pickle

    import jax

    several = [pickle.load(open(path, "rb")) for path in args.of]
    if len(several) == 1:
        several.append(several[0] | kept())
    pickle.dump(jax.tree.map(lambda *each: np.mean(np.stack(each), 0).astype(np.float32), *several), open(args.weights, "wb"))


# ---- Results

def predict(base, params, pairs):
    """For each pair the probability that the message answers, and the pieces of the likeliest answer."""
    import jax

    lower, upper, _ = network(0.0)
    base, found = jax.tree.map(np.asarray, base), {}
    for chunk in chunks(sorted(pairs, key=lambda p: len(p.ids))):
        batch = collate(chunk)
        answers, first, last = (np.asarray(v) for v in upper(params, lower(base, batch["ids"], batch["lengths"]), batch))
        for i, p in enumerate(chunk):
            found[id(p)] = (float(1 / (1 + np.exp(-answers[i]))), likeliest(p, first[i], last[i]))
    return [found[id(p)] for p in pairs]


def likeliest(p, first, last):
    spans = ((first[a] + last[b], a, b) for a in range(p.first, p.last) for b in range(a, min(a + ANSWER, p.last)))
    return max(spans, default=(0, p.first, p.first))[1:]


def measure(args, questions):
    """Prints how the network finds the message and the words that answer, among those nearest to the question."""
    import pickle

    texts, base, params = Texts(args.prepared), base_weights(LAYERS), pickle.load(open(args.weights, "rb")) if args.weights else fresh(np.random.default_rng(0), base_weights(LAYERS)) | kept()
    asked, pairs = nearest(base, texts, questions, 11), []
    for q, near in asked:
        pairs.append([texts.pair(q["question"], q["text"], q["answer"]), *(texts.pair(q["question"], text) for text in near)])
    results = iter(predict(base, params, [p for group in pairs for p in group]))
    rows = []
    for (q, _), group in zip(asked, pairs):
        own, *others = [next(results) for _ in group]
        a, b = own[1]
        said = q["text"][group[0].spans[a - group[0].first][0] : group[0].spans[b - group[0].first][1]]
        rows.append((q["answer"] is not None, own[0], max(o[0] for o in others), said, q["answer"]))
    yes, no = np.array([r[1] for r in rows if r[0]]), np.array([r[1] for r in rows if not r[0]])
    print(f"{len(yes)} questions with an answer, {len(no)} without; AUC {(yes[:, None] > no[None]).mean():.3f}")
    words = lambda s: set(re.findall(r"\w+", s.lower()))
    exact = np.mean([words(r[3]) == words(r[4]) for r in rows if r[0]])
    overlap = np.mean([bool(words(r[3]) & words(r[4])) for r in rows if r[0]])
    print(f"words of the answer in the right message: exact {exact:.3f}, overlapping {overlap:.3f}")
    for limit in (0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95):
        right = np.mean([r[1] >= limit and r[1] >= r[2] for r in rows if r[0]])
        wrong = np.mean([r[2] >= limit and r[2] > r[1] for r in rows if r[0]])
        false = np.mean([max(r[1], r[2]) >= limit for r in rows if not r[0]])
        print(f"from {limit}: right message {right:.3f}, wrong message {wrong:.3f}, answered without an answer {false:.3f}")


# ---- The file for the server

def export(args):
    """Writes the file of the network."""
    import pickle

    params, tensors = pickle.load(open(args.weights, "rb")), {}
    add_layers(tensors, params["layers"], FROZEN)
    add_linear(tensors, "answers", params["answers"], params["answers_bias"])
    tensors["marks"] = params["marks"]
    write_model(MODEL, tensors)


def reference(args):
    """Writes what the network says about a few pairs, for a test of the server's own code."""
    import pickle

    base, params = base_weights(LAYERS), pickle.load(open(args.weights, "rb"))
    base["words"] = rounded(base["words"].T).T
    for layers in (base["layers"], params["layers"]):
        layers[:] = [rounded_layer(p) for p in layers]
    params["answers"] = rounded(params["answers"])
    texts = Texts(args.prepared)
    asked = [q for q in labels() if not is_apart(q)][:: args.every]
    pairs = [texts.pair(q["question"], q["text"]) for q in asked]
    found = predict(base, params, pairs)
    written = [{"question": q["question"], "text": q["text"], "ids": p.ids, "answers": round(v[0], 5)} for q, p, v in zip(asked, pairs, found)]
    (ROOT / "crates/neural/src/answers.json").write_text(json.dumps(written, ensure_ascii=False, separators=(",", ":")) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["texts", "train", "average", "measure", "export", "reference"])
    parser.add_argument("--prepared", type=pathlib.Path)
    parser.add_argument("--weights", type=pathlib.Path)
    parser.add_argument("--start", type=pathlib.Path, help="weights to train further; default: those of the base")
    parser.add_argument("--of", type=pathlib.Path, nargs="*", default=[], help="weights that `average` reads; one is averaged with the network of the repository")
    parser.add_argument("--without", default="", help="authors of questions that are left out")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--head-rate", type=float, default=1e-3)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--newest", default="", help="train the network of the repository further, instead of --start: all questions of these authors, and as many of the others")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--on", default="", help="authors of questions to measure on, instead of those who are set aside")
    parser.add_argument("--every", type=int, default=400, help="which questions `reference` writes")
    args = parser.parse_args()
    if args.what == "texts":
        return print_texts()
    if args.what == "average":
        return average(args)
    if args.what == "export":
        return export(args)
    if args.what == "reference":
        return reference(args)
    if args.what == "measure":
        for name, has_parts in (("in one step", False), ("in two steps", True)):
            print(f"Questions {name}:")
            measured = lambda q: q["by"] in args.on.split(",") if args.on else is_apart(q)
            measure(args, [q for q in labels() if measured(q) and ("parts" in q) == has_parts])
        return None
    questions = [q for q in labels() if not is_apart(q) and q["by"] not in args.without.split(",")]
    print(f"{len(questions)} questions by {len({q['by'] for q in questions})} authors", flush=True)
    train(args, questions)


if __name__ == "__main__":
    sys.exit(main())
