"""Samples the paper of an interview. The same seed and card states give the same paper."""

import random
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from math import ceil

from quizapp.bank.model import Bank, Exercise, Question
from quizapp.incidents.live.live_work import LIVE_S, LiveMode
from quizapp.incidents.model import Incident, IncidentLibrary
from quizapp.incidents.selection import holds_false_alarm, usable_incidents
from quizapp.interview import RoundName
from quizapp.interview.blueprint import CUT_SHARE, INCIDENT_ROLE, Blueprint, InterviewPlan, Role
from quizapp.interview.paper.knowledge import BAND, CardKnowledge, Knowledge
from quizapp.interview.paper.model import Paper, PaperQuestion, shortage
from quizapp.interview.paper.schedule import timed
from quizapp.interview.rounds.round_table import ROUNDS
from quizapp.interview.rounds.time_rules import asked_stages

UNASKED_TOPICS = frozenset({"interview-craft"})
UNSEEN_SHARE = 0.30
_KIND_WEIGHTS = {"recall": 6.0, "numeric": 3.0, "order": 3.0, "choice": 2.0, "cloze": 1.5}
_TRIES = 24
_INCIDENT_PASS_MARK = 70  # from this mark on, the review of the fault class is Good
NO_INCIDENTS = IncidentLibrary()
_BOTH_ONE_BATCH_TESTS_FROM_MINUTES = 45


def sample_paper(
    plan: InterviewPlan,
    bank: Bank,
    cards: Knowledge,
    seed: int,
    library: IncidentLibrary = NO_INCIDENTS,
    seen: Collection[str] = (),
) -> Paper:
    """Sample a paper. With a small bank it has fewer questions, but never one that a rule forbids.

    Scenarios are incidents of ``library``; those in ``seen`` were asked before. If the library has too few,
    questions of the bank fill the places.
    """
    if plan.counts["coding"] and len(_exercises(plan, bank, cards)) < plan.counts["coding"]:
        plan = plan.without_code()
    incidents = IncidentSampler(plan, library, bank, cards, seen)
    best: list[PaperQuestion] = []
    cost = float("inf")
    # A slot limits the choice for later slots (topics, pairs, families), so a greedy attempt can get stuck.
    # Try again from another seed and keep the attempt that breaks the fewest rules.
    for attempt in range(_TRIES):
        sampler = _PaperSampler(
            plan, bank, cards, f"{seed}:{plan.role.name}:{plan.round.name}:{plan.minutes}:{attempt}"
        )
        sampler.run(incidents, alarm=holds_false_alarm(seed))
        if sampler.cost < cost:
            best, cost = sampler.picks, sampler.cost
        if cost < 1.0:
            break
    paper = timed(plan, bank, best, seed)
    number = sum(plan.counts.values())
    return replace(paper, note=shortage(len(best), number, "question")) if len(best) < number else paper


def single_incident_paper(
    incident: Incident,
    blueprint: Blueprint,
    state: CardKnowledge | None,
    seed: int,
    *,
    unseen: bool,
    live: LiveMode | None = None,
) -> Paper:
    """Build the paper of a single incident. Its length is the time at which the question is cut."""
    seconds = LIVE_S if live else blueprint.incident_seconds
    length = round(CUT_SHARE * seconds)
    role = Role(
        INCIDENT_ROLE, incident.title, "A broken run to diagnose.", _INCIDENT_PASS_MARK, {}, (), (), (), {}
    )
    plan = InterviewPlan(
        role,
        ROUNDS[RoundName.MIXED],
        round(seconds / 60),
        False,
        {"scenario": length},
        {"scenario": 1},
        blueprint.format.times,
    )
    rng = random.Random(seed)  # noqa: S311 - the order of what is offered, not a secret
    question = incident_question(incident, state, rng, unseen=unseen)
    return Paper(
        plan, seed, (("scenario", length),), (replace(question, planned=seconds, budget=seconds, live=live),)
    )


def incident_question(
    incident: Incident, state: CardKnowledge | None, rng: random.Random, *, unseen: bool
) -> PaperQuestion:
    """The place of an incident in a paper, without its time; ``state`` is that of its fault class."""
    return PaperQuestion(
        "scenario",
        incident.card,
        incident.exercise,
        incident.topic,
        incident.level,
        "incident",
        round(state.recall, 4) if state else None,
        unseen,
        rng.getrandbits(31),
        incident=incident.id,
    )


