import { formatCount, safeText } from '@kim/manifest'
import type { Finding, FindingKind } from './findings.js'
import type { JournalVerdict } from './verdict.js'

const meaning: Readonly<Record<JournalVerdict['exit'], string>> = {
  0: 'clean',
  4: 'no journal there',
  5: 'records are missing',
  6: 'corrupt',
}

/** A verdict for a person: what it is, how much was read, and each finding with where it stands. No text in it begins a line. */
export function verdictText(verdict: JournalVerdict, eventsDir: string): string {
  const { exit, findings, hint, verified_from, records, segments, bytes, head_seq } = verdict
  const lines = [`${meaning[exit]}: ${eventsDir}`]
  if (hint !== undefined) lines.push(`  ${hint}`)
  if (exit !== 4) {
    const size = bytes.toLocaleString('en-US')
    lines.push(
      `  ${formatCount(records, 'record')} in ${formatCount(segments, 'segment')} (${size} bytes), seq ${verified_from} to ${head_seq}`,
    )
  }
  const found = Object.entries(findings) as [FindingKind, Finding][]
  for (const [kind, { count, weight, examples }] of found.sort(([, a], [, b]) => b.weight - a.weight)) {
    lines.push(
      `  ${weight === 0 ? 'note ' : weight === 5 ? 'HOLE ' : 'ERROR'} ${kind} × ${count.toLocaleString('en-US')}`,
    )
    for (const { segment, offset, seq, detail } of examples.slice(0, 3)) {
      const place = [
        segment,
        offset === undefined ? '' : `byte ${offset}`,
        seq === undefined ? '' : `seq ${seq}`,
      ]
      const where = place.filter(part => part !== undefined && part !== '').join(', ')
      lines.push(`        ${where === '' ? '' : `${where}: `}${detail}`)
    }
  }
  return lines.map(line => safeText(line)).join('\n')
}
