import { checkpointVectors } from './checkpoints.js'
import { classVectors } from './classes.js'
import { continuityVectors } from './continuity.js'
import { cursorVectors } from './cursors.js'
import { duplicateVectors } from './duplicates.js'
import { framingVectors } from './framing.js'
import { hostileVectors } from './hostile.js'
import { layoutVectors } from './layout.js'
import { malformedVectors } from './malformed.js'
import { newsVectors } from './news.js'
import { noteVectors } from './notes.js'
import { payloadRefVectors } from './payload-refs.js'
import { sectionVectors } from './sections.js'
import { tornTailVectors } from './torn-tail.js'
import { transactionVectors } from './transactions.js'
import type { Vector } from './vector.js'
import { versionVectors } from './versions.js'

/** A part of the vectors under its heading in the README. */
export interface Group {
  readonly heading: string
  readonly vectors: readonly Vector[]
}

/** Every vector, in the order of the README. */
export const groups: readonly Group[] = [
  { heading: 'Classes and effects', vectors: classVectors },
  { heading: 'Framing', vectors: framingVectors },
  { heading: 'Lines that are no records', vectors: malformedVectors },
  { heading: 'Versions', vectors: versionVectors },
  { heading: 'Torn tails', vectors: tornTailVectors },
  { heading: 'Runs (`tx`)', vectors: transactionVectors },
  { heading: 'Duplicates and revisions', vectors: duplicateVectors },
  { heading: 'Holes', vectors: continuityVectors },
  { heading: 'Large payloads', vectors: payloadRefVectors },
  { heading: 'Hostile content', vectors: hostileVectors },
  { heading: 'The directory', vectors: layoutVectors },
  { heading: 'Checkpoints', vectors: checkpointVectors },
  { heading: 'Cursors', vectors: cursorVectors },
  { heading: 'News, wake classes and activity', vectors: newsVectors },
  { heading: 'Sections and attention', vectors: sectionVectors },
  { heading: 'Notes and journals of our own writer', vectors: noteVectors },
]
