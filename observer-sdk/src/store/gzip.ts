import { pipeline, Readable } from 'node:stream'
import { createGunzip, gunzipSync } from 'node:zlib'

/** Most bytes that a compressed file may hold for a caller that needs it whole. */
const inflatedBytesMax = 1024 * 1024 * 1024

/** Inflates chunk by chunk in bounded memory. Throws on damage, after all bytes before it were yielded. */
export async function* gunzipStream(
  source: Iterable<Uint8Array>,
  chunkBytes: number,
): AsyncGenerator<Buffer> {
  const inflate = createGunzip({ chunkSize: chunkBytes })
  // The pipeline only ties the two lifetimes together; the error reaches us through the iteration.
  pipeline(Readable.from(source, { objectMode: false }), inflate, () => {})
  for await (const chunk of inflate) yield chunk
}

/** Inflates a whole file at once. Throws on damage, or when it holds more than `inflatedBytesMax`. */
export function gunzipWhole(compressed: Uint8Array): Buffer {
  return gunzipSync(compressed, { maxOutputLength: inflatedBytesMax })
}
