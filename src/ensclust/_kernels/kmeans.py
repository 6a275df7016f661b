"""K-means: nearest centres, for all runs of an ensemble at a time.

Rows are taken in tiles of ``LANES``, transposed so that one feature of all rows of a
tile is contiguous: vector instructions process all rows at once, and the nearest centre
is found while scores are in registers. The score of a row and a
centre is their product less half the squared norm of the centre, summed up in the order
of the features, so that it depends on the two alone: neither on the position of the
row nor on the rows around it, nor on dense or sparse storage.

Rows come as four arrays: ``X`` of shape (n, d) if they are dense, with ``data``,
``indices`` and ``indptr`` None, or these three as in a CSR matrix, with ``X`` None.
Each branch is for arrays that are not None, since Numba leaves out those for None: that
halves the time of compilation, and one kind does not see the type of the other.
Their type, float32 or float64, is that of all scores. Centres ``W`` come with columns
of zeros up to a multiple of four and with rows up to a multiple of four for each run,
whose ``half`` is infinite; for sparse rows they are transposed, (d, K).
"""

import numpy as np

from ensclust._kernels._jit import fused_jit, inlined_jit, jit

LANES = 128  # rows of a tile


@fused_jit
def add_products(
    tile,  # IN (D, LANES), D a multiple of 4
    W,  # IN (K, D)
    half,  # IN (K,)
    c,  # first of four centres
    end,  # number of features to add up, a multiple of 4
    score,  # OUT (4, LANES)
):
    """Write the products of a tile with four centres, over the first features."""
    s0, s1, s2, s3 = score[0], score[1], score[2], score[3]
    h0, h1, h2, h3 = -half[c], -half[c + 1], -half[c + 2], -half[c + 3]
    for r in range(LANES):
        s0[r] = h0
        s1[r] = h1
        s2[r] = h2
        s3[r] = h3
    for f in range(0, end, 4):
        x0, x1, x2, x3 = tile[f], tile[f + 1], tile[f + 2], tile[f + 3]
        a0, a1, a2, a3 = W[c, f], W[c, f + 1], W[c, f + 2], W[c, f + 3]
        b0, b1, b2, b3 = W[c + 1, f], W[c + 1, f + 1], W[c + 1, f + 2], W[c + 1, f + 3]
        c0, c1, c2, c3 = W[c + 2, f], W[c + 2, f + 1], W[c + 2, f + 2], W[c + 2, f + 3]
        d0, d1, d2, d3 = W[c + 3, f], W[c + 3, f + 1], W[c + 3, f + 2], W[c + 3, f + 3]
        for r in range(LANES):
            y0, y1, y2, y3 = x0[r], x1[r], x2[r], x3[r]
            s0[r] = s0[r] + y0 * a0 + y1 * a1 + y2 * a2 + y3 * a3
            s1[r] = s1[r] + y0 * b0 + y1 * b1 + y2 * b2 + y3 * b3
            s2[r] = s2[r] + y0 * c0 + y1 * c1 + y2 * c2 + y3 * c3
            s3[r] = s3[r] + y0 * d0 + y1 * d1 + y2 * d2 + y3 * d3


@fused_jit
def nearest_two(
    tile,  # IN (D, LANES)
    W,  # IN (K, D)
    half,  # IN (K,)
    first,  # first centre
    last,  # one past the last, a multiple of four away
    score,  # WORK (4, LANES)
    best,  # OUT (LANES,), the largest score of each row
    second,  # OUT (LANES,), the second largest
    nearest,  # OUT (LANES,) int32, its centre, counted from `first`; lowest of equals
):
    """Find the two nearest of some centres; the last products are not stored."""
    f = tile.shape[0] - 4
    x0, x1, x2, x3 = tile[f], tile[f + 1], tile[f + 2], tile[f + 3]
    s0, s1, s2, s3 = score[0], score[1], score[2], score[3]
    for r in range(LANES):
        best[r] = -np.inf
        second[r] = -np.inf
        nearest[r] = 0
    for c in range(first, last, 4):
        add_products(tile, W, half, c, f, score)
        a0, a1, a2, a3 = W[c, f], W[c, f + 1], W[c, f + 2], W[c, f + 3]
        b0, b1, b2, b3 = W[c + 1, f], W[c + 1, f + 1], W[c + 1, f + 2], W[c + 1, f + 3]
        c0, c1, c2, c3 = W[c + 2, f], W[c + 2, f + 1], W[c + 2, f + 2], W[c + 2, f + 3]
        d0, d1, d2, d3 = W[c + 3, f], W[c + 3, f + 1], W[c + 3, f + 2], W[c + 3, f + 3]
        i0 = np.int32(c - first)
        i1, i2, i3 = np.int32(i0 + 1), np.int32(i0 + 2), np.int32(i0 + 3)
        for r in range(LANES):
            y0, y1, y2, y3 = x0[r], x1[r], x2[r], x3[r]
            t0 = s0[r] + y0 * a0 + y1 * a1 + y2 * a2 + y3 * a3
            t1 = s1[r] + y0 * b0 + y1 * b1 + y2 * b2 + y3 * b3
            t2 = s2[r] + y0 * c0 + y1 * c1 + y2 * c2 + y3 * c3
            t3 = s3[r] + y0 * d0 + y1 * d1 + y2 * d2 + y3 * d3
            m, e, i = best[r], second[r], nearest[r]
            low = min(t0, m)
            e = max(low, e)
            i = i0 if t0 > m else i
            m = max(t0, m)
            low = min(t1, m)
            e = max(low, e)
            i = i1 if t1 > m else i
            m = max(t1, m)
            low = min(t2, m)
            e = max(low, e)
            i = i2 if t2 > m else i
            m = max(t2, m)
            low = min(t3, m)
            e = max(low, e)
            i = i3 if t3 > m else i
            m = max(t3, m)
            best[r] = m
            second[r] = e
            nearest[r] = i


