import re
import string

from quizapp.judge.testing.checks import behaviour, describe, expect


def words(text):
    return re.findall(r"\w+", text.lower())


def runs(tokens, n):
    return {tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)}


def shingles(text, n=5):
    tokens = words(text)
    return joined_runs(tokens, n)


def shorten(text):
    return repr(text) if len(text) < 60 else repr(text[:57] + "...")


SEPARATES = "Everything but letters, digits and underscores separates words, in it's and in a-b too."
SPLITS = {  # ways to find the wrong words
    "Lower-case the text: words are compared across case.": lambda text: re.findall(r"\w+", text),
    "Letters are not only those of ASCII: the word Café has four.": lambda text: re.findall(
        r"[a-z0-9_]+", text.lower()
    ),
    "The underscore belongs to a word.": lambda text: re.findall(r"[^\W_]+", text.lower()),
    "Digits and underscores belong to words.": lambda text: re.findall(r"[^\W\d_]+", text.lower()),
    "Digits belong to words.": lambda text: re.findall(r"[^\W\d]+", text.lower()),
    "A word may have one letter.": lambda text: re.findall(r"\w\w+", text.lower()),
    "Use lower(): casefold changes letters such as ß.": lambda text: words(text.casefold()),
}
SEPARATORS = (
    lambda text: re.findall(r"[\w']+", text.lower()),
    lambda text: re.findall(r"[\w-]+", text.lower()),
    lambda text: re.findall(r"[\w'-]+", text.lower()),
    lambda text: text.lower().split(),
    lambda text: [w for w in (part.strip(string.punctuation) for part in text.lower().split()) if w],
    lambda text: re.sub(r"[^\w\s]", "", text.lower()).split(),
)


def shingle_mistake(got, text, n, default):
    """What is wrong with the shingles ``got`` of a text with words, as far as one can tell."""
    tokens, want = words(text), shingles(text, n)
    if not all(isinstance(shingle, str) for shingle in got):
        return "Shingles are strings: the words of a run, joined by single spaces."
    got = set(got)
    if default and any(got == shingles(text, other) for other in range(2, 10) if other != n):
        return "The default of n is 5."
    if n > 1 and got == {"".join(shingle.split()) for shingle in want}:
        return "Join the words of a run by single spaces."
    if got == want - {" ".join(tokens[-n:])}:
        return "The last run of words is missing."
    for says, split in SPLITS.items():
        if got == joined_runs(split(text), n):
            return says
    if any(got == joined_runs(split(text), n) for split in SEPARATORS):
        return SEPARATES
    return ""


def joined_runs(tokens, n):
    return {" ".join(run) for run in runs(tokens, min(n, len(tokens)))} if tokens else set()


@behaviour(1)
def test_shingles(observe):
    texts = observe.given["shingled"]
    for n in (5, 3, 2, 6, 1):
        for text, got in zip(texts, observe["shingles/default" if n == 5 else f"shingles/n{n}"], strict=True):
            call = f"shingles({shorten(text)}{'' if n == 5 else f', {n}'})"
            ok = isinstance(got, list) and len(got) == 2 and got[0] == "set"
            expect(ok, "shingles should return a set.", f"{call} gave {describe(got)}")
            want, tokens = shingles(text, n), words(text)
            says = (
                shingle_mistake(got[1], text, n, n == 5) or "These are not the runs of n consecutive words."
            )
            if not want:
                says = "A text without words has no shingles."
            elif 0 < len(tokens) < n and not got[1]:
                says = "A two-word text lost its only shingle and can never be found."
            elif n > 1 and (set(got[1]) == set(tokens) or all(len(str(s)) == n for s in got[1])):
                says = "A shingle is a run of whole words: the order of words must matter."
            expect(
                got[1] == sorted(want),
                says,
                f"{call} gave {describe(got[1])}, expected {describe(sorted(want))}",
            )


