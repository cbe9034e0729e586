import re
import unicodedata
from collections import Counter
from time import process_time, thread_time  # bound before the submission is imported

PATTERN = r" ?\w+| ?[^\w\s]+|\s+"


def replaced(tokens, pair, new, mistake=""):
    if mistake == "right":
        return [t for t in replaced(tokens[::-1], pair[::-1], new)][::-1]
    if mistake == "first only":
        for i in range(len(tokens) - 1):
            if (tokens[i], tokens[i + 1]) == pair:
                return [*tokens[:i], new, *tokens[i + 2 :]]
        return tokens
    out, i = [], 0
    while i < len(tokens):
        if i + 1 < len(tokens) and (tokens[i], tokens[i + 1]) == pair:
            out.append(new)
            i += 2
        else:
            out.append(tokens[i])
            i += 1
    return out


def pieces_of(text, special, mistake=""):
    """The text between special tokens, and the tokens at odd positions."""
    if not special:
        return [text]
    order = list(special) if mistake == "listed" else sorted(special, key=len, reverse=True)
    return re.split("(" + "|".join(map(re.escape, order)) + ")", text)


SPLITS = {  # wrong ways to pre-tokenize
    "ascii": lambda part: re.findall(PATTERN, part, re.ASCII),
    "lower": lambda part: re.findall(PATTERN, part.lower()),
    "no spaces": lambda part: [w for w in re.findall(PATTERN, part) if not w.isspace()],
    "no symbols": lambda part: re.findall(r" ?\w+", part),
    "strip": lambda part: re.findall(PATTERN, part.strip()),
    "look ahead": lambda part: re.findall(r" ?\w+| ?[^\w\s]+|\s+(?!\S)|\s+", part),
    "normalized": lambda part: re.findall(PATTERN, unicodedata.normalize("NFC", part)),
}


def trained(text, count, special=(), mistake=""):
    """The merges; ``mistake`` names a typical way to get others."""
    parts = [text] if mistake == "no special" else pieces_of(text, special)[::2]
    if mistake == "joined":
        parts = ["".join(parts)]
    words = [w for part in parts for w in ([part] if mistake == "whole" else re.findall(PATTERN, part))]
    if mistake == "words":
        words = [w for part in parts for w in part.split()]
    if mistake in SPLITS:
        words = [w for part in parts for w in SPLITS[mistake](part)]
    if mistake == "distinct":
        words = list(dict.fromkeys(words))
    counts = Counter(words)
    held = [
        (list(map(ord, w)) if mistake == "characters" else list(w.encode()), n) for w, n in counts.items()
    ]
    bytes_of, merges = [bytes([i]) for i in range(256)], []
    for _ in range(count):
        pairs = Counter()
        for tokens, n in held:
            last = None
            for i, pair in enumerate(zip(tokens, tokens[1:], strict=False)):
                if mistake == "apart" and last == (pair, i - 1):
                    last = None
                    continue
                pairs[pair] += n
                last = (pair, i)
        if mistake == "twice":
            pairs = Counter({pair: n for pair, n in pairs.items() if n > 1})
        if not pairs:
            break
        top = max(pairs.values())
        tied = [pair for pair in pairs if pairs[pair] == top]  # in the order of the text
        best = min(tied)
        if mistake in ("first seen", "last seen", "largest", "right id"):
            best = {"first seen": tied[0], "last seen": tied[-1], "largest": max(tied),
                    "right id": min(tied, key=lambda p: p[::-1])}[mistake]  # fmt: skip
        if mistake == "text order":
            best = min(tied, key=lambda p: (bytes_of[p[0]], bytes_of[p[1]]))
        new = 256 + len(merges)
        if mistake != "characters":
            bytes_of.append(bytes_of[best[0]] + bytes_of[best[1]])
        held = [(replaced(tokens, best, new, mistake), n) for tokens, n in held]
        merges.append(best)
    return merges


def spelled(merges):
    """The bytes of each token."""
    found = [bytes([i]) for i in range(256)]
    for left, right in merges:
        found.append(found[left] + found[right])
    return found


