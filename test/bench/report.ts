/** What a bench prints: one line a measurement, or one JSON object. */

/** Numbers of one measurement; `ratio` is the baseline's time over this one's, `reach` what it is to come to. */
export interface Measurement {
  readonly [name: string]: number | undefined
}

/** Gathers measurements. */
export class Report {
  readonly #name: string
  readonly #rows: (readonly [string, Measurement])[] = []

  constructor(name: string) {
    this.#name = name
  }

  add(title: string, measurement: Measurement): void {
    this.#rows.push([title, measurement])
  }

  print(asJson: boolean): void {
    if (asJson) {
      process.stdout.write(`${JSON.stringify({ bench: this.#name, rows: Object.fromEntries(this.#rows) })}\n`)
      return
    }
    process.stdout.write(`${this.#name}\n`)
    for (const [title, measurement] of this.#rows) {
      const numbers = Object.entries(measurement).flatMap(([name, value]) =>
        value === undefined ? [] : [`${name} ${shown(value)}`],
      )
      process.stdout.write(`  ${title.padEnd(44)} ${numbers.join('  ')}\n`)
    }
  }
}

function shown(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)
}

/** The best time of each way, taken in turns. */
export async function bestOf<K extends string>(
  runs: number,
  names: readonly K[],
  run: (name: K) => Promise<number>,
): Promise<Record<K, number>> {
  const best = Object.fromEntries(names.map(name => [name, Number.POSITIVE_INFINITY])) as Record<K, number>
  for (let i = 0; i < runs; i++) for (const name of names) best[name] = Math.min(best[name], await run(name))
  return best
}

/** The value that so many of a hundred are not above. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil((sorted.length * percent) / 100) - 1)] ?? Number.NaN
}