def ints(value, count, what):
    ok = isinstance(value, list) and all(type(v) is int and v >= 0 for v in value)
    expect(ok, "signature should return a list of non-negative Python ints.", f"{what}: {describe(value)}")
    expect(len(value) == count, "The signature should have num_hashes entries.", f"{what}: {len(value)}")
    return value


@behaviour(2)
def test_signature_is_a_list_of_ints(observe):
    ints(observe["signature/default"], 128, "default")
    ints(observe["signature/single"], 128, "one element")
    expect(observe["signature/lengths"] == [1, 7, 256], "The signature should have num_hashes entries.")


@behaviour(2)
def test_signature_depends_on_its_arguments_only(observe):
    want = ints(observe["signature/default"], 128, "default")
    for name in ("again", "reverse"):
        expect(observe[f"signature/{name}"] == want, "The same set got another signature when asked again.")
    expect(observe["signature/explicit"] == want, "The defaults should be 128 hashes and seed 0.")


DEPENDS = ("signature_depends_on_its_arguments_only",)


@behaviour(10, presumes=DEPENDS)
def test_returned_list_is_the_callers(observe):
    ints(observe["signature/default"], 128, "default")
    expect(
        observe["signature/returned/after"] == observe["signature/default"],
        "After the caller emptied the list that signature returned, the same call gives another one: return a new list.",
    )


@behaviour(2, presumes=DEPENDS)
def test_signature_does_not_use_the_salted_hash(observe):
    want = ints(observe["signature/default"], 128, "default")
    one, two = (observe[f"signature/salted/{name}"] == want for name in ("one", "two"))
    expect(
        two,
        "The signature changed in a new process: strings are salted there. Use a hash with a fixed definition.",
    )
    expect(
        one,
        "The signature changed in a new process: the salt changes the hash of a string and the order of a set. "
        "Depend on neither.",
    )


def places(each):
    """For every hash function the element on which its minimum falls; `each` are signatures of single elements."""
    return [column.index(min(column)) for column in zip(*each, strict=True)]


@behaviour(2)
def test_another_seed_gives_other_functions(observe):
    signatures = [observe["signature/default"], *observe["signature/other_seeds"]]
    for i, a in enumerate(signatures):
        for b in signatures[:i]:
            same = sum(x == y for x, y in zip(a, b, strict=True))
            expect(
                same < 13,
                "Another seed should give other hash functions.",
                f"{same} of 128 entries are equal",
            )
            same = len(set(a) & set(b))
            expect(
                same < 13 or len(set(a)) <= 64,  # too few values are another mistake
                "Another seed should give other hash functions; yours are the same ones at other positions.",
                f"{same} of 128 entries occur in both signatures",
            )
    first, other = (places(observe[f"signature/singles/{name}"]) for name in ("each", "other"))
    same = sum(i == j for i, j in zip(first, other, strict=True))
    expect(
        same <= 40,
        "Another seed should give other hash functions; yours order the elements as before.",
        f"{same} of 128 minima fall on the same of 20 elements with seeds 0 and 1",
    )


@behaviour(2)
def test_empty_set_is_refused(observe):
    observe.raised("signature/empty", "ValueError", says="An empty set has no signature.")


MINIMUM = "Position i must belong to hash function i, or equal positions do not estimate the similarity."


@behaviour(3, presumes=DEPENDS)
def test_positions_are_minima(observe):
    each = [ints(one, 128, "one element") for one in observe["signature/singles/each"]]
    whole = ints(observe["signature/default"], 128, "default")
    expect(
        whole == [min(column) for column in zip(*each, strict=True)],
        MINIMUM,
        "the signature of a set is not the minimum over those of its elements",
    )
    a, b, both = (ints(part, 64, "64 hashes") for part in observe["estimates/parts"])
    expect(
        both == [min(x, y) for x, y in zip(a, b, strict=True)],
        MINIMUM,
        "the signature of a union is not the minimum of both signatures",
    )


