import { safeText } from '@kim/cli-kit'

/** One value; `suffix` tells the parts of a histogram apart. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
  readonly suffix?: '_bucket' | '_sum' | '_count'
}

/** What is counted under one name. */
export interface Family {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly samples: readonly Sample[]
}

/** A family with one value, or with none where that is not known. */
export function one(value: number | undefined): readonly Sample[] {
  return value === undefined ? [] : [{ labels: {}, value }]
}

/** A family with one value per value of a label. */
export function by(label: string, values: Readonly<Record<string, number>>): readonly Sample[] {
  return Object.entries(values).map(([name, value]) => ({ labels: { [label]: name }, value }))
}

/** Prometheus text 0.0.4. A family without a value is left out: nothing is known, which is not zero. */
export function exposition(families: readonly Family[]): string {
  return families
    .filter(({ samples }) => samples.length > 0)
    .map(familyText)
    .join('')
}

function familyText({ name, type, help, samples }: Family): string {
  const lines = samples.map(
    ({ labels, value, suffix = '' }) => `${name}${suffix}${labelText(labels)} ${value}\n`,
  )
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

/** The three characters that the format escapes. */
function escaped(text: string): string {
  const printable = text.split('\n').map(printed).join('\n')
  return printable.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}

/** Safe to print, and still another text for each: what looks like an escape already is one itself (CL-9). */
function printed(line: string): string {
  return safeText(line.replace(/\\(?=[rtxu])/g, '\\x5c'))
}
