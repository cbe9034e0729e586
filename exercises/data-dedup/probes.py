import random
import string

import torch

LENGTH = 44  # words of a text: 40 shingles of 5 words


def fresh_words(draw, count, taken):
    """Words that nothing else uses."""
    found = []
    while len(found) < count:
        word = "".join(draw.choice(string.ascii_lowercase) for _ in range(draw.integer(4, 8)))
        if word not in taken:
            taken.add(word)
            found.append(word)
    return found


def decorate(draw, words):
    """The same words in other case, punctuation and spacing."""
    parts = []
    for word in words:
        word = draw.choice([word, word.upper(), word.capitalize()])
        parts += [
            draw.choice(["", "(", '"']) + word + draw.choice(["", ",", "!", ";)", "..."]),
            draw.choice([" ", "  ", "\n", " - "]),
        ]
    return "".join(parts)


def window(words, start, length=LENGTH):
    return " ".join(words[start : start + length])


def pair(draw, taken, shift):
    """Two texts of 40 shingles each, shifted: Jaccard similarity (40 - shift) / (40 + shift)."""
    words = fresh_words(draw, LENGTH + shift, taken)
    return [window(words, 0), window(words, shift)]


def mixed(draw, groups):
    """The texts of all groups in random order."""
    return draw.shuffled([text for group in groups for text in group])


def chain(draw, taken):
    """Of three texts the outer ones share little (0.15), the middle one is like both (0.57)."""
    p, x, q = fresh_words(draw, 20, taken), fresh_words(draw, 11, taken), fresh_words(draw, 20, taken)
    return [" ".join(p + x), " ".join(p + x + q), " ".join(x + q)]


def star(draw, taken):
    """The middle text of a chain, then the two that are like it and not like each other."""
    left, middle, right = chain(draw, taken)
    return [middle, left, right]


def cluster(draw, taken):
    """Eight texts whose words are alike (0.67), and one with all words and more: it is like their union only (0.34)."""
    shared, rest = fresh_words(draw, 20, taken), fresh_words(draw, 13, taken)
    ends = [fresh_words(draw, 5, taken) for _ in range(8)]
    whole = [*shared, *(word for end in ends for word in end), *rest]
    return [*(" ".join(shared + end) for end in ends), " ".join(whole)]


def sets(draw, taken):
    """20 pairs of sets with similarities between 0.15 and 0.3 or 0.7 and 0.85."""
    found = []
    for i in range(20):
        shared, own = (draw.integer(5, 8), 12) if i % 2 else (draw.integer(20, 24), 3)
        words = fresh_words(draw, shared + 2 * own, taken)
        found.append([words[: shared + own], words[:shared] + words[shared + own :]])
    return found


