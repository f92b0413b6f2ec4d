/** Milliseconds of one clock that all processes of this machine read. */
export function nowMs(): number {
  return performance.timeOrigin + performance.now()
}

/** Up to which seq everything was written, or had come, and when. */
export type Moment = readonly [seq: number, ms: number]

/** Since when somebody follows who began later than the writer: nothing written by then was missing any more. */
export function levelSince(writes: readonly Moment[], arrivals: readonly Moment[]): number {
  let at = 0
  for (const [seq, ms] of arrivals) {
    while (at < writes.length && (writes[at] as Moment)[0] <= seq) at++
    const next = writes[at]
    if (next === undefined || next[1] > ms) return ms
  }
  return Number.POSITIVE_INFINITY
}

/** How late each write came, of those that somebody followed: it had come when its last record had. */
export function latenciesOf(writes: readonly Moment[], arrivals: readonly Moment[], since: number): number[] {
  const latencies: number[] = []
  let at = 0
  for (const [seq, ms] of writes) {
    while (at < arrivals.length && (arrivals[at] as Moment)[0] < seq) at++
    const arrival = arrivals[at]
    if (ms >= since && arrival !== undefined) latencies.push(arrival[1] - ms)
  }
  return latencies
}
