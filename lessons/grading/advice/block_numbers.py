"""What numbers of blocks have to do with a result whose end is missing."""


def cause_by_block_number(
    extents: list[int], short: list[int], sizes: list[tuple[int, int]]
) -> str:
    """What is wrong with the numbers of blocks, if that explains where each short axis ends.

    sizes: (length, that of a block) of each axis that the threads are laid over.
    """
    if not sizes or max(short) >= len(sizes):
        return ""
    # Along one axis alone a single block tells nothing.
    if len(short) < len(sizes) and any(n <= size for n, size in (sizes[axis] for axis in short)):
        return ""
    counted = [-(-n // size) for n, size in sizes]
    if all(extents[axis] == counted[axis] for axis in short):
        return (
            "as many are written as there are blocks: the number of a thread is "
            "blockIdx * blockDim + threadIdx."
        )
    added = [min(n, blocks - 1 + size) for (n, size), blocks in zip(sizes, counted, strict=True)]
    if all(extents[axis] == added[axis] for axis in short):
        x = "y" if len(sizes) == 2 and short == [0] else "x"
        return (
            f"a block's number has to be multiplied: blockIdx.{x} * blockDim.{x} + threadIdx.{x}."
        )
    return ""