@behaviour(3, presumes=DEPENDS)
def test_equal_positions_estimate_the_similarity(observe):
    share = observe["estimates/disjoint"]
    expect(
        share <= 0.16,
        "Two sets without a common element look alike: elements share a hash, it has too few different values.",
        f"{share:.3f} for disjoint sets of 600 elements, 40 hashes",
    )
    share = observe["estimates/turned"]
    expect(
        share <= 0.16,
        "A hash that ignores the order of letters or words takes different elements for the same.",
        f"{share:.3f} for sets of ten elements that share only their words, in another order; 128 hashes",
    )
    share = observe["estimates/foreign/share"]
    expect(
        share <= 0.16,
        "Words that differ only in letters beyond ASCII are different: hash all of their UTF-8 bytes.",
        f"{share:.3f} for disjoint sets of words such as żółw and żółć, 128 hashes",
    )
    errors = []
    for (a, b), share in zip(observe.given["sets"], observe["estimates/shares"], strict=True):
        similarity = len({*a} & {*b}) / len({*a, *b})
        errors.append(share - similarity)
        expect(
            abs(errors[-1]) <= 0.17,
            "The share of equal positions does not estimate the Jaccard similarity.",
            f"{share:.3f} for sets with similarity {similarity:.3f}, 256 hashes",
        )
    for (a, b), share in zip(observe.given["sets"][:6], observe["estimates/framed"], strict=True):
        similarity = len({*a} & {*b}) / len({*a, *b})
        expect(
            abs(share - similarity) <= 0.17,
            "Long elements that begin and end alike are still different: hash the whole of each.",
            f"{share:.3f} for sets with similarity {similarity:.3f}, 256 hashes",
        )
    mean = sum(errors) / len(errors)
    expect(
        abs(mean) <= 0.035,
        "The share of equal positions is biased: averaged over 20 pairs it misses the similarity.",
        f"mean error {mean:+.3f}",
    )


@behaviour(3, presumes=DEPENDS)
def test_estimates_of_small_sets(observe):
    """The mean square error is that of 256 fair draws; functions that only add or XOR a number triple it at least."""
    errors = [share - 1 / 3 for share in observe["estimates/small"]]
    spread = (sum(e * e for e in errors) / len(errors)) ** 0.5
    expect(
        spread <= 0.07,
        "Between small sets the share of equal positions does not estimate the similarity: each function has to "
        "order the elements anew, to add or XOR a number is not enough.",
        f"40 pairs of 2 elements that share 1, 256 hashes: off by {spread:.3f} in the root mean square, at most "
        f"{max(map(abs, errors)):.3f}",
    )


COPIES = "128 copies of one hash carry no more information than one."


@behaviour(4)
def test_entries_are_no_copies(observe):
    for path in ("signature/default", "signature/single"):
        different = len(set(ints(observe[path], 128, "signature")))
        expect(different > 64, COPIES, f"{different} different entries of 128")
    different = len(set(zip(*observe["signature/singles/each"], strict=True)))
    expect(
        different == 128,
        COPIES,
        f"{different} different functions of 128: the others agree on each of 20 elements",
    )


@behaviour(4)
def test_minima_fall_on_different_elements(observe):
    found = places(observe["signature/singles/each"])
    most = max(found.count(i) for i in range(20))
    expect(
        len(set(found)) >= 8 and most <= 64,
        f"{COPIES} The functions order the elements alike.",
        f"the minima of 128 functions fall on {len(set(found))} of 20 elements, {most} on one of them",
    )


def jaccard(a, b):
    return len(a & b) / len(a | b) if a and b else 0.0


def groups_of(texts, threshold, n=5, alike=jaccard):
    sets = [shingles(text, n) for text in texts]
    label = list(range(len(texts)))
    for i in range(len(texts)):
        for j in range(i):
            if sets[i] and alike(sets[i], sets[j]) >= threshold:
                old, new = max(label[i], label[j]), min(label[i], label[j])
                label = [new if k == old else k for k in label]
    return [[i for i, k in enumerate(label) if k == first] for first in sorted(set(label))]


