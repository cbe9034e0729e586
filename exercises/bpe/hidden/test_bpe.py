import re

from quizapp.judge.testing.checks import Finding, behaviour, describe, expect

PATTERN = r" ?\w+| ?[^\w\s]+|\s+"
PATTERN_SAYS = "Pairs must stay inside a pre-token."


def whole(value):
    return isinstance(value, int) and not isinstance(value, bool)


def merges_of(got):
    says = "train should return a list of pairs of token ids."
    expect(isinstance(got, list | tuple), says, f"got {describe(got)}")
    for pair in got:
        ok = isinstance(pair, list | tuple) and len(pair) == 2 and all(map(whole, pair))
        expect(ok, says, f"one of them is {describe(pair)}")
    return [tuple(pair) for pair in got]


def tokens_of(got, what="encode"):
    ok = isinstance(got, list | tuple) and all(map(whole, got))
    expect(ok, f"{what} should return a list of token ids.", f"got {describe(got)}")
    return list(got)


def shown(text):
    return repr(text) if len(text) <= 40 else f"{text[:37]!r}..."


MERGES = {
    "whole": PATTERN_SAYS,
    "words": "Split with the pattern: the space before a word belongs to its pre-token, and punctuation is one of its own.",
    "characters": "Unseen characters have no token then; bytes cover everything.",
    "distinct": "Weight each pre-token by its frequency.",
    "apart": "Overlapping positions all count: aaa holds (a, a) twice.",
    "first seen": "Your merges depend on the order of the text.",
    "last seen": "Your merges depend on the order of the text.",
    "largest": "On ties the smallest pair wins, not the largest.",
    "right id": "On ties compare the left id first, then the right id.",
    "text order": "On ties the ids are compared, not the bytes of the tokens.",
    "right": "Replace from left to right: aaa becomes aa, a.",
    "first only": "Replace all occurrences in a pre-token, not only the first.",
    "twice": "Pairs that occur once are merged too.",
    "ascii": "Letters beyond ASCII belong to words: use the pattern without re.ASCII.",
    "lower": "Capitals are other bytes: leave the text as it is.",
    "no spaces": "Runs of spaces are pre-tokens too.",
    "no symbols": "Punctuation makes pre-tokens too.",
    "strip": "Spaces at the beginning and at the end of the text count too.",
    "look ahead": "Take PATTERN as it is: it has no look-ahead, so the whole of a run of spaces is one pre-token.",
    "normalized": "Leave the text as it is: normalizing changes its bytes.",
    "no special": "Merges are wasted on the marker: special tokens cut the text.",
    "joined": "No pre-token reaches across a special token: it cuts the text.",
}


def check_merges(got, case, says):
    got = merges_of(got)
    want = [tuple(pair) for pair in case["kept"]["want"]]
    if got == want:
        return
    for name, wrong in case["kept"]["wrong"].items():
        if got == [tuple(pair) for pair in wrong]:
            says = MERGES[name]
            break
    i = next((i for i, (a, b) in enumerate(zip(got, want, strict=False)) if a != b), min(len(got), len(want)))
    a = got[i] if i < len(got) else "no merge"
    b = want[i] if i < len(want) else "no merge"
    extra = f", special_tokens={case['special']}" if case["special"] else ""
    call = f"train({shown(case['text'])}, {case['count']}{extra})"
    raise Finding(f"{says} ({call}: merge {i} is {describe(a)}, expected {describe(b)})")


def check_group(observe, group, says):
    for i, case in enumerate(observe.given["train"][group]):
        check_merges(observe[f"train/{group}{i}/merges"], case, says)


@behaviour(1)
def test_bytes_of_pre_tokens(observe):
    says = "The merges are not those of the UTF-8 bytes inside the pre-tokens."
    check_group(observe, "clear", says)
    check_group(observe, "mixed", says)


@behaviour(2)
def test_weights(observe):
    check_group(observe, "weights", "The pair with the highest count over the whole text is merged first.")