def inputs(draw):
    taken = set()
    base = fresh_words(draw, 14, taken)
    copy = fresh_words(draw, LENGTH, taken)
    short = fresh_words(draw, 8, taken)
    long_one = fresh_words(draw, 60, taken)
    outer = chain(draw, taken)
    near = {
        "containment": [" ".join(long_one[20:32]), " ".join(long_one), " ".join(long_one[45:])],
        "order": [" ".join(copy), " ".join(draw.shuffled(copy)), " ".join(copy[::-1])],
        "default": mixed(draw, [pair(draw, taken, s) for s in [12] * 12 + [0, 1, 2, 3]]),
        # the text that links the others comes last in one chain, in the middle of another
        "0.35": [
            outer[0],
            outer[2],
            *mixed(draw, [chain(draw, taken), *(pair(draw, taken, s) for s in (8, 8, 30, 34))]),
            outer[1],
            *chain(draw, taken),
            *star(draw, taken),
        ],
        "0.5": mixed(draw, [pair(draw, taken, s) for s in (5, 6, 22, 22, 25)]),
        "0.9": mixed(draw, [pair(draw, taken, s) for s in (0, 6, 6, 7, 8)]),
        "1.0": mixed(draw, [pair(draw, taken, s) for s in (0, 4, 5, 6)]),
    }
    form = draw.shuffled(
        [
            " ".join(copy),
            decorate(draw, copy),
            " ".join(short[:2]),
            decorate(draw, short[:2]),
            decorate(draw, short[2:3]),
            short[2].upper(),
            decorate(draw, short[1::-1]),
            " ".join([*short[:2], *short[3:8]]),
            " ".join(copy[:3]),
            " ".join(copy[:3]),
            "",
            " ?! ",
            "...",
            "",
        ]
    )
    words = fresh_words(draw, 60, taken)
    a, b, c = words[0:9], words[9:18], words[18:30]
    evals = [" ".join(a), decorate(draw, b), " ".join(c[:2]), "?!", "art of war", words[50]]
    train = [
        decorate(draw, [*words[30:34], *a[3:7], *words[34:36]]),  # a run of 4
        " ".join([*words[30:34], *a[3:6], *words[34:36]]),  # only 3
        " ".join([b[0], b[1], words[36], b[2], b[3], words[37], b[4]]),  # 4 words, no run
        " ".join(b[8:4:-1]),  # reversed
        decorate(draw, [words[38], *c[:2], words[39]]),  # the short evaluation text
        decorate(draw, c[:2]),
        " ".join([c[0], words[40], c[1]]),  # interrupted
        " ".join(c[1::-1]),
        "smart of warm start of wars",
        "The ART, of war",
        "",
        "--",
        " ".join(b[5:9]),  # the last run
        " ".join([*b[6:9], *a[0:3]]),  # 3 of one and 3 of another
        words[50] + "s " + "x" + words[50],
        words[50].upper(),
        " ".join([*words[41:44], *b, *a]),
        " ".join(a[5:9]) + words[45],  # the last word goes on
        " ".join([*a[6:9], *b[0:2]]),  # the end of one evaluation text and the beginning of the next
        "ar tof war",  # the same letters
        "they praise the art of war",
        " ".join([*words[46:48], *c[:2]]),
        " ".join([*a[2:7], words[48], *c[:2]]),  # two evaluation texts
    ]
    quoted = fresh_words(draw, 30, taken)
    cycle, part = fresh_words(draw, 6, taken), fresh_words(draw, 24, taken)
    four, five = fresh_words(draw, 4, taken), fresh_words(draw, 5, taken)
    train += [train[0], train[1]]
    return {
        "cycles": [  # alike in every run of 4 words and half alike in those of 5; alike up to 5, not in 6
            *(" ".join((four * 3)[i : i + 7]) for i in (0, 2)),
            *(" ".join((five * 3)[i : i + 9]) for i in (0, 2)),
        ],
        "triples": [fresh_words(draw, 3, taken) for _ in range(40)],
        "repeats": [" ".join(cycle * 4), " ".join(cycle * 2), " ".join(part), " ".join(cycle * 7)],
        "part_evals": [" ".join(part[:4]), " ".join(part[4:])],
        "part_train": [
            *(" ".join(part[i:j]) for i, j in ((0, 2), (1, 3), (2, 4), (0, 4), (4, 9), (12, 24), (11, 24))),
            part[0],
            part[-1],
        ],
        "base": base,
        "shingled": [
            " ".join(base),
            " ".join(base[:5]),
            " ".join(base[:4]),
            base[0],
            "",
            " -- ?!",
            f"{base[0].upper()}, {base[1]}-{base[2]}... (it's 3_4) Café 42\n{base[0]} {base[1]}",
            " ".join([*base[:3]] * 4),
            "The art of war is not a war of the art and I am in it",
            f"{base[0]} Straße {base[1]}",
            f"{base[0]} ﬁne x² {base[1]}",
        ],
        "sets": sets(draw, taken),
        "foreign": [["żółw", "мир", "é", "日本", "ñandú"], ["żółć", "дом", "è", "東京", "ñoño"]],
        "twenty": fresh_words(draw, 20, taken),
        "near": near,
        "cluster": cluster(draw, taken),
        "form": form,
        "train": draw.shuffled(train),
        "evals": evals,
        "long_train": [
            " ".join([*words[:5], *quoted[4:17], *words[5:9]]),
            " ".join([*words[:5], *quoted[4:16], *words[5:9]]),
            " ".join(quoted),
        ],
        "long_evals": [" ".join(quoted[2:25])],
        "seed": draw.seed(),
    }


