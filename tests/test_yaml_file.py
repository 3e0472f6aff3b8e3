"""Strict YAML: what is read exactly, and what is refused with its place; never anything but a clear error."""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import children
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hpsim.errors import SweepFileError
from hpsim.sweep.file import yaml_file
from hpsim.sweep.file.pipelines_file import load_pipelines
from hpsim.sweep.file.yaml_file import dump, find, load, parse
from hpsim.sweep.spec import load_sweep


def refusal_of(path: Path) -> SweepFileError:
    with pytest.raises(SweepFileError) as caught:
        load(path)
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", Fraction(1, 1000)),
        ("1E3", Fraction(1000)),
        (".5", Fraction(1, 2)),
        ("-.5", Fraction(-1, 2)),
        ("+2.", Fraction(2)),
        ("0.1", Fraction(1, 10)),
        ("010", 10),
        ("18446744073709551615", 2**64 - 1),
        ("true", True),
        ("'1'", "1"),
        ("1/3", "1/3"),
        ("yes", "yes"),
        (".nan", ".nan"),
        ("1_000", "1_000"),
        ("0x10", "0x10"),
        ("1:30", "1:30"),
        ("2026-10-15", "2026-10-15"),
    ],
)
def test_plain_values_are_read_as_written(text: str, value: object) -> None:
    """Numbers exactly, and nothing else as a number: no octal, sexagesimal or date surprises."""
    data, _ = parse(f"key: {text}", "file")
    assert data == {"key": value}
    assert isinstance(data, dict)
    assert type(data["key"]) is type(value)


def test_every_key_path_has_its_line(tmp_path: Path) -> None:
    file = tmp_path / "lines.yaml"
    file.write_text("# comment\na: 1\nb:\n  - x\n  - {c: 2,\n     d: 3}\n")
    assert load(file).lines == {
        (): 2,
        ("a",): 2,
        ("b",): 3,
        ("b", 0): 4,
        ("b", 1): 5,
        ("b", 1, "c"): 5,
        ("b", 1, "d"): 6,
    }


def test_a_byte_order_mark_is_no_part_of_the_first_key(tmp_path: Path) -> None:
    file = tmp_path / "bom.yaml"
    file.write_bytes(b"\xef\xbb\xbfseed: 1\n")
    assert load(file).data == {"seed": 1}


@pytest.mark.parametrize(
    ("content", "line", "part"),
    [
        (b"", 1, "the file is empty"),
        (b"# only a comment\n", 1, "the file is empty"),
        (b"---\n...\n", 1, "the file is empty"),
        (b"null", 1, "the file is empty"),
        (b"seed: 1\nname: caf\xe9\n", 2, "the byte 0xe9 is not UTF-8"),
        ("seed: 1\n".encode("utf-16"), 1, "is not UTF-8"),
        (b"\x89PNG\r\n\x1a\n\x00", 1, "is not UTF-8"),
        (b"PAR1\x00\x01", 1, "the character"),
        (b"seed: 1\nname: a\x07b\n", 2, "the character"),
        (b"seed: 1\n? [a, b]\n: 2\n", 2, "a key that is a list"),
        (b"a: &a [x, x]\nb: [*a, *a]\n", 1, "the YAML reference &a"),
        (b"b: *a\n", 1, "the YAML reference *a"),
        (b"a: !!python/object/apply:os.system [ls]\n", 1, "the YAML tag"),
        (b"a: 1\n---\nb: 2\n", 2, "a second YAML document"),
        (b"a: 1\n\tb: 2\n", 2, "not YAML"),
        (b"a: 'open\n", 2, "not YAML"),
        (b"a: @home\n", 1, "not YAML"),
        (b"%YAML 9.9\n---\na: 1\n", 1, "not YAML"),
        (b"a: " + b"9" * 500 + b"\n", 1, "within the range of float64"),
        (b"a: " + b"[" * 60 + b"]" * 60, 1, "nested deeper than 40"),
        (b"a: " + b"[" * 100_000, 1, "n"),
        (b"a:\n  b: ~\n", 2, "no value"),
        (b"a:\n  - 1\n  -\n", 3, "no value"),
    ],
)
def test_a_file_that_is_not_strict_yaml_is_refused_at_its_line(
    content: bytes, line: int, part: str, tmp_path: Path
) -> None:
    file = tmp_path / "bad.yaml"
    file.write_bytes(content)
    error = refusal_of(file)
    assert error.place.split(": ")[0] == f"{file}:{line}"
    assert part in str(error)


def test_exponential_expansion_is_refused_at_once(tmp_path: Path) -> None:
    """The classic file of nine nested lists of references would have a billion entries."""
    file = tmp_path / "laughs.yaml"
    levels = [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 9)]
    file.write_text("\n".join(["l0: &l0 [ha]", *levels]))
    assert "the YAML reference &l0" in str(refusal_of(file))


