import { readdirSync, readFileSync, unlinkSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'
import {
  type ConsumerCursor,
  clientState,
  formatConsumerCursor,
  KimError,
  parseConsumerCursor,
} from '@kim/manifest'
import { storeCursor } from './store-cursor.js'

type Environment = Readonly<Record<string, string | undefined>>

/** Names of consumers are file names on every system. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/
const SUFFIX = '.json'

/** Where the durable cursors of named consumers stand: this client's own state, never a store. */
export function consumersDirectory(env: Environment): string {
  return join(clientState(env, homedir(), 'kim-tail'), 'cursors')
}

/** The file of one consumer. */
export function consumerPath(env: Environment, name: string): string {
  if (!NAME.test(name)) {
    throw new KimError('usage', `"${name}" cannot name a consumer`, {
      hint: 'use letters, digits, ".", "_" and "-", at most 100 characters',
    })
  }
  return join(consumersDirectory(env), `${name}${SUFFIX}`)
}

/** The names that have a cursor, sorted. */
export function listConsumers(env: Environment): string[] {
  try {
    return readdirSync(consumersDirectory(env))
      .filter(file => file.endsWith(SUFFIX) && NAME.test(file.slice(0, -SUFFIX.length)))
      .map(file => file.slice(0, -SUFFIX.length))
      .sort()
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return []
    throw error
  }
}

/**
 * The cursor in a consumer's file, undefined if the file is missing. A file that holds no cursor is refused: a consumer
 * that began at the head instead would pass over everything that was not yet delivered.
 */
export function readConsumer(path: string): ConsumerCursor | undefined {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
  const cursor = parseConsumerCursor(text)
  if (cursor === undefined) {
    throw new KimError('cursor_invalid', `${path} does not hold a valid cursor`, {
      hint: `the file was left as it is; to start over: kim-tail cursors rm ${basename(path, SUFFIX)}`,
    })
  }
  return cursor
}

/** Makes a cursor durable. */
export function writeConsumer(path: string, cursor: ConsumerCursor): void {
  storeCursor(path, formatConsumerCursor(cursor))
}

/** Forgets a consumer; false if there was none. */
export function removeConsumer(path: string): boolean {
  try {
    unlinkSync(path)
    return true
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false
    throw error
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
