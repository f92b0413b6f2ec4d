import {
  formatDuration,
  type Input,
  type Io,
  printReport,
  requireRecordName,
  withProgress,
} from '@kim/cli-kit'
import { type Explanation, explain } from '../explain.js'
import type { HostEvent } from '../host-clocks.js'
import type { Alarm, LifeStep } from '../message-life.js'
import { openReplayJournal, outputFormat } from './input.js'
import { missingText } from './print.js'

/** CL-44: why it took so long. */
export async function run(input: Input, io: Io): Promise<number> {
  const form = outputFormat(input)
  const name = requireRecordName(input.positional('EVENT') ?? '')
  const history = openReplayJournal(input, io)
  const explanation = await withProgress(io, 'explain', control => explain(history, name, control))
  const { missing, ...rest } = explanation
  printReport(io, form === 'json', { ...rest, missing: missing.findings }, textOf(explanation))
  return missing.exit
}

function textOf(explanation: Explanation): string[] {
  const { item_type, item_id, persona, steps, host, producer_gaps, commit_wait, alarms } = explanation
  const why = [
    ...producer_gaps.map(
      ({ from_seq, to_seq, from_ts, to_ts, ms, stopped, after_command, records_missing }) =>
        `no producer ran for ${(stopped || after_command) && !records_missing ? '' : 'up to '}${formatDuration(ms)} of that time: between ${place(from_seq, from_ts)} and ${place(to_seq, to_ts)} (${records_missing ? 'the records that would show it are missing' : after_command ? 'the writer before it was a store command (repair, redact or import), not a producer' : stopped ? 'it had been stopped' : 'the producer before it ended without a note'})`,
    ),
    ...(commit_wait === null
      ? []
      : [
          `polled mail waited ${formatDuration(commit_wait.ms)} to be appended, up to ${place(commit_wait.seq, commit_wait.ts)}: the disk was full or slow, or the producer was suspended; see its log`,
        ]),
    ...host.map(event => hostText(event)),
    ...alarms.map(alarm => alarmText(alarm)),
  ]
  const kinds = steps.map(({ kind }) => kind)
  const isTold = item_type !== 'message' || (kinds.includes('created_upstream') && kinds.includes('appended'))
  return [
    `${item_type} ${item_id}${persona === null ? '' : ` of ${persona}`}`,
    ...steps.map(step => stepText(step)),
    ...(why.length === 0
      ? [isTold ? 'no cause of a delay is in the journal' : 'the cause of a delay is unknown']
      : ['possible causes of the delay:', ...why.map(line => `  ${line}`)]),
    ...explanation.liveness.map(
      ({ seq, ts, event, state }) =>
        `its persona at ${place(seq, ts)}: ${state ?? 'state unknown'}${event === null ? '' : ` (${event})`}`,
    ),
    ...explanation.unknown.map(line => `unknown: ${line}`),
    ...missingText(explanation.missing.findings),
  ]
}

function stepText({ kind, seq, ts, clock, since, note }: LifeStep): string {
  const what = kind.replace('_upstream', '')
  const isSeen = /^(read|archived|removed)$/.test(what) && ts !== null
  const when = isSeen ? `by ${ts}, when the producer saw that it was ${what}` : (ts ?? 'at an unknown time')
  const whose = clock === 'server' ? " by the server's clock" : ''
  const by = seq === null ? '' : `, seq ${seq}`
  const after = since === null ? '' : sinceText(since)
  return `  ${what.padEnd(8)}  ${when}${whose}${by}${after}${note === null ? '' : ` (${note})`}`
}

function sinceText(since: NonNullable<LifeStep['since']>): string {
  const { step, two_clocks, wall_ms, mono_ms, boot_ms, suspended_ms, rebooted } = since
  if (wall_ms === null) return ''
  // Of how long it waited for its commit one clock tells both.
  const isSleepUnknown = suspended_ms === null && !two_clocks && !rebooted && mono_ms !== wall_ms
  const parts = [
    ...(two_clocks ? ['by two clocks'] : []),
    ...(rebooted ? ['the host was rebooted in between'] : []),
    ...(suspended_ms !== null && suspended_ms > 0
      ? [`the host slept ${formatDuration(suspended_ms)} of that time`]
      : []),
    ...(mono_ms !== null && boot_ms !== null && suspended_ms === 0 ? ['the host was awake'] : []),
    ...(boot_ms !== null && differs(boot_ms, wall_ms) ? [`${signed(boot_ms)} by the boot clock`] : []),
    ...(mono_ms !== null && differs(mono_ms, wall_ms)
      ? [`${signed(mono_ms)} by the monotonic clock, which stops during sleep`]
      : []),
    ...(isSleepUnknown ? ['unknown if the host slept'] : []),
  ]
  return `, ${signed(wall_ms)} after ${step.replace('_upstream', '')}${parts.length === 0 ? '' : ` [${parts.join('; ')}]`}`
}

function signed(ms: number): string {
  return ms < 0 ? `-${formatDuration(-ms)}` : formatDuration(ms)
}

/** Less is how exactly two clocks are read one after the other. */
function differs(one: number, other: number): boolean {
  return Math.abs(one - other) >= 1000
}

function hostText({ kind, from_seq, to_seq, from_ts, to_ts, ms }: HostEvent): string {
  const between = `between ${place(from_seq, from_ts)} and ${place(to_seq, to_ts)}`
  if (kind === 'rebooted') return `the host was rebooted ${between}`
  if (kind === 'suspended') return `the host was suspended for ${formatDuration(ms ?? 0)} ${between}`
  return `the wall clock was set ${(ms ?? 0) < 0 ? 'back' : 'forward'} by ${formatDuration(Math.abs(ms ?? 0))} ${between}`
}

function alarmText({ kind, reason, from_seq, from_ts, to_seq, to_ts }: Alarm): string {
  const until = to_seq === null ? 'still open' : `until ${place(to_seq, to_ts)}`
  return `alert ${kind} from ${place(from_seq, from_ts)}, ${until}${reason === null ? '' : `: ${reason}`}`
}

function place(seq: number, ts: string | null): string {
  return `seq ${seq}${ts === null ? '' : ` (${ts})`}`
}
