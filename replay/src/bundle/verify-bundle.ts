/** Judges a bundle: its files by its manifest, and its slice by what a slice can be judged by. */
import { join } from 'node:path'
import {
  closeFile,
  gunzipStream,
  listEntries,
  type OpenFile,
  openRegularFile,
  readAt,
} from '@kim/observer-sdk/history'
import { type PassOptions, PassPacer } from '@kim/observer-sdk/verify'
import { BundleJudge, type BundleVerdict } from './bundle-judge.js'
import { bundleFile } from './manifest.js'
import { readTar } from './tar.js'

const CHUNK = 256 * 1024

/** Judges a packed bundle. */
export async function verifyPacked(file: OpenFile, options: PassOptions): Promise<BundleVerdict> {
  const pace = new PassPacer(options)
  pace.expect(file.size)
  const judge = new BundleJudge()
  let broken: string | undefined
  try {
    broken = await readTar(paced(gunzipStream(chunksOf(file, pace), CHUNK), pace), judge)
  } catch (error) {
    if (options.signal?.aborted === true) throw error
    broken = 'it cannot be unpacked'
  }
  return judge.verdict(broken)
}

/** Judges an unpacked bundle. */
export async function verifyUnpacked(directory: string, options: PassOptions): Promise<BundleVerdict> {
  const pace = new PassPacer(options)
  const judge = new BundleJudge()
  const take = async (name: string): Promise<void> => {
    const opened = openRegularFile(join(directory, name))
    if (!opened.ok) {
      judge.unreadable(name)
      return
    }
    try {
      judge.begin({ path: name, size: opened.value.size })
      for (const chunk of chunksOf(opened.value, pace)) {
        judge.chunk(chunk)
        await pace.turn(chunk.length)
      }
      judge.end()
    } finally {
      closeFile(opened.value)
    }
  }
  await take(bundleFile)
  const { listed } = judge
  for (const name of namesBelow(directory, '', listed)) {
    // What nobody listed is told of, not read: it may be anything.
    if (listed.has(name)) await take(name)
    else if (name !== bundleFile) judge.unlisted(name)
  }
  return judge.verdict(undefined)
}

/** Every entry of a directory, by its path; a directory that leads to nothing that is listed is one entry. */
function* namesBelow(root: string, prefix: string, listed: ReadonlySet<string>): Generator<string> {
  const entries = listEntries(join(root, prefix))
  for (const { name, kind } of entries.ok ? entries.value : []) {
    const path = `${prefix}${name}`
    const isOnTheWay = kind === 'other' && [...listed].some(file => file.startsWith(`${path}/`))
    if (isOnTheWay) yield* namesBelow(root, `${path}/`, listed)
    else yield path
  }
}

function* chunksOf(file: OpenFile, pace: PassPacer): Generator<Buffer> {
  for (let at = 0; at < file.size; at += CHUNK) {
    const chunk = Buffer.alloc(Math.min(CHUNK, file.size - at))
    readAt(file, chunk, 0, chunk.length, at)
    pace.advance(chunk.length)
    yield chunk
  }
}

async function* paced(chunks: AsyncIterable<Buffer>, pace: PassPacer): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    await pace.turn(chunk.length)
    yield chunk
  }
}
