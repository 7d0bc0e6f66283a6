"""Language models as a kind of source: what it claims, and whole runs with prompts as models."""

import json
import warnings
from pathlib import Path

import pytest
import torch
from conftest import TASK, make_checkpoint, make_lm
from refusals import refuses

from factors.types import Example
from ranker.cli import main
from ranker.errors import ModelError, UsageError
from ranker.sources import kinds
from ranker.sources.base import Machine, ResourceCache, SourceOptions
from ranker.sources.hf.files import open_gguf
from ranker.sources.hf.heads import CAUSAL
from ranker.sources.lm.kind import PromptedModel, claims, sources
from ranker.sources.lm.network import LanguageModel
from ranker.sources.lm.options import LMOptions
from ranker.sources.lm.prompts import Prompt
from ranker.sources.lm.scoring import LabelScorer
from ranker.sources.lm.writing import Writer
from ranker.sources.references import Reference

PROMPTS = {"so": "{premise} So: {hypothesis} ", "because": "{hypothesis} because {premise} "}
WORDS = '[verbalizers]\nentailment = "actor"\nnon-entailment = "judge"\n'


def kind_name(place):
    """The name of the kind that claims a place."""
    cache = ResourceCache()
    kind = kinds.kind_of(Reference(str(place)), SourceOptions(), cache)
    return next(name for name, candidate in kinds.known_kinds(cache).items() if candidate is kind)


def test_the_configuration_decides_which_kind_a_folder_is(lm, checkpoint, tmp_path):
    """Language models of all kinds, a folder of them, and a GGUF file; classifiers stay with the other kind."""
    assert {kind_name(lm(kind)) for kind in ("llama", "gemma", "gpt2", "t5")} == {"lm"}
    assert kind_name(checkpoint("bert")) == kind_name(checkpoint("bart")) == "hf"
    make_lm(tmp_path / "runs" / "checkpoint-1")
    make_lm(tmp_path / "runs" / "checkpoint-2", seed=1)
    assert kind_name(tmp_path / "runs") == "lm"
    (tmp_path / "a.gguf").write_bytes(b"GGUF")
    assert kind_name(tmp_path / "a.gguf") == "lm"
    models = sources(Reference(str(tmp_path / "runs")), SourceOptions(), ResourceCache())
    assert [(model.name, model.family) for model in models] == [("checkpoint-1",) * 2, ("checkpoint-2",) * 2]


def test_a_hub_id_is_known_by_what_was_fetched(lm, monkeypatch):
    """The hub is not asked what it holds: of an id that was never fetched `lm:` says that it is a language model."""
    fetched = {("org/writer", "config.json", "abc"): str(lm() / "config.json")}
    look = lambda name, file, revision=None: fetched.get((name, file, revision))  # noqa: E731
    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", look)
    assert kind_name("org/writer@abc") == "lm"
    assert kind_name("org/writer") == "hf"
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda name, **_: str(lm()))
    (source,) = kinds.available_kinds()["hf"].sources(Reference("org/writer"), SourceOptions(), ResourceCache())
    assert source.inspect(ResourceCache()).trouble == "org/writer is a language model; name it so: `lm:org/writer`"


