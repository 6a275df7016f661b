"""Communities of a graph: moves and merges of nodes that raise modularity."""

import numpy as np

from ensclust._kernels._jit import jit

_LEAST = 1e-12  # least gain of a move, relative to the node's strength: above rounding


@jit
def move_nodes(
    start,  # IN (n + 1,) int, first edge of each node
    neighbour,  # IN (e,) int, other end of each edge; no edge leads to its own node
    weight,  # IN (e,) float64, above 0
    strength,  # IN (n,) float64, weights of all edges of a node, loops included
    pull,  # IN float64, resolution divided by the sum of all strengths
    order,  # IN (n,) int64, order in which nodes are first visited
    community,  # IN OUT (n,) int64, community of each node, below n
):
    """Move nodes to the community that raises modularity most, until none does.

    A node may also form a new community. When it moves, its neighbours in
    other communities are visited again. Among equally good communities, the first along
    its edges wins.
    """
    n = len(strength)
    total, size = np.zeros(n), np.zeros(n, np.int64)
    for i in range(n):
        total[community[i]] += strength[i]
        size[community[i]] += 1
    spare, n_spare = np.empty(n, np.int64), 0
    for c in range(n - 1, -1, -1):
        if size[c] == 0:
            spare[n_spare] = c
            n_spare += 1
    queue, is_queued = order.copy(), np.ones(n, np.bool_)
    first, n_queued = 0, n
    link, met = np.zeros(n), np.empty(n, np.int64)
    while n_queued > 0:
        i = queue[first]
        first, n_queued = (first + 1) % n, n_queued - 1
        is_queued[i] = False
        own = community[i]
        total[own] -= strength[i]
        n_met = _meet(i, start, neighbour, weight, community, link, met)
        stay = link[own] - pull * strength[i] * total[own]
        best, most = own, stay + _LEAST * strength[i]
        for j in range(n_met):
            c = met[j]
            gain = link[c] - pull * strength[i] * total[c]
            if gain > most:
                best, most = c, gain
            link[c] = 0.0
        if most < 0 and size[own] > 1:
            n_spare -= 1
            best = spare[n_spare]
        total[best] += strength[i]
        if best == own:
            continue
        community[i] = best
        size[own] -= 1
        size[best] += 1
        if size[own] == 0:
            spare[n_spare] = own
            n_spare += 1
        for e in range(start[i], start[i + 1]):
            j = neighbour[e]
            if community[j] != best and not is_queued[j]:
                queue[(first + n_queued) % n] = j
                n_queued += 1
                is_queued[j] = True


@jit
def merge_nodes(
    start,  # IN (n + 1,) int
    neighbour,  # IN (e,) int
    weight,  # IN (e,) float64
    strength,  # IN (n,) float64
    pull,  # IN float64
    order,  # IN (n,) int64
    community,  # IN (n,) int64, what may merge
    part,  # OUT (n,) int64, connected parts of communities
):
    """Build parts of communities from single nodes, merging each at most once.

    A node that is still alone joins the part of its community that raises modularity
    most, among those it has an edge to, so parts are connected.
    """
    n = len(strength)
    total, size = strength.copy(), np.ones(n, np.int64)
    link, met = np.zeros(n), np.empty(n, np.int64)
    part[:] = np.arange(n)
    for i in order:
        if size[part[i]] > 1:
            continue
        n_met = _meet(i, start, neighbour, weight, part, link, met)
        best, most = part[i], 0.0
        for j in range(n_met):
            c = met[j]
            gain = link[c] - pull * strength[i] * total[c]
            # Part c has the number of the node that it began with.
            if gain > most and community[c] == community[i]:
                best, most = c, gain
            link[c] = 0.0
        if best != part[i]:
            size[part[i]] = 0
            part[i] = best
            total[best] += strength[i]
            size[best] += 1


@jit
def _meet(i, start, neighbour, weight, community, link, met):
    """Add up the weights to each community, (n,); write those met, return how many."""
    n_met = 0
    for e in range(start[i], start[i + 1]):
        c = community[neighbour[e]]
        if link[c] == 0.0:
            met[n_met] = c
            n_met += 1
        link[c] += weight[e]
    return n_met