@behaviour(2)
def test_overlapping_pairs(observe):
    check_group(
        observe, "runs", "The pair with the highest count is merged first; overlapping positions all count."
    )


@behaviour(3)
def test_ties(observe):
    check_group(observe, "ties", "On ties the smallest pair wins: smaller left id, then smaller right id.")


@behaviour(4)
def test_left_to_right(observe):
    says = "A merge replaces all occurrences, from left to right and without overlap."
    check_group(observe, "left", says)


@behaviour(4, on_error="A short text runs out of pairs: stop there.")
def test_end_of_training(observe):
    check_group(observe, "end", "Training goes on until no pair is left, and then returns fewer merges.")
    for name in ("empty", "single"):
        got = merges_of(observe[f"train/edges/{name}/merges"])
        expect(got == [] if name == "empty" else got == [(32, 98)], "A short text runs out of pairs: stop there.",
               f"got {describe(got)}")  # fmt: skip
    got = merges_of(observe["train/edges/zero/merges"])
    expect(got == [], "With num_merges=0 there are no merges.", f"got {describe(got)}")


TOKENS = {
    "longest": "Merge order decides; a longest match gives tokens that training never saw.",
    "leftmost": "A later merge was applied before an earlier one.",
    "leftmost one": "A later merge was applied before an earlier one.",
    "last merge": "The first merge in the list comes first, not the last.",
    "right": "Merge from left to right.",
    "once": "Go on until no pair applies: merged tokens can be merged again.",
    "whole": PATTERN_SAYS,
    "as text": "The model sees several tokens for one marker: a special token is one id.",
    "listed": "Where several special tokens match, the longest wins, whatever their order is.",
}


def check_tokens(got, case, says):
    got, want = tokens_of(got), case["kept"]["want"]
    if got == want:
        return
    for name, wrong in case["kept"]["wrong"].items():
        if got == wrong:
            says = TOKENS[name]
            break
    special = 256 + len(case["merges"])
    if [min(t, special) for t in got] == [min(t, special) for t in want]:
        says = "Special tokens take their ids in the given order, after the merges."
    i = next((i for i, (a, b) in enumerate(zip(got, want, strict=False)) if a != b), min(len(got), len(want)))
    raise Finding(
        f"{says} (encode({shown(case['text'])}) with {len(case['merges'])} merges: from token {i} on got "
        f"{describe(got[i : i + 6])}, expected {want[i : i + 6]})"
    )


@behaviour(5)
def test_order_of_merges(observe):
    for i, case in enumerate(observe.given["encode"]):
        says = (
            "In each pre-token, the pair that comes first in merges is merged first, until no pair applies."
        )
        check_tokens(observe[f"encode/{i}/tokens"], case, says)
    got = tokens_of(observe["encode/no_merges/tokens"])
    expect(got == list("aé b".encode()), "Without merges the tokens are the bytes.", f"got {describe(got)}")


def text_of(codes):
    ok = isinstance(codes, list) and all(whole(c) and 0 <= c < 0x110000 for c in codes)
    expect(ok, "decode should return a str.", f"got {describe(codes)}")
    return "".join(map(chr, codes))


def one_by_one(text, merges):
    """What comes back if each token is decoded on its own."""
    known = spelled(merges)
    tokens = [t for word in re.findall(PATTERN, text) for t in merged(word.encode(), merges)]
    return "".join(known[t].decode(errors="replace") for t in tokens)


@behaviour(6, on_error="Every text must come back, and any tokens must decode.")
def test_round_trip(observe):
    for i, text in enumerate(observe.given["strings"]):
        got = text_of(observe[f"decode/{i}/text"])
        says = "decode(encode(text)) should be the text."
        if got != text and got == one_by_one(text, observe.given["merges"]):
            says = "A token may hold half a character; join the bytes first."
        expect(got == text, says, f"got {shown(got)} for {shown(text)}")