MEASURES = {
    "The Jaccard similarity divides the shared shingles by those of the union, unlike the Dice coefficient.": (
        lambda a, b: 2 * len(a & b) / (len(a) + len(b)) if a and b else 0.0
    ),
    "The Jaccard similarity divides the shared shingles by those of the union, not of the larger set.": (
        lambda a, b: len(a & b) / max(len(a), len(b)) if a and b else 0.0
    ),
    "The union counts a shared shingle once, not twice.": (
        lambda a, b: len(a & b) / (len(a) + len(b)) if a and b else 0.0
    ),
}


def check_groups(got, texts, threshold, says, n=5, measures=MEASURES, explain=True):
    want = groups_of(texts, threshold, n)
    detail = (
        f"{len(texts)} texts, threshold {threshold}, n={n}: got {describe(got)}, expected {describe(want)}"
    )
    ok = isinstance(got, list) and all(isinstance(g, list) and all(type(i) is int for i in g) for g in got)
    expect(ok, "near_duplicates should return a list of lists of indices.", detail)
    flat = [i for g in got for i in g]
    if sorted(flat) != list(range(len(texts))):
        says = "Every index should be in exactly one group, singles too."
        if len(set(flat)) < len(flat):
            says = "A is like B and B like C: one group of three. No index is in two groups."
    elif got != want and sorted(map(sorted, got)) == sorted(want):
        says = "Indices should ascend within a group, and groups be ordered by their first index."
    elif measure := next(
        (m for m, f in measures.items() if got != want and got == groups_of(texts, threshold, n, f)), ""
    ):
        says = measure
    elif got != want and explain:
        sets = [shingles(text, n) for text in texts]
        linked = {(i, j) for g in got for i in g for j in g if i > j}
        needed = {(i, j) for g in want for i in g for j in g if i > j}
        if linked - needed:
            wrong = sorted(linked - needed, key=lambda p: jaccard(sets[p[0]], sets[p[1]]), reverse=True)
            empty = [p for p in wrong if not sets[p[0]] or not sets[p[1]]]
            inside = [p for p in wrong if sets[p[0]] < sets[p[1]] or sets[p[1]] < sets[p[0]]]
            i, j = (empty or inside or wrong)[0]
            similarity = jaccard(sets[i], sets[j])
            detail += f"; texts {j} and {i} have similarity {similarity:.2f}"
            if empty:
                says = "Two texts without words were called duplicates of each other."
            elif inside:
                says = "The short text is contained in the long one, but their Jaccard similarity is low."
            elif similarity > 0.2:
                says = "A shared band or an estimate makes a candidate; these two texts are only half alike. Verify."
        else:
            i, j = max(needed - linked, key=lambda p: jaccard(sets[p[0]], sets[p[1]]))
            detail += f"; texts {j} and {i} have similarity {jaccard(sets[i], sets[j]):.2f}"
            short = {pair for pair in needed if len(sets[pair[0]] | sets[pair[1]]) == 1}
            if short and not short & linked:  # not even texts that are equal to the letter
                says = "A two-word text lost its only shingle and can never be found."
            elif len(sets[i] | sets[j]) == 1:
                pass
            elif jaccard(sets[i], sets[j]) < threshold or any(len(g) > 1 for g in got if i in g or j in g):
                says = "A is like B and B like C: one group of three."
    expect(got == want, says, detail)


@behaviour(5)
def test_groups(observe):
    for name, texts in observe.given["near"].items():
        threshold = float(name) if name[0].isdigit() else 0.7
        says = "The groups are not those of texts with a Jaccard similarity of at least the threshold."
        if name == "order":
            says = "A shingle is a run of whole words: the order of words must matter."
        check_groups(observe[f"near/{name}/groups"], texts, threshold, says)


