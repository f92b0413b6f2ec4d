import { dirname, resolve } from 'node:path'
import {
  formatCount,
  type Input,
  type Io,
  printReport,
  safeText,
  usageError,
  withProgress,
} from '@kim/cli-kit'
import { KimError } from '@kim/manifest'
import { listEntries, noJournalAt, openFile } from '@kim/observer-sdk/history'
import { verdictText, verifyJournal } from '@kim/observer-sdk/verify'
import { bundleFile } from '../bundle/manifest.js'
import { type BundleVerdict, verifyPacked, verifyUnpacked } from '../bundle/verify-bundle.js'
import { replayEventsDir } from './input.js'
import { missingText } from './print.js'

/** Judges a journal or a bundle and exits with its verdict. */
export async function run(input: Input, io: Io): Promise<number> {
  const named = input.positional('BUNDLE')
  if (named !== undefined && (input.given('events') || input.given('store')))
    throw usageError('a bundle and a journal exclude each other', 'give one of them')
  if (named !== undefined) return await judgeBundle(resolve(named), input, io)
  const eventsDir = replayEventsDir(input, io)
  if (isBundle(dirname(eventsDir))) return await judgeBundle(dirname(eventsDir), input, io)
  const verdict = await withProgress(io, 'verify', control => verifyJournal({ eventsDir, ...control }))
  printReport(io, input.bool('json'), verdict, verdictText(verdict, eventsDir).split('\n'))
  return verdict.exit
}

function isBundle(directory: string): boolean {
  const listed = listEntries(directory)
  return listed.ok && listed.value.some(({ name, kind }) => name === bundleFile && kind === 'file')
}

async function judgeBundle(path: string, input: Input, io: Io): Promise<number> {
  const verdict = await withProgress(io, 'verify', async control => {
    if (isBundle(path)) return await verifyUnpacked(path, control)
    const opened = openFile(path, true)
    if (!opened.ok)
      throw new KimError('no_store', `there is no bundle at ${safeText(path)} (${opened.code})`, {
        hint: noBundleHint(path),
      })
    try {
      if (await isOtherTar(path))
        throw new KimError('no_store', `${safeText(path)} is not a bundle, but another tar archive`, {
          hint: 'unpack it, then: kim-replay verify DIR for a bundle, or --events DIR',
        })
      return await verifyPacked(opened.value, control)
    } finally {
      opened.value.close()
    }
  })
  printReport(io, input.bool('json'), verdict, textOf(verdict, path))
  return verdict.exit
}

/** Whether it is an archive that `kim-replay bundle` did not write: a plain one, or one without a manifest in front. */
async function isOtherTar(path: string): Promise<boolean> {
  for (const gzip of [false, true]) {
    const opened = openFile(path, gzip)
    if (!opened.ok) return false
    const stream = opened.value.stream()
    const { value: start } = await stream.next()
    await stream.return(undefined)
    opened.value.close()
    if (start?.toString('latin1', 257, 262) === 'ustar')
      return !gzip || !start.toString('latin1', 0, 100).startsWith(`${bundleFile}\0`)
  }
  return false
}

function noBundleHint(path: string): string {
  const listed = listEntries(path)
  const isEmpty = listed.ok && listed.value.length === 0
  if (listed.ok && !isEmpty && noJournalAt(path) === undefined)
    return `this is a journal; did you mean --events ${safeText(path)}?`
  return `${isEmpty ? 'the directory is empty; ' : ''}name a .tgz file, or a directory with ${bundleFile}`
}

const WRONG_SHOWN = 20
const MEANING = { 0: 'clean', 5: 'records are missing', 6: 'corrupt' } as const

function textOf(verdict: BundleVerdict, path: string): string[] {
  const { exit, broken, manifest, files, wrong, records, redacted_lines } = verdict
  const range = manifest === null ? '' : `, seq ${manifest.range.from_seq} to ${manifest.range.to_seq}`
  return [
    `${MEANING[exit]}: bundle ${path}`,
    ...(broken === null ? [] : [`  ERROR ${broken}`]),
    `  ${formatCount(records, 'record')} with effect${range}; ${formatCount(files, 'file is', 'files are')} as bundle.json lists ${files === 1 ? 'it' : 'them'}${manifest === null ? '' : `; redacted: ${manifest.redact}`}`,
    ...wrong
      .slice(0, WRONG_SHOWN)
      .map(
        ({ path: file, why, detail }) =>
          `  ERROR ${file}: ${why}${detail === undefined ? '' : `: ${detail}`}`,
      ),
    ...(wrong.length > WRONG_SHOWN ? [`  and ${wrong.length - WRONG_SHOWN} more`] : []),
    ...(redacted_lines === 0
      ? []
      : [`  ${formatCount(redacted_lines, 'line')} without a record, removed when the bundle was made`]),
    `  not checked, because a bundle is a part of a journal: ${verdict.not_applicable.join(', ')}`,
    ...missingText(verdict.findings).slice(1, -1),
  ]
}