@fused_jit
def nearest_two_sparse(
    data,  # IN (nnz,)
    indices,  # IN (nnz,) int
    indptr,  # IN (n + 1,) int
    rows,  # IN (LANES,) int64, numbers of rows
    n_rows,  # how many of them
    W,  # IN (d, K), transposed
    half,  # IN (K,)
    first,
    last,
    best,  # OUT (LANES,)
    second,  # OUT (LANES,)
    nearest,  # OUT (LANES,) int32
):
    """Like nearest_two, for sparse rows; zeros add nothing, so scores are equal."""
    score = np.empty(last - first, data.dtype)
    own = half[first:last]
    for r in range(n_rows):
        for c in range(last - first):
            score[c] = -own[c]
        for p in range(indptr[rows[r]], indptr[rows[r] + 1]):
            x, w = data[p], W[indices[p], first:last]
            for c in range(last - first):
                score[c] += x * w[c]
        m, e, i = score[0], -np.inf, 0
        for c in range(1, last - first):
            if score[c] > m:
                m, e, i = score[c], m, c
            elif score[c] > e:
                e = score[c]
        best[r], second[r], nearest[r] = m, e, i


@jit
def turn(
    X,  # IN (n, d)
    rows,  # IN (LANES,) int64
    n_rows,  # how many of them
    tile,  # OUT (D, LANES)
):
    """Transpose some rows into a tile, sixteen at a time, to fill cache lines."""
    for begin in range(0, n_rows, 16):
        end = min(begin + 16, n_rows)
        for f in range(X.shape[1]):
            own = tile[f]
            for r in range(begin, end):
                own[r] = X[rows[r], f]


@jit
def add_row(
    X,  # IN (n, d)
    data,  # IN
    indices,  # IN
    indptr,  # IN
    i,  # the row
    scale,  # IN float64, factor applied before rounding
    sums,  # INOUT (d,) int64
):
    """Add a row to a sum in fixed point, where the order does not matter."""
    if X is not None:
        x = X[i]
        for f in range(x.shape[0]):
            sums[f] += np.int64(np.rint(np.float64(x[f]) * scale))
    if data is not None:
        for p in range(indptr[i], indptr[i + 1]):
            sums[indices[p]] += np.int64(np.rint(np.float64(data[p]) * scale))


@jit
def scratch(
    half,  # IN, as in label
    n_columns,  # of a tile, D
):
    """Return arrays for the rows of a tile: their numbers, and what is found for them.

    Kernels share this one because Numba takes long to compile an allocation.
    """
    tile = np.zeros((n_columns, LANES), half.dtype)
    found = np.zeros((7, LANES), half.dtype)
    nearest, rows = np.zeros(LANES, np.int32), np.zeros(LANES, np.int64)
    return tile, found[:4], found[4], found[5], found[6], nearest, rows


