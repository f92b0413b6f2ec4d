import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import {
  type DigestEntity,
  type Entity,
  type EntityTable,
  entersActivity,
  entityHash,
  Fold,
  limits,
  parseSegmentName,
  projectionDigest,
  RingBuffer,
  SegmentReader,
  upsertedEntity,
} from '@kim/manifest'
import t from 'tap'
import { loadVectors } from './vectors.js'

// The fold that writer, verify and SDK share, fed with whole files: the first reader of the vectors that is ours.

/** What only a reader of the directory can count. */
const ofTheDirectory = ['blob_mismatch', 'blob_missing', 'checkpoint_rejected', 'segment_misnamed']

/** Contents of the segments by number; a live one hides its archived copy. */
function segmentsOf(eventsDir: string): [number, Buffer][] {
  const found = new Map<number, Buffer>()
  for (const folder of [eventsDir, join(eventsDir, 'archive')]) {
    for (const name of existsSync(folder) ? readdirSync(folder).sort() : []) {
      const isZipped = folder !== eventsDir && name.endsWith('.gz')
      const number = parseSegmentName(isZipped ? name.slice(0, -3) : name)
      if (number === undefined || found.has(number)) continue
      const path = join(folder, name)
      const content = statSync(path).isFile() ? unpacked(readFileSync(path), isZipped) : undefined
      if (content !== undefined) found.set(number, content)
    }
  }
  return [...found].sort(([a], [b]) => a - b)
}

function unpacked(bytes: Buffer, isZipped: boolean): Buffer | undefined {
  try {
    return isZipped ? gunzipSync(bytes) : bytes
  } catch {
    return undefined
  }
}

function fold(segments: readonly [number, Buffer][]): { state: Fold<Entity>; activity: number[] } {
  const activity = new RingBuffer<number>(limits.activityRecordsMax)
  const state = new Fold<Entity>(
    { of: ({ record }) => upsertedEntity(record) },
    { after: (segments[0]?.[0] ?? 1) - 1 },
    {
      countsDuplicates: true,
      onRecord: record => void (entersActivity(record) && activity.push(record.seq)),
    },
  )
  for (const [, content] of segments) {
    const reader = new SegmentReader(state)
    reader.push(content)
    if (content !== segments.at(-1)?.[1]) reader.finish()
  }
  return { state, activity: activity.toArray() }
}

function* digestEntities(entities: EntityTable<Entity>): Generator<DigestEntity> {
  for (const entity of entities.images()) yield { ...entity, hash: entityHash(entity) }
}

t.test('fold - comes to the state, head, activity and anomalies of every vector (OB-8, OB-9)', async t => {
  let folded = 0
  for (const { name, eventsDir, expect } of loadVectors()) {
    const segments = segmentsOf(eventsDir)
    const beginsWithCheckpoint =
      (segments[0]?.[0] ?? 1) > 1 && !JSON.stringify(expect['status']).includes('history')
    if (beginsWithCheckpoint) continue
    folded += 1
    const { state, activity } = fold(segments)
    const { entities, head, anomalies, registryAuthoritative } = state
    const counted = Object.entries(anomalies).filter(([, count]) => count > 0)
    const stated = Object.entries(expect['anomalies'] as Record<string, number>)
    t.same(
      {
        activity,
        anomalies: Object.fromEntries(counted),
        cursor: { ...(expect['cursor'] as object), ...head },
        digest: projectionDigest(digestEntities(entities)),
        entities: entities.size,
        registry: registryAuthoritative,
      },
      {
        activity: expect['activity'],
        anomalies: Object.fromEntries(stated.filter(([kind]) => !ofTheDirectory.includes(kind))),
        cursor: expect['cursor'],
        digest: expect['digest'],
        entities: expect['entities'],
        registry: expect['registry_authoritative'],
      },
      name,
    )
  }
  t.comment(`${folded} vectors folded`)
  t.ok(folded > 200)
})
