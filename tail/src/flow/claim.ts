import { readFileSync } from 'node:fs'
import { type Io, type StoreLocation, usageError } from '@kim/cli-kit'
import { type ConsumerCursor, formatCursorToken, KimError, parseCursorToken } from '@kim/manifest'
import {
  type ConsumerLock,
  consumerPath,
  readConsumer,
  storeCursor,
  writeConsumer,
} from '@kim/observer-sdk/consumers'
import type { Plan } from '../plan.js'
import { refuseInside } from '../refuse-inside.js'
import type { Printer } from './printer.js'

/** Where a command keeps how far it came, if it does. */
export interface Claim {
  readonly stored: ConsumerCursor | undefined
  readonly save: ((place: ConsumerCursor) => void) | undefined
  /** Stores where a consumer begins whose cursor only acknowledging moves: without one there is nothing to move. */
  readonly begin?: ((place: ConsumerCursor) => void) | undefined
  release(): Promise<void>
}

const NOTHING: Claim = { stored: undefined, save: undefined, release: async () => {} }

/** Takes the consumer's name, or opens the cursor file, that a plan names. */
export async function claimCursor(
  plan: Plan,
  location: StoreLocation,
  io: Io,
  { out, report }: Pick<Printer, 'out' | 'report'>,
  onLost: () => void,
): Promise<Claim> {
  const { position } = plan
  if (position.kind === 'consumer')
    return await claimConsumer(plan, position.name, location, io, { out, report }, onLost)
  if (position.kind !== 'cursor-file') return NOTHING
  refuseInside(location, position.path, '--cursor-file')
  return {
    stored: readCursorFile(position.path),
    save: place => storeCursor(position.path, `${formatCursorToken(place)}\n`),
    release: async () => {},
  }
}

async function claimConsumer(
  plan: Plan,
  name: string,
  location: StoreLocation,
  io: Io,
  { out, report }: Pick<Printer, 'out' | 'report'>,
  onLost: () => void,
): Promise<Claim> {
  const path = consumerPath(io.env, name)
  refuseInside(location, path, '--consumer')
  const { lockConsumer } = await import('@kim/observer-sdk/consumers')
  const lock: ConsumerLock = await lockConsumer(path, {
    onWait: () => {
      report.say('waiting', `another process uses the consumer "${name}"; waiting for it`, {
        reason: 'consumer_held',
      })
      void out.flush()
    },
    onLost,
    signal: io.signal,
  })
  try {
    const write = (place: ConsumerCursor): void => writeConsumer(path, place)
    const stored = readConsumer(path)
    const save = plan.commit === 'emit' ? write : undefined
    const begin = plan.commit === 'ack' && stored === undefined ? write : undefined
    return { stored, save, begin, release: () => lock.release() }
  } catch (error) {
    await lock.release()
    throw error
  }
}

function readCursorFile(path: string): ConsumerCursor | undefined {
  let text: string
  try {
    text = readFileSync(path, 'utf8').trim()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw new KimError('not_permitted', `cannot read ${path}`, { cause: error })
  }
  if (text === '') return undefined
  const token = parseCursorToken(text)
  if (token === undefined)
    throw usageError(`${path} does not hold a valid cursor`, 'to start over, remove the file')
  return { ...token, checkpointSeq: 0 }
}
