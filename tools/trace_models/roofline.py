"""Seconds of a forward from the sizes of a model and of a GPU: bytes, arithmetic, and what eager kernels cost."""

from __future__ import annotations

from dataclasses import dataclass

from tools.model_shapes import Shape

_BYTES = 2  # of a bfloat16


@dataclass(frozen=True)
class Gpu:
    """Peaks are the data sheet's; the shares of them that kernels reach, and the costs of a kernel, are assumptions."""

    name: str
    source: str
    bandwidth: float  # bytes/s
    flops: float  # bfloat16, dense, 1/s
    bandwidth_share: float = 0.85
    flops_share: float = 0.65
    launch: float = 6e-6  # seconds of the host per kernel in eager PyTorch
    shortest: float = 2.5e-6  # seconds that the smallest kernel occupies the device


A100 = Gpu(
    name="A100-SXM4-80GB",
    source="NVIDIA A100 80GB SXM data sheet: 2,039 GB/s, 312 TFLOPS bfloat16 without sparsity",
    bandwidth=2.039e12,
    flops=312e12,
)

# Counted in transformers' Qwen3 layer with scaled-dot-product attention and an own cache: 7 products of matrices, the
# attention, and 52 of norms (4 x 8), rotary embedding (10), cache and head copies (5), SiLU, product, two residuals.
_SMALL_KERNELS = 52
_LARGE_KERNELS = 8
_OTHER_KERNELS = 20  # of a whole forward: embedding, mask, last norm, head, choice of tokens


@dataclass(frozen=True)
class Roofline:
    """Times of one model on one GPU: the longer of what the device needs and what it takes to launch its kernels."""

    shape: Shape
    gpu: Gpu

    @property
    def layer_weights(self) -> int:
        """Parameters of all layers, without embedding and head."""
        s = self.shape
        attention = s.hidden * (s.heads + 2 * s.kv_heads) * s.head_dim + s.heads * s.head_dim * s.hidden
        return s.layers * (attention + 3 * s.hidden * s.intermediate)

    def seconds(self, tokens: int, context: int, wanted: int) -> float:
        """Of a forward of ``tokens`` after ``context`` rows, with logits for ``wanted`` of them."""
        return max(self.device_seconds(tokens, context, wanted), self.launch_seconds)

    @property
    def launch_seconds(self) -> float:
        kernels = self.shape.layers * (_SMALL_KERNELS + _LARGE_KERNELS) + _OTHER_KERNELS
        return kernels * self.gpu.launch

    def device_seconds(self, tokens: int, context: int, wanted: int) -> float:
        s = self.shape
        weights, head, rows = self.layer_weights, s.hidden * s.vocabulary, context + tokens
        cache = s.layers * 2 * s.kv_heads * s.head_dim * rows * _BYTES
        attention = 4.0 * s.layers * s.heads * s.head_dim * tokens * rows
        small = max(self.gpu.shortest, 2 * tokens * s.hidden * _BYTES / self._bandwidth)  # reads and writes a state
        return (
            self._longer(weights * _BYTES, 2.0 * weights * tokens)
            + self._longer(head * _BYTES, 2.0 * head * wanted)
            + self._longer(cache, attention)
            + (s.layers * _SMALL_KERNELS + _OTHER_KERNELS) * small
        )

    def _longer(self, size: float, arithmetic: float) -> float:
        return max(size / self._bandwidth, arithmetic / (self.gpu.flops * self.gpu.flops_share))

    @property
    def _bandwidth(self) -> float:
        return self.gpu.bandwidth * self.gpu.bandwidth_share

    @property
    def line(self) -> str:
        """What was assumed, for the provenance."""
        gpu = self.gpu
        return (
            f"roofline of {self.shape.name} ({self.layer_weights / 1e9:.2f}e9 weights in layers, bfloat16) on "
            f"{gpu.name} ({gpu.source}): the longer of (a) {gpu.bandwidth_share:.0%} of the bandwidth for weights, "
            f"cache and head or {gpu.flops_share:.0%} of the arithmetic, plus {gpu.shortest * 1e6:.1f} us for each of "
            f"{_SMALL_KERNELS} small kernels a layer, and (b) {gpu.launch * 1e6:.0f} us to launch each of "
            f"{_SMALL_KERNELS + _LARGE_KERNELS} kernels a layer in eager mode; shares and kernel costs are "
            f"assumptions, nothing was fitted to a measurement"
        )