@behaviour(5)
def test_groups_with_other_shingles(observe):
    check_groups(
        observe["near/n/groups"],
        observe.given["near"]["0.5"],
        0.5,
        "With n=2 the groups are wrong.",
        n=2,
    )
    check_groups(
        observe["near/bag/groups"],
        observe.given["near"]["order"],
        0.7,
        "With n=1 texts of the same words in another order are alike: n is not used.",
        n=1,
    )


@behaviour(5, presumes=("groups", "groups_with_other_shingles"))
def test_unions_are_not_compared(observe):
    says = "Similarity is between two texts: the last one is like none of the others, only like all of them together."
    check_groups(
        observe["near/cluster/groups"], observe.given["cluster"], 0.5, says, n=1, measures={}, explain=False
    )


@behaviour(5, presumes=("groups", "shingles"))
def test_default_shingle_length(observe):
    texts = observe.given["cycles"]
    got, want = observe["near/cycles/groups"], groups_of(texts, 0.7)
    expect(
        [list(g) for g in got] == want,
        "By default near_duplicates compares shingles of 5 words, with a threshold of 0.7.",
        f"4 texts: got {describe(got)}, expected {describe(want)}",
    )


@behaviour(5, presumes=("groups", "shingles"))
def test_repeated_shingles_count_once(observe):
    says = "The similarity is that of sets: a shingle that occurs several times counts once."
    check_groups(observe["near/repeats/groups"], observe.given["repeats"], 0.7, says, measures={})


@behaviour(6)
def test_case_punctuation_and_spacing(observe):
    texts = observe.given["form"]
    says = "Texts that differ only in case, punctuation or spacing are duplicates, short ones too."
    check_groups(observe["near/form/groups"], texts, 0.7, says)
    check_groups(observe["near/form/loose"], texts, 0.35, says, n=3)


def leaked(train, evals, n, split=words):
    found = []
    for i, text in enumerate(train):
        tokens = split(text)
        for other in evals:
            quoted = split(other)
            if quoted and runs(tokens, min(n, len(quoted))) & runs(quoted, min(n, len(quoted))):
                found.append(i)
                break
    return found


FEW = "Only runs of n consecutive words count."
PART = (
    "A training text that is only a part of an evaluation text has no run of n words, nor all of its words."
)
SHORT = "A question shorter than n words can leak too: look for it as a whole."
LONG = (
    "The training texts that share a run of n words with an evaluation text were not found: the run may begin at any "
    "word of either."
)
WORDLESS = "An evaluation text without words matches nothing."


def missed(got, texts, train, evals, n):
    """Why the contaminated ``texts`` were not found."""
    splits = [str.split, lambda text: re.findall(r"\w+", text), *SEPARATORS]
    if any(got == leaked(train, evals, n, split) for split in splits):
        return "Words are compared without case and punctuation."
    if not any(leaked([text], [e for e in evals if len(words(e)) >= n], n) for text in texts):
        return SHORT
    return LONG


def invented(text, evals, n):
    """Why a text that shares no run was found."""
    wanted = {" ".join(run) for e in evals if words(e) for run in runs(words(e), min(n, len(words(e))))}
    if not wanted:
        return WORDLESS
    joined = " ".join(words(text))
    if any(run in joined for run in wanted):
        return "Match words, not characters."
    if any(run.replace(" ", "") in joined.replace(" ", "") for run in wanted):
        return "Match whole words: joined without spaces, other words become the same text."
    if joined and any(f" {joined} " in f" {' '.join(words(e))} " for e in evals):
        return PART
    if f" {joined} " in f" {' '.join(word for e in evals for word in words(e))} ":
        return "A run must lie within one evaluation text: two of them are not one text."
    return FEW


