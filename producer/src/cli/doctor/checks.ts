import type { Check } from './check.js'
import { ancestorsCheck } from './checks/ancestors.js'
import { backlogCheck } from './checks/backlog.js'
import { clockCheck } from './checks/clock.js'
import { consumersCheck } from './checks/consumers.js'
import { diskCheck } from './checks/disk.js'
import { fileSystemCheck } from './checks/file-system.js'
import { inboxesCheck } from './checks/inboxes.js'
import { inotifyCheck } from './checks/inotify.js'
import { journalCheck } from './checks/journal.js'
import { lingerCheck } from './checks/linger.js'
import { nodeVersionCheck } from './checks/node-version.js'
import { personasCheck } from './checks/personas.js'
import { producerCheck } from './checks/producer.js'
import { seqRoomCheck } from './checks/seq-room.js'
import { serverCheck } from './checks/server.js'
import { serviceCheck } from './checks/service.js'
import { sinksCheck } from './checks/sinks.js'
import { sourceIdentityCheck } from './checks/source-identity.js'
import { storeCheck } from './checks/store.js'
import { storeModesCheck } from './checks/store-modes.js'
import { storeWritableCheck } from './checks/store-writable.js'
import { tokenCheck } from './checks/token.js'
import { versionCheck } from './checks/version.js'

/** Everything a doctor looks at: this machine, the store, the server, the service, the readers. */
export const CHECKS: readonly Check[] = [
  nodeVersionCheck,
  diskCheck,
  fileSystemCheck,
  inotifyCheck,
  storeCheck,
  storeModesCheck,
  storeWritableCheck,
  ancestorsCheck,
  journalCheck,
  seqRoomCheck,
  sourceIdentityCheck,
  tokenCheck,
  serverCheck,
  personasCheck,
  producerCheck,
  versionCheck,
  serviceCheck,
  lingerCheck,
  inboxesCheck,
  backlogCheck,
  sinksCheck,
  consumersCheck,
  clockCheck,
]
