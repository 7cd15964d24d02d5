"""The list of old messages that are still quoted."""

from __future__ import annotations

from tests.changed_messages import literals, old_quotes, spans

BEFORE = ["the job %s is gone, so it can't be cancelled", "unknown option "]
NOW = ["the job %s has ended and can't be cancelled", "unknown option "]


def test_an_assertion_of_an_old_message_is_found() -> None:
    source = '"""The job is gone."""\nwith raises(Error, match=r"job .* is gone, so it can\'t be"):\n    pass\n'
    assert list(old_quotes(BEFORE, NOW, literals(source))) == [(2, BEFORE[0])]


def test_a_quote_with_a_value_between_pieces_is_found() -> None:
    source = 'match = "found 2 files that were not sent in 5 s"\n'
    assert list(old_quotes([" files that were not sent in "], [" files not uploaded"], literals(source))) == [
        (1, " files that were not sent in ")
    ]


def test_a_code_span_with_an_old_message_is_found() -> None:
    text = "# Errors\n\nIf you see `is gone, so it can't be cancelled`, look elsewhere.\n"
    assert list(old_quotes(BEFORE, NOW, spans(text))) == [(3, BEFORE[0])]


def test_texts_of_present_messages_and_other_texts_are_not_found() -> None:
    source = 'match="and can\'t be cancelled"\nmatch="unknown option"\nname = "the fox is gone, so it sleeps"\n'
    assert list(old_quotes(BEFORE, NOW, literals(source))) == []
