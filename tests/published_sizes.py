"""Small sizes of each published family, as keys of its config.json."""

from __future__ import annotations

from typing import Any

from parity_bert import SIZES

# What a family's config.json needs beside the sizes, or in their place.
NYSTROM = {"num_landmarks": 4, "segment_means_seq_len": 8, "conv_kernel_size": 5}
DISENTANGLED = {
    "relative_attention": True,
    "pos_att_type": ["c2p", "p2c"],
    "position_biased_input": False,
    "legacy": False,
}
BUCKETED = {"position_buckets": 4, "share_att_key": True, "norm_rel_ebd": "layer_norm"}
ROTARY = {"rope_type": "default", "rope_theta": 500.0}
DECODER = {"num_key_value_heads": 2, "rope_parameters": ROTARY}
OTHER: dict[str, dict[str, Any]] = {
    "albert": {"embedding_size": 8},
    "luke": {"entity_vocab_size": 9, "entity_emb_size": 8, "type_vocab_size": 1},
    "longformer": {"attention_window": [4, 2], "max_position_embeddings": 70},
    "big_bird": {"block_size": 2, "num_random_blocks": 1},
    "nystromformer": NYSTROM,
    "yoso": {"hash_code_len": 3},
    "roformer": {"embedding_size": 8},
    "electra": {"embedding_size": 8},
    "convbert": {"embedding_size": 8, "conv_kernel_size": 3, "num_groups": 2},
    "deberta-v2": DISENTANGLED | BUCKETED,
    "deberta": {"max_relative_positions": 3, "type_vocab_size": 0} | DISENTANGLED,
    "splinter": {"question_token_id": 5},
    "llama": DECODER,
    "xlm-roberta": {"type_vocab_size": 1, "layer_norm_eps": 1e-5},
    "rembert": {"input_embedding_size": 8, "output_embedding_size": 20},
}
DISTIL = {
    "vocab_size": 28,
    "dim": 16,
    "n_layers": 2,
    "n_heads": 4,
    "hidden_dim": 24,
    "max_position_embeddings": 12,
}
REFORMER = {
    "vocab_size": 28,
    "hidden_size": 16,
    "num_attention_heads": 2,
    "attention_head_size": 6,
    "feed_forward_size": 24,
    "attn_layers": ["local", "lsh"],
    "max_position_embeddings": 24,
    "num_hashes": 3,
    "num_buckets": [2, 4],
    "lsh_attn_chunk_length": 4,
    "local_attn_chunk_length": 6,
    "local_num_chunks_after": 1,
}
INFORMER = {
    "prediction_length": 5,
    "lags_sequence": [1, 2],
    "num_time_features": 2,
    "d_model": 16,
    "encoder_layers": 3,
    "attention_dropout": 0.05,
    "activation_dropout": 0.0,
    "encoder_layerdrop": 0.0,
    "decoder_layerdrop": 0.0,
}
PERCEIVER = {
    "num_latents": 5,
    "d_latents": 16,
    "d_model": 12,
    "num_self_attends_per_block": 2,
    "num_self_attention_heads": 4,
    "num_cross_attention_heads": 2,
}
VIT = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 24,
    "image_size": 12,
    "patch_size": 4,
}
SWIN = {
    "image_size": 16,
    "patch_size": 2,
    "embed_dim": 8,
    "depths": [2, 1],
    "num_heads": [2, 4],
    "window_size": 4,
    "mlp_ratio": 2.0,
}
SEGFORMER = {
    "num_encoder_blocks": 2,
    "depths": [1, 2],
    "hidden_sizes": [8, 16],
    "num_attention_heads": [1, 2],
    "patch_sizes": [7, 3],
    "strides": [4, 2],
    "sr_ratios": [2, 1],
    "mlp_ratios": [2, 3],
    "decoder_hidden_size": 12,
    "classifier_dropout_prob": 0.2,
    "num_labels": 5,
}
RESNET = {"model_type": "resnet", "embedding_size": 8, "hidden_sizes": [8, 16], "depths": [2, 1]}
DETR = {
    "backbone_config": {**RESNET, "layer_type": "basic", "out_features": ["stage2"]},
    "use_timm_backbone": False,
    "num_queries": 5,
    "d_model": 16,
    "num_labels": 3,
    **{f"{side}_{n}": k for side in ("encoder", "decoder")
       for n, k in (("layers", 2), ("attention_heads", 4), ("ffn_dim", 24))},
}  # fmt: skip
WAV2VEC2 = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 24,
    "conv_dim": [8, 12],
    "conv_stride": [4, 2],
    "conv_kernel": [8, 3],
    "num_conv_pos_embeddings": 6,
    "num_conv_pos_embedding_groups": 2,
    "vocab_size": 7,
}
CODES = {
    "num_codevectors_per_group": 5,
    "codevector_dim": 8,
    "proj_codevector_dim": 6,
    "num_negatives": 4,
}
LIKE_LARGE = {"feat_extract_norm": "layer", "do_stable_layer_norm": True, "conv_bias": True}
TRANSLATOR = {
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 1,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 20,
    "activation_dropout": 0.2,
}
PROPHETNET = {
    "vocab_size": 28,
    "hidden_size": 16,
    "num_encoder_layers": 2,
    "num_decoder_layers": 1,
    "num_encoder_attention_heads": 4,
    "num_decoder_attention_heads": 2,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 20,
    "max_position_embeddings": 12,
    "ngram": 3,
    "num_buckets": 8,
    "relative_max_distance": 20,
    "activation_dropout": 0.2,
}
XLNET = {
    "vocab_size": 28,
    "d_model": 16,
    "n_layer": 2,
    "n_head": 4,
    "d_inner": 24,
    "mem_len": 5,
    "ff_activation": "relu",
}
SPEECH = {**TRANSLATOR, "vocab_size": 30, "input_feat_per_channel": 6, "conv_channels": 12}
WHISPER = {
    **TRANSLATOR,
    "vocab_size": 30,
    "num_mel_bins": 6,
    "max_source_positions": 9,
    "max_target_positions": 11,
    "pad_token_id": 3,
    "eos_token_id": 3,
    "decoder_start_token_id": 4,
}
T5 = {
    "vocab_size": 28,
    "d_model": 16,
    "d_kv": 6,
    "d_ff": 24,
    "num_layers": 2,
    "num_decoder_layers": 1,
    "num_heads": 4,
    "relative_attention_num_buckets": 8,
    "dropout_rate": 0.2,
    "decoder_start_token_id": 0,
}
SWITCH = T5 | {
    "num_layers": 3,
    "num_experts": 3,
    "expert_capacity": 2,
    "num_sparse_encoder_layers": 1,
    "num_sparse_decoder_layers": 1,
    "router_jitter_noise": 0.2,
}
FSMT = {**TRANSLATOR, "src_vocab_size": 30, "tgt_vocab_size": 34}
MARIAN = {**TRANSLATOR, "vocab_size": 30, "pad_token_id": 29, "decoder_start_token_id": 29}
APART = {**MARIAN, "share_encoder_decoder_embeddings": False, "decoder_vocab_size": 34}
BART = {**TRANSLATOR, "vocab_size": 30}
LONG = {"max_encoder_position_embeddings": 16, "max_decoder_position_embeddings": 12}
LED = {name: n for name, n in BART.items() if name != "scale_embedding"} | LONG
MAE = VIT | {
    "decoder_hidden_size": 8,
    "decoder_num_attention_heads": 2,
    "decoder_num_hidden_layers": 1,
    "decoder_intermediate_size": 12,
    "mask_ratio": 0.5,
    "norm_pix_loss": True,
}
DATA2VEC = VIT | {
    "use_mask_token": True,
    "use_shared_relative_position_bias": True,
    "layer_scale_init_value": 0.01,
}
LIKE_FINE_TUNED = {
    "use_mask_token": False,
    "use_shared_relative_position_bias": False,
    "use_relative_position_bias": True,
}
XLM = {
    "vocab_size": 28, "emb_dim": 16, "n_layers": 2, "n_heads": 4, "max_position_embeddings": 12,
    "n_langs": 3, "layer_norm_eps": 1e-6,
}  # fmt: skip
FUNNEL = {
    "vocab_size": 28, "d_model": 16, "n_head": 2, "d_head": 6, "d_inner": 24,
    "block_sizes": [1, 2], "num_decoder_layers": 1,
}  # fmt: skip
CANINE = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24,
    "num_hash_functions": 2, "num_hash_buckets": 24, "local_transformer_stride": 6,
    "downsampling_rate": 3, "upsampling_kernel_size": 5, "type_vocab_size": 3,
}  # fmt: skip
GPT = {
    "vocab_size": 28, "n_embd": 16, "n_layer": 3, "n_head": 4, "n_positions": 12,
    "layer_norm_epsilon": 1e-3,
}  # fmt: skip
GPT_NEO = {
    "vocab_size": 28, "hidden_size": 16, "num_layers": 3, "num_heads": 4, "window_size": 3,
    "attention_types": [[["global", "local"], 1], [["global"], 1]], "max_position_embeddings": 12,
}  # fmt: skip
# Only the second layer has the window, by a number or by name; only the first.
NEAR = {"use_sliding_window": True, "sliding_window": 3, "max_window_layers": 1}
NEAR_FIRST = {
    "use_sliding_window": True, "sliding_window": 3,
    "layer_types": ["sliding_attention", "full_attention"],
}  # fmt: skip
# The sizes with which a family is tried, where they are not BERT's.
TRIED: dict[str, list[dict[str, Any]]] = {
    "distilbert": [DISTIL],
    "mistral": [
        SIZES | DECODER | {"sliding_window": 3},
        SIZES | DECODER | {"sliding_window": None, "head_dim": 6, "tie_word_embeddings": True},
    ],
    "qwen2": [SIZES | DECODER, SIZES | DECODER | NEAR, SIZES | DECODER | NEAR_FIRST],
    "qwen3": [
        SIZES | DECODER | {"head_dim": 6},
        SIZES | DECODER | NEAR | {"attention_bias": True, "tie_word_embeddings": True},
    ],
    "gemma": [
        SIZES | DECODER | {"head_dim": 6},
        SIZES | DECODER | {"attention_bias": True, "tie_word_embeddings": False},
    ],
    # As many landmarks as tokens: full attention.
    "nystromformer": [{**SIZES, **NYSTROM}, {**SIZES, **NYSTROM, "num_landmarks": 8}],
    "marian": [
        MARIAN,
        {**MARIAN, "pad_token_id": 1, "decoder_start_token_id": 2, "scale_embedding": True},
        APART,
        {**APART, "tie_word_embeddings": False, "activation_function": "swish"},
    ],
    "reformer": [
        {**REFORMER, "axial_pos_shape": [4, 6], "axial_pos_embds_dim": [6, 10]},
        {**REFORMER, "axial_pos_embds": False, "attn_layers": ["lsh"], "is_decoder": True},
    ],
    "vit_mae": [MAE],
    "data2vec-vision": [DATA2VEC, {**DATA2VEC, **LIKE_FINE_TUNED}],
    "informer": [INFORMER, {**INFORMER, "distil": False}],
    "perceiver": [PERCEIVER, {**PERCEIVER, "qk_channels": 8, "v_channels": 16}],
    "deit": [VIT],
    "detr": [DETR],
    "timesformer": [
        {**VIT, "num_frames": 3, "attention_type": scheme}
        for scheme in ("divided_space_time", "space_only", "joint_space_time")
    ],
    "vit": [VIT, {**VIT, "num_channels": 1, "hidden_act": "relu"}],
    "segformer": [SEGFORMER],
    "speech_to_text": [
        SPEECH,
        {**SPEECH, "num_conv_layers": 3, "conv_kernel_sizes": [3, 1, 5], "scale_embedding": False},
    ],
    "whisper": [WHISPER],
    "swin": [SWIN, {**SWIN, "num_channels": 1, "depths": [1, 2, 2], "num_heads": [2, 2, 8]}],
    "wav2vec2": [{**WAV2VEC2, **CODES}, {**WAV2VEC2, **CODES, **LIKE_LARGE}],
    "hubert": [WAV2VEC2, {**WAV2VEC2, **LIKE_LARGE, "mask_time_prob": 0.0}],
    "data2vec-audio": [{**WAV2VEC2, "num_conv_pos_embeddings": 2, "conv_pos_kernel_size": 5}],
    "xlnet": [XLNET, {**XLNET, "mem_len": None}],
    "funnel": [FUNNEL, {**FUNNEL, "truncate_seq": False, "block_sizes": [2, 1]}],
    "t5": [
        T5,
        {**T5, "feed_forward_proj": "gated-gelu"},
        {**T5, "feed_forward_proj": "gated-relu"},
    ],
    "mt5": [T5],
    "switch_transformers": [SWITCH, {**SWITCH, "num_experts": 1}],
    "openai-gpt": [GPT],
    "xlm": [
        XLM,
        {**XLM, "n_langs": 1, "gelu_activation": False, "causal": True},
        {**XLM, "use_lang_emb": False, "sinusoidal_embeddings": True},
    ],
    "canine": [CANINE],
    "gpt2": [GPT, {**GPT, "n_inner": 24, "activation_function": "relu"}],
    "gpt_neo": [GPT_NEO, {**GPT_NEO, "intermediate_size": 24}],
    "ctrl": [{**GPT, "layer_norm_epsilon": 1e-6, "dff": 24}],
    "bart": [BART, {**BART, "scale_embedding": False, "max_position_embeddings": 12}],
    "plbart": [BART],
    "mbart": [BART],
    "prophetnet": [PROPHETNET],
    "pegasus": [{**BART, "pad_token_id": 0, "decoder_start_token_id": 0, "eos_token_id": 1}],
    "led": [{**LED, "attention_window": [4, 8]}],
    "fsmt": [FSMT, {**FSMT, "pad_token_id": 4, "scale_embedding": False}],
}


def tried(name: str) -> list[dict[str, Any]]:
    """Return the sizes at which a family is tried."""
    return TRIED.get(name, [{**SIZES, **OTHER.get(name, {})}])
