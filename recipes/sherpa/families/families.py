"""What each family is exported with: which script of sherpa-onnx, with what, and what it leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from samples import CHANNELS_MOVED, Order

HUB = "https://huggingface.co/{}/resolve/main/{}"
WHISPER_WAVS = "csukuangfj/sherpa-onnx-whisper-tiny.en"
JAPANESE_WAVS = "csukuangfj/reazonspeech-k2-v2"
RELEASED = "https://github.com/k2-fsa/sherpa-onnx/releases/download/asr-models/{}.wav"
FRAMES_PER_SECOND = 100


@dataclass(frozen=True, kw_only=True)
class Export:
    folder: str = ""  # of sherpa-onnx, where the commands run; "": an empty one
    icefall: bool = False  # {icefall} in commands is its folder
    files: Mapping[str, str] = field(default_factory=dict)  # name in the folder → address
    hubs: tuple[str, ...] = ()  # repositories that the script's own libraries download
    env: Mapping[str, str] = field(default_factory=dict)
    commands: tuple[tuple[str, ...], ...] = ()
    models: Mapping[str, str]  # graph → file; patterns allowed
    tokens: str = "tokens.txt"
    wavs: tuple[str, ...] = ()
    each: tuple[tuple[str, ...], ...] = ()  # commands for each {wav}
    samples: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Graph → what `each` leaves as one sample: raw files in the order of the graph's inputs."""
    lists: Mapping[str, str] = field(default_factory=dict)  # graph → an input list, for each {name}
    orders: Mapping[str, Mapping[int, Order]] = field(default_factory=dict)


def sense_voice(release: str, seconds: str) -> Export:
    first = "csukuangfj/sherpa-onnx-sense-voice-zh-en-ja-ko-yue-2024-07-17"
    wavs = {f"{name}.wav": (first, f"test_wavs/{name}.wav") for name in ("en", "yue", "zh")}
    small = "FunAudioLLM/SenseVoiceSmall"
    checkpoint, env = (small, "model.pt"), {}
    if release == "2024-07-17":
        wavs |= {f"{name}.wav": (first, f"test_wavs/{name}.wav") for name in ("ja", "ko")}
    else:
        checkpoint = ("ASLP-lab/WSYue-ASR", "sensevoice_small_yue/model.pt")
        second = "csukuangfj/sherpa-onnx-sense-voice-zh-en-ja-ko-yue-int8-2025-09-09"
        wavs |= {f"yue-{n}.wav": (second, f"test_wavs/yue-{n}.wav") for n in range(18)}
        env = {"model_author": "ASLP-lab", "comment": "ASLP-lab/WSYue-ASR",
               "url": "https://huggingface.co/ASLP-lab/WSYue-ASR"}  # fmt: skip
    words = "chn_jpn_yue_eng_ko_spectok.bpe.model"
    files = {"model.pt": checkpoint, "am.mvn": (small, "am.mvn"), words: (small, words), **wavs}
    frames = str(int(int(seconds) * FRAMES_PER_SECOND / 6 + 0.5))
    return Export(
        folder="scripts/sense-voice/qnn",
        files={name: HUB.format(*where) for name, where in files.items()},
        env=env,
        commands=(("python", "export-onnx.py", "--input-len-in-seconds", seconds),),
        models={"model": f"model-{seconds}-seconds.onnx"},
        wavs=tuple(sorted(wavs)),
        each=(("python", "generate_test_data.py", "--num-frames", frames, "--wav", "{wav}"),),
        samples={"model": ("input0.raw", "input1.raw")},
    )