def spelled(merges):
    found = [bytes([i]) for i in range(256)]
    for left, right in merges:
        found.append(found[left] + found[right])
    return found


@behaviour(6, on_error="A model may emit half a character: replace invalid bytes.")
def test_invalid_bytes(observe):
    for i, tokens in enumerate(observe.given["halves"]):
        want = bytes(tokens).decode(errors="replace")
        got = text_of(observe[f"decode/half{i}/text"])
        says = 'Invalid bytes should be replaced, as by errors="replace".'
        if got != want and got == "".join(bytes([t]).decode(errors="replace") for t in tokens):
            says = "A token may hold half a character; join the bytes first."
        elif got != want and got == bytes(tokens).decode(errors="ignore"):
            says = 'Invalid bytes were dropped; they should be replaced (errors="replace").'
        expect(got == want, says, f"decode({tokens}): got {got!r}, expected {want!r}")


@behaviour(6, on_error="decode takes any iterable of tokens, here a generator.")
def test_any_iterable(observe):
    merges = observe.given["merges"]
    want = (b"".join(spelled(merges)[256:]) + "<|é|>".encode()).decode(errors="replace")
    got = text_of(observe["decode/tokens/text"])
    says = "decode takes any iterable of tokens, merges and special tokens too."
    i = next((i for i, (a, b) in enumerate(zip(got, want, strict=False)) if a != b), min(len(got), len(want)))
    part = slice(max(0, i - 4), i + 12)
    expect(got == want, says, f"at character {i} got {got[part]!r}, expected {want[part]!r}")


@behaviour(7)
def test_token_bytes(observe):
    want = [*spelled(observe.given["merges"]), b"<|end|>", "é🙂".encode()]
    got = observe["bytes/bytes/all"]
    expect(isinstance(got, list) and len(got) == len(want), "token_bytes should return bytes.", describe(got))
    for token, (value, right) in enumerate(zip(got, want, strict=True)):
        kind = "byte" if token < 256 else "merge" if token < len(want) - 2 else "special token"
        ok = isinstance(value, list) and value[:1] == ["bytes"]
        expect(ok, "token_bytes should return bytes.", f"token {token}, a {kind}: got {describe(value)}")
        says = f"token_bytes is wrong for a {kind}."
        expect(
            value[1:] == list(right),
            says,
            f"token {token}: got {describe(value[1:])}, expected {list(right)}",
        )


@behaviour(7)
def test_vocab_size(observe):
    size = 256 + len(observe.given["merges"])
    got, want = observe["bytes/sizes/sizes"], [size + 2, size, 256, 257]
    expect(
        got == want,
        "vocab_size counts bytes, merges and special tokens.",
        f"got {describe(got)}, expected {want}",
    )


@behaviour(8)
def test_time(observe):
    times = [observe[f"time/{name}"] for name in ("long", "whole", "short")]
    ok = all(isinstance(t, list) and t and all(isinstance(x, int | float) for x in t) for t in times)
    expect(ok, "The time could not be measured.")
    long, whole, short = (min(t) for t in times)
    # The process's clock may be late by a tick. Times far below a millisecond are too short to measure.
    ratio = max(long, whole - 0.01) / max(short, 2e-4)
    says = "Quadratic in the length: the whole pre-token is scanned again after each merge."
    expect(
        ratio <= 24, says, f"4,000 bytes take {ratio:.0f} times as long as 500 bytes, at most 24 are allowed"
    )


def merged(word, merges):
    """One pass for each merge: a later merge never makes an earlier one possible."""
    tokens = list(word)
    for rank, (left, right) in enumerate(merges):
        out, i = [], 0
        while i < len(tokens):
            if i + 1 < len(tokens) and tokens[i] == left and tokens[i + 1] == right:
                out.append(256 + rank)
                i += 2
            else:
                out.append(tokens[i])
                i += 1
        tokens = out
    return tokens