@jit
def label(
    X,  # IN (n, d)
    data,  # IN
    indices,  # IN
    indptr,  # IN
    W,  # IN (K, D) or, for sparse rows, (d, K): the centres of all runs
    half,  # IN (K,)
    start,  # IN (M + 1,) int64, first centre of each run
    labels,  # OUT (M, n) unsigned
    i0,
    i1,
):
    """Write the nearest centre of rows i0..i1-1 in each run, lowest of equals."""
    n_columns = 0 if X is None else W.shape[1]
    tile, score, best, second, _, nearest, rows = scratch(half, n_columns)
    for begin in range(i0, i1, LANES):
        n_rows = min(LANES, i1 - begin)
        for r in range(n_rows):
            rows[r] = begin + r
        if X is not None:
            turn(X, rows, n_rows, tile)
        for m in range(start.shape[0] - 1):
            a, b = start[m], start[m + 1]
            if X is not None:
                nearest_two(tile, W, half, a, b, score, best, second, nearest)
            if data is not None:
                nearest_two_sparse(
                    *(data, indices, indptr, rows, n_rows),
                    *(W, half, a, b, best, second, nearest),
                )
            for r in range(n_rows):
                labels[m, begin + r] = nearest[r]


@jit
def add_nearest(
    X,  # IN (n, d)
    data,  # IN
    indices,  # IN
    indptr,  # IN
    W,  # IN, as in label
    half,  # IN
    start,  # IN
    scale,  # IN float64, as in add_row
    labels,  # WORK (M, LANES) unsigned, of one tile
    sums,  # INOUT (K, d) int64
    counts,  # INOUT (K,) int64
    i0,
    i1,
):
    """Add each of the rows i0..i1-1 to its nearest centre in each run."""
    n_features = sums.shape[1]
    fixed = np.zeros(n_features, np.int64)
    zero = np.int64(0)  # kernels are compiled again for a literal 0
    for begin in range(i0, i1, LANES):
        end = min(begin + LANES, i1)
        more = (W, half, start, labels, zero, end - begin)
        if X is not None:
            label(X[begin:end], data, indices, indptr, *more)
        if data is not None:
            label(X, data, indices, indptr[begin : end + 1], *more)
        for r in range(end - begin):
            if X is not None:
                fixed[:] = 0
                add_row(X, data, indices, indptr, begin + r, scale, fixed)
            for m in range(start.shape[0] - 1):
                c = start[m] + labels[m, r]
                counts[c] += 1
                own = sums[c]
                if X is not None:
                    for f in range(n_features):
                        own[f] += fixed[f]
                if data is not None:
                    add_row(X, data, indices, indptr, begin + r, scale, own)


@jit
def iterate(
    X,  # IN (n, d)
    data,  # IN
    indices,  # IN
    indptr,  # IN
    norms,  # IN (n,), squared norms of the rows
    longest,  # float64, the largest norm
    unit,  # float64, largest relative rounding error of a number
    scale,  # IN float64, as in add_row
    centres,  # INOUT (k, d), of one run
    moves,  # INOUT (k,) float64, last move of each centre
    apart,  # INOUT (2,) float64, least distance of two: as measured, and a bound now
    W,  # WORK, the centres as in label, padding included
    half,  # WORK
    labels,  # INOUT (n,) int32, -1 at first
    slack,  # INOUT (n,), lower bound on how much farther the second nearest centre is
    sums,  # INOUT (k, d) int64, of the rows of each centre
    counts,  # INOUT (k,) int64
):
    """Run one iteration of Lloyd's algorithm; return how many rows have moved.

    A row with slack s keeps its centre while that centre and any other have moved by
    less than s together. Rounding must be allowed for: a score is a sum of D products,
    each step rounded, so its error is at most D units of |x| |c| + |c|^2 / 2. Computed
    scores have the order of the distances if their squares differ by more than four
    times that error. This is so if the distances differ by that over their sum, which
    is at least the distance of two centres.
    """
    k, d = centres.shape
    pack(centres, X is not None, W, half)
    largest = farthest = 0.0  # Numba takes half a second to compile max()
    for c in range(k):
        largest = max(largest, np.float64(half[c]))
        farthest = max(farthest, moves[c])
    size = np.sqrt(2 * largest)
    steps = (d + 5) * unit
    error = np.empty(3, norms.dtype)
    error[0], error[1], error[2] = 3 * steps * largest, 3 * steps * size, 8 * unit
    apart[1] -= 2 * farthest
    if not apart[1] > apart[0] / 2:  # little of the measured distance is left
        apart[:] = separation(centres)
    least = np.inf
    if apart[1] > 0:
        least = 4 * steps * (largest + size * longest) / apart[1]
    loss = np.empty(k, norms.dtype)
    losses(moves, unit, size, loss)
    n_moved = step(
        X, data, indices, indptr, norms, W, half, loss, least, error, scale,
        labels, slack, sums, counts,
    )  # fmt: skip
    for c in range(k):
        moved = 0.0
        if counts[c] > 0:
            whole = scale * counts[c]
            for f in range(d):
                old = np.float64(centres[c, f])
                centres[c, f] = sums[c, f] / whole
                moved += (np.float64(centres[c, f]) - old) ** 2
        moves[c] = np.sqrt(moved)
    return n_moved


