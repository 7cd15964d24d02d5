"""What jobs have printed, for clients elsewhere."""

from __future__ import annotations

from firesteel.spark import printed_texts
from firesteel.spark.printed_texts import PrintedTexts


def read(printed: PrintedTexts, job: str) -> str:
    whole, offset = "", 0
    while True:
        begin, text = printed.after(job, offset)
        if not text:
            return whole
        whole, offset = whole + text, begin + len(text)


def test_a_client_reads_what_it_does_not_have():
    printed = PrintedTexts()
    for number in range(5):
        printed.add("a", f"{number}\n")
    printed.add("b", "other\n")
    assert printed.after("a", 4) == (4, "2\n3\n4\n")
    assert printed.after("a", 5) == (5, "\n3\n4\n")
    assert printed.after("a", 10) == (10, "")
    assert printed.after("nobody", 3) == (0, "")


def test_another_jobmanager_begins_anew():
    printed = PrintedTexts()
    printed.add("a", "new\n")
    assert printed.after("a", 700) == (0, "new\n")


def test_the_end_is_kept_and_read_in_parts(monkeypatch):
    monkeypatch.setattr(printed_texts, "_MOST_CHARACTERS", 100)
    monkeypatch.setattr(printed_texts, "_MOST_AT_ONCE", 7)
    printed = PrintedTexts()
    lines = [f"{number:03}\n" for number in range(200)]
    for line in lines:
        printed.add("a", line)
    assert read(printed, "a") == "".join(lines[-25:])
    assert printed.after("a", 0) == (700, "".join(lines[-25:])[:7])


def test_a_piece_of_any_size_is_cut(monkeypatch):
    monkeypatch.setattr(printed_texts, "_MOST_CHARACTERS", 100)
    printed = PrintedTexts()
    printed.add("a", "first\n")
    printed.add("a", "x" * 1000 + "y" * 60)
    printed.add("a", "z")
    assert printed.after("a", 0) == (966, "x" * 40 + "y" * 60 + "z")


def test_running_jobs_and_the_last_ended_ones_are_kept():
    printed = PrintedTexts(2)
    for job in ("running", "a", "b", "c"):
        printed.add(job, job)
    for job in ("a", "without a text", "b", "c"):
        printed.end(job)
    assert [printed.after(job, 0)[1] for job in ("running", "a", "b", "c")] == ["running", "", "b", "c"]