def _exercises(plan: InterviewPlan, bank: Bank, cards: Knowledge) -> list[Exercise]:
    """The exercises to choose a coding task from: the role's own, else of its topics, else any.

    At least the first stage of each fits into the time for the task.
    """
    ready = [
        exercise
        for slug, exercise in bank.exercises.items()
        if asked_stages(exercise, plan.coding_s, first_only=True)
        and not ((state := cards.get(f"exercise:{slug}")) and (state.fresh or state.suspended))
    ]
    wanted = plan.counts["coding"]
    suitable = [exercise for exercise in ready if exercise.slug in plan.role.coding_pool]
    if len(suitable) < wanted:
        suitable = [e for e in ready if e in suitable or e.topic in plan.role.topic_weights]
    return suitable if len(suitable) >= wanted else ready


class IncidentSampler:
    """Samples incidents for the attempts at a paper: the role's own first, then weak fault classes.

    ``satisfied`` becomes False once a rule could not be kept.
    """

    def __init__(
        self,
        plan: InterviewPlan,
        library: IncidentLibrary,
        bank: Bank,
        cards: Knowledge,
        seen: Collection[str],
    ) -> None:
        self.plan, self.cards, self.seen = plan, cards, seen
        self.ready = [
            incident
            for incident in usable_incidents(library, bank)
            if not ((state := cards.get(incident.card)) and (state.fresh or state.suspended))
        ]
        self.tiers = {incident.id: self._tier(incident) for incident in self.ready}
        # All variants of a weak class get the tier of its best one: practicing the class matters more than
        # which variant shows it.
        for incident in self.ready:
            if self._weak(incident):
                kin = [other.id for other in self.ready if other.fault_class == incident.fault_class]
                self.tiers[incident.id] = min(self.tiers[name] for name in kin)
        self.satisfied = True

    def _tier(self, incident: Incident) -> int:
        if incident.id in self.plan.role.scenario_pool:
            return 0
        return 1 if incident.topic in self.plan.role.topic_weights else 2

    def _weak(self, incident: Incident) -> bool:
        state = self.cards.get(incident.card)
        return state is not None and state.recall <= BAND[1]

    def _rank(self, incident: Incident) -> tuple[bool, int, int]:
        """The sort key, lowest first: new variants, the role's own, weak classes, unknown classes."""
        familiarity = 0 if self._weak(incident) else 1 if self.cards.get(incident.card) is None else 2
        return incident.id in self.seen, self.tiers[incident.id], familiarity

    def draw(self, incidents: Sequence[Incident], rng: random.Random) -> Incident:
        """Draw one of those that come first; ``incidents`` must not be empty."""
        best = min(map(self._rank, incidents))
        return rng.choice([incident for incident in incidents if self._rank(incident) == best])

    def reserved_exercises(self, *, alarm: bool) -> frozenset[str]:
        """Exercises that a coding question should not use, so that a false alarm can be sampled."""
        return frozenset(i.exercise for i in self.ready if alarm and i.false_alarm)

    def sample(self, number: int, used: Collection[str], alarm: bool, rng: random.Random) -> list[Incident]:
        """Sample up to ``number`` incidents of different classes and exercises, none with one in ``used``.

        One has a one-batch test that passes; in a long interview another has one that fails. With ``alarm``,
        one of them is a false alarm, whose one-batch test counts too. If only one incident is sampled, the
        false alarm takes precedence over the test that passes.
        """
        chosen: list[Incident] = []

        def pick(wanted: Sequence[Incident]) -> bool:
            slugs = {*used, *(incident.exercise for incident in chosen)}
            classes = {incident.fault_class for incident in chosen}
            free = [i for i in wanted if i.exercise not in slugs and i.fault_class not in classes]
            if free and len(chosen) < number:
                chosen.append(self.draw(free, rng))
            return bool(free)

        faults = [incident for incident in self.ready if not incident.false_alarm]
        if alarm:
            pick([incident for incident in self.ready if incident.false_alarm])
        needs = ["passes"]
        if self.plan.minutes >= _BOTH_ONE_BATCH_TESTS_FROM_MINUTES and number > 1:
            needs.append("fails")
        for need in needs:
            if len(chosen) < number and need not in {incident.one_batch for incident in chosen}:
                self.satisfied &= pick([incident for incident in faults if incident.one_batch == need])
        while len(chosen) < number and pick(faults):
            pass
        rng.shuffle(chosen)
        return chosen


