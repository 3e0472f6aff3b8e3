// The closed forms and the recurrences, in whole multiples of 1/scale, so that every comparison is exact.

/** Whole times: tau (S), d (S-1), sigma (S), their common scale, and the phase transition's room on each link. */
function scaledPipeline({ tau, d }) {
  const { scale, multiples } = onCommonScale([...tau, ...d]);
  const services = multiples.slice(0, tau.length);
  const transfers = multiples.slice(tau.length);
  const sigma = services.map((time, s) => time + (transfers[s] ?? 0n));
  const slack = transfers.map((_, s) => largest(services) - services[s]);
  return {
    S: tau.length,
    scale,
    tau: services,
    d: transfers,
    sigma,
    slack,
    headroom: slack.map((room, s) => room - transfers[s]),
  };
}

/** Makespans of M micro-batches by Theorems 1 to 3 and by the classic formula, in multiples of 1/scale. */
function makespans({ S, tau, d, sigma }, M) {
  const free = total(tau) + (M - 1n) * largest(tau);
  return {
    free,
    async: free + total(d),
    blocking: total(sigma) + (M - 1n) * largest(sigma),
    gpipe: (BigInt(S) + M - 1n) * largest(tau),
  };
}

/** All quantities of Pipeline.analyze in hpsim, under its keys, as doubles nearest to the exact values. */
function analyze(input, pipeline = scaledPipeline(input)) {
  const { S, scale, tau, d, sigma, slack, headroom } = pipeline;
  const { M, rho } = input;
  const stages = BigInt(S);
  const { free, async: overlapped, blocking, gpipe } = makespans(pipeline, M);
  const excess = largest(sigma) - largest(tau);
  const bias = stages * largest(tau) - total(tau);
  const time = (multiple) => toDouble(multiple, scale);
  const blended = (lower, gap) => toDouble(lower * rho.bottom + (rho.bottom - rho.top) * gap, scale * rho.bottom);
  return {
    S,
    M: Number(M),
    tau: tau.map(time),
    d: d.map(time),
    tau_max: time(largest(tau)),
    sigma_max: time(largest(sigma)),
    T_free: time(free),
    T_async: time(overlapped),
    T_block: time(blocking),
    T_gpipe: time(gpipe),
    homogeneity_bias: time(bias),
    full_bias: time(bias - total(d)),
    phase_transition: headroom.some((room) => room < 0n),
    overlap_gap: time((M - 1n) * excess),
    effective_slope: blended(largest(tau), excess),
    asymptotic_throughput_async: toDouble(scale, largest(tau)),
    asymptotic_throughput_blocking: toDouble(scale, largest(sigma)),
    crossover_batches: toDouble(largest(tau) + total(tau) + total(d), largest(tau)),
    T_linear_blend: blended(overlapped, blocking - overlapped),
    gpipe_overestimate: toDouble(gpipe - overlapped, overlapped),
    gpipe_bubble_ratio: toDouble(stages - 1n, M + stages - 1n),
    graham_lower_bound: toDouble((M + stages - 1n) * total(tau), stages * scale),
    bottleneck_async: indicesOf(tau, largest(tau)),
    bottleneck_blocking: indicesOf(sigma, largest(sigma)),
    utilization: tau.map((service) => toDouble(M * service, overlapped)),
    link_slack: slack.map(time),
    link_headroom: headroom.map(time),
  };
}

/**
 * The overlap ratio that a measured makespan implies, decided exactly.
 * @returns {{rho: ?number, below: ?number, above: ?number, undefinedFor: ?string}} below, above: how far T lies outside
 *   the bounds, as a share; undefinedFor: "M" or "d", whichever makes rho 0/0
 */
function overlapRatio(pipeline, M, T) {
  const { async: lower, blocking: upper } = makespans(pipeline, M);
  const measured = T.top * pipeline.scale; // compared in multiples of 1/(scale·T.bottom)
  const [low, high] = [lower * T.bottom, upper * T.bottom];
  const below = measured < low ? toDouble(low - measured, low) : null;
  const above = measured > high ? toDouble(measured - high, high) : null;
  const undefinedFor = M === 1n ? "M" : low === high ? "d" : null;
  const defined = below === null && above === null && undefinedFor === null;
  return { rho: defined ? toDouble(high - measured, high - low) : null, below, above, undefinedFor };
}

/** The stages' occupancy and the links' flight: blocking, a transfer holds its sender; async, it holds nobody. */
function regimeOf({ tau, d, sigma }, blocking) {
  return blocking ? { occupancy: sigma, flight: d.map(() => 0n) } : { occupancy: tau, flight: d };
}

/**
 * Run R[m][s] = max(R[m][s-1] + f[s-1], R[m-1][s]) + o[s] over `count` micro-batches.
 * @returns {{rows: bigint[][], last: bigint}} rows: R of the first `kept` micro-batches; last: R of the last one
 */
function runRecurrence({ occupancy, flight }, count, kept) {
  const releases = occupancy.map(() => 0n);
  const rows = [];
  for (let m = 0; m < count; m += 1) {
    let arrival = 0n;
    for (let s = 0; s < occupancy.length; s += 1) {
      releases[s] = (arrival > releases[s] ? arrival : releases[s]) + occupancy[s];
      arrival = releases[s] + (flight[s] ?? 0n);
    }
    if (m < kept) rows.push([...releases]);
  }
  return { rows, last: releases.at(-1) };
}

function indicesOf(values, wanted) {
  return values.flatMap((value, index) => (value === wanted ? [index] : []));
}
