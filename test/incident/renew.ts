/** Writes the outputs and the pictures of docs/incident.md anew, from the incident as the code makes it now. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { recreateIncident } from './incident.js'
import { takePictures, whyNoPictures } from './pictures.js'
import { SEED } from './seed.js'
import { commandsOf, DOCS, readPage, retold, type, WALK_THROUGH } from './walk-through.js'

const directory = mkdtempSync(join(tmpdir(), 'kim-walk-'))
try {
  await recreateIncident(join(directory, 'incident'), SEED, { signal: new AbortController().signal })
  const page = readPage()
  const outputs = commandsOf(page).map(({ command }) => type(command, directory))
  writeFileSync(WALK_THROUGH, retold(page, outputs))
  console.log(`docs/incident.md: ${outputs.length} commands`)
  const why = whyNoPictures()
  if (why !== undefined) console.log(`the pictures stay as they are: ${why}`)
  else {
    for (const [name, { png }] of await takePictures(join(directory, 'incident.html'))) {
      writeFileSync(join(DOCS, name), png)
      console.log(`docs/${name}: ${png.length} bytes`)
    }
  }
} finally {
  rmSync(directory, { recursive: true, force: true })
}
