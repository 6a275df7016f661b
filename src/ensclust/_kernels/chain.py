"""Nearest-neighbour chains: which regions to look at next, which to merge.

A region's nearest neighbour stays its nearest until one of the two is merged
(reducibility), so it is recorded with the time of the search; time counts merges.
"""

from ensclust._kernels._jit import jit


@jit
def is_known(x, near, asked, born, alive):
    """Return whether the recorded nearest neighbour of x is still valid."""
    y = near[x]
    return asked[x] >= born[x] and alive[y] and born[y] <= asked[x]


@jit
def plan(
    near,  # IN (R,) int64, recorded nearest neighbour
    asked,  # IN (R,) int64, time of its search, -1 = never
    born,  # IN (R,) int64, time of the region's last merge
    alive,  # IN (R,) bool
    queued,  # INOUT (R,) bool, all False before and after
    queue,  # OUT (L,) int64, regions to search for
    first,  # IN no region below this one is alive
):
    """Follow chains to their tips; return how many were written (-1: a chain cycles).

    Chains start at the lowest living regions and follow known neighbours to a region
    whose neighbour is unknown.
    """
    n = alive.shape[0]
    length, n_tried = 0, 0
    for start in range(first, n):
        if not alive[start]:
            continue
        x, n_steps = start, 0
        while is_known(x, near, asked, born, alive):
            x = near[x]
            n_steps += 1
            if n_steps > n:
                return -1
        if not queued[x]:
            queued[x] = True
            queue[length] = x
            length += 1
        n_tried += 1
        if length == queue.shape[0] or n_tried == 4 * queue.shape[0]:
            break
    for i in range(length):
        queued[queue[i]] = False
    return length


@jit
def reciprocal(
    queue,  # IN (L,) int64, regions whose neighbours have just been found
    near,  # IN (R,) int64
    best,  # IN (R,) float64, similarity to the nearest neighbour
    asked,  # INOUT (R,) int64
    born,  # INOUT (R,) int64
    alive,  # INOUT (R,) bool
    merged,  # OUT (R - 1, 2) int64, pairs from n_merged on; the lower region stays
    similarity,  # OUT (R - 1,) float64
    n_merged,
):
    """Merge the queue's regions that are nearest to their neighbour; count all merges.

    Equal similarity counts as nearest: otherwise tied regions could wait for each other
    in a ring.
    """
    now = n_merged
    for x in queue:
        asked[x] = now
    for x in queue:
        if not alive[x] or not is_known(x, near, asked, born, alive):
            continue
        y = near[x]
        if is_known(y, near, asked, born, alive) and best[y] <= best[x]:
            a, b = min(x, y), max(x, y)
            merged[n_merged, 0], merged[n_merged, 1] = a, b
            similarity[n_merged] = best[x]
            n_merged += 1
            alive[b] = False
            born[a] = n_merged
    return n_merged


@jit
def settle(
    merged,  # IN (R - 1, 2) int64, children before parents
    similarity,  # INOUT (R - 1,) float64
    last,  # INOUT (R,) float64, infinite at first
):
    """Lower the similarity of merges that rounding has raised above a child's."""
    for i in range(merged.shape[0]):
        a, b = merged[i, 0], merged[i, 1]
        similarity[i] = last[a] = min(similarity[i], last[a], last[b])


@jit
def number(
    merges,  # INOUT (R - 1, 2) int64, regions in, nodes out: merge i makes node R + i
    node,  # INOUT (R,) int64, 0, 1, ... at first
):
    """Replace regions by their current nodes, the lower first."""
    n = node.shape[0]
    for i in range(merges.shape[0]):
        a, b = merges[i, 0], merges[i, 1]
        merges[i, 0], merges[i, 1] = min(node[a], node[b]), max(node[a], node[b])
        node[a] = n + i
