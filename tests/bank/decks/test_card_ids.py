"""A card keeps its id however its deck is edited."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from quizapp.bank.decks.card_ids import SeenCard, give_ids, new_id, remembered
from quizapp.bank.decks.id_document import IdDocument, decode, encode, merged
from quizapp.bank.decks.parse_question import ID, MAX_ID

PROMPTS = st.lists(st.integers(0, 40).map(lambda n: f"prompt number {n}"), unique=True, max_size=12)


class Reader:
    """Reads a deck again and again, as the program does."""

    def __init__(self) -> None:
        self.known = IdDocument()

    def read(self, prompts: Sequence[str]) -> dict[str, str]:
        cards = [SeenCard(prompt) for prompt in prompts]
        ids = give_ids("notes", cards, self.known)
        assert len(set(ids)) == len(ids)
        self.known = decode(encode(remembered(cards, ids, self.known), "notes.md").encode())
        return dict(zip(prompts, ids, strict=True))


@given(PROMPTS, st.randoms(use_true_random=False))
def test_moved_added_and_removed_cards_keep_their_ids(prompts: list[str], chance: object) -> None:
    reader = Reader()
    first = reader.read(prompts)
    for _ in range(4):
        kept = [prompt for prompt in prompts if chance.random() < 0.7]  # type: ignore[attr-defined]
        chance.shuffle(kept)  # type: ignore[attr-defined]
        now = reader.read(kept)
        assert now == {prompt: first[prompt] for prompt in kept}
        place = chance.randint(0, len(kept))  # type: ignore[attr-defined]
        longer = [*kept[:place], f"an added one, {chance.random()}", *kept[place:]]  # type: ignore[attr-defined]
        assert reader.read(longer).items() >= now.items()
    assert reader.read(prompts) == first


@given(PROMPTS.filter(bool), st.data())
def test_a_reworded_prompt_keeps_the_id_of_its_place(prompts: list[str], data: st.DataObject) -> None:
    reader = Reader()
    first = [*reader.read(prompts).values()]
    for version in range(3):
        place = data.draw(st.integers(0, len(prompts) - 1))
        prompts = [*prompts]
        prompts[place] = f"{version}: something else entirely"
        assert [*reader.read(prompts).values()] == first


@given(PROMPTS.filter(lambda prompts: len(prompts) > 2), st.data())
def test_neighbors_reworded_together_keep_their_ids(prompts: list[str], data: st.DataObject) -> None:
    reader = Reader()
    first = [*reader.read(prompts).values()]
    unchanged = data.draw(st.integers(0, len(prompts) - 1))
    changed = [p if i == unchanged else f"{i} in other words" for i, p in enumerate(prompts)]
    assert [*reader.read(changed).values()] == first


@given(PROMPTS.filter(bool), st.integers(0, 12), st.integers(0, 12))
def test_a_card_is_reworded_while_another_is_added_elsewhere(
    prompts: list[str], added: int, changed: int
) -> None:
    reader = Reader()
    first = reader.read(prompts)
    changed %= len(prompts)
    now = [*prompts]
    now[changed] += " and its consequences"
    now.insert(added % (len(now) + 1), "another question about something new")
    ids = reader.read(now)
    assert ids[now[now.index(prompts[changed] + " and its consequences")]] == first[prompts[changed]]
    assert ids["another question about something new"] not in first.values()


def test_an_old_prompt_asked_anew_is_a_new_card_while_the_reworded_one_stands() -> None:
    reader = Reader()
    first = reader.read(["What is LoRA?", "Why?"])
    reader.read(["What is a low-rank adapter?", "Why?"])
    ids = reader.read(["What is a low-rank adapter?", "Why?", "What is LoRA?"])
    assert ids["What is a low-rank adapter?"] == first["What is LoRA?"]
    assert ids["What is LoRA?"] not in first.values()


def test_an_older_version_of_the_deck_is_recognized() -> None:
    reader = Reader()
    old = reader.read(["a first one", "a second one"])
    reader.read(["other words", "a second one", "new"])
    assert reader.read(["a first one", "a second one"]) == old


def test_another_card_does_not_inherit_the_id_of_one_that_is_gone() -> None:
    reader = Reader()
    first = reader.read(["alpha", "beta", "gamma"])
    now = reader.read(["delta epsilon", "zeta eta", "theta iota"])
    assert not set(first.values()) & set(now.values())


def test_ids_that_the_file_names_are_never_changed() -> None:
    known = IdDocument()
    cards = [SeenCard("a", "mine"), SeenCard("b"), SeenCard("c", "own")]
    ids = give_ids("deck", cards, known)
    assert (ids[0], ids[2]) == ("mine", "own")
    known = remembered(cards, ids, known)
    assert give_ids("deck", [SeenCard("b"), SeenCard("changed", "mine")], known) == [ids[1], "mine"]


@given(st.text(max_size=300), st.text(max_size=300))
def test_an_id_is_valid_and_always_the_same(deck: str, prompt: str) -> None:
    name = new_id(deck, prompt, ())
    assert ID.fullmatch(name)
    assert len(name) <= MAX_ID
    assert new_id(deck, prompt, ()) == name
    assert new_id(deck, prompt, {name}) != name


def test_what_two_files_know_is_united() -> None:
    reader, other = Reader(), Reader()
    reader.read(["one", "two"])
    other.known = reader.known
    new = other.read(["one in other words", "two", "three"])
    united = merged(reader.known, other.known)
    ids = give_ids("notes", [SeenCard(p) for p in ("three", "one in other words")], united)
    assert ids == [new["three"], new["one in other words"]]
