"""The float8 type rounds e4m3; e2m1 by the distance to every value of a table."""

import torch

_MAGNITUDES = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]


def _input(x, fmt):
    if fmt not in ("e4m3", "e2m1"):
        raise ValueError(fmt)
    if x.shape[-1] < 32 or x.shape[-1] % 32 != 0:
        raise ValueError("K")
    x = x.detach().to(torch.float32)
    if torch.isnan(x).any() or torch.isinf(x).any():
        raise ValueError("not finite")
    return x.reshape(*x.shape[:-1], -1, 32)


def shared_exponents(x, fmt="e4m3"):
    amax = _input(x, fmt).abs().max(dim=-1).values
    _, e = torch.frexp(amax)
    e = e - 1 - (8 if fmt == "e4m3" else 2)
    e[amax == 0] = -127
    return e.clamp(min=-127, max=127).int()


def quantize(x, fmt="e4m3"):
    blocks = _input(x, fmt)
    e = shared_exponents(x, fmt)
    scaled = (blocks.double() * torch.exp2(-e.double())[..., None]).float()
    if fmt == "e4m3":
        q = scaled.clamp(-448, 448).to(torch.float8_e4m3fn).float()
    else:
        table = torch.tensor(_MAGNITUDES, device=x.device)
        # Even indices first, so that argmin prefers them where two values are equally near.
        order = torch.tensor([0, 2, 4, 6, 1, 3, 5, 7], device=x.device)
        nearest = order[(scaled.abs()[..., None] - table[order]).abs().argmin(-1)]
        q = table[nearest] * scaled.sign()
    return q.reshape(x.shape), e


def dequantize(elements, exponents):
    blocks = elements.reshape(*exponents.shape, 32).double()
    return (blocks * torch.exp2(exponents.double())[..., None]).float().reshape(elements.shape)


def mx_matmul(a, b, fmt="e4m3"):
    if a.size(1) != b.size(1):
        raise ValueError("K differs")
    (qa, ea), (qb, eb) = quantize(a, fmt), quantize(b, fmt)
    out = torch.zeros(len(a), len(b), device=a.device)
    for i in range(ea.shape[1]):
        part = slice(32 * i, 32 * i + 32)
        dots = qa[:, part] @ qb[:, part].T
        out += torch.ldexp(dots, ea[:, i, None] + eb[None, :, i])
    return out


def pack_fp4(elements):
    if elements.shape[-1] % 2 == 1:
        raise ValueError("odd")
    table = torch.tensor(_MAGNITUDES, device=elements.device)
    magnitude = elements.abs().float()
    index = torch.bucketize(magnitude, table)
    if not torch.equal(table[index.clamp(max=7)], magnitude):
        raise ValueError("no e2m1 value")
    code = index | (torch.signbit(elements).long() << 3)
    return (code[..., ::2] | code[..., 1::2] << 4).to(torch.uint8)


def unpack_fp4(packed):
    code = torch.empty(*packed.shape[:-1], 2 * packed.shape[-1], dtype=torch.long, device=packed.device)
    code[..., 0::2] = packed & 0x0F
    code[..., 1::2] = packed >> 4
    value = torch.tensor(_MAGNITUDES, device=packed.device)[code & 7]
    return torch.where(code >= 8, -value, value)
