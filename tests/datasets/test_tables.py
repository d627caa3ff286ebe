"""Text tables as people have them: every cell stays as written."""

from pathlib import Path

import pytest

from recall_core.datasets.tables import find_columns, parse_number, parse_table, read_table
from recall_core.errors import DataError


def write(folder: Path, content: str | bytes) -> Path:
    path = folder / "metadata.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_names_that_look_like_numbers_stay_as_written(tmp_path: Path) -> None:
    table = read_table(write(tmp_path, "id,group\n0001,NA\n04,None\n4,1e5\n1234567890123456789,\n"))
    assert table["id"].tolist() == ["0001", "04", "4", "1234567890123456789"]
    assert table["group"].tolist() == ["NA", "None", "1e5", ""]


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_the_separator_is_found_in_the_header(tmp_path: Path, mark: str) -> None:
    content = "\n".join(mark.join(cells) for cells in (["id", "group", "x"], ["a", "g", "1.5"], ["b", "h", "2"]))
    assert read_table(write(tmp_path, content)).to_numpy().tolist() == [["a", "g", "1.5"], ["b", "h", "2"]]


def test_decimal_commas_survive_between_semicolons(tmp_path: Path) -> None:
    assert read_table(write(tmp_path, "id;x\na;1,5\n"))["x"].tolist() == ["1,5"]


def test_byte_order_mark_windows_line_ends_and_blanks_after_the_comma_do_not_matter(tmp_path: Path) -> None:
    table = read_table(write(tmp_path, b"\xef\xbb\xbfimage_id, group\r\na, g\r\n\r\nb, h\r\n"))
    assert list(table.columns) == ["image_id", "group"]
    assert table["group"].tolist() == ["g", "h"]


def test_quoted_cells_may_hold_separators_and_line_ends(tmp_path: Path) -> None:
    assert read_table(write(tmp_path, 'id,note\na,"x, y\nz"\n'))["note"].tolist() == ["x, y\nz"]


def test_both_unicode_forms_of_a_name_are_one_name(tmp_path: Path) -> None:
    assert read_table(write(tmp_path, "id\na\u0301rvi\u0301z\n"))["id"].tolist() == ["árvíz"]


def test_another_encoding_is_an_error_that_offers_the_option_and_is_read_when_named(tmp_path: Path) -> None:
    path = write(tmp_path, "id,group\na,Erdő\n".encode("cp1250"))
    with pytest.raises(DataError, match=r"metadata.csv line 2: byte 0xf5 is not utf-8; .*encoding='cp1250'"):
        read_table(path)
    assert read_table(path, encoding="cp1250")["group"].tolist() == ["Erdő"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "metadata.csv is empty"),
        ("id,id\na,b\n", "names 'id' more than once"),
        ("id,,x\na,b,c\n", "header cell 2 is empty"),
        ("id,x\na,1\nb\n", "line 3: 1 cells where the header has 2"),
        ("id,x\na,1,2\n", "line 2: 3 cells where the header has 2"),
        ('id,x\na,"1\n', "line 2: unexpected end of data"),
        ("id,x\na,\x00\n", "contains zero bytes"),
    ],
)
def test_a_table_that_cannot_be_right_is_refused_with_its_place(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_table(write(tmp_path, content))


def test_an_unknown_encoding_and_a_missing_file_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="encoding 'klingon' is not known"):
        read_table(write(tmp_path, "id\na\n"), encoding="klingon")
    with pytest.raises(DataError, match=r"gone.csv cannot be read"):
        read_table(tmp_path / "gone.csv")
    with pytest.raises(DataError, match=r"cannot be read: embedded null byte"):
        read_table(tmp_path / "\0.csv")


def test_only_real_line_ends_end_a_row(tmp_path: Path) -> None:
    table = read_table(write(tmp_path, "id,note\ra,one\u2028two\x0bthree\x85\rb,x\r"))
    assert table["note"].tolist() == ["one\u2028two\x0bthree\x85", "x"]


def test_blank_rows_at_the_end_are_no_rows_and_others_keep_their_place(tmp_path: Path) -> None:
    text = "id,label\na,x\n,\nb,\n,\n , \n"
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    assert read_table(tmp_path / "t.csv").to_numpy().tolist() == [["a", "x"], ["", ""], ["b", ""]]
    assert len(parse_table(text, "t.csv", keep_blank=True)) == 5


def test_excels_line_that_names_the_separator_and_blank_lines_at_the_top_are_passed_over(tmp_path: Path) -> None:
    assert read_table(write(tmp_path, "sep=;\r\nid;x,y\r\na;1,5\r\n")).to_dict("list") == {"id": ["a"], "x,y": ["1,5"]}
    assert read_table(write(tmp_path, "\n\nid,x\na,1\n"))["x"].tolist() == ["1"]


def test_excels_unicode_text_is_read_by_its_mark(tmp_path: Path) -> None:
    assert read_table(write(tmp_path, "id\tgroup\na\tErdő\n".encode("utf-16")))["group"].tolist() == ["Erdő"]


def test_the_nameless_row_numbers_of_pandas_get_a_name(tmp_path: Path) -> None:
    assert read_table(write(tmp_path, ",id\n0,a\n"))["column 1"].tolist() == ["0"]


@pytest.mark.parametrize(("cell", "value"), [("1.5", 1.5), ("1,5", 1.5), (" -0,25 ", -0.25), ("1e3", 1000.0)])
def test_numbers_are_read_with_point_or_comma(cell: str, value: float) -> None:
    assert parse_number(cell) == value


@pytest.mark.parametrize("cell", ["", "one", "1,234.5", "1,2,3", "1_000"])
def test_a_number_that_could_mean_two_things_is_refused(cell: str) -> None:
    with pytest.raises(ValueError, match=r"could not convert|1_000"):
        parse_number(cell)


def test_columns_are_found_by_conventional_names_in_any_case_or_as_the_user_names_them(tmp_path: Path) -> None:
    table = read_table(write(tmp_path, "Image_ID,Scene_ID,wer\na,g,x\n"))
    assert find_columns(table) == {"id": "Image_ID", "group": "Scene_ID"}
    assert find_columns(table, {"group": "wer"})["group"] == "wer"
    with pytest.raises(DataError, match="no such role; the roles are id, path"):
        find_columns(table, {"colour": "wer"})
    with pytest.raises(DataError, match="there is no such column; there are Image_ID"):
        find_columns(table, {"group": "wen"})
