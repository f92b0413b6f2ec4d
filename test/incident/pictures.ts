import { pathToFileURL } from 'node:url'
import { Browser, findBrowser, findFonts, type Part } from '../kit/index.js'

/** The pictures of the walk-through, and how the page is looked at for each. */
const LOOKS: Readonly<Record<string, { width: number; height: number; dark: boolean }>> = {
  'incident-light.png': { width: 1280, height: 900, dark: false },
  'incident-dark.png': { width: 1280, height: 900, dark: true },
  'incident-phone.png': { width: 390, height: 844, dark: false },
}

/** The names of the pictures, as they stand in `docs/`. */
export const PICTURES: readonly string[] = Object.keys(LOOKS)

/** Holds once everything on the page is drawn: the table comes a moment after the picture. */
const DRAWN = `new Promise(done => {
  const look = () => document.getElementById('count').textContent === '' ? setTimeout(look, 10)
    : requestAnimationFrame(() => requestAnimationFrame(() => done(true)))
  look()
})`

/** Why no picture can be taken here, if none can. */
export function whyNoPictures(): string | undefined {
  if (findBrowser() === undefined) return 'no chromium is installed'
  return findFonts() === undefined ? 'the DejaVu fonts are not installed' : undefined
}

/** Where on the page the timeline itself is: it is small, and must not hide among the rest. */
const CANVAS = `(({ x, y, width, height }) => ({ x: Math.round(x), y: Math.round(y), width: Math.floor(width), height: Math.floor(height) }))(document.getElementById('picture').getBoundingClientRect())`

/** One picture of the page. */
export interface Taken {
  readonly png: Buffer
  readonly canvas: Part
}

/** Takes the pictures of a timeline page, by their names. */
export async function takePictures(page: string): Promise<Map<string, Taken>> {
  const browser = await Browser.open(findBrowser() ?? '', findFonts())
  const pictures = new Map<string, Taken>()
  try {
    for (const [name, look] of Object.entries(LOOKS)) {
      await browser.go(pathToFileURL(page).href, look)
      await browser.eval(DRAWN)
      pictures.set(name, { png: await browser.screenshot(), canvas: await browser.eval<Part>(CANVAS) })
    }
  } finally {
    await browser.close()
  }
  return pictures
}
