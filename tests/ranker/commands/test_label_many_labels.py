"""`rank-models label` with more labels than fit into a line."""

from test_label import plain


def test_a_batch_names_the_most_frequent_labels(tmp_path):
    """Ten of thirteen predicted labels with their shares, and the number of the others."""
    rows = range(26)
    (tmp_path / "pool.csv").write_text("id,text\n" + "".join(f"{n},Row {n}\n" for n in rows))
    for name, step in {"a.csv": 1, "b.csv": 2}.items():
        answers = "".join(f"{n},label-{n * step % 13}\n" for n in rows)
        (tmp_path / name).write_text(f"id,prediction\n{answers}")
    status, _, err = plain(tmp_path, "", "--batch", "20", models=("a.csv", "b.csv"), output="batch.csv")
    assert status == 0
    (line,) = (line for line in err.splitlines() if line.startswith("on these rows the models predict"))
    shares = line.removeprefix("on these rows the models predict ").partition(" of the time")[0].split(", ")
    assert (len(shares), shares[-1].split()[:2]) == (11, ["3", "others"])