def plain(value):
    """Sets as sorted lists; everything else as it is."""
    if isinstance(value, set | frozenset):
        return ["set", sorted(value, key=str)]
    return value


def probe_shingles(code, given, record):
    texts = given["shingled"]
    for n in (1, 2, 3, 6):
        record(f"n{n}", [plain(code.shingles(text, n)) for text in texts])
    record("default", [plain(code.shingles(text)) for text in texts])


class Salted(str):
    """A string as it would be in another process: Python's own hash of it differs."""

    __slots__ = ()

    def __hash__(self):
        return str.__hash__(self + "salt")


def salted_hash(value):
    """The built-in hash as it would be in another process; numbers are not salted."""
    parts = value if isinstance(value, tuple) else (value,)
    return hash(value) if all(isinstance(part, int | float) for part in parts) else hash((value, "salt"))


def probe_signature(code, given, record):
    items = set(given["twenty"])
    record("default", code.signature(items))
    record("explicit", code.signature(items, 128, 0))
    random.seed(given["seed"])
    torch.manual_seed(given["seed"])
    record("again", code.signature(set(sorted(items)), num_hashes=128, seed=0))
    record("reverse", code.signature(set(sorted(items, reverse=True))))
    record("other_seeds", [code.signature(items, 128, seed) for seed in (1, 2, 256, 65537)])
    record("lengths", [len(code.signature(items, n)) for n in (1, 7, 256)])
    record("single", code.signature({given["twenty"][0]}))
    record.raises("empty", lambda: code.signature(set()))
    with record.step("salted"):
        record("one", code.signature({Salted(item) for item in items}))
        hidden = "hash" in vars(code)
        if not hidden:
            code.hash = salted_hash
        record("two", code.signature(items))
        if not hidden:
            del code.hash
    with record.step("singles"):
        record("each", [code.signature({item}) for item in given["twenty"]])
        record("other", [code.signature({item}, seed=1) for item in given["twenty"]])
    with record.step("returned"):
        code.signature(items).clear()
        record("after", code.signature(items))


def probe_estimates(code, given, record):
    shares = []
    for a, b in given["sets"]:
        x, y = code.signature(set(a), 256), code.signature(set(b), 256)
        shares.append(sum(p == q for p, q in zip(x, y, strict=True)) / 256)
    record("shares", shares)
    begin, end = " ".join(given["twenty"][:5]), " ".join(given["twenty"][5:10])
    framed = []
    for a, b in given["sets"][:6]:
        x, y = (code.signature({f"{begin} {word} {end}" for word in s}, 256) for s in (a, b))
        framed.append(sum(p == q for p, q in zip(x, y, strict=True)) / 256)
    record("framed", framed)
    words = [f"{word} {i}" for i in range(600) for word in given["twenty"][:2]]
    x, y = (code.signature(set(part), 40) for part in (words[::2], words[1::2]))
    record("disjoint", sum(p == q for p, q in zip(x, y, strict=True)) / 40)
    turned = [" ".join(pair) for pair in zip(given["twenty"][:10], given["twenty"][10:], strict=True)]
    x, y = code.signature(set(turned)), code.signature({" ".join(pair.split()[::-1]) for pair in turned})
    record("turned", sum(p == q for p, q in zip(x, y, strict=True)) / 128)
    with record.step("foreign"):
        x, y = (code.signature(set(part)) for part in given["foreign"])
        record("share", sum(p == q for p, q in zip(x, y, strict=True)) / 128)
    small = []
    for a, b, c in given["triples"]:
        x, y = code.signature({a, b}, 256), code.signature({b, c}, 256)
        small.append(sum(p == q for p, q in zip(x, y, strict=True)) / 256)
    record("small", small)
    a, b = given["sets"][0]
    record("parts", [code.signature(set(s), 64, 3) for s in (a, b, [*a, *b])])


