/** The fonts of a browser whose pictures are compared: the same ones on every machine, and no others. */
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const FILES = ['DejaVuSans.ttf', 'DejaVuSans-Bold.ttf', 'DejaVuSansMono.ttf']
/** Where distributions put them. */
const PLACES = [
  '/usr/share/fonts/truetype/dejavu',
  '/usr/share/fonts/dejavu',
  '/usr/share/fonts/dejavu-sans-fonts',
  '/usr/share/fonts/TTF',
  '/usr/share/fonts/ttf-dejavu',
]

/** The directory of the DejaVu fonts, if they are installed. */
export function findFonts(): string | undefined {
  return PLACES.find(place => FILES.every(file => existsSync(join(place, file))))
}

/** Writes what has a program know these fonts alone; returns what its environment needs for it. */
export function onlyTheseFonts(place: string, directory: string): Record<string, string> {
  const fonts = join(directory, 'fonts')
  mkdirSync(fonts, { recursive: true })
  for (const file of FILES) symlinkSync(join(place, file), join(fonts, file))
  const aliases = [
    ['sans-serif', 'DejaVu Sans'],
    ['system-ui', 'DejaVu Sans'],
    ['sans', 'DejaVu Sans'],
    ['monospace', 'DejaVu Sans Mono'],
  ].map(
    ([name, font]) =>
      `<alias binding="same"><family>${name}</family><prefer><family>${font}</family></prefer></alias>`,
  )
  const config = join(directory, 'fonts.conf')
  writeFileSync(
    config,
    `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
<dir>${fonts}</dir>
<cachedir>${join(directory, 'font-cache')}</cachedir>
${aliases.join('\n')}
</fontconfig>
`,
  )
  return { FONTCONFIG_FILE: config }
}