def test_a_file_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SweepFileError, match="no such file"):
        find(str(tmp_path / "none.yaml"), "sweeps")
    with pytest.raises(SweepFileError, match="is a folder"):
        find(str(tmp_path), "sweeps")
    with pytest.raises(SweepFileError, match=r"no such file|cannot be opened"):
        find("a\0b", "sweeps")
    with pytest.raises(SweepFileError, match=r"no such file|cannot be opened"):
        find("x" * 5000, "sweeps")
    assert "no such file" in str(refusal_of(tmp_path / "none.yaml"))
    assert "cannot be read" in str(refusal_of(tmp_path))


def test_an_unreadable_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "secret.yaml"
    file.write_text("a: 1\n")

    def denied(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", denied)
    assert "cannot be read (Permission denied)" in str(refusal_of(file))


def test_a_file_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_file, "MAX_BYTES", 2**20)
    file = tmp_path / "large.yaml"
    file.write_bytes(b"#" * (2**20 + 1))
    assert "larger than 1 MiB" in str(refusal_of(file))


@pytest.mark.parametrize(
    ("content", "line", "part"),
    [
        ("a: [" + "1," * 300_000 + "]\n", 1, "more than 250,000 values; a smaller file"),
        ("a:\n" + "- 1\n" * 300_000, 250_000, "more than 250,000 values"),
        ("a: [" + "~," * 300_000 + "]\n", 1, "more than 250,000 values"),
        ("a: [" + "{}," * 300_000 + "]\n", 1, "more than 250,000 values"),
        ("".join(f"k{n}: 1\n" for n in range(100_000)), 1001, "a mapping of more than 1,000 keys"),
        ("".join(f"%TAG !a{n}! tag:x\n" for n in range(100_000)) + "---\na: 1\n", 1, "the YAML directive %TAG"),
        ("%YAML 1.1\r%TAG ! tag:x\n---\na: 1\n", 1, "the YAML directive %TAG"),
        ("%X a\n" * 100_000 + "---\na: 1\n", 1, "not YAML"),
        ("a: 1\n" + "---\n" * 100_000, 2, "a second YAML document"),
        ("a: &" + "x" * 100_000 + " 1\n", 1, "the YAML reference &xxx"),
        ("a: !" + "x" * 100_000 + " 1\n", 1, "the YAML tag !xxx"),
        ("a:\n " + "- " * 100_000 + "\n", 2, "nested deeper than 40"),
        ("a: " + "[" * 100_000 + "]" * 100_000, 1, "n"),
        ("? " * 100_000, 1, "a key that is a list"),
        ("k" * 100_000 + ": 1\n", 1, "not YAML"),
        ("a: [" + "," * 100_000 + "]\n", 1, "not YAML"),
    ],
    ids=lambda value: value[:12] if isinstance(value, str) else None,
)
def test_too_much_of_anything_is_refused_in_short(content: str, line: int, part: str, tmp_path: Path) -> None:
    """Each would take minutes or gigabytes at a larger size, or fill the screen with itself."""
    file = tmp_path / "bad.yaml"
    file.write_text(content, newline="")
    error = refusal_of(file)
    assert error.place.split(": ")[0] == f"{file}:{line}"
    assert part in str(error)
    assert len(str(error)) - len(str(file)) < 300


def test_a_name_without_end_is_told_in_short() -> None:
    with pytest.raises(SweepFileError) as caught:
        find("x" * 100_000, "sweeps")
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    "content",
    [
        "# comment\n" * 800_000 + "configs: 10\nstages: 3\ntau: 1\n",
        "\n" * 8_000_000 + "configs: 10\nstages: 3\ntau: 1\n",
        "note: " + "x" * 8_000_000,
        "note: |\n" + "  abc\n" * 1_300_000,
        'note: "' + "x y\\n" * 1_600_000 + '"\n',
        "pipelines:\n" + "".join(f"- {{name: p{n}, tau: [{n}.5, 2, 3.25], d: [0.1, 0.2]}}\n" for n in range(24_000)),
        "grid:\n  tau: [[1, 2]]\n  d:\n" + "".join(f"  - {n}.125\n" for n in range(240_000)),
        "pipelines: [{name: a, tau: [1], stages: [" + "a," * 240_000 + "]}]\n",
        "claims: [" + "thm2," * 240_000 + "]\n",
    ],
    ids=["comments", "lines", "text", "block", "quoted", "pipelines", "grid", "names", "claims"],
)
def test_a_file_within_the_limits_takes_half_a_gigabyte_at_most(content: str, tmp_path: Path) -> None:
    """Read or refused, in a process of its own; 20 seconds of the processor are ten times what it needs."""
    assert len(content) < yaml_file.MAX_BYTES
    file = tmp_path / "large.yaml"
    file.write_text(content)
    code = (
        "import re, resource, sys\n"
        "from hpsim.errors import SweepFileError\n"
        "from hpsim.sweep.spec import load_sweep\n"
        "resource.setrlimit(resource.RLIMIT_CPU, (20, 20))\n"
        "try:\n    load_sweep(sys.argv[1])\n"
        "except SweepFileError as error:\n    assert len(str(error)) < 2000\n"
        "print(re.search(r'VmHWM:\\s*([0-9]+) kB', open('/proc/self/status').read())[1])"
    )
    root = Path(__file__).parent.parent
    command = [sys.executable, "-c", code, str(file)]
    done = children.run(command, cwd=root, check=True)
    assert int(done.stdout) < 500_000  # kB