@behaviour(8, presumes=("order_of_merges",))
def test_tokens_of_a_long_word(observe):
    given = observe.given
    for got, word in zip(observe["time/tokens"], (given["long"][0], given["short"][0][0]), strict=True):
        want = merged(word.encode(), given["timing"])
        says = f"The tokens of a pre-token of {len(word)} bytes are not those of the merges in their order."
        expect(tokens_of(got) == want, says, f"got {len(got)} tokens, expected {len(want)}")


MARKER = "A special token's text becomes its one id wherever it stands."


@behaviour(9, on_error=MARKER)
def test_special_tokens(observe):
    check_tokens(observe["encode/plain/tokens"], observe.given["special"]["plain"], MARKER)


@behaviour(
    9,
    on_error="`|` means 'or' in a regular expression, and other characters are special too: escape them.",
    presumes=("order_of_merges", "special_tokens"),
)
def test_special_tokens_with_symbols(observe):
    case = observe.given["special"]["pattern"]
    got = observe["encode/pattern/tokens"]
    says = "A text with special tokens is encoded otherwise than its parts."
    if not any(token >= 256 + len(case["merges"]) for token in tokens_of(got)):
        says = "Special tokens with symbols such as | [ ( . are not found: `|` means 'or' in a regular expression."
    check_tokens(got, case, says)


@behaviour(9, on_error=MARKER, presumes=("order_of_merges", "special_tokens"))
def test_longest_special_token(observe):
    says = "Where several special tokens match at one place, the longest wins."
    check_tokens(observe["encode/nested/tokens"], observe.given["special"]["nested"], says)


@behaviour(10, on_error="In train, special tokens cut the text; their characters are not a pattern.")
def test_special_tokens_in_training(observe):
    for i, case in enumerate(observe.given["special_train"]):
        says = "Special tokens cut the text: they are not counted, and no pre-token reaches across."
        check_merges(observe[f"train/special{i}/merges"], case, says)


REFUSED = {
    "num_merges": "train should refuse a negative num_merges.",
    "num_merges_empty": "train should refuse a negative num_merges for an empty text too.",
    "future": "A merge of a token that is not made yet should be refused, here 256 in the first merge.",
    "future_left": "A merge of a token that is not made yet should be refused, here 257 in the second merge.",
    "negative": "A merge with a negative id should be refused.",
    "negative_right": "A merge with a negative id should be refused.",
    "repeated": "A repeated merge should be refused: its second token can never appear.",
    "special_empty": "An empty special token should be refused: it would match everywhere.",
    "special_repeated": "A repeated special token should be refused.",
    "train_empty": "train should refuse an empty special token.",
    "train_repeated": "train should refuse a repeated special token.",
    "bytes": "token_bytes should refuse a token outside the vocabulary.",
    "bytes_negative": "token_bytes should refuse a negative token: -1 is not the last one.",
    "decode": "decode should refuse a token outside the vocabulary.",
    "decode_negative": "decode should refuse a negative token: -1 is not the last one.",
    "decode_large": "decode should refuse a token outside the vocabulary.",
}


@behaviour(11)
def test_bad_arguments_are_refused(observe):
    for name, says in REFUSED.items():
        observe.raised(f"errors/{name}", "ValueError", says=says)


@behaviour(11, on_error="Merges may use any token that is made before them.")
def test_limits_are_valid(observe):
    expect(observe["errors/valid/size"] == 260, "Merges may use any token that is made before them.")
    expect(observe["errors/valid/last"] == "<|end|>", "The last token of the vocabulary is valid.")
    says = "Two different merges may make the same bytes."
    expect("errors/same_bytes/size" in observe and observe["errors/same_bytes/size"] == 259, says)
    says = "Only the empty special token is refused: spaces and line breaks are valid ones."
    expect("errors/white/tokens" in observe and observe["errors/white/tokens"] == [97, 257, 98, 256], says)
    expect("errors/white/merges" in observe and observe["errors/white/merges"] == [(97, 98)], says)


