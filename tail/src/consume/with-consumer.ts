import type { Io } from '@kim/cli-kit'
import { lockConsumer } from '@kim/observer-sdk/consumers'

/** Does something to a consumer's file while nobody else uses the name. */
export async function withConsumer<T>(path: string, io: Io, use: () => T): Promise<T> {
  const lock = await lockConsumer(path, {
    onWait: () => io.stderr.write('kim-tail: another process uses the consumer; waiting for it\n'),
    // A single write of a small file is over long before the name can be taken for abandoned.
    onLost: () => {},
    signal: io.signal,
  })
  try {
    return use()
  } finally {
    await lock.release()
  }
}