@pytest.fixture
def project(tmp_path):
    """A folder with prompts, rows and demonstrations."""
    (tmp_path / "prompts").mkdir()
    for name, template in PROMPTS.items():
        body = f'segments = ["premise", "hypothesis"]\ntemplate = "{template}"\n{WORDS}'
        (tmp_path / "prompts" / f"{name}.toml").write_text(body)
    texts = ["The doctor saw the actor.", "An old judge danced.", "The judge waited near the doctor."]
    for file, start in (("rows", 0), ("more", 50)):
        pairs = [(f"{texts[n % 3]} {n}", texts[(n + 1) % 3]) for n in range(start, start + 12)]
        labels = ["entailment", "non-entailment"] * 6
        rows = [(*pair, label) for pair, label in zip(pairs, labels, strict=True)]
        lines = [dict(zip(("premise", "hypothesis", "label"), row, strict=True)) for row in rows]
        (tmp_path / f"{file}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


@pytest.fixture
def run(project, monkeypatch, capsys):
    """The program in that folder, with a store of its own: its output and its messages."""
    monkeypatch.chdir(project)

    def call(*arguments, exit_code=0):
        line = ["--data", "rows.jsonl", "--task", "nli", "--store", "store", "--attribution", "none", *arguments]
        with pytest.raises(SystemExit) as stop:
            main(line)
        assert (stop.value.code or 0) == exit_code
        return capsys.readouterr()

    return call


@pytest.mark.more
def test_prompts_are_ranked_like_models(lm, project, run):
    """Two prompts, with demonstrations and without, calibrated and not, beside an encoder and a file of answers."""
    encoder = make_checkpoint(project / "encoder")
    rows = [json.loads(line) for line in (project / "rows.jsonl").read_text().splitlines()]
    answers = [f'"{row["premise"]}","{row["hypothesis"]}",entailment' for row in rows]
    (project / "always.csv").write_text("\n".join(["premise,hypothesis,prediction", *answers]))
    flags = ["--prompts", "prompts", "--shots", "0", "--shots", "2", "--demonstrations", "more.jsonl"]
    calibration = ["--calibration", "none", "--calibration", "content-free"]
    done = run("--models", str(lm()), str(encoder), "always.csv", *flags, *calibration, "--format", "json")
    names = {model["name"] for model in json.loads(done.out)["decision"]["models"]}
    expected = {
        "/".join(filter(None, ["llama", prompt, shots, calibrated]))
        for prompt in PROMPTS
        for shots in ("", "2-shot")
        for calibrated in ("", "calibrated")
    }
    assert names == {*expected, "encoder", "always"}


def test_labels_of_no_task_are_those_of_the_rows(lm, project, rank_models, monkeypatch):
    """For prompts that list any labels; other built-in prompts name them, and words of one's own, as what works."""
    monkeypatch.chdir(project)
    lines = [{"text": f"A doctor danced {n}.", "label": ("pos", "neg")[n % 2]} for n in range(12)]
    (project / "own.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    command = ("--data", "own.jsonl", "--models", str(lm()), "--no-isolate", "--prompts")
    status, out, _ = rank_models(*command, "labels", "--format", "json")
    assert status == 0
    assert [row["label"] for row in json.loads(out)["decision"]["rows"]] == [line["label"] for line in lines]
    status, _, err = rank_models(*command, "sentiment")
    assert status == 2
    assert "'pos' is none of the prompts' (positive, negative); for labels of your own take `--prompts labels`" in err


@pytest.mark.more
def test_a_second_run_asks_nothing(lm, project, run, monkeypatch):
    """Answers are stored, a prompt that is only renamed has them too, and another word for a label does not."""
    flags = ["--models", str(lm()), "--prompts", "prompts", "--format", "json"]
    first = json.loads(run(*flags).out)["decision"]["models"]
    calls = []
    logits = LanguageModel.logits
    monkeypatch.setattr(LanguageModel, "logits", lambda *a, **k: calls.append(1) or logits(*a, **k))
    (project / "prompts" / "so.toml").rename(project / "prompts" / "then.toml")
    second = json.loads(run(*flags).out)["decision"]["models"]
    assert not calls
    assert [model["outcome"] for model in first] == [model["outcome"] for model in second]
    file = project / "prompts" / "because.toml"
    file.write_text(file.read_text().replace("actor", "doctor"))
    run(*flags)
    assert calls


@pytest.mark.more
@pytest.mark.parametrize("writes", [False, True])
def test_an_interrupted_run_asks_for_the_rest_alone(lm, project, run, monkeypatch, writes):
    """Blocks of answers are stored as they come; no row is put to a model twice."""
    constant = "writing.WRITTEN_AT_ONCE" if writes else "scoring.ANSWERED_AT_ONCE"
    monkeypatch.setattr(f"ranker.sources.lm.{constant}", 3)
    if writes:
        for file in (project / "prompts").iterdir():
            file.write_text("decode = true\nmax_new_tokens = 2\n" + file.read_text())
    model = Writer if writes else LabelScorer
    contents, budget, run_rows = [], [3], model._run

    def limited(self, rows):
        if not budget[0]:
            raise KeyboardInterrupt
        budget[0] -= 1
        contents.extend(row.content for row in rows)
        return run_rows(self, rows)

    monkeypatch.setattr(model, "_run", limited)
    flags = ["--models", str(lm()), "--prompts", "prompts"]
    run(*flags, exit_code=130)
    first = len(contents)
    budget[0] = 10_000
    run(*flags)
    assert 0 < first < len(set(contents)) == 24
    assert len(contents) - len(set(contents)) < 3, "only a block that was not done is asked again"


def test_a_model_that_writes_no_label_is_said_to(lm, project, run):
    """Rows of such a model count as wrong, and a note and a warning count them."""
    file = project / "prompts" / f"{next(iter(PROMPTS))}.toml"
    words = file.read_text().replace("judge", "zz").replace("actor", "yy")
    file.write_text(f"decode = true\nmax_new_tokens = 2\n{words}")
    done = run("--models", str(lm()), "--prompts", "prompts")
    assert "12 rows have no answer, which counts as wrong" in " ".join(done.out.split())
    assert "gives no answer to 12 of 12 rows" in " ".join(done.err.split())


def test_demonstrations_are_never_rows_that_are_ranked_on(lm, run):
    """One line names them; nothing is run."""
    flags = ["--prompts", "prompts", "--shots", "2", "--demonstrations", "rows.jsonl"]
    done = run("--models", str(lm()), *flags, exit_code=2)
    assert "demonstrations" in done.err
    assert len(done.err.strip().splitlines()) == 1


def test_shots_need_a_file(lm):
    """Without labelled rows there is nothing to show."""
    options = SourceOptions(kinds=[LMOptions(shots=(4,))])
    with refuses(UsageError, option="shots", value=4):
        sources(Reference(str(lm())), options, ResourceCache())


@pytest.mark.parametrize(("option", "value"), [("calibration", ("some",)), ("too_long", "split"), ("shots", (-1,))])
def test_options_are_checked_by_their_record(option, value):
    """Before a file is read."""
    with pytest.raises(UsageError) as stop:
        LMOptions(**{option: value})
    assert stop.value.option == option


def test_a_part_is_one_prompt(lm, project):
    """`PLACE#PROMPT` takes one of the prompts."""
    options = SourceOptions(kinds=[LMOptions(prompts=(str(project / "prompts"),))])
    (model,) = sources(Reference(str(lm()), part="so"), options, ResourceCache())
    assert model.name == "llama/so"
    with refuses(UsageError, option="models", value="then", allowed=("because", "so"), place=lm()):
        sources(Reference(str(lm()), part="then"), options, ResourceCache())


def test_demonstrations_have_the_columns_of_the_rows(lm, project, run):
    """`--columns` names those of both; a file of other rows than the prompt's is refused by its name."""
    for name in ("rows", "more"):
        text = (project / f"{name}.jsonl").read_text()
        (project / f"{name}.jsonl").write_text(text.replace('"label"', '"mood of it"').replace('"premise"', '"one"'))
    flags = ["--prompts", "prompts", "--columns", "text=one,text=hypothesis,label=mood of it"]
    demonstrations = ["--demonstrations", "more.jsonl", "--shots"]
    done = run("--models", str(lm()), *flags, *demonstrations, "2", "--format", "json")
    assert {model["name"] for model in json.loads(done.out)["decision"]["models"]} == {
        "llama/because/2-shot", "llama/so/2-shot",
    }  # fmt: skip
    (project / "more.jsonl").write_text('{"text": "a", "label": "entailment"}\n')
    done = run("--models", str(lm()), *flags, *demonstrations, "1", exit_code=2)
    assert "more.jsonl has rows of 1 text, and the prompt because is for rows of premise, hypothesis" in done.err


@pytest.mark.more
def test_a_name_is_that_of_all_prompts_of_a_model(lm, project, run):
    """Two networks of one name, by the same prompts: NAME/prompt, and one part each."""
    flags = ["--prompts", "prompts", "--format", "json"]
    done = run("--models", f"A={lm()}", f"B={lm('gpt2')}", *flags)
    ranking = json.loads(done.out)
    names = {"A/because", "A/so", "B/because", "B/so"}
    assert {model["name"] for model in ranking["decision"]["models"]} == names
    levels = next(part["levels"] for part in ranking["parts"]["parts"] if part["name"] == "model")
    assert {level["name"] for level in levels} == {"A", "B"}


def test_a_folder_with_gguf_files_is_these(lm, tmp_path):
    """Each is a model; a folder with one is that file."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(lm())
    folder = tmp_path / "downloaded"
    folder.mkdir()
    tiny_gguf(folder / "b.gguf", tokenizer)
    assert claims(Reference(str(folder)), SourceOptions())
    (model,) = sources(Reference(str(folder)), SourceOptions(), ResourceCache())
    assert model.path == str(folder / "b.gguf")
    tiny_gguf(folder / "a.gguf", tokenizer)
    assert [model.name for model in sources(Reference(str(folder)), SourceOptions(), ResourceCache())] == ["a", "b"]


def test_a_gguf_file_is_parsed_once(lm, tmp_path, monkeypatch):
    """Not for its configuration, its tokenizer and its weights each; and the package is as it was before."""
    import gguf
    from transformers import AutoTokenizer

    tiny_gguf(tmp_path / "tiny.gguf", AutoTokenizer.from_pretrained(lm()))
    parsed = []
    build = gguf.GGUFReader._build_fields
    monkeypatch.setattr(gguf.GGUFReader, "_build_fields", lambda *values: parsed.append(1) or build(*values))
    before = gguf.GGUFReader, gguf.get_tensor_name_map
    LanguageModel.load(tmp_path / "tiny.gguf", open_gguf(tmp_path / "tiny.gguf"), CAUSAL)
    assert parsed == [1]
    assert (gguf.GGUFReader, gguf.get_tensor_name_map) == before


def tiny_gguf(file: Path, tokenizer) -> None:
    """Write a llama of one layer with random weights as a GGUF file."""
    import gguf
    import numpy as np

    size, heads, hidden = 32, 2, 64
    vocabulary = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().get)
    writer = gguf.GGUFWriter(file, "llama")
    writer.add_block_count(1)
    writer.add_context_length(128)
    writer.add_embedding_length(size)
    writer.add_feed_forward_length(hidden)
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads)
    writer.add_rope_dimension_count(size // heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(vocabulary))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(vocabulary)
    writer.add_token_types([3 if token.startswith("[") and len(token) > 3 else 1 for token in vocabulary])
    merges = json.loads(tokenizer.backend_tokenizer.to_str())["model"]["merges"]
    writer.add_token_merges([f"{left} {right}" for left, right in merges])
    writer.add_bos_token_id(tokenizer.cls_token_id)
    writer.add_eos_token_id(tokenizer.sep_token_id)
    writer.add_unk_token_id(tokenizer.unk_token_id)
    writer.add_pad_token_id(tokenizer.pad_token_id)
    random = np.random.default_rng(0)
    shapes = {"token_embd": (len(vocabulary), size), "output_norm": (size,), "output": (len(vocabulary), size)}
    layer = {"attn_norm": (size,), "ffn_norm": (size,), "attn_q": (size, size), "attn_k": (size, size),
             "attn_v": (size, size), "attn_output": (size, size), "ffn_gate": (hidden, size), "ffn_up": (hidden, size),
             "ffn_down": (size, hidden)}  # fmt: skip
    for name, shape in {**shapes, **{f"blk.0.{part}": shape for part, shape in layer.items()}}.items():
        weights = random.normal(0, 0.3, shape) if len(shape) > 1 else np.ones(shape)
        writer.add_tensor(f"{name}.weight", weights.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_a_gguf_file_is_a_language_model(tmp_path, lm):
    """The file is read with the tokenizer inside; its answers are those of the network that is loaded."""
    from transformers import AutoTokenizer

    file = tmp_path / "tiny.gguf"
    tiny_gguf(file, AutoTokenizer.from_pretrained(lm()))
    prompt = Prompt(template="{text} is ", name="is", verbalizers={"entailment": ("old",), "non-entailment": ("near",)})
    source = PromptedModel("tiny", str(file), "tiny", prompt=prompt)
    cache = ResourceCache()
    info = source.inspect(cache)
    assert (info.trouble, info.size, info.parts) == ("", file.stat().st_size, {"model": "tiny", "prompt": "is"})
    model = info.source.open(TASK, Machine(), cache)
    (block,) = model.predict([Example("1", ("The doctor",)), Example("2", ("An old judge",))])
    context = model.network.tokenizer("The doctor is", return_tensors="pt").input_ids
    words = [model.network.tokenizer(f"The doctor is {word}").input_ids[context.shape[1] :] for word in ("near", "old")]
    logs = model.network.model(context).logits[0, -1].log_softmax(-1)
    expected = torch.softmax(torch.stack([logs[word[0]] for word in words]), 0)
    assert {len(word) for word in words} == {1}
    with refuses(ModelError, place=str(file), value="<|endoftext|>"):
        list(model.predict([Example("1", ("The <|endoftext|>",))]))
    torch.testing.assert_close(torch.tensor(block.probs[0].tolist()), expected, atol=1e-5, rtol=0)


def test_a_damaged_gguf_file_is_one_line(tmp_path):
    """The line names the file."""
    file = tmp_path / "broken.gguf"
    file.write_bytes(b"GGUF" + bytes(40))
    with pytest.raises(ModelError) as stop:
        LanguageModel.load(file, open_gguf(file), CAUSAL)
    assert stop.value.place == str(file)
    assert len(str(stop.value).splitlines()) == 1


def test_an_adapter_must_have_the_tokenizer_of_its_base(tmp_path, lm):
    """An adapter runs in its base; one that was trained with another tokenizer is refused in one line."""
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.manual_seed(0)
    base = AutoModelForCausalLM.from_pretrained(lm())
    with warnings.catch_warnings():  # of PEFT, about a name in transformers
        warnings.simplefilter("ignore")
        settings = {"task_type": "CAUSAL_LM", "target_modules": ["q_proj"], "init_lora_weights": False}
        adapted = get_peft_model(base, LoraConfig(r=2, **settings))
    adapted.save_pretrained(tmp_path / "adapter")
    words = {"entailment": ("a", "b", "c"), "non-entailment": ("d", "e", "f")}
    prompt = Prompt(template="{text} is ", name="is", verbalizers=words)
    source = PromptedModel("m", str(tmp_path / "adapter"), "m", prompt=prompt)
    cache = ResourceCache()
    assert kind_name(tmp_path / "adapter") == "lm"
    pinned = source.inspect(cache).source
    probs = next(pinned.open(TASK, Machine(), cache).predict([Example("1", ("The doctor",))])).probs
    plain = PromptedModel("m", str(lm()), "m", prompt=source.prompt).open(TASK, Machine(), ResourceCache())
    assert abs(next(plain.predict([Example("1", ("The doctor",))])).probs - probs).max() > 1e-4
    tokenizer = AutoTokenizer.from_pretrained(lm())
    content = json.loads(tokenizer.backend_tokenizer.to_str())
    vocabulary = content["model"]["vocab"]
    vocabulary["a"], vocabulary["b"] = vocabulary["b"], vocabulary["a"]
    tokenizer.save_pretrained(tmp_path / "adapter")
    (tmp_path / "adapter" / "tokenizer.json").write_text(json.dumps(content))
    with refuses(ModelError, place=tmp_path / "adapter"):
        source.open(TASK, Machine(), ResourceCache())
