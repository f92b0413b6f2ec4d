import { type Input, type Io, safeJson, safeText } from '@kim/cli-kit'
import type { ConsumerCursor } from '@kim/manifest'
import { consumerPath, listConsumers, readConsumer } from '@kim/observer-sdk/consumers'

/** `kim-tail cursors ls`: the durable cursors of this user. */
export function run(input: Input, io: Io): number {
  for (const name of listConsumers(io.env)) {
    const cursor = readCursorOf(io, name)
    if (input.bool('json')) io.stdout.write(`${safeJson(JSON.stringify(jsonOf(name, cursor)))}\n`)
    else
      io.stdout.write(
        `${name}\t${cursor === undefined ? 'damaged' : `${cursor.seq}\t${safeText(cursor.projectId)}`}\n`,
      )
  }
  return 0
}

/** A cursor as JSON shows it; `seq` null says that its file is damaged. */
function jsonOf(name: string, cursor: ConsumerCursor | undefined): Record<string, string | number | null> {
  return {
    consumer: name,
    project_id: cursor?.projectId ?? null,
    seq: cursor?.seq ?? null,
    writer: cursor?.writer ?? null,
  }
}

function readCursorOf(io: Io, name: string): ConsumerCursor | undefined {
  try {
    return readConsumer(consumerPath(io.env, name))
  } catch {
    return undefined
  }
}