def encoded_word(word, merges, mistake=""):
    tokens = list(word)
    if mistake == "longest":
        vocabulary, out, i = spelled(merges), [], 0
        ids = {}
        for token, text in enumerate(vocabulary):
            ids.setdefault(text, token)
        longest = max(map(len, vocabulary))
        while i < len(word):
            size = next(n for n in range(min(longest, len(word) - i), 0, -1) if bytes(word[i : i + n]) in ids)
            out.append(ids[bytes(word[i : i + size])])
            i += size
        return out
    rank = {pair: i for i, pair in enumerate(merges)}
    while True:
        known = [p for p in zip(tokens, tokens[1:], strict=False) if p in rank]
        if not known:
            return tokens
        best = known[0] if mistake.startswith("leftmost") else min(known, key=rank.__getitem__)
        best = max(known, key=rank.__getitem__) if mistake == "last merge" else best
        how = {"right": "right", "leftmost one": "first only"}.get(mistake, "")
        tokens = replaced(tokens, best, 256 + rank[best], how)
        if mistake == "once":
            return tokens


def encoded(text, merges, special=(), mistake=""):
    ids = {token: 256 + len(merges) + i for i, token in enumerate(special)}
    if mistake == "as text":
        special = ()
    out = []
    for i, part in enumerate(pieces_of(text, special, mistake)):
        if i % 2:
            out.append(ids[part])
            continue
        for word in [part] if mistake == "whole" else re.findall(PATTERN, part):
            out += encoded_word(word.encode(), merges, mistake)
    return out


def word_of(draw, letters, low, high):
    return "".join(draw.choice(letters) for _ in range(draw.integer(low, high)))


def unlike(draw, make, count, same, other, special=()):
    """A text on which the mistakes in ``same`` change nothing and all in ``other`` do, with its answer."""
    for tries in range(600):
        text = make()
        want = trained(text, count, special)
        wrong = {}
        for mistake in other:
            wrong[mistake] = trained(text, count, special, mistake)
            if wrong[mistake] == want:
                break
        else:
            if tries > 400 or all(trained(text, count, special, m) == want for m in same):
                for mistake in NAMED:
                    merges = want if mistake in wrong else trained(text, count, special, mistake)
                    if merges != want:
                        wrong[mistake] = merges
                return {
                    "text": text,
                    "count": count,
                    "special": list(special),
                    "kept": {"want": want, "wrong": wrong},
                }
    raise AssertionError("no such text")


# Any of these may explain wrong merges.
NAMED = (
    "first seen",
    "last seen",
    "largest",
    "right id",
    "apart",
    "right",
    "first only",
    "distinct",
    "twice",
)
TIES = ("first seen", "last seen", "largest", "right id")


def training_cases(draw):
    letters = draw.sample("bcdfghklmnprstvwz", 7)

    def distinct_words():
        """Words that occur once, without doubled letters, some with letters of several bytes."""
        pool = [*letters[:4], "é", "ß", "д"]
        words = set()
        while len(words) < 16:
            word = word_of(draw, pool, 2, 5)
            if all(a != b for a, b in zip(word, word[1:], strict=False)):
                words.add(word)
        return (
            draw.choice(["", "\n"]) + " ".join(draw.shuffled(sorted(words))) + draw.choice(["", "!?", "🙂🙂"])
        )

    def repeated_words():
        words = [word_of(draw, letters[:5], 2, 5) for _ in range(7)]
        return " ".join(draw.shuffled([w for w in words for _ in range(draw.integer(1, 14))]))

    def runs():
        a, b, c = letters[:3]
        words = [a * draw.integer(3, 7), b + a * draw.integer(3, 5), (b + c) * draw.integer(2, 4), c + b + c]
        return " ".join(draw.shuffled([w for w in words for _ in range(draw.integer(1, 4))]))

    def ties():
        words = [word_of(draw, letters, 3, 6) for _ in range(draw.integer(5, 8))]
        return " ".join(words)

    def odd_runs():
        a, b, c = letters[:3]
        ends = [b, c, ""]
        words = [draw.choice(ends) + a * draw.choice([3, 5, 7]) + draw.choice(ends) for _ in range(6)]
        return " ".join(words)

    def mixed():
        """Capitals, symbols, runs of spaces at either end and inside, a letter of two characters."""
        a, b, c, d = letters[:4]
        words = [
            "é" + a,
            "é" + a,
            a.upper() + b,
            a.upper() + b,
            a + b,
            "e\u0301" + c,
            "e\u0301" + c,
            "é" + c,
            d,
        ]
        seams = [" ", "  ", "   ", "\n\n ", " .. ", "..", "!\n"]
        text = "".join(word + draw.choice(seams) for word in draw.shuffled(words * 2))
        return "\n\n \n" + text + "   ?? " + d + "  \n  "

    return {
        "mixed": [unlike(draw, mixed, 25, (), tuple(SPLITS))],
        "clear": [unlike(draw, distinct_words, 3, (*TIES, "apart", "right", "distinct"), ("whole", "characters", "words"))
                  for _ in range(2)],
        "weights": [unlike(draw, repeated_words, 4, (*TIES, "apart"), ("distinct",)) for _ in range(2)],
        "runs": [unlike(draw, runs, 2, ("first seen", "largest"), ("apart",)) for _ in range(2)],
        "ties": [unlike(draw, ties, 12, (), (*TIES, "text order")) for _ in range(2)],
        "left": [unlike(draw, odd_runs, 8, (), ("right", "first only")) for _ in range(2)],
        "end": [unlike(draw, ties, 300, (), ("twice",))],
    }  # fmt: skip