@inlined_jit
def pack(centres, is_dense, W, half):
    """Write the centres of one run into W and half, except for the padding."""
    for c in range(centres.shape[0]):
        total = 0.0
        for f in range(centres.shape[1]):
            x = np.float64(centres[c, f])
            total += x * x
            if is_dense:
                W[c, f] = centres[c, f]
            else:
                W[f, c] = centres[c, f]
        half[c] = total / 2


@inlined_jit
def losses(moves, unit, size, loss):
    """Write by how much the slack of the rows of each centre may have shrunk."""
    first = second = 0.0
    for c in range(moves.shape[0]):
        if moves[c] > first:
            first, second = moves[c], first
        elif moves[c] > second:
            second = moves[c]
    for c in range(moves.shape[0]):
        other = second if moves[c] == first else first
        loss[c] = (moves[c] + other) * (1 + 8 * unit) + 8 * unit * size


@inlined_jit
def separation(centres):
    """Return the least distance of two centres, infinite for one."""
    least = np.inf
    for a in range(1, centres.shape[0]):
        for b in range(a):
            total = 0.0
            for f in range(centres.shape[1]):
                total += (np.float64(centres[a, f]) - np.float64(centres[b, f])) ** 2
            least = min(least, total)
    return np.sqrt(least)


@inlined_jit
def step(
    X,  # IN (n, d)
    data,  # IN
    indices,  # IN
    indptr,  # IN
    norms,  # IN (n,), squared norms of the rows
    W,  # IN, the centres of one run, as in label
    half,  # IN
    loss,  # IN (k,), by how much the slack of a row of each centre may have shrunk
    least,  # slack above which a row keeps its centre for certain
    error,  # IN (3,), of a squared distance: constant, per norm, per squared norm
    scale,  # IN float64, as in add_row
    labels,  # INOUT, as in iterate
    slack,  # INOUT
    sums,  # INOUT
    counts,  # INOUT
):
    """Assign rows to the nearest centre of one run; return how many have moved.

    Rows whose slack exceeds ``least`` are skipped. Sums change by the rows that move.
    """
    n = labels.shape[0]
    n_columns = 0 if X is None else W.shape[1]
    tile, score, best, second, norm, nearest, rows = scratch(half, n_columns)
    n_moved = n_rows = 0
    zero = np.int64(0)  # kernels are compiled again for a literal 0
    for i in range(n):
        left = slack[i] - loss[max(labels[i], 0)]
        slack[i] = left
        rows[n_rows] = i  # no branch: which rows to skip is hard to predict
        n_rows += 0 if left > least else 1
        if n_rows == LANES or (i == n - 1 and n_rows > 0):
            if X is not None:
                turn(X, rows, n_rows, tile)
                nearest_two(
                    *(tile, W, half, zero, W.shape[0]),
                    *(score, best, second, nearest),
                )
            if data is not None:
                nearest_two_sparse(
                    *(data, indices, indptr, rows, n_rows),
                    *(W, half, zero, W.shape[1], best, second, nearest),
                )
            for r in range(n_rows):
                norm[r] = norms[rows[r]]
            find_slack(norm, best, second, error)
            for r in range(n_rows):
                j, new = rows[r], nearest[r]
                slack[j] = second[r]
                old = labels[j]
                if old != new:
                    n_moved += 1
                    labels[j] = new
                    counts[new] += 1
                    add_row(X, data, indices, indptr, j, scale, sums[new])
                    if old >= 0:
                        counts[old] -= 1
                        add_row(X, data, indices, indptr, j, -scale, sums[old])
            n_rows = 0
    return n_moved


@inlined_jit
def find_slack(
    norm,  # IN (LANES,), squared norms of rows
    best,  # IN (LANES,), as nearest_two gives them
    second,  # INOUT (LANES,), the same; replaced by lower bounds
    error,  # IN (3,), as in step
):
    """Bound how much farther the second nearest centre is than the nearest."""
    constant, factor, tiny = error[0], error[1], error[2]
    for r in range(LANES):
        wide = constant + factor * np.sqrt(norm[r]) + tiny * norm[r]
        near = np.sqrt(max(norm[r] - best[r] - best[r] + wide, norm[r] * 0))
        far = np.sqrt(max(norm[r] - second[r] - second[r] - wide, norm[r] * 0))
        # Without a second centre, far is infinite, and so is the slack.
        second[r] = far * (1 - tiny) - near * (1 + tiny)


