from quizapp.judge.testing.checks import alike, behaviour, expect


def epochs(observe):
    """The submission's own orders of epochs 0 to 2, demanded to be permutations elsewhere."""
    return observe["order/shuffled/passes"]


@behaviour(1)
def test_indices_are_plain_ints(observe):
    kinds = observe["order/types/kinds"]
    expect(kinds == ["int"], "Indices are plain ints.", f"got {', '.join(kinds)}")
    kinds = observe["order/types/plain"]
    expect(kinds == ["int"], "Indices are plain ints.", f"with shuffle=False got {', '.join(kinds)}")


@behaviour(1)
def test_pass_is_a_permutation(observe):
    n = observe.given["n"]
    for got in (*epochs(observe), observe["order/defaults/pass"]):
        expect(
            sorted(got) == list(range(n)),
            "A full pass must yield every index once.",
            f"got {len(got)} of {n}",
        )
    expect(
        observe["order/defaults/pass"] == observe["order/defaults/zero"],
        "The defaults are seed 0, shuffled, one rank.",
    )


@behaviour(1)
def test_order_is_shuffled(observe):
    n = observe.given["n"]
    for order in (epochs(observe)[0], observe["order/defaults/pass"]):
        expect(order != list(range(n)), "With shuffle=True the order must not be range(length).")


@behaviour(1)
def test_unshuffled_is_the_range(observe):
    n = observe.given["n"]
    expect(
        observe["order/plain/passes"] == [list(range(n))] * 2,
        "With shuffle=False every pass is range(length).",
    )
    expect(
        observe["order/plain/same_seed"] == [list(range(n))] * 2,
        "With shuffle=False every pass is range(length), also after a shuffled sampler of the same seed.",
    )


@behaviour(1)
def test_works_in_a_data_loader(observe):
    n = observe.given["n"]
    seen = [value - 100 for batch in observe["order/loader/batches"] for value in batch]
    expect(
        seen == epochs(observe)[0],
        "A DataLoader with this sampler must give the samples in its order.",
        f"{len(seen)} of {n}",
    )
    expect(observe["order/loader/is_sampler"], "ResumableSampler is a torch.utils.data.Sampler.")


