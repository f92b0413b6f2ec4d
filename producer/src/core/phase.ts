/**
 * Where in its first interval the n-th persona is polled again: 0, 1/2, 1/4, 3/4, 1/8 … so that however many
 * there are, they spread over it evenly and stay apart from then on (KS-55).
 */
export function phaseOf(n: number): number {
  let phase = 0
  let step = 0.5
  for (let rest = n; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) phase += step
    step /= 2
  }
  return phase
}
