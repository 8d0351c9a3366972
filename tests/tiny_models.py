"""Tiny seeded random checkpoints of every transformers family, with tokenizers of a dozen words: what a test can load."""

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors

SHAPE = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
VISION = {**SHAPE, "image_size": 32, "patch_size": 16}
SQUARE = {"height": 32, "width": 32}
WORDS = ["a", "photo", "of", "dog", "cat", "man", "horse", "on", "table", "left"]


def clip_parts():
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = dict(zip([*letters, *(f"{letter}</w>" for letter in letters)], range(512)))
    vocab |= {"<|startoftext|>": 512, "<|endoftext|>": 513}
    text = {**SHAPE, "vocab_size": 514, "bos_token_id": 512, "eos_token_id": 513, "pad_token_id": 513}
    config = transformers.CLIPConfig(text_config=text, vision_config=VISION, projection_dim=16)
    pixels = transformers.CLIPImageProcessor(size={"shortest_edge": 32}, crop_size=SQUARE)
    return transformers.CLIPModel(config), transformers.CLIPTokenizer(vocab=vocab, merges=[]), pixels


def siglip_parts():
    tokenizer = Tokenizer(models.WordLevel(dict(zip(["</s>", "<unk>", *WORDS], range(12))), unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 0)])
    names = {"eos_token": "</s>", "pad_token": "</s>", "unk_token": "<unk>"}
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)
    ids = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}
    text = {**SHAPE, "vocab_size": 32, "max_position_embeddings": 8, **ids}
    config = transformers.SiglipConfig(text_config=text, vision_config=VISION)
    return transformers.SiglipModel(config), fast, transformers.SiglipImageProcessor(size=SQUARE)


def blip_parts():
    vocab = dict(zip(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS], range(15)))
    qformer = {**SHAPE, "vocab_size": 32, "max_position_embeddings": 40, "use_qformer_text_input": True}
    sizes = {"num_query_tokens": 4, "image_text_hidden_size": 8}
    config = transformers.Blip2Config(vision_config=VISION, qformer_config=qformer, **sizes)
    pixels = transformers.BlipImageProcessor(size=SQUARE)
    return transformers.Blip2ForImageTextRetrieval(config), transformers.BertTokenizer(vocab=vocab), pixels


PARTS = {"clip": clip_parts, "siglip": siglip_parts, "blip-2": blip_parts}
KINDS = tuple(PARTS)


def write_folder(folder, model, tokenizer, pixels):
    """A checkpoint of seeded normal weights: the library's own are too small for anything to show."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weights in model.parameters():
            weights.copy_(torch.randn(weights.shape, generator=generator) * 0.3)
    for part in (model, tokenizer, pixels):
        part.save_pretrained(folder)
    return folder
