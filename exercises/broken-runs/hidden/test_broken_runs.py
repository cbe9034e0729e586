from collections import Counter

from quizapp.judge.testing.checks import behaviour, expect

CAUSES = ("healthy", "label_permute", "huge_lr", "missing_zero_grad", "loss_sum", "amp_no_scaling")
SHARE = 0.85
DEAD = "After a blow-up many ReLUs are dead, so zeros late in the log prove nothing. Look at the first batch."
GROWTH = "A never-reset sum grows about linearly from batch to batch while the loss still falls; a huge step jumps."
FIRST = (
    "An untrained classifier starts near log(num_classes). This run starts at a multiple of that: "
    "look at the first loss before you look for explosions."
)
PARTIAL = "float16 underflow usually takes part of the gradient, not all of it."
NOISY = "A healthy loss is noisy from batch to batch: compare averages."
CHANCE = "With three classes, accuracy near chance scatters widely. Where does the training loss settle?"
NAN = "Every < or > comparison with NaN is false, so the diverged run slipped through: test finiteness."
NONE = "Validation does not run on every batch."
# What is said where a cause is not recognized: by the answer given instead, or in general ("").
SAYS = {
    "healthy": {"": NOISY},
    "label_permute": {"": CHANCE},
    "huge_lr": {"amp_no_scaling": DEAD, "": GROWTH},
    "missing_zero_grad": {"amp_no_scaling": DEAD, "": GROWTH},
    "loss_sum": {"amp_no_scaling": DEAD, "": FIRST},
    "amp_no_scaling": {"": PARTIAL},
}


def answers_of(observe, probe, cause, part="answers"):
    """What the probe recorded for the group of runs that have this cause."""
    return observe[f"{probe}/{observe.given['kept'][cause]}/{part}"]


def share(answers, cause, says=None):
    """Demand that enough of the runs got the right name."""
    expect(isinstance(answers, list) and len(answers) >= 20, "diagnose should return a string.")
    counts = Counter(answer if isinstance(answer, str) else type(answer).__name__ for answer in answers)
    right = counts.pop(cause, 0)
    if right >= SHARE * len(answers):
        return
    worst = counts.most_common(1)[0][0]
    sentence = says or SAYS[cause].get(worst, SAYS[cause][""])
    expect(False, sentence, f"{right} of {len(answers)} {cause} runs recognized; most of the others: {worst}")


@behaviour(1)
def test_one_of_six_names(observe):
    for cause in CAUSES:
        for answer in answers_of(observe, "cut", cause):
            expect(
                type(answer) is str and answer in CAUSES,
                "Every log of at least 20 batches should get one of the six names, whatever its length.",
                f"got {answer!r}",
            )
        for answer in answers_of(observe, "full", cause):
            expect(
                type(answer) is str and answer in CAUSES,
                "Every log should get one of the six names.",
                f"got {answer!r}",
            )


@behaviour(1)
def test_one_of_six_names_in_between(observe):
    for cause in CAUSES:
        for answer in answers_of(observe, "between", cause):
            expect(
                type(answer) is str and answer in CAUSES,
                "A log that fits no cause well still gets one of the six names: the nearest.",
                f"got {answer!r}",
            )


@behaviour(2)
def test_healthy(observe):
    share(answers_of(observe, "full", "healthy"), "healthy")


@behaviour(3)
def test_label_permute(observe):
    share(answers_of(observe, "full", "label_permute"), "label_permute")


@behaviour(4)
def test_huge_lr(observe):
    share(answers_of(observe, "full", "huge_lr"), "huge_lr")


@behaviour(5)
def test_missing_zero_grad(observe):
    share(answers_of(observe, "full", "missing_zero_grad"), "missing_zero_grad")


@behaviour(6)
def test_loss_sum(observe):
    share(answers_of(observe, "full", "loss_sum"), "loss_sum")


@behaviour(7)
def test_amp_no_scaling(observe):
    share(answers_of(observe, "full", "amp_no_scaling"), "amp_no_scaling")


@behaviour(7)
def test_amp_with_part_of_the_gradient(observe):
    answers = observe["full/mixed/answers"]
    share([answers[i] for i in observe.given["mixed"]["kept"]], "amp_no_scaling")


@behaviour(8)
def test_nonfinite_from_some_batch(observe):
    for cause in ("huge_lr", "loss_sum", "missing_zero_grad"):
        finite = Counter(answers_of(observe, "full", cause))[cause]
        answers = Counter(answers_of(observe, "nonfinite", cause))
        says = NAN if answers[cause] < finite else None
        share(answers_of(observe, "nonfinite", cause), cause, says)


@behaviour(9, on_error=NONE)
def test_sparse_validation(observe):
    for cause in CAUSES:
        dense = Counter(answers_of(observe, "full", cause))[cause]
        answers = Counter(answers_of(observe, "sparse", cause))
        share(answers_of(observe, "sparse", cause), cause, NONE if answers[cause] < dense else None)


@behaviour(10)
def test_log_is_not_modified(observe):
    for cause in CAUSES:
        expect(
            answers_of(observe, "pure", cause, "untouched") is True,
            "diagnose changed the log that it was given.",
        )


@behaviour(10)
def test_answer_depends_on_the_log_alone(observe):
    for cause in CAUSES:
        for first, again, other, moved in answers_of(observe, "pure", cause):
            expect(
                not str(other).startswith("raised") or str(first).startswith("raised"),
                "Unknown keys should not matter.",
                str(other),
            )
            expect(
                again == first,
                "The same log got another answer the second time.",
                f"{first!r}, then {again!r}",
            )
            expect(
                other == first and moved == first,
                "Unknown keys and the order of keys should not matter.",
                f"{first!r}, then {other!r} and {moved!r}",
            )
    expect(observe["pure/order/same"] is True, "The answer for a log depends on which logs came before it.")


@behaviour(10)
def test_no_global_random_state(observe):
    expect(all(observe["pure/random/left"]), "diagnose used or changed the global random state.")


@behaviour(11)
def test_scale_of_the_norm(observe):
    for cause in CAUSES:
        for plain, *scaled, _ in answers_of(observe, "scaled", cause):
            expect(
                all(answer == plain for answer in scaled),
                "The same run with another loss weight got another answer: compare norms with the first one.",
                f"{plain!r}, with other weights {scaled}",
            )


@behaviour(13, presumes=("scale_of_the_norm",))
def test_tiny_scale_of_the_norm(observe):
    for cause in CAUSES:
        for plain, *_, tiny in answers_of(observe, "scaled", cause):
            expect(
                plain == tiny,
                "With every norm times 2**-30 the same run got another answer: add no constant to a norm.",
                f"{plain!r}, with tiny norms {tiny!r}",
            )


@behaviour(12)
def test_short_logs(observe):
    for name, text in (("nineteen", "19 batches"), ("one", "one batch"), ("empty", "no batch")):
        observe.raised(f"errors/{name}", "ValueError", says=f"A log of {text} should raise ValueError.")
    expect(observe["errors/twenty/answer"] in CAUSES, "A log of exactly 20 batches is long enough.")