@behaviour(12)
def test_types(observe):
    got = observe["state/types/merges"]
    ok = isinstance(got, list) and all(type(p) is tuple and all(type(t) is int for t in p) for p in got)
    expect(ok, "train should return a list of tuples of Python ints.", f"got {describe(got)}")
    got = observe["state/types/tokens"]
    ok = isinstance(got, list) and all(type(t) is int for t in got)
    expect(ok, "encode should return a list of Python ints.", f"got {describe(got)}")


@behaviour(12)
def test_arguments_are_not_modified(observe):
    merges = [list(pair) for pair in observe.given["merges"]]
    expect(observe["state/kept/merges"] == merges, "The list of merges was modified.")
    expect(observe["state/kept/special"] == ["<|end|>"], "The list of special tokens was modified.")
    expect(observe["state/kept/tokens"] == [97, 98, 256], "The list of tokens was modified.")
    cut = ["<|end|>", "<|start|>", "<|a|>"]
    expect(observe["state/kept/cut"] == cut, "train modified the list of special tokens.")


@behaviour(12)
def test_list_of_tokens_that_grows(observe):
    says = "A list of tokens that has changed since the last call was decoded as before: a result was kept for it."
    first, second = observe["state/grown/texts"]
    expect(second != first, says, f"[97] gave {describe(first)}, and with 98 appended {describe(second)}")


@behaviour(12)
def test_lists_changed_afterwards(observe):
    size = 256 + len(observe.given["merges"]) + 1
    says = "Changing the lists of merges or special tokens afterwards changes the tokenizer: copy them."
    before, after = observe["state/changed/before"], observe["state/changed/after"]
    expect(before == after, says, f"encode gave {describe(before)}, then {describe(after)}")
    got = observe["state/changed/size"]
    expect(got == size, says, f"vocab_size is {describe(got)}, expected {size}")
    first, text = observe["state/changed/first"], observe["state/changed/text"]
    expect(first == text, says, f"decode gave {describe(first)}, then {describe(text)}")


@behaviour(12)
def test_returned_lists(observe):
    before = tokens_of(observe["state/returned/before"])
    got = tokens_of(observe["state/returned/again"])
    says = "Changing a list that encode returned changes later results: return a new one."
    expect(got == before, says, f"{len(got)} tokens, before {len(before)}")


CACHE = "A cache on the class mixes two vocabularies."
BOTH = (
    "The second of two tokenizers gives other tokens than its merges: they share state, or encode is wrong."
)


def spelled_text(tokens, merges):
    known = spelled(merges)
    return b"".join(known[t] if 0 <= t < len(known) else b"?" for t in tokens)


@behaviour(12)
def test_two_tokenizers(observe):
    given = observe.given
    text = given["pair_text"]
    one, two, again = (tokens_of(t) for t in observe["state/two/tokens"])
    other, later = (tokens_of(t) for t in observe["state/two/others"])
    pieces = [" " * (i > 0) + word for i, word in enumerate(text.split(" "))]
    right = [
        [t for p in pieces for t in merged(p.encode(), merges)]
        for merges in (given["merges"], given["second"])
    ]
    expect(one == again and two == later, "The same tokenizer gives another result after another was used.")
    if one != right[0]:
        other_text = spelled_text(one, given["merges"]) != text.encode()
        expect(False, CACHE if other_text else BOTH, f"the first gave {describe(one)}")
    expect(
        two == right[1],
        CACHE if two == right[0] else BOTH,
        describe(two),
    )
    if "aa" not in text:
        expect(other == list(text.encode()), BOTH, f"one without merges gave {describe(other)}")
    sizes = [256 + len(given["merges"]), 256 + len(given["second"])]
    expect(observe["state/two/sizes"] == sizes, "Two tokenizers disturb each other.", "vocab_size is wrong")
