import type { Check } from './check.js'
import { ancestors } from './checks/ancestors.js'
import { backlog } from './checks/backlog.js'
import { clock } from './checks/clock.js'
import { consumers } from './checks/consumers.js'
import { disk } from './checks/disk.js'
import { fileSystem } from './checks/file-system.js'
import { inboxes } from './checks/inboxes.js'
import { inotify } from './checks/inotify.js'
import { journal } from './checks/journal.js'
import { linger } from './checks/linger.js'
import { nodeVersion } from './checks/node-version.js'
import { personas } from './checks/personas.js'
import { producer } from './checks/producer.js'
import { numbers } from './checks/seq-room.js'
import { server } from './checks/server.js'
import { service } from './checks/service.js'
import { sinks } from './checks/sinks.js'
import { sourceIdentity } from './checks/source-identity.js'
import { store } from './checks/store.js'
import { storeModes } from './checks/store-modes.js'
import { storeWritable } from './checks/store-writable.js'
import { token } from './checks/token.js'
import { version } from './checks/version.js'

/** Everything a doctor looks at: this machine, the store, the server, the service, the readers. */
export const CHECKS: readonly Check[] = [
  nodeVersion,
  disk,
  fileSystem,
  inotify,
  store,
  storeModes,
  storeWritable,
  ancestors,
  journal,
  numbers,
  sourceIdentity,
  token,
  server,
  personas,
  producer,
  version,
  service,
  linger,
  inboxes,
  backlog,
  sinks,
  consumers,
  clock,
]