def random_merges(draw, letters, count):
    """Merges that no text made, in an order in which a later one often seems to fit earlier."""
    merges, tokens = [], [ord(c) for c in letters]
    while len(merges) < count:
        pair = (draw.choice(tokens), draw.choice(tokens))
        if pair not in merges:
            tokens.append(256 + len(merges))
            merges.append(pair)
    return merges


def encoding_cases(draw):
    cases = []
    letters = draw.sample("abcdefghk", 4)
    while len(cases) < 3:
        merges = random_merges(draw, letters[:3], draw.integer(9, 14))
        text = " ".join(word_of(draw, letters, 4, 14) for _ in range(12))
        mistakes = ("longest", "leftmost", "leftmost one", "last merge", "right", "once")
        wrong = {m: encoded(text, merges, (), m) for m in mistakes}
        want = encoded(text, merges)
        alone = all(list(wrong.values()).count(wrong[m]) == 1 for m in ("longest", "right"))
        if want not in wrong.values() and alone:
            cases.append({"merges": merges, "text": text, "kept": {"want": want, "wrong": wrong}})
    while len(cases) < 5:
        sample = " ".join(word_of(draw, [*letters, "é", "д"], 2, 6) for _ in range(30)) + "  \n\n 🙂🙂 ..."
        merges = trained(sample, 25)
        text = (
            " ".join(word_of(draw, [*letters, "é", "z", "д"], 2, 8) for _ in range(10)) + " ...\n\n\n  🙂🙃"
        )
        crossing = [*merges, (ord(letters[0]), 32), (32, 32), (46, 10), (10, 10)]
        wrong = {"whole": encoded(text, crossing, (), "whole")}
        want = encoded(text, crossing)
        if len(set(crossing)) == len(crossing) and want != wrong["whole"]:
            cases.append({"merges": crossing, "text": text, "kept": {"want": want, "wrong": wrong}})
    return cases


def special_cases(draw):
    letters = draw.sample("abcdefgh", 4)
    plain = draw.choice(["ENDOFTEXT", "XPADX", "QQSEP"])
    groups = {
        "plain": [plain],
        "pattern": draw.shuffled(["<|end|>", "[x]+", "a.c", "$(", "\\d"]),
        "nested": draw.choice([["<s", "<s>", "<s>>>"], ["==", "===", "====="], ["«a", "«a»", "«a»»"]]),
    }
    cases = {}
    for name, special in groups.items():
        merges = trained(
            " ".join(word_of(draw, letters, 2, 5) for _ in range(20)) + " " + " ".join(special * 3), 20
        )
        parts = [*special, *special, *(s.swapcase() for s in special if s.swapcase() != s)]  # case matters
        text = "".join(word_of(draw, letters, 0, 4) + draw.choice(["", " "]) + p + draw.choice(["", " ", "\n"])
                       for p in draw.shuffled(parts)) + special[0] * 2 + word_of(draw, letters, 2, 5)  # fmt: skip
        wrong = {m: encoded(text, merges, special, m) for m in ("as text", "listed")}
        cases[name] = {"merges": merges, "special": special, "text": text,
                       "kept": {"want": encoded(text, merges, special), "wrong": wrong}}  # fmt: skip
    return cases


def special_training(draw):
    letters = draw.sample("bcdfgh", 4)
    found = []
    for special in (["<|end|>"], ["<|a", "<|a|>", "+"]):

        def make(special=special):
            parts = []
            for _ in range(14):
                parts += [word_of(draw, letters, 1, 4) + draw.choice(["", " "]), draw.choice(special)]
            return "".join(parts) + word_of(draw, letters, 2, 4)

        found.append(unlike(draw, make, 10, (), ("no special", "joined"), special))
    return found


def strings(draw):
    letters = "abcxyz"
    return [
        "", " ", "\n", "a", "  \t\n ", "é", "🙂", "👩‍👩‍👧 family", "naïve café", "日本語 テキスト", "a\u0301b\u200d",
        "\x00\x01 null", "Ω≈ç√∫˜µ", "don't stop", "x_1 = y**2;\n\n    return x", "مرحبا بالعالم",
        " ".join(word_of(draw, letters, 1, 6) for _ in range(6)), "\U0010ffff\ud7ff\ue000", "\ufeffmark\ufeff", "\r\n\u2028\x85 end",
    ]  # fmt: skip


