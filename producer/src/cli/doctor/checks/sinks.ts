import { lstatSync } from 'node:fs'
import { dirname } from 'node:path'
import { shellWord } from '@kim/cli-kit'
import { ownerRemedy } from '../../../journal/failure.js'
import { type SinkLine, sinksOf } from '../../status/sinks.js'
import { type Check, type CheckResult, fine, unseen } from '../check.js'
import { filesInTheWay, type Obstacle } from '../named-files.js'
import { accessError } from '../path-access.js'

/** Whoever cannot follow a journal is told by a sink, and hears nothing while it takes nothing. */
export const sinksCheck: Check = {
  id: 'sinks',
  about: 'every sink delivers its events',
  look: async context => {
    const inTheWay = filesInTheWay(context.options.sinks)
    if (inTheWay.length > 0) return namedFound(inTheWay)
    const observer = await context.observer()
    if (observer === undefined) return unseen('there is no store')
    const { projectId, head } = observer
    const { state, health } = await context.asked()
    const told = state === 'running' || state === 'hung' ? health : {}
    const all = sinksOf(context.env, context.home, { projectId, headSeq: head.seq }, told)
    const off = all.filter(sink => sink.state === 'off')
    if (off.length > 0) return offFound(off)
    const held = all.flatMap(({ identity, lanes }) =>
      lanes.flatMap(({ lane, why }) =>
        why === null ? [] : [`${identity}${lane === '' ? '' : ` of ${lane}`} is blocked: ${why}`],
      ),
    )
    const troubled = all.flatMap(({ identity, why }) => (why === null ? [] : [`${identity}: ${why}`]))
    if (troubled.length > 0) return troubleFound(troubled)
    const [first] = held
    if (first === undefined) {
      const left = state === 'running' ? all.filter(sink => sink.state === 'idle') : []
      return left.length > 0 ? leftFound(left) : fine(`sinks: ${all.length}`)
    }
    return {
      status: 'warn',
      evidence: `${first}${more(held.length)}`,
      remedy:
        'correct what it names; a running producer then retries within 30 s and delivers the rest in order',
    }
  },
}

function namedFound(inTheWay: readonly Obstacle[]): CheckResult {
  const [first] = inTheWay
  return {
    status: 'fail',
    evidence: `${first?.why}${more(inTheWay.length)}`,
    remedy:
      first?.remedy ??
      'name a regular file that belongs to you, or a new file in a directory that you can write to',
  }
}

/** While a producer runs without them, whoever follows what they wrote hears nothing. */
function leftFound(left: readonly SinkLine[]): CheckResult {
  const [{ identity, file }] = left as readonly [SinkLine, ...SinkLine[]]
  return {
    status: 'warn',
    evidence: `${identity}: the producer runs without it${more(left.length)}`,
    remedy: `start the producer with its flag, or delete its watermark: rm ${shellWord(file)}`,
  }
}

function offFound(off: readonly SinkLine[]): CheckResult {
  const [{ identity, why, file }] = off as readonly [SinkLine, ...SinkLine[]]
  return {
    status: 'fail',
    evidence: `${identity} is off: ${why}${more(off.length)}`,
    remedy: `${backRemedy(file)}; then start the producer again`,
  }
}

/** What gives a watermark back. To do without it passes over mail: that is told only where nothing else is left. */
function backRemedy(file: string): string {
  const path = lowest(file)
  const { uid: owner, ...is } = kindOf(path)
  const uid = process.getuid?.()
  if (uid !== undefined && owner !== uid) return ownerRemedy(path, owner, uid, is.directory)
  const word = shellWord(path)
  if (accessError(path, 'rw') !== undefined && (is.directory || is.file))
    return `chmod ${is.file ? 600 : 700} ${word}`
  const away = is.file && path === file ? `rm ${word}` : `mv ${word} ${shellWord(`${path}.away`)}`
  return `restore the file; or begin at the head: ${away}`
}

/** The path itself, else what can be seen of it: below a directory that is closed, that one is in the way. */
function lowest(path: string): string {
  try {
    lstatSync(path)
    return path
  } catch {
    return path === dirname(path) ? path : lowest(dirname(path))
  }
}

function kindOf(path: string): { readonly uid: number; readonly file: boolean; readonly directory: boolean } {
  const stat = lstatSync(path)
  return { uid: stat.uid, file: stat.isFile(), directory: stat.isDirectory() }
}

function troubleFound(troubled: readonly string[]): CheckResult {
  return {
    status: 'fail',
    evidence: `${troubled[0]}${more(troubled.length)}`,
    remedy:
      'correct what it names before you start the producer again: without its watermark a sink repeats events, and a new watermark skips events',
  }
}

function more(count: number): string {
  return count > 1 ? `, and ${count - 1} more` : ''
}