def check_found(got, train, evals, n, says=""):
    want = leaked(train, evals, n)
    ok = isinstance(got, list) and all(type(i) is int for i in got)
    expect(ok, "contaminated should return a list of indices.", f"got {describe(got)}")
    detail = f"n={n}: got {got}, expected {want}"
    if got != want and sorted(set(got)) == want:
        says = "Every contaminated index should come once, ascending."
    elif got != want:
        extra, missing = sorted({*got} - {*want}), sorted({*want} - {*got})
        wrong = (extra or missing)[0]
        inside = 0 <= wrong < len(train)
        detail += f"; text {wrong} is {shorten(train[wrong]) if inside else 'not there'}"
        copies = [i for i in missing if any(train[i] == train[j] for j in got if j in want)]
        if copies or got == leaked(list(dict.fromkeys(train)), evals, n):
            says = "Each copy of a training text counts: return the index of every one."
        elif extra and len(got) == len(train):
            says = says or (WORDLESS if any(not words(e) for e in evals) else FEW)
        elif extra and inside:
            says = says or invented(train[wrong], evals, n)
        else:
            says = says or missed(got, [train[i] for i in missing], train, evals, n)
    expect(got == want, says or FEW, detail)


@behaviour(7)
def test_contaminated(observe):
    train, evals = observe.given["train"], observe.given["evals"]
    check_found(observe["contaminated/found"], train, evals, 4)
    check_found(observe["contaminated/single"], train, [evals[5]], 1)


@behaviour(7, presumes=("shingles",))
def test_short_evaluation_texts(observe):
    train = observe.given["train"]
    check_found(observe["contaminated/short"], train, ["art of war"], 13)
    check_found(observe["contaminated/wordless"], train, ["?!", ""], 4, WORDLESS)


@behaviour(7)
def test_training_texts_that_are_parts(observe):
    train, evals = observe.given["part_train"], observe.given["part_evals"]
    check_found(observe["contaminated/parts"], train, evals, 13)


@behaviour(7)
def test_default_run_length(observe):
    train, evals = observe.given["long_train"], observe.given["long_evals"]
    check_found(observe["contaminated/explicit"], train, evals, 13)
    says = "By default a run of 13 words is looked for."
    check_found(observe["contaminated/default"], train, evals, 13, says)
    check_found(observe["contaminated/twelve"], train, evals, 12)


@behaviour(8)
def test_lists_and_tuples(observe):
    for name in ("near", "contaminated"):
        first, second = observe[f"inputs/{name}"]
        expect(isinstance(first, list), "The result should be a list.", f"{name}: {describe(first)}")
        expect(
            first == second, "Lists and tuples should give the same result.", f"{name}: {first} and {second}"
        )
    expect(all(observe["inputs/kept"]), "An input was modified.")


@behaviour(8)
def test_empty_inputs(observe):
    for name in ("near", "contaminated"):
        for got in observe[f"inputs/empty/{name}"]:
            expect(got == [], "An empty input should give an empty list.", f"{name}: {describe(got)}")


@behaviour(9)
def test_bad_arguments_are_refused(observe):
    for n in (0, -2):
        for name, what in {
            "shingles": "shingles should refuse",
            "near": "near_duplicates should refuse",
            "contaminated": "contaminated should refuse",
        }.items():
            observe.raised(f"errors/{name}{n}", "ValueError", says=f"{what} n={n}.")
        observe.raised(f"errors/signature{n}", "ValueError", says=f"signature should refuse num_hashes={n}.")
    for name, what in {"zero": "0", "negative": "-0.5", "above": "1.01"}.items():
        observe.raised(
            f"errors/{name}", "ValueError", says=f"near_duplicates should refuse the threshold {what}."
        )
    observe.raised(
        "errors/no_text", "ValueError", says="shingles should refuse n=0, for a text without words too."
    )
    observe.raised(
        "errors/no_texts",
        "ValueError",
        says="near_duplicates should refuse the threshold 0, without texts too.",
    )


@behaviour(9, on_error="The threshold 1 is valid.")
def test_threshold_one_is_valid(observe):
    got = observe["errors/valid/one"]
    expect(
        [list(g) for g in got] == [[0, 1], [2]],
        "With threshold 1 equal shingle sets are linked.",
        f"got {got}",
    )
