"""The exponent is read from the bits of the float; the grid comes from adding and subtracting a large number."""

import torch

SPEC = {"e4m3": dict(emax=8, bits=3, emin=-6, top=448.0), "e2m1": dict(emax=2, bits=1, emin=0, top=6.0)}


def spec(fmt):
    try:
        return SPEC[fmt]
    except KeyError:
        raise ValueError(f"format {fmt}") from None


@torch.no_grad()
def prepared(x):
    k = x.shape[-1] if x.dim() else 0
    if k == 0 or k % 32:
        raise ValueError("K must be a multiple of 32")
    x = x.float().contiguous()
    if not torch.isfinite(x).all():
        raise ValueError("inf or nan")
    return x


def exponent(x):
    """floor(log2(|x|)) of float32 values; -127 or so for zero and subnormal ones."""
    return ((x.contiguous().view(torch.int32) >> 23) & 255) - 127


@torch.no_grad()
def shared_exponents(x, fmt="e4m3"):
    s = spec(fmt)
    amax = prepared(x).view(*x.shape[:-1], -1, 32).abs().amax(-1)
    return (exponent(amax) - s["emax"]).clamp(-127, 127).to(torch.int32)


@torch.no_grad()
def quantize(x, fmt="e4m3"):
    s, e = spec(fmt), shared_exponents(x, fmt)
    wide = torch.ldexp(prepared(x).double(), -e.repeat_interleave(32, -1))
    binade = exponent(wide.float()).clamp(min=s["emin"]).double()
    # Adding 1.5 * 2**52 steps leaves a float64 no room below one step, and it rounds to even by itself.
    big = 1.5 * 2.0 ** (52 + binade - s["bits"])
    q = ((wide + big) - big).float()
    return torch.clip(q, -s["top"], s["top"]), e


@torch.no_grad()
def dequantize(elements, exponents):
    scale = torch.pow(torch.tensor(2.0, dtype=torch.float64, device=elements.device), exponents.double())
    return (elements.unflatten(-1, (-1, 32)) * scale.unsqueeze(-1)).float().flatten(-2)


@torch.no_grad()
def mx_matmul(a, b, fmt="e4m3"):
    if a.shape[1] != b.shape[1]:
        raise ValueError("inner dimensions")
    da, db = (dequantize(*quantize(t, fmt)) for t in (a, b))
    return torch.einsum("mk,nk->mn", da, db)


def _tables(device):
    half = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6], device=device)
    return torch.cat([half, -half])


def pack_fp4(elements):
    if elements.size(-1) % 2:
        raise ValueError("odd number of elements")
    table, flat = _tables(elements.device).tolist(), elements.detach().cpu().reshape(-1).tolist()
    codes = []
    for value in flat:
        if value not in table:
            raise ValueError(f"{value} is not an e2m1 value")
        codes.append(table.index(value))
    packed = [low + 16 * high for low, high in zip(codes[::2], codes[1::2])]
    shape = (*elements.shape[:-1], elements.size(-1) // 2)
    return torch.tensor(packed, dtype=torch.uint8, device=elements.device).reshape(shape)


def unpack_fp4(packed):
    byte = torch.arange(256, device=packed.device)
    pairs = _tables(packed.device)[torch.stack([byte % 16, byte // 16], 1)]
    return pairs[packed.long()].reshape(*packed.shape[:-1], -1)