def inputs(draw):
    letters = draw.sample("abcdefghijklmnop", 5)
    sample = word_of(draw, letters, 400, 400)
    timing = trained(sample, 50)
    merges = trained(" ".join(word_of(draw, letters, 2, 6) for _ in range(30)) + " 🙂 🙂 🙃 é é", 24)
    emoji = draw.choice(["🙂", "🚀", "語", "é"])
    cut = draw.integer(1, len(emoji.encode()) - 1)
    halves = [
        list(emoji.encode()[:cut]),
        [*"ok ".encode(), *emoji.encode()[:cut], *b" x", *emoji.encode()],
        [draw.integer(0xF8, 0xFF), 65, 0x80 + draw.integer(0, 63)],
        list(emoji.encode()),
    ]
    second = trained(" ".join(word_of(draw, letters, 2, 6) for _ in range(30)), 24)
    text = " ".join(word_of(draw, letters, 3, 8) for _ in range(8))
    return {
        "train": training_cases(draw),
        "encode": encoding_cases(draw),
        "special": special_cases(draw),
        "special_train": special_training(draw),
        "merges": merges,
        "second": second,
        "strings": strings(draw),
        "halves": halves,
        "pair_text": text,
        "timing": timing,
        "long": [word_of(draw, letters, 4000, 4000) for _ in range(9)],
        "short": [[word_of(draw, letters, 500, 500) for _ in range(4)] for _ in range(9)],
        "warm": word_of(draw, letters, 300, 300),
    }


def plain(value):
    """Bytes as a list of their values after the word bytes; other values as they are."""
    return ["bytes", *value] if type(value) is bytes else value


def probe_train(code, given, record):
    for group, cases in given["train"].items():
        for i, case in enumerate(cases):
            with record.step(f"{group}{i}"):
                record("merges", code.train(case["text"], case["count"]))
    with record.step("edges"):
        for name, arguments in {"empty": ("", 5), "zero": ("some text", 0), "single": ("a b", 7)}.items():
            with record.step(name):
                record("merges", code.train(*arguments))
    for i, case in enumerate(given["special_train"]):
        with record.step(f"special{i}"):
            record("merges", code.train(case["text"], case["count"], case["special"]))


def probe_encode(code, given, record):
    for i, case in enumerate(given["encode"]):
        with record.step(i):
            record("tokens", code.Tokenizer(case["merges"]).encode(case["text"]))
    for name, case in given["special"].items():
        with record.step(name):
            record("tokens", code.Tokenizer(case["merges"], case["special"]).encode(case["text"]))
    with record.step("no_merges"):
        record("tokens", code.Tokenizer([]).encode("aé b"))


def probe_decode(code, given, record):
    for i, text in enumerate(given["strings"]):
        with record.step(i):
            tokenizer = code.Tokenizer(given["merges"])
            tokens = tokenizer.encode(text)
            record("text", [ord(c) for c in tokenizer.decode(tokens)])
    for i, tokens in enumerate(given["halves"]):
        with record.step(f"half{i}"):
            record("text", [ord(c) for c in code.Tokenizer(given["merges"]).decode(tokens)])
    with record.step("tokens"):  # every merge, joined, and from a generator
        count = 256 + len(given["merges"])
        tokenizer = code.Tokenizer(given["merges"], ["<|é|>"])
        record("text", [ord(c) for c in tokenizer.decode(t for t in range(256, count + 1))])


def probe_bytes(code, given, record):
    special = ["<|end|>", "é🙂"]
    tokenizer = code.Tokenizer(given["merges"], special)
    count = 256 + len(given["merges"]) + 2
    with record.step("bytes"):
        record("all", [plain(tokenizer.token_bytes(token)) for token in range(count)])
    with record.step("sizes"):
        record("sizes", [tokenizer.vocab_size, code.Tokenizer(given["merges"]).vocab_size,
                         code.Tokenizer([]).vocab_size, code.Tokenizer([], ["a"]).vocab_size])  # fmt: skip