def paraformer(release: str, seconds: str) -> Export:
    if release == "2023-03-28":
        home = ("https://www.modelscope.cn/models/iic/speech_paraformer-large_asr_nat-zh-cn-16k-"
                "common-vocab8404-pytorch/resolve/master")  # fmt: skip
        ours = "csukuangfj/sherpa-onnx-paraformer-zh-2023-03-28"
        names = ("0", "1", "2", "3-sichuan", "4-tianjin", "5-henan", "6-zh-en", "8k")
        files = {name: f"{home}/{name}" for name in ("am.mvn", "config.yaml")}
        files["model_state_dict.pt"] = f"{home}/model.pt"
    else:
        home = HUB.format("csukuangfj/WSChuan-ASR", "Paraformer-large-Chuan")
        ours = "csukuangfj/sherpa-onnx-paraformer-zh-int8-2025-10-07"
        names = tuple(str(number) for number in range(1, 17))
        given = ("am.mvn", "config.yaml", "tokens.json", "model_state_dict.pt")
        files = {name: f"{home}/{name}" for name in given}
    wavs = {f"{name}.wav": HUB.format(ours, f"test_wavs/{name}.wav") for name in names}
    graphs = ("encoder", "predictor", "decoder")
    length = ("--input-len-in-seconds", seconds)
    mask = {"decoder": ("--float-mask", "0")}
    commands: list[tuple[str, ...]] = []
    for graph in graphs:
        opset = ("--opset-version", "17", *mask.get(graph, ()))
        commands.append(("python", f"export_{graph}_onnx.py", *length, *opset))
        commands.append(("python", f"generate_{graph}_data.py", *length))
    return Export(
        folder="scripts/paraformer/qnn",
        files={**files, "tokens.txt": HUB.format(ours, "tokens.txt"), **wavs},
        commands=tuple(commands),
        models={graph: f"{graph}-{seconds}-seconds.onnx" for graph in graphs},
        wavs=tuple(sorted(wavs)),
        lists={graph: f"{graph}-input-list.txt" for graph in graphs},
        orders={
            "predictor": {0: CHANNELS_MOVED},
            "decoder": {0: CHANNELS_MOVED, 1: CHANNELS_MOVED},
        },
    )


def zipformer_ctc(release: str, seconds: str) -> Export:
    """Its ONNX files are published; nothing is exported."""
    ours = "csukuangfj/sherpa-onnx-zipformer-ctc-zh-2025-07-03-source-models"
    model = (ours, f"model-{seconds}-seconds.onnx")
    if release != "2025-07-03":
        model = ("csukuangfj/2025-12-22", f"zipformer-ctc-models/model-{seconds}-seconds.onnx")
    wavs = ("0.wav", "1.wav", "8k.wav")
    frames = str(int(seconds) * FRAMES_PER_SECOND)
    return Export(
        files={
            "model.onnx": HUB.format(*model),
            **{n: HUB.format(ours, n) for n in ("generate_test_data.py", "tokens.txt", *wavs)},
        },
        models={"model": "model.onnx"},
        wavs=wavs,
        each=(("python", "generate_test_data.py", "--num-frames", frames, "--wav", "{wav}"),),
        samples={"model": ("{name}.raw",)},
    )


BIG_ZIPFORMER = (
    *("--num-encoder-layers", "2,2,4,5,4,2"),
    *("--feedforward-dim", "512,768,1536,2048,1536,768"),
    *("--encoder-dim", "192,256,512,768,512,256"),
    *("--encoder-unmasked-dim", "192,192,256,320,256,192"),
)
RECIPE = "{icefall}/egs/librispeech/ASR/"
LAST_EPOCH = ("--epoch", "99", "--avg", "1", "--use-averaged-model", "0")
STATIC = ("--use-int32-inputs", "1", "--enable-int8-quantization", "0")
TRANSDUCER = ("encoder", "decoder", "joiner")


def zipformer_transducer(_: str, seconds: str) -> Export:
    wavs = {f"{n}.wav": HUB.format(JAPANESE_WAVS, f"test_wavs/{n}.wav") for n in range(1, 6)}
    frames = str(int(seconds) * FRAMES_PER_SECOND)
    return Export(
        icefall=True,
        files={
            "epoch-99.pt": HUB.format(JAPANESE_WAVS, "checkpoint/model.pt"),
            "tokens.txt": HUB.format(JAPANESE_WAVS, "tokens.txt"),
            **wavs,
        },
        commands=(
            ("python", f"{RECIPE}zipformer/export-onnx.py", *STATIC, "--max-len", frames,
             "--keep-x-lens", "0", "--dynamic-axes", "0", *LAST_EPOCH, "--exp-dir", ".",
             "--tokens", "tokens.txt", *BIG_ZIPFORMER),
        ),
        models={graph: f"{graph}-epoch-99-avg-1.onnx" for graph in TRANSDUCER},
        wavs=tuple(sorted(wavs)),
    )  # fmt: skip