@fused_jit
def closer(
    X,  # IN (n, d)
    data,  # IN
    indices,  # IN
    indptr,  # IN
    tiles,  # IN (T, D, LANES), all tiles of X, or none: then they are built as needed
    norms,  # IN (T * LANES,), squared norms of the rows, 0 past the last
    W,  # IN (C, D) or, for sparse rows, (d, C): candidates
    half,  # IN (C,)
    run_of,  # IN (C,) int64, the run that each is a candidate of
    chosen,  # IN bool: candidates are the next centres, one for each run
    distance,  # INOUT (M, T * LANES), squared, to the nearest centre; 0 past the last
    totals,  # OUT (C, T) float64, sum of the remaining distances of each tile
    t0,
    t1,
):
    """Sum the distances that remain with each candidate, for tiles t0..t1-1.

    If candidates are chosen, the distances are updated.
    """
    n = 0
    if X is not None:
        n = X.shape[0]
    if data is not None:
        n = indptr.shape[0] - 1
    n_columns = 0 if X is None else W.shape[1]
    tile, score, parts, _, _, _, rows = scratch(half, n_columns)
    turned = np.empty((LANES if X is None else 0, half.shape[0]), half.dtype)
    for t in range(t0, t1):
        n_rows = min(LANES, n - t * LANES)
        for r in range(n_rows):
            rows[r] = t * LANES + r
        if tiles.shape[0] > 0:
            tile = tiles[t]
        elif X is not None:
            turn(X, rows, n_rows, tile)
        if data is not None:
            score_sparse(data, indices, indptr, rows, n_rows, W, half, turned)
        span = slice(t * LANES, (t + 1) * LANES)
        norm = norms[span]
        for c in range(0, half.shape[0], 4):
            if X is not None:
                add_products(tile, W, half, c, tile.shape[0], score)
            if data is not None:
                for j in range(4):
                    for r in range(n_rows):
                        score[j, r] = turned[r, c + j]
            for j in range(4):
                own, before = score[j], distance[run_of[c + j], span]
                for r in range(LANES):
                    left = min(norm[r] - own[r] - own[r], before[r])
                    own[r] = max(left, norm[r] * 0)
                totals[c + j, t] = sum_up(own, parts)
                if chosen:
                    for r in range(LANES):
                        before[r] = own[r]


@inlined_jit
def sum_up(
    x,  # IN (LANES,)
    parts,  # WORK (16,) or longer
):
    """Return a sum in an order that does not depend on the vector width."""
    for r in range(16):
        parts[r] = (
            ((x[r] + x[r + 16]) + (x[r + 32] + x[r + 48]))
            + ((x[r + 64] + x[r + 80]) + (x[r + 96] + x[r + 112]))
        )  # fmt: skip
    for r in range(8):
        parts[r] += parts[r + 8]
    for r in range(4):
        parts[r] += parts[r + 4]
    return np.float64((parts[0] + parts[2]) + (parts[1] + parts[3]))


@fused_jit
def score_sparse(data, indices, indptr, rows, n_rows, W, half, score):
    """Write the scores of some sparse rows, (LANES, C)."""
    for r in range(n_rows):
        own = score[r]
        for c in range(half.shape[0]):
            own[c] = -half[c]
        for p in range(indptr[rows[r]], indptr[rows[r] + 1]):
            x, w = data[p], W[indices[p]]
            for c in range(half.shape[0]):
                own[c] += x * w[c]


@jit
def draw(
    distance,  # IN (M, T * LANES), as in closer
    totals,  # IN (M, T) float64, their sums over tiles
    uniform,  # IN (C,) float64, random numbers in [0, 1)
    run_of,  # IN (C,) int64
    n,  # number of rows
    drawn,  # OUT (C,) int64
):
    """Draw rows with probabilities proportional to their squared distances.

    If all distances are 0, all rows are equally likely.
    """
    for c in range(uniform.shape[0]):
        own, total = totals[run_of[c]], 0.0
        for t in range(own.shape[0]):
            total += own[t]
        left = uniform[c] * total
        drawn[c] = np.int64(uniform[c] * n)
        chosen = 0
        # Sums differ by rounding: if they end below what is left, the last possible
        # tile and row are drawn.
        for t in range(own.shape[0]):
            if own[t] > 0:
                chosen = t
                if left < own[t]:
                    break
                left -= own[t]
        for i in range(chosen * LANES, min((chosen + 1) * LANES, n)):
            x = np.float64(distance[run_of[c], i])
            if x > 0:
                drawn[c] = i
                left -= x
                if left < 0:
                    break