def probe_near(code, given, record):
    for name, texts in given["near"].items():
        with record.step(name):
            if name[0].isdigit():
                record("groups", code.near_duplicates(list(texts), threshold=float(name)))
            else:
                record("groups", code.near_duplicates(list(texts)))
    with record.step("cycles"):
        record("groups", code.near_duplicates(given["cycles"]))
    with record.step("n"):
        texts = given["near"]["0.5"]
        record("groups", code.near_duplicates(texts, 0.5, 2))
    with record.step("cluster"):
        record("groups", code.near_duplicates(list(given["cluster"]), 0.5, 1))
    with record.step("repeats"):
        record("groups", code.near_duplicates(given["repeats"]))
    with record.step("bag"):
        record("groups", code.near_duplicates(given["near"]["order"], n=1))
    with record.step("form"):
        record("groups", code.near_duplicates(given["form"]))
        record("loose", code.near_duplicates(given["form"], 0.35, 3))


def probe_contaminated(code, given, record):
    record("found", code.contaminated(list(given["train"]), list(given["evals"]), n=4))
    record("short", code.contaminated(given["train"], ["art of war"]))
    record("single", code.contaminated(given["train"], [given["evals"][5]], 1))
    record("wordless", code.contaminated(given["train"], ["?!", ""], 4))
    record("default", code.contaminated(given["long_train"], given["long_evals"]))
    record("explicit", code.contaminated(given["long_train"], given["long_evals"], 13))
    record("parts", code.contaminated(given["part_train"], given["part_evals"]))
    record("twelve", code.contaminated(given["long_train"], given["long_evals"], 12))


def probe_inputs(code, given, record):
    texts, train, evals = list(given["form"]), list(given["train"]), list(given["evals"])
    items = set(given["twenty"])
    results = [code.near_duplicates(texts), code.near_duplicates(tuple(texts))]
    record("near", results)
    record(
        "contaminated", [code.contaminated(train, evals, 4), code.contaminated(tuple(train), tuple(evals), 4)]
    )
    code.signature(items)
    record(
        "kept",
        [
            texts == given["form"],
            train == given["train"],
            evals == given["evals"],
            items == set(given["twenty"]),
        ],
    )
    with record.step("empty"):
        record("near", [code.near_duplicates([]), code.near_duplicates(())])
        record(
            "contaminated",
            [code.contaminated([], ["a b"], 2), code.contaminated(["a b"], [], 2), code.contaminated([], [])],
        )


def probe_errors(code, given, record):
    texts = ["a b c", "d e f"]
    for n in (0, -2):
        record.raises(f"shingles{n}", lambda n=n: code.shingles("a b c", n))
        record.raises(f"near{n}", lambda n=n: code.near_duplicates(texts, 0.7, n))
        record.raises(f"contaminated{n}", lambda n=n: code.contaminated(texts, texts, n))
        record.raises(f"signature{n}", lambda n=n: code.signature({"a", "b"}, n))
    record.raises("no_text", lambda: code.shingles("", 0))
    record.raises("no_texts", lambda: code.near_duplicates([], 0.0))
    for name, threshold in (("zero", 0.0), ("negative", -0.5), ("above", 1.01)):
        record.raises(name, lambda t=threshold: code.near_duplicates(texts, t))
    with record.step("valid"):
        record("one", code.near_duplicates(["a b", "A, b", "c"], 1.0))