def _calls(read: Callable[[], object]) -> int:
    """How many calls of Python functions, and of those of C, reading makes."""
    calls = 0

    def count(*_: object) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        read()
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize(
    "content",
    [
        lambda n: "a: [" + "1.5," * n + "]",
        lambda n: "a:\n" + "- {b: [1, x], c: 2}\n" * n,
        lambda n: "".join(f"k{k}: 1\n" for k in range(n)),
        lambda n: f"a: {'[' * 30}{'1,' * n}{']' * 30}",
    ],
)
def test_the_work_of_reading_is_in_proportion_to_the_file(content: Callable[[int], str], tmp_path: Path) -> None:
    counts = []
    for n in (500, 1000):
        file = tmp_path / f"{n}.yaml"
        file.write_text(content(n))
        counts.append(_calls(lambda file=file: load(file)))  # type: ignore[misc]
    assert counts[1] < 2.1 * counts[0]


@pytest.mark.parametrize(("name", "kind"), [("paper_fuzz", "sweeps"), ("hand_crafted.yaml", "configs")])
def test_a_bare_name_finds_a_shipped_file(
    name: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a folder has that name; a file in the working directory comes first."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).mkdir()
    stem = name.removesuffix(".yaml")
    found = find(name, "sweeps" if kind == "sweeps" else "configs")
    assert found.parts[-2:] == (kind, f"{stem}.yaml")
    (tmp_path / name).rmdir()
    (tmp_path / name).write_text("a: 1\n")
    assert find(name, "sweeps") == Path(name)


def test_a_missing_file_is_told_with_the_shipped_names() -> None:
    with pytest.raises(SweepFileError, match="hand_crafted, links, paper_fuzz, paper_fuzz_float64, phase_transition"):
        find("paper_fuz", "sweeps")
    with pytest.raises(SweepFileError, match="hand_crafted, paper_clusters"):
        find("paper_cluster", "configs")


@pytest.mark.parametrize("name", ["paper-fuzz", "paper_fuz", "Paper_Fuzz", "paperfuzz.yaml"])
def test_a_name_almost_right_is_answered_with_the_right_one(name: str) -> None:
    with pytest.raises(SweepFileError) as caught:
        find(name, "sweeps")
    assert str(caught.value).startswith(
        f"{name}: no such file; did you mean paper_fuzz? otherwise a path to a sweep file"
    )


def test_a_name_far_from_all_is_not_guessed_at() -> None:
    with pytest.raises(SweepFileError) as caught:
        find("mine", "sweeps")
    assert "did you mean" not in str(caught.value)


def test_text_that_looks_like_a_number_is_quoted_when_written() -> None:
    data = {"name": "1e3", "stages": [".5", "010", "1.", "no", "1/3", "a: b", "研究"], "number": 1e-9, "flag": True}
    again, _ = parse(dump(data), "file")
    assert again == data | {"number": Fraction(1, 10**9)}


def test_the_pure_python_parser_refuses_the_same_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyYAML without its C library words some messages differently; the places and the refusals stay."""
    monkeypatch.setattr(yaml_file, "_Parser", yaml.SafeLoader)
    for content, line in [
        (b"a: 1\na: 2\n", 2),
        (b"a: 1\n\tb: 2\n", 2),
        (b"a: 1\nb: x\x07\n", 2),
        (b'"\\U00110000": 1', 1),
    ]:
        file = tmp_path / "bad.yaml"
        file.write_bytes(content)
        assert refusal_of(file).place.startswith(f"{file}:{line}")


PIECES = "configs: 3\n,stages: 2\n,tau: ,{uniform: [1; 2]}\n,grid:\n,  tau: [[1; 2]]\n,- ,\t,*a,&a ,!!,{,},[,],? ,: "
MORE = "',\",1e-3,.nan,~,\n,---\n,%,@,|,>,\x00,é"
FRAGMENTS = st.sampled_from([piece.replace(";", ",") for piece in f"{PIECES},{MORE}".split(",")])


@given(st.one_of(st.binary(max_size=60), st.lists(FRAGMENTS, max_size=14).map(lambda parts: "".join(parts).encode())))
@settings(max_examples=600, deadline=None, derandomize=True)
def test_garbage_is_a_sweep_or_one_clear_error(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "garbage.yaml"
    file.write_bytes(content)
    for read in (load_sweep, load_pipelines):
        message = "read"
        try:
            read(file)
        except SweepFileError as error:
            message = str(error)
        assert "\n" not in message


def test_reading_a_sweep_loads_nothing_heavy() -> None:
    code = (
        "import sys; from hpsim.sweep.spec import load_sweep; load_sweep('hand_crafted');"
        "print([name for name in ('numpy', 'numba', 'pandas', 'pyarrow') if name in sys.modules])"
    )
    root = Path(__file__).parent.parent
    done = children.run([sys.executable, "-c", code], cwd=root, check=True)
    assert done.stdout == "[]\n"