def streaming_zipformer_transducer(_: str, chunk: str) -> Export:
    ours = "csukuangfj/sherpa-onnx-streaming-zipformer-bilingual-zh-en-2023-02-20"
    mixed = "pfluo/k2fsa-zipformer-chinese-english-mixed"
    wavs = {f"{n}.wav": HUB.format(ours, f"test_wavs/{n}.wav") for n in (0, 1, 2, 3, "8k")}
    five = {
        "--num-encoder-layers": "2,4,3,2,4", "--feedforward-dims": "1024,1024,1536,1536,1024",
        "--nhead": "8,8,8,8,8", "--encoder-dims": "384,384,384,384,384",
        "--attention-dims": "192,192,192,192,192",
        "--encoder-unmasked-dims": "256,256,256,256,256",
        "--zipformer-downsampling-factors": "1,2,4,8,2", "--cnn-module-kernels": "31,31,31,31,31",
        "--decoder-dim": "512", "--joiner-dim": "512", "--dynamic-batch": "0",
    }  # fmt: skip
    return Export(
        icefall=True,
        files={
            "epoch-99.pt": HUB.format(mixed, "exp/epoch-99.pt"),
            "tokens.txt": HUB.format(mixed, "data/lang_char_bpe/tokens.txt"),
            **wavs,
        },
        commands=(
            ("python", f"{RECIPE}pruned_transducer_stateless7_streaming/export-onnx-zh.py",
             "--exp-dir", ".", "--tokens", "tokens.txt", *LAST_EPOCH,
             "--decode-chunk-len", chunk, *(w for pair in five.items() for w in pair), *STATIC),
        ),
        models={graph: f"{graph}-epoch-99-avg-1.onnx" for graph in TRANSDUCER},
        wavs=tuple(sorted(wavs)),
    )  # fmt: skip


