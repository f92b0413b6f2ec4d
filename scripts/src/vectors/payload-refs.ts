import { canonicalJson, sha256 } from './canonical.js'
import { foreign, mail, ours, plainPayload } from './lines.js'
import { genesis } from './native.js'
import { live, liveRef, river1, type Vector } from './vector.js'

const inbox = { message: ['attention', 'inbox'] }

const big = canonicalJson(mail(1, 'x'.repeat(300)))
const bigHash = sha256(big)
const bigRef = { bytes: Buffer.byteLength(big), sha256: bigHash }
const blobAt = (hash: string): string => `blobs/${hash.slice(0, 2)}/${hash}`

const absentHash = 'ab'.repeat(32)
const openAlert = canonicalJson({ status: 'open' })

const one = 'seg-00000001.jsonl'

export const payloadRefVectors: readonly Vector[] = [
  {
    name: 'payload-ref',
    shows: 'a payload in a blob is a payload: the digest has the hash as recorded, attention reads the blob',
    cites: ['JF-51', 'JF-52', 'JF-55'],
    files: {
      [one]:
        genesis() +
        ours(2, 'create', 'message', 'river/1', 1, { payload_ref: bigRef }) +
        ours(3, 'create', 'alert', 'river/x', 1, {
          payload_ref: { bytes: openAlert.length, sha256: sha256(openAlert) },
        }),
      [blobAt(bigHash)]: big,
      [blobAt(sha256(openAlert))]: openAlert,
    },
    facts: {
      live: [liveRef('message', 'river/1', 1, bigHash), liveRef('alert', 'river/x', 1, sha256(openAlert))],
      head: 3,
      attention: 1,
      sections: { alert: ['attention', 'system'], ...inbox },
    },
  },
  {
    name: 'payload-ref-missing',
    shows: 'a blob that is not there: the entity is live, the payload unavailable and counted',
    cites: ['JF-53'],
    files: {
      [one]:
        genesis() +
        ours(2, 'create', 'message', 'river/1', 1, { payload_ref: { bytes: 70000, sha256: absentHash } }) +
        ours(3, 'create', 'message', 'river/2', 1, { payload_ref: { bytes: 70000, sha256: absentHash } }),
    },
    facts: {
      live: [liveRef('message', 'river/1', 1, absentHash), liveRef('message', 'river/2', 1, absentHash)],
      head: 3,
      anomalies: { blob_missing: 2 },
      sections: inbox,
      verify: 6,
    },
  },
  {
    name: 'payload-ref-mismatched',
    shows: 'a blob that holds other bytes, or too many or too few, is not the payload',
    cites: ['JF-53'],
    files: {
      [one]:
        genesis() +
        ours(2, 'create', 'message', 'river/1', 1, { payload_ref: { bytes: 4, sha256: absentHash } }) +
        ours(3, 'create', 'message', 'river/2', 1, {
          payload_ref: { bytes: bigRef.bytes + 1, sha256: bigHash },
        }),
      [blobAt(absentHash)]: '{"b"',
      [blobAt(bigHash)]: big,
    },
    facts: {
      live: [liveRef('message', 'river/1', 1, absentHash), liveRef('message', 'river/2', 1, bigHash)],
      head: 3,
      anomalies: { blob_mismatch: 2 },
      sections: inbox,
      verify: 6,
    },
  },
  {
    name: 'payload-ref-of-the-past',
    shows: 'only live entities need their blobs',
    cites: ['JF-53'],
    files: {
      [one]:
        ours(1, 'create', 'trap', 'a', 1, { payload_ref: { bytes: 70000, sha256: absentHash } }) +
        ours(2, 'update', 'trap', 'a', 2, { payload: plainPayload('inline since') }) +
        ours(3, 'create', 'trap', 'b', 1, { payload_ref: { bytes: 70000, sha256: absentHash } }) +
        ours(4, 'delete', 'trap', 'b', 2),
    },
    facts: {
      live: [live('trap', 'a', 2, plainPayload('inline since'))],
      head: 4,
      sections: { trap: ['system', 'traps'] },
    },
  },
  {
    name: 'payload-ref-beside-a-payload',
    shows: 'beside a payload a reference is ignored and counted, valid or not',
    cites: ['JF-52'],
    files: {
      [one]:
        ours(1, 'create', 'trap', 'a', 1, { payload: plainPayload('a'), payload_ref: bigRef }) +
        ours(2, 'create', 'trap', 'b', 1, { payload: plainPayload('b'), payload_ref: null }),
    },
    facts: {
      live: [live('trap', 'a', 1, plainPayload('a')), live('trap', 'b', 1, plainPayload('b'))],
      head: 2,
      anomalies: { payload_ref_ignored: 2 },
      sections: { trap: ['system', 'traps'] },
    },
  },
  {
    name: 'payload-ref-invalid',
    shows: 'a reference that can name no blob is no payload: the record is activity, and counted',
    cites: ['JF-52', 'JF-54'],
    files: {
      [one]:
        ours(1, 'create', 'trap', 't', 1, { payload: plainPayload('stands') }) +
        [
          null,
          'ab',
          [],
          {},
          { bytes: 1 },
          { sha256: absentHash },
          { bytes: 1, sha256: absentHash.toUpperCase() },
          { bytes: 1, sha256: absentHash.slice(1) },
          { bytes: 1, sha256: `${absentHash}0` },
          { bytes: 1, sha256: `../../../${absentHash.slice(9)}` },
          { bytes: -1, sha256: absentHash },
          { bytes: 1.5, sha256: absentHash },
          { bytes: '1', sha256: absentHash },
          { bytes: 9007199254740992, sha256: absentHash },
        ]
          .map((ref, k) => foreign(k + 2, 'update', 'trap', { item_id: 't', payload_ref: ref }))
          .join(''),
    },
    facts: {
      live: [live('trap', 't', 1, plainPayload('stands'))],
      head: 15,
      writer: null,
      anomalies: { payload_ref_invalid: 14 },
      activity: [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
      sections: { trap: ['activity', 'system', 'traps'] },
    },
  },
  {
    name: 'payload-ref-counts-as-payload',
    shows:
      'for registry and unknown verbs a reference is a payload too; for observability and meta it is nothing',
    cites: ['JF-52'],
    files: {
      [one]:
        ours(1, 'run_created', 'agent_run', 'r', 1, { payload_ref: bigRef }) +
        ours(2, 'ponder', 'trap', 't', 1, { payload_ref: bigRef }) +
        ours(3, 'run_progress', 'agent_run', 's', 1, { payload_ref: bigRef }) +
        ours(4, 'federation_apply', 'trap', 'u', 1, { payload_ref: bigRef }) +
        ours(5, 'delete', 'trap', 't', 2, { payload_ref: bigRef }),
      [blobAt(bigHash)]: big,
    },
    facts: {
      live: [liveRef('agent_run', 'r', 1, bigHash)],
      head: 5,
      writer: river1,
      activity: [3],
      sections: { agent_run: ['activity', 'agents', 'in-progress'], trap: ['system', 'traps'] },
    },
  },
]