class _PaperSampler:
    """One attempt at a paper. ``cost`` adds up the rules that it broke; below 1, it met every rule."""

    def __init__(self, plan: InterviewPlan, bank: Bank, cards: Knowledge, seed: str) -> None:
        self.plan, self.bank, self.cards = plan, bank, cards
        self.rng = random.Random(seed)  # noqa: S311 - a paper that can be sampled again, not a secret
        self.used: set[str] = set()
        self.families: set[str] = set()
        self.kinds: Counter[str] = Counter()
        self.topics: Counter[str] = Counter()
        self.picks: list[PaperQuestion] = []
        self.cost = 0.0
        counts = plan.counts
        self.questions = sum(counts[slot] for slot in ("easy", "medium", "hard", "scenario"))
        weights = {t: w for t, w in plan.role.topic_weights.items() if t not in UNASKED_TOPICS}
        stocked = {q.topic for q in bank.questions.values()}
        weights = {topic: weight for topic, weight in weights.items() if topic in stocked}
        whole = sum(weights.values())
        self.quotas = {topic: self.questions * weight / whole for topic, weight in weights.items()}
        # Unseen questions go to random places, or all of them would end up in the slots filled first.
        marks = [True] * ceil(UNSEEN_SHARE * self.questions)
        marks += [False] * (self.questions - len(marks))
        self.rng.shuffle(marks)
        self.wants_unseen = marks

    def run(self, incidents: IncidentSampler, *, alarm: bool) -> None:
        """Fill all slots, beginning with those that are hardest to fill."""
        counts = self.plan.counts
        for _ in range(counts["coding"]):
            self._add_exercise(incidents.reserved_exercises(alarm=alarm))
        chosen = incidents.sample(counts["scenario"], self.used, alarm, self.rng)
        self.cost += 2 * (bool(incidents.ready) and not incidents.satisfied)
        for incident in chosen:
            self._add_incident(incident, unseen=incident.id not in incidents.seen)
        mediums = counts["medium"]
        for _ in range(counts["hard"]):
            if mediums and self._add_pair():
                mediums -= 1
            else:
                self.cost += 10  # a hard item needs a medium one of its topic, so this slot stays empty
        scenarios = counts["scenario"] - len(chosen)
        for slot, number in (("scenario", scenarios), ("medium", mediums), ("easy", counts["easy"])):
            for _ in range(number):
                if not self._add(slot, self._by_deficit()):
                    self.cost += 10
        self.cost += self._share_cost()

    def _share_cost(self) -> float:
        # Quotas are fractions, so a topic may be off by up to one question at no cost.
        off = sum(max(0.0, abs(self.topics[t] - quota) - 1.0) for t, quota in self.quotas.items())
        unseen = sum(pick.unseen for pick in self.picks if pick.slot != "coding")
        short = max(0, ceil(UNSEEN_SHARE * self.questions) - unseen)
        machine = any(pick.kind not in {"recall", "incident", "coding"} for pick in self.picks)
        wants_machine = self.plan.round.name == RoundName.MIXED and self.plan.minutes >= 30
        return off + short + float(wants_machine and not machine)

    def _by_deficit(self) -> list[str]:
        """Sort topics by how far they are below their quota; noise decides between close ones."""
        keyed = {t: quota - self.topics[t] + 0.4 * self.rng.random() for t, quota in self.quotas.items()}
        return sorted(keyed, key=lambda topic: -keyed[topic])

    def _add_exercise(self, reserved: Collection[str]) -> None:
        free = [e for e in _exercises(self.plan, self.bank, self.cards) if e.slug not in self.used]
        free = [e for e in free if e.slug not in reserved] or free
        if not free:
            self.cost += 10
            return
        exercise = self.rng.choice(sorted(free, key=lambda e: e.slug))
        state = self.cards.get(f"exercise:{exercise.slug}")
        stages = asked_stages(exercise, self.plan.coding_s, first_only=self.plan.first_stage_only)
        seconds = 60 * sum(stage.minutes for stage in stages)
        self.used.add(exercise.slug)
        self.picks.append(
            PaperQuestion(
                "coding",
                f"exercise:{exercise.slug}",
                exercise.slug,
                exercise.topic,
                exercise.level,
                "coding",
                round(state.recall, 4) if state else None,
                state is None,
                self.rng.getrandbits(31),
                planned=seconds,
                budget=seconds,
                stages=tuple(stage.name for stage in stages),
            )
        )

    def _add_incident(self, incident: Incident, *, unseen: bool) -> None:
        state = self.cards.get(incident.card)
        self.used.add(incident.exercise)
        self.topics[incident.topic] += 1
        self.picks.append(incident_question(incident, state, self.rng, unseen=unseen))

    def _add_pair(self) -> bool:
        """Add a medium and a hard item of one topic. Return False if no topic has both."""
        for topic in self._by_deficit():
            hard = self._candidates("hard", topic)
            medium = self._candidates("medium", topic)
            slugs = {q.exercise for q in (*hard, *medium)}
            if not hard or not medium or (len(slugs) < 2 and "" not in slugs):
                continue
            first = self._choose(hard)
            taken = {first.exercise} - {""}  # cards without an exercise have none in common
            rest = [q for q in medium if q.exercise not in taken and _family(q) != _family(first)]
            if rest:
                self._append("hard", first)
                self._append("medium", self._choose(rest))
                return True
        return False

    def _add(self, slot: str, topics: Iterable[str]) -> bool:
        """Add an item from the first topic that has a candidate, else from any topic outside the role."""
        for topic in topics:
            if candidates := self._candidates(slot, topic):
                self._append(slot, self._choose(candidates))
                return True
        others = {q.topic for q in self.bank.questions.values()} - set(self.quotas) - UNASKED_TOPICS
        for topic in sorted(others, key=lambda _: self.rng.random()) if others else ():
            if candidates := self._candidates(slot, topic):
                self._append(slot, self._choose(candidates))
                return True
        return False

    def _candidates(self, slot: str, topic: str) -> list[Question]:
        return [
            question
            for question in _pool(self.bank, slot, topic)
            if (question.kind == "recall" or not self.plan.in_words(slot))
            and (question.kind != "recall" or question.key_points)  # by which an answer in words is marked
            and question.exercise not in self.used
            and _family(question) not in self.families
            and not ((state := self.cards.get(question.id)) and (state.fresh or state.suspended))
        ]

    def _choose(self, candidates: Sequence[Question]) -> Question:
        """Choose by familiarity (unseen or half-known, as this place wants), then by kind, then at random."""
        want = self.wants_unseen[len(self.picks) % len(self.wants_unseen)]
        ranks = {question.id: self._rank(question, want_unseen=want) for question in candidates}
        best = min(ranks.values())
        preferred = [question for question in candidates if ranks[question.id] == best]
        kinds = sorted({question.kind for question in preferred})
        weights = [_KIND_WEIGHTS[kind] / (1 + self.kinds[kind]) for kind in kinds]
        kind = self.rng.choices(kinds, weights)[0]
        return self.rng.choice([question for question in preferred if question.kind == kind])

    def _rank(self, question: Question, *, want_unseen: bool) -> int:
        state = self.cards.get(question.id)
        if state is None:
            return 0 if want_unseen else 1
        if state.in_band:
            return 0 if not want_unseen else 1
        return 2

    def _append(self, slot: str, question: Question) -> None:
        state = self.cards.get(question.id)
        if question.exercise:
            self.used.add(question.exercise)
        self.families.add(_family(question))
        self.kinds[question.kind] += 1
        self.topics[question.topic] += 1
        recall = round(state.recall, 4) if state else None
        unseen = state is None or question.kind == "numeric"  # new values make it a new question
        seed = self.rng.getrandbits(31)
        self.picks.append(
            PaperQuestion(
                slot,
                question.id,
                question.exercise,
                question.topic,
                question.level,
                question.kind,
                recall,
                unseen,
                seed,
                phase=self.plan.phase_of(slot),
            )
        )


def _pool(bank: Bank, slot: str, topic: str) -> list[Question]:
    # Every attempt asks for many pools, so index the bank once. Only the last bank is kept.
    cache = _POOLS.get(id(bank.questions))
    if cache is None or cache[0] is not bank.questions:
        pools: dict[tuple[str, str], list[Question]] = {}
        for question in bank.questions.values():
            if question.topic not in UNASKED_TOPICS:
                staged = question.scenario and question.kind == "recall"
                pools.setdefault(("scenario" if staged else question.level, question.topic), []).append(
                    question
                )
        _POOLS.clear()
        cache = _POOLS[id(bank.questions)] = (bank.questions, pools)
    return cache[1].get((slot, topic), [])


_POOLS: dict[int, tuple[object, dict[tuple[str, str], list[Question]]]] = {}


def _family(question: Question) -> str:
    return question.parent or question.id