def x_asr(text: str, chunk_ms: str) -> Export:
    home = "https://github.com/Gilgamesh-J/X-ASR/raw/refs/heads/main/X-ASR-zh-en/zipformer"
    punctuated = text.endswith("-punct")
    checkpoint = "fintuned_with_punctuation.pt" if punctuated else "pretrained.pt"
    words = "lang_5000_with_punctuation" if punctuated else "lang_5000"
    ours = "csukuangfj/sherpa-onnx-streaming-zipformer-bilingual-zh-en-2023-02-20"
    wavs = {f"{n}.wav": HUB.format(ours, f"test_wavs/{n}.wav") for n in (0, 1, 2, 3, "8k")}
    return Export(
        icefall=True,
        files={
            "epoch-99.pt": f"{home}/checkpoint/{checkpoint}",
            "tokens.txt": f"{home}/data/{words}/tokens.txt",
            **wavs,
        },
        commands=(
            ("python", f"{RECIPE}zipformer/export-onnx-streaming.py", *STATIC,
             "--dynamic-batch", "0", *LAST_EPOCH, "--exp-dir", ".", "--tokens", "tokens.txt",
             *BIG_ZIPFORMER, "--causal", "1", "--chunk-size", str(int(chunk_ms) // 20),
             "--left-context-frames", "256"),
        ),
        models={graph: f"{graph}-*256.onnx" for graph in TRANSDUCER},
        wavs=tuple(sorted(wavs)),
    )  # fmt: skip


def whisper(size: str) -> Export:
    extra = {
        "distil-medium.en": (
            "distil-medium-en-original-model.bin",
            HUB.format("distil-whisper/distil-medium.en", "original-model.bin"),
        ),
        "distil-small.en": (
            "distil-small-en-original-model.bin",
            HUB.format("distil-whisper/distil-small.en", "original-model.bin"),
        ),
        "medium-aishell": (
            "medium-aishell.pt",
            HUB.format(
                "yuekai/icefall_asr_aishell_whisper",
                "exp_medium/whisper-medium-aishell1-epoch-10-avg-4.pt",
            ),
        ),
    }
    wavs = {f"{n}.wav": HUB.format(WHISPER_WAVS, f"test_wavs/{n}.wav") for n in (0, 1, "8k")}
    return Export(
        folder="scripts/whisper/qnn",
        files={**dict([extra[size]] if size in extra else []), **wavs},
        commands=(("python", "export_onnx.py", "--model", size),),
        models={graph: f"{size}-{graph}.onnx" for graph in ("encoder", "decoder")},
        tokens=f"{size}-tokens.txt",
        wavs=tuple(sorted(wavs)),
    )


def _english() -> dict[str, str]:
    return {
        **{f"{n}.wav": HUB.format(WHISPER_WAVS, f"test_wavs/{n}.wav") for n in (0, 1)},
        "2.wav": "https://dldata-public.s3.us-east-2.amazonaws.com/2086-149220-0033.wav",
    }


def _nemo(
    folder: str,
    checkpoint: str,
    length: tuple[str, str],
    wavs: Mapping[str, str],
    *,
    models: tuple[str, ...] = TRANSDUCER,
    samples: Mapping[str, tuple[str, ...]] | None = None,
    lists: Mapping[str, str] | None = None,
) -> Export:
    """NeMo's encoders take [N, C, T], and their raw files hold [T, C]."""
    return Export(
        folder=f"scripts/nemo/qnn/{folder}",
        hubs=(f"nvidia/{checkpoint}",),
        files=wavs,
        commands=(("python", "wrapper.py", *length, "--model-id", f"nvidia/{checkpoint}"),),
        models={graph: f"{graph}.onnx" for graph in models},
        wavs=tuple(sorted(wavs)),
        each=(("python", "test_onnx.py", "--wav", "{wav}"),),
        samples=samples or {},
        lists=lists or {},
        orders={graph: {0: CHANNELS_MOVED} for graph in ("model", "encoder")},
    )


STEPS = {"decoder": "{name}-decoder.txt", "joiner": "{name}-joiner.txt"}
STREAMED = {"encoder": "{name}-encoder.txt", **STEPS}


def _frames(seconds: str) -> tuple[str, str]:
    return "--max-len", str(int(seconds) * FRAMES_PER_SECOND)


def parakeet_ctc(checkpoint: str, seconds: str) -> Export:
    made = {"models": ("model",), "samples": {"model": ("{name}.raw",)}}
    return _nemo("parakeet-ctc", checkpoint, _frames(seconds), _english(), **made)


def parakeet_tdt_ctc(head: str, checkpoint: str, seconds: str) -> Export:
    japanese = {f"{n}.wav": HUB.format(JAPANESE_WAVS, f"test_wavs/{n}.wav") for n in range(1, 6)}
    wavs = japanese if checkpoint.endswith("-ja") else _english()
    graphs = ("model",) if head == "ctc" else TRANSDUCER
    return _nemo(
        f"parakeet-tdt-ctc/{head}",
        checkpoint,
        _frames(seconds),
        wavs,
        models=graphs,
        samples={graphs[0]: ("{name}.raw",)},
        lists={} if head == "ctc" else STEPS,
    )


def parakeet_tdt(checkpoint: str, seconds: str) -> Export:
    made = {"samples": {"encoder": ("{name}.raw",)}, "lists": STEPS}
    return _nemo("parakeet-tdt", checkpoint, _frames(seconds), _english(), **made)


def nemotron_en(checkpoint: str, chunk_ms: str) -> Export:
    return _nemo(checkpoint, checkpoint, ("--chunk-size-ms", chunk_ms), _english(), lists=STREAMED)


def nemotron_3_5(checkpoint: str, chunk_ms: str) -> Export:
    languages = ("ar", "de", "en", "es", "fr", "ja", "ko", "uk", "vi", "zh")
    wavs = {f"{name}.wav": RELEASED.format(name) for name in languages}
    return _nemo(checkpoint, checkpoint, ("--chunk-size-ms", chunk_ms), wavs, lists=STREAMED)


def moonshine(checkpoint: str, seconds: str) -> Export:
    """A checkpoint whose name ends with no language speaks English."""
    language = checkpoint.rpartition("-")[2]
    language = language if len(language) == 2 else "en"
    return Export(
        folder="scripts/moonshine/v2/qnn",
        hubs=(f"UsefulSensors/{checkpoint}",),
        files={"0.wav": RELEASED.format(language)},
        commands=(
            ("python", "export_onnx.py", "--model-name", f"UsefulSensors/{checkpoint}",
             "--max-len", seconds),
        ),
        models={graph: f"{graph}.onnx" for graph in ("encoder", "decoder")},
        wavs=("0.wav",),
        each=(("python", "test_onnx.py", "--wav", "{wav}"),),
        lists={"encoder": "{name}-encoder.txt"},
    )  # fmt: skip


EXPORTS: Mapping[str, Callable[..., Export]] = {
    "sense-voice": sense_voice,
    "paraformer": paraformer,
    "zipformer-ctc": zipformer_ctc,
    "zipformer-transducer": zipformer_transducer,
    "streaming-zipformer-transducer": streaming_zipformer_transducer,
    "x-asr": x_asr,
    "parakeet-ctc": parakeet_ctc,
    "whisper": whisper,
    "parakeet-tdt-ctc": parakeet_tdt_ctc,
    "parakeet-tdt": parakeet_tdt,
    "nemotron-en": nemotron_en,
    "nemotron-3.5": nemotron_3_5,
    "moonshine": moonshine,
}
