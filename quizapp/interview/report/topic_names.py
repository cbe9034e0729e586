"""A report as people read it: topics by their names. The stored report keeps the ids."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from quizapp.bank.model import Topic

NONE: Mapping[str, Topic] = MappingProxyType({})
"""No names are known: the ids stay."""


def _name(topic: str, topics: Mapping[str, Topic]) -> str:
    return topics[topic].name if topic in topics else topic


def items_named(document: Mapping[str, Any], topics: Mapping[str, Topic]) -> dict[str, Any]:
    """A copy in which the items name their topics: what a trend over reports reads."""
    items = [dict(item, topic=_name(item["topic"], topics)) for item in document["items"]]
    return {**document, "items": items}


def named(document: Mapping[str, Any], topics: Mapping[str, Topic]) -> dict[str, Any]:
    """A copy of the report with the name of each topic in the place of its id; unknown ids stay."""

    def keyed(rows: Mapping[str, Any]) -> dict[str, Any]:
        return {_name(topic, topics): row for topic, row in rows.items()}

    def step(row: Mapping[str, str]) -> dict[str, str]:
        drill, _, topic = row["command"].partition(" --topic ")
        return (
            dict(row, what=f"Drill {_name(topic, topics)}")
            if topic and drill == "quizapp drill"
            else dict(row)
        )

    calibration = document["calibration"]
    return {
        **items_named(document, topics),
        "inflation": keyed(document["inflation"]),
        "calibration": dict(calibration, topics=keyed(calibration["topics"])),
        "weak_topics": [dict(row, topic=_name(row["topic"], topics)) for row in document["weak_topics"]],
        "next_steps": [step(row) for row in document["next_steps"]],
    }