def probe_time(code, given, record):
    tokenizer = code.Tokenizer(given["timing"])
    tokenizer.encode(given["warm"])
    long, whole, short = [], [], []
    for text, texts in zip(given["long"], given["short"], strict=True):
        # The process's clock sees other threads too, but may tick only every 4 ms.
        start = process_time(), thread_time()
        tokens = tokenizer.encode(text)
        end = process_time(), thread_time()
        whole.append(end[0] - start[0])
        long.append(end[1] - start[1])
        start = thread_time()
        others = [tokenizer.encode(other) for other in texts]
        short.append((thread_time() - start) / len(texts))
        if len(long) == 1:
            record("tokens", [tokens, others[0]])
        # On a busy machine a run may take twice its time, but hardly every one of nine.
        if sum(long) > 0.5:
            break
    record("long", long)
    record("whole", whole)
    record("short", short)


def probe_state(code, given, record):
    merges, special = [tuple(p) for p in given["merges"]], ["<|end|>"]
    text = given["pair_text"]
    with record.step("types"):
        record("merges", code.train(text, 6))
        record("tokens", code.Tokenizer(merges, special).encode(f"{text}<|end|>"))
    with record.step("kept"):
        tokenizer = code.Tokenizer(merges, special)
        cut = ["<|end|>", "<|start|>", "<|a|>"]
        code.train(text, 4, cut)
        record("cut", cut)
        tokens = [97, 98, 256]
        tokenizer.decode(tokens)
        record("merges", [list(p) for p in merges])
        record("special", special)
        record("tokens", tokens)
    with record.step("grown"):
        tokenizer, tokens = code.Tokenizer(given["merges"]), [97]
        first = tokenizer.decode(tokens)
        tokens.append(98)
        record("texts", [first, tokenizer.decode(tokens)])
    with record.step("changed"):
        tokenizer = code.Tokenizer(merges, special)
        before = tokenizer.encode(f"{text}<|end|>")
        record("first", tokenizer.decode(before))
        merges.reverse()
        merges.pop()
        special[0] = "x"
        special.append("<|pad|>")
        record("before", before)
        record("after", tokenizer.encode(f"{text}<|end|>"))
        record("size", tokenizer.vocab_size)
        record("text", tokenizer.decode(before))
    with record.step("returned"):
        tokenizer = code.Tokenizer(given["merges"])
        record("before", tokenizer.encode(text))
        tokenizer.encode(text).clear()
        first = tokenizer.encode(text)
        first.append(7)
        record("again", tokenizer.encode(text))
    with record.step("two"):
        one, two = code.Tokenizer(given["merges"]), code.Tokenizer(given["second"])
        record("tokens", [one.encode(text), two.encode(text), one.encode(text)])
        record("sizes", [one.vocab_size, two.vocab_size])
        third = code.Tokenizer([], ["aa"])
        record("others", [third.encode(text), two.encode(text)])


def probe_errors(code, given, record):
    tokenizer = code.Tokenizer([(97, 98)], ["<|end|>"])
    for name, call in {
        "num_merges": lambda: code.train("text", -1),
        "num_merges_empty": lambda: code.train("", -1),
        "future": lambda: code.Tokenizer([(97, 256)]).vocab_size,
        "future_left": lambda: code.Tokenizer([(97, 98), (257, 98)]).vocab_size,
        "negative": lambda: code.Tokenizer([(97, 98), (-1, 97)]).vocab_size,
        "negative_right": lambda: code.Tokenizer([(97, 98), (97, -2)]).vocab_size,
        "repeated": lambda: code.Tokenizer([(97, 98), (98, 99), (97, 98)]).vocab_size,
        "special_empty": lambda: code.Tokenizer([], ["a", ""]).vocab_size,
        "special_repeated": lambda: code.Tokenizer([], ["a", "b", "a"]).vocab_size,
        "train_empty": lambda: code.train("some text", 3, [""]),
        "train_repeated": lambda: code.train("some text", 3, ["x", "x"]),
        "bytes": lambda: plain(tokenizer.token_bytes(258)),
        "bytes_negative": lambda: plain(tokenizer.token_bytes(-1)),
        "decode": lambda: tokenizer.decode([97, 258]),
        "decode_negative": lambda: tokenizer.decode([97, -1]),
        "decode_large": lambda: tokenizer.decode([97, 10**6]),
    }.items():
        record.raises(name, call)
    with record.step("valid"):
        made = code.Tokenizer([(97, 98), (256, 256), (257, 255)], ["<|end|>"])
        record("size", made.vocab_size)
        record("last", made.decode([259]))
    with record.step("same_bytes"):
        record("size", code.Tokenizer([(97, 97), (256, 97), (97, 256)]).vocab_size)
    with record.step("white"):
        made = code.Tokenizer([], ["\n", " "])
        record("tokens", made.encode("a b\n"))
        record("merges", code.train("ab ab", 1, [" "]))