@behaviour(1)
def test_length_shrinks(observe):
    n = observe.given["n"]
    want = list(range(n // 2, -1, -1))
    got = observe["order/length/lengths"]
    expect(
        got == want,
        "len() is the number of indices left for this rank: it shrinks with each index and is 0 after the last.",
        f"got {got[:3]} ... {got[-3:]}, expected {want[:3]} ... {want[-3:]}",
    )


@behaviour(2)
def test_order_follows_from_seed_and_epoch(observe):
    expect(epochs(observe) == observe["order/again/passes"], "The same seed must give the same epochs again.")
    orders = observe["global_state/orders"]
    expect(
        orders[0] == orders[1], "The order depends on the global random state: use a generator of your own."
    )
    expect(orders[0] == epochs(observe)[0], "The order depends on more than seed and epoch.")


@behaviour(2)
def test_global_random_state_is_untouched(observe):
    says = "Making the sampler changed the random numbers of the rest of the program."
    expect(all(alike(*observe[f"global_state/states{start}"]) for start in (7, 8)), says)
    if "global_state/numpy" in observe:
        expect(alike(*observe["global_state/numpy"]), says, "numpy")


@behaviour(2)
def test_strings_are_not_hashed(observe):
    kinds = observe["hash/kinds"]
    expect(
        "str" not in kinds and "bytes" not in kinds,
        "Python's hash of a string differs between processes: after a restart the order would be another one.",
    )


@behaviour(3)
def test_every_pair_has_its_own_order(observe):
    seen = {}
    for pair, order in zip(observe.given["pairs"], observe["pairs/orders"], strict=True):
        expect(sorted(order) == list(range(observe.given["length"])), "set_epoch must lead to a full epoch.")
        other = seen.setdefault(tuple(order), pair)
        expect(
            other == pair,
            "Two different (seed, epoch) pairs gave the same order.",
            f"{tuple(other)} and {tuple(pair)}",
        )


@behaviour(4)
def test_passes_are_epochs(observe):
    first, second, third = epochs(observe)
    expect(
        first != second and second != third and first != third,
        "The second pass repeats the order of the first.",
    )
    usual = observe["set_epoch/usual/passes"]
    expect(usual == epochs(observe), "Three passes of one sampler are epochs 0, 1 and 2, as with set_epoch.")


@behaviour(5)
def test_ranks_share_the_order(observe):
    n = observe.given["n"]
    for world in (2, 3, 5):
        ranks = observe[f"ranks/{world}/passes"]
        for epoch in (0, 1):
            parts = [rank[epoch] for rank in ranks]
            sizes = {len(part) for part in parts}
            expect(
                sizes == {n // world},
                "One rank has a batch more; the others would wait for it forever.",
                f"{world} ranks of {n} samples got {sorted(len(part) for part in parts)}",
            )
            every = [index for part in parts for index in part]
            expect(len(set(every)) == len(every), "Two ranks saw the same sample.")
            turns = [parts[i % world][i // world] for i in range(len(every))]
            expect(
                turns == epochs(observe)[epoch][: len(turns)],
                "The ranks take turns in the common order: the next index of rank r is order[c + r].",
                f"{world} ranks, epoch {epoch}",
            )


@behaviour(5)
def test_tail_is_dropped(observe):
    expect(
        observe["ranks/plain/passes"] == [[0, 2, 4], [1, 3, 5]],
        "The tail that does not fill every rank is dropped; ranks take turns.",
        f"got {observe['ranks/plain/passes']}",
    )
    expect(
        observe["ranks/every/passes"] == [[i] for i in range(5)], "Five ranks of five samples get one each."
    )


def resumed(observe, step, epoch, rank=0, world=1):
    """What a rank should still yield in `epoch`, after what it yielded before."""
    order = epochs(observe)[epoch][rank::world][: observe.given["n"] // world]
    before = observe[f"resume/{step}/before"]
    return before, order


def mistake(order, k, got):
    if got[:1] == order[k - 1 : k]:
        return "Code after yield runs only when the next index is asked for, so your saved position is one behind."
    if got[:k] == order[:k]:
        return "After the resume the epoch began again, and its first samples were seen twice."
    return "The resumed sampler does not go on with the next index."


@behaviour(6)
def test_state_resumes_with_the_next_index(observe):
    k = observe.given["stop"]
    before, order = resumed(observe, "fresh", 0)
    expect(before == order[:k], "The first indices differ from those of a full pass.")
    after = observe["resume/fresh/after"]
    expect(after[0] == order[k:], mistake(order, k, after[0]), f"stopped after {k} of {len(order)}")
    expect(observe["resume/fresh/length"] == len(order) - k, "After a resume len() counts what is left.")
    expect(after[1:] == epochs(observe)[1:], "Later epochs must be as without the stop.")


NEW = (
    "In a new process the run does not go on: seed, epoch and position must be all that the order depends on."
)


@behaviour(6, on_error=NEW, presumes=("state_resumes_with_the_next_index",))
def test_state_resumes_in_a_new_process(observe):
    first, second, third = epochs(observe)
    k = observe.given["stop"]
    for name, want in (("early", [first[k:], second]), ("late", [second[3:], third])):
        got = observe[f"resumed/{name}/passes"]
        expect(got == want, NEW, f"got {got[0][:4]}, expected {want[0][:4]}")


@behaviour(6)
def test_saving_does_not_disturb(observe):
    k = observe.given["stop"]
    want = [*epochs(observe)[0][k:], -1, *epochs(observe)[1]]
    expect(observe["resume/fresh/original"] == want, "Saving the state disturbed the sampler that goes on.")
    expect(
        alike(*observe["global_state/saved/states"]),
        "Saving and loading the state changed the random numbers of the rest of the program.",
    )


@behaviour(6)
def test_new_iterator_goes_on(observe):
    k = observe.given["stop"]
    _, order = resumed(observe, "same", 0)
    after = observe["resume/same/after"]
    expect(after[0] == order[k:], mistake(order, k, after[0]), "a new iterator of the same sampler")
    expect(after[1] == epochs(observe)[1], "The pass after it must be the next epoch.")


@behaviour(6)
def test_resume_in_a_later_epoch(observe):
    before, order = resumed(observe, "later", 1, rank=1, world=2)
    after = observe["resume/later/after"]
    expect(before == order[:3], "The second epoch of rank 1 of 2 is wrong.")
    expect(after[0] == order[3:], mistake(order, 3, after[0]), "rank 1 of 2, epoch 1")


@behaviour(6, presumes=("state_resumes_with_the_next_index",))
def test_state_into_a_used_sampler(observe):
    order = epochs(observe)[1]
    after = observe["resume/used/after"]
    says = "A state loaded into a sampler that was in use does not count: its old order or position remains."
    expect(after[0] == order[3:], says, f"{len(after[0])} indices came, expected {len(order) - 3}")
    expect(observe["resume/used/length"] == len(order) - 3, says, "len()")
    expect(after[1] == epochs(observe)[2], says, "the next epoch")


@behaviour(6, presumes=("state_resumes_with_the_next_index",))
def test_resume_of_a_fresh_sampler(observe):
    expect(
        observe["resume/untouched/after"] == epochs(observe)[:2],
        "The state of an untouched sampler starts at epoch 0.",
    )
    first, second, rest = observe["resume/twice/parts"]
    expect(
        [*first, *second, *rest] == epochs(observe)[0],
        "A run that was stopped twice does not see every sample once.",
    )


@behaviour(7, presumes=("resume_in_a_later_epoch",))
def test_other_world_size(observe):
    n, k = observe.given["n"], observe.given["late"]
    order = epochs(observe)[0]
    for old, new in ((2, 3), (3, 2), (4, 1), (1, 4), (2, 5)):
        path = f"worlds/{old}to{new}"
        c = k * old
        parts = observe[f"{path}/after"]
        left = (n - c) // new
        detail = f"{old} ranks took {k} each, then {new} ranks"
        expect(
            all(len(part) == left for part in parts),
            "With another number of ranks the saved position means something else: count samples, not steps.",
            f"{detail} got {[len(part) for part in parts]}, expected {left} each",
        )
        turns = [parts[i % new][i // new] for i in range(left * new)]
        expect(
            turns == order[c : c + left * new],
            "With another number of ranks the saved position means something else: count samples, not steps.",
            detail,
        )
        expect(
            observe[f"{path}/lengths"] == [left] * new,
            "After the change len() counts what is left for a rank.",
            detail,
        )
    expect(
        observe["worlds/uneven/lengths"] == [5, 5],
        "After the change len() counts what is left for a rank.",
        f"one rank took 3 of 24, then 4 ranks: 21 // 4 = 5 each, got {observe['worlds/uneven/lengths']}",
    )


@behaviour(7)
def test_epoch_after_the_change(observe):
    n = observe.given["n"]
    for old, new in ((2, 3), (3, 2), (4, 1), (1, 4), (2, 5)):
        parts = observe[f"worlds/{old}to{new}/following"]
        each = n // new
        turns = [parts[i % new][i // new] for i in range(each * new) if len(parts[i % new]) > i // new]
        expect(
            turns == epochs(observe)[1][: each * new],
            "The epoch after the change of world size is wrong.",
            f"{old} to {new}",
        )


@behaviour(7)
def test_states_of_ranks_in_step_are_equal(observe):
    for old, new in ((2, 3), (3, 2), (4, 1)):
        expect(
            observe[f"worlds/{old}to{new}/states_equal"],
            "Ranks in step must have equal states.",
            f"{old} ranks",
        )


@behaviour(8)
def test_state_at_the_end_of_an_epoch(observe):
    for name in ("even", "tail", "one"):
        passes = observe[f"end/{name}/resumed"]
        expect(
            observe[f"end/{name}/left"] == 0, "After the last index len() is 0, until the next epoch begins."
        )
        expect(passes[0] != [], "Saved at the end of an epoch, the sampler resumed with no data at all.")
        expect(
            passes[0] == observe[f"end/{name}/original"],
            "Saved at the end of an epoch, the sampler must resume with the next epoch.",
            name,
        )
        expect(passes[1] != passes[0], "The pass after that must be another epoch.")
        # Whether the next epoch begins with the resume or with its first index is left open.
        expect(
            observe[f"end/{name}/length"] in (0, len(passes[0])),
            "After the resume len() must count the whole next epoch, or 0 until it begins.",
        )
        expect(observe[f"end/{name}/rest"] == [], "The old iterator must be exhausted.")


@behaviour(8)
def test_one_index_left_is_not_the_end(observe):
    for name in ("even", "tail", "one"):
        path = f"end/nearly_{name}"
        expect(
            len(observe[f"{path}/resumed"]) == 1 == observe[f"{path}/length"]
            and observe[f"{path}/resumed"] == observe[f"{path}/rest"],
            "With one index left for every rank the epoch is not used up: the state resumes with that index.",
            f"got {len(observe[f'{path}/resumed'])} indices",
        )


@behaviour(13)
def test_dropped_tail_is_not_handed_out_later(observe):
    for name, n in (("even", 26), ("tail", 35), ("one", 9)):
        alone = observe[f"end/{name}/alone"]
        expect(
            sorted(alone) == list(range(n)),
            "The tail that the old ranks dropped was handed out after a resume with one rank; the epoch was used up.",
            f"got {len(alone)} of {n}",
        )


@behaviour(8)
def test_end_of_epoch_without_saving(observe):
    finished = observe["end/finished/resumed"][0]
    expect(
        finished == observe["end/one/original"], "A state saved after a finished pass starts the next epoch."
    )
    # The contract leaves open whether the pass that only notices the end comes out empty.
    reopened = observe["end/reopened/passes"]
    following = observe["end/one/resumed"]
    expect(
        reopened in (following, [[], following[0]]),
        "After the last index of an epoch a new iterator goes on with the next epoch.",
    )


@behaviour(9)
def test_set_epoch_keeps_the_position(observe):
    k = observe.given["stop"]
    passes = observe["set_epoch/keeps/passes"]
    order = epochs(observe)[1]
    expect(
        passes[0] == order[k:],
        "The training loop called set_epoch with the restored epoch, and the position was lost.",
        f"{len(passes[0])} of {len(order) - k} indices came",
    )
    expect(passes[1] == epochs(observe)[2], "The epoch after the resumed one is wrong.")


@behaviour(9)
def test_set_epoch_of_a_sampler_in_use(observe):
    first, _, _ = epochs(observe)
    lost = "set_epoch with the current epoch keeps the position, also without a resume before it."
    expect(observe["set_epoch/in_use/pass"] == first, lost)
    expect(observe["set_epoch/in_use/length"] == len(first) - observe.given["stop"], lost, "len()")


@behaviour(14)
def test_set_epoch_of_a_used_up_epoch(observe):
    expect(
        observe["set_epoch/used_up/pass"] in ([], epochs(observe)[1]),
        "set_epoch with the current epoch after its last index must not begin it again.",
    )


@behaviour(9)
def test_set_epoch_starts_another_epoch(observe):
    n = observe.given["n"]
    got = observe["set_epoch/other/pass"]
    expect(
        len(got) == n and sorted(got) == list(range(n)),
        "set_epoch with another epoch starts that one from its beginning.",
    )
    expect(
        observe["set_epoch/other/length"] == n,
        "After set_epoch with another epoch len() is that of a whole epoch.",
    )
    expect(got not in epochs(observe), "set_epoch(3) must lead to an epoch of its own.")
    expect(observe["set_epoch/back/pass"] == epochs(observe)[0], "set_epoch(0) must lead back to epoch 0.")
    expect(
        observe["set_epoch/plain/pass"] == list(range(n)),
        "With shuffle=False every epoch is range(length), also after set_epoch.",
    )


@behaviour(10)
def test_state_is_a_snapshot(observe):
    k = observe.given["stop"]
    expect(observe["snapshot/snapshot/unchanged"], "The saved state changed while training went on.")
    expect(
        observe["snapshot/snapshot/after"] == epochs(observe)[0][k:],
        "A state that went through JSON resumes elsewhere.",
    )


@behaviour(10)
def test_state_does_not_hold_the_permutation(observe):
    small, big = observe["snapshot/snapshot/size"], observe["snapshot/snapshot/big_size"]
    expect(
        small < 20 and big < 20,
        "The state stores the order; seed, epoch and position are enough.",
        f"{big} values for 5,000 samples",
    )


@behaviour(10)
def test_loaded_dict_is_not_kept(observe):
    k = observe.given["stop"]
    order = epochs(observe)[0]
    expect(
        observe["snapshot/not_kept/loaded_unchanged"],
        "The dict given to load_state_dict changed while training went on.",
    )
    got = [*observe["snapshot/not_kept/part"], *observe["snapshot/not_kept/rest"]]
    expect(got == order[k:], "Clearing the loaded dict changed the sampler.")


@behaviour(11)
def test_foreign_state_is_refused(observe):
    k = observe.given["stop"]
    for name, what in (
        ("length", "a larger length"),
        ("seed", "another seed"),
        ("shuffle", "another shuffle setting"),
        ("shorter", "a smaller length"),
        ("plain_seed", "another seed, both with shuffle=False"),
    ):
        observe.raised(
            f"foreign/{name}/load",
            "ValueError",
            says=f"A state of another data set was accepted ({what}); its position points at other samples.",
        )
        got = [*observe[f"foreign/{name}/before"], *observe[f"foreign/{name}/rest"]]
        expect(
            got == (sorted(epochs(observe)[0]) if name == "plain_seed" else epochs(observe)[0]),
            "A refused state has changed the sampler.",
            f"{what}, stopped after {k}",
        )


@behaviour(12)
def test_impossible_arguments_are_refused(observe):
    sentences = {
        "world_zero": "world_size = 0 must be refused.",
        "rank_negative": "A negative rank must be refused.",
        "rank_high": "rank = world_size must be refused.",
        "rank_alone": "rank = 1 of one rank must be refused.",
        "short": "A data set with fewer samples than ranks must be refused.",
        "empty": "An empty data set must be refused.",
        "negative": "A negative length must be refused.",
    }
    for name, says in sentences.items():
        observe.raised(f"errors/{name}", "ValueError", says=says)
    expect(observe["errors/just/pass"] == [2], "As many samples as ranks are enough.")
