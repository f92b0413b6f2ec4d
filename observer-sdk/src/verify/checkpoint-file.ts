import { type CheckpointHeader, CheckpointReader } from '@kim/manifest'
import { openCheckpoint } from '../store/file-content.js'
import type { CheckpointEntry } from '../store/listing.js'
import type { ReadResult } from '../store/read-only-fs.js'
import { found } from '../store/read-only-fs.js'
import type { FileDigest } from './file-digest.js'
import type { PassPacer } from './pace.js'

/** What a checkpoint file says and whether it hangs together; its entities are not parsed. */
export interface SurveyedCheckpoint extends FileDigest {
  readonly name: string
  /** The number in its name. */
  readonly headSeq: number
  readonly header: CheckpointHeader | undefined
  /** What is wrong with the document, if anything is. */
  readonly fault: string | undefined
}

/** Reads a checkpoint file once, in bounded memory. */
export async function surveyCheckpoint(
  eventsDir: string,
  { headSeq, name }: CheckpointEntry,
  pace: PassPacer,
): Promise<ReadResult<SurveyedCheckpoint>> {
  const opened = openCheckpoint(eventsDir, headSeq)
  if (!opened.ok) return opened
  const content = opened.value
  try {
    const reader = new CheckpointReader()
    for (const chunk of content.chunks()) {
      reader.push(chunk)
      pace.advance(chunk.length)
      await pace.turn(chunk.length)
    }
    if (content.failure !== undefined) return content.failure
    const { header, bytes, sha256 } = reader
    return found({ name, headSeq, header, fault: reader.fault(headSeq), bytes, sha256 })
  } finally {
    content.close()
  }
}
