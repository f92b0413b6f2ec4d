/** As much of a browser as a timeline page asks for: enough to run its script and to count what it paints. */
import { createContext, runInContext } from 'node:vm'

/** One element. */
export class Element {
  readonly children: Element[] = []
  readonly dataset: Record<string, string> = {}
  readonly style: Record<string, string> = {}
  readonly listeners = new Map<string, (event: object) => void>()
  textContent = ''
  className = ''
  value = ''
  checked = true
  disabled = false
  width = 0
  height = 0
  clientWidth = 1200
  parentElement: Element | undefined
  onclick: (() => void) | undefined
  onchange: (() => void) | undefined
  oninput: (() => void) | undefined
  painted = 0

  addEventListener(name: string, listener: (event: object) => void): void {
    this.listeners.set(name, listener)
  }

  insertRow(): Element {
    const row = new Element()
    this.children.push(row)
    return row
  }

  insertCell(): Element {
    return this.insertRow()
  }

  setPointerCapture(): void {}

  getContext(): object {
    const count = (): void => {
      this.painted += 1
    }
    const measureText = (text: string): object => ({ width: text.length * 7 })
    const known: Record<string | symbol, unknown> = { fillRect: count, measureText }
    return new Proxy({}, { get: (_, name) => known[name] ?? (() => {}), set: () => true })
  }

  fire(name: string, event: object): void {
    this.listeners.get(name)?.({ preventDefault: () => {}, ...event })
  }
}

/** A page that was opened. */
export interface Page {
  readonly element: (id: string) => Element
  /** Lets everything happen that waits for a frame or a moment; says how many ms of work that was. */
  readonly settle: () => void
  readonly policy: string
  readonly html: string
}

/** Opens a page: reads its data and runs its script. */
export function openPage(html: string): Page {
  const data = /<script type="application\/json" id="data">([\s\S]*?)<\/script>/.exec(html)?.[1] ?? ''
  const script = /<\/script>\n<script>([\s\S]*?)<\/script>/.exec(html)?.[1] ?? ''
  const elements = new Map<string, Element>()
  const element = (id: string): Element => {
    const known = elements.get(id) ?? new Element()
    elements.set(id, known)
    return known
  }
  element('data').textContent = data
  element('picture').parentElement = new Element()
  const boxes = [...html.matchAll(/data-kind="(\w+)"/g)].map(([, kind = '']) => {
    const box = new Element()
    box.dataset['kind'] = kind
    return box
  })
  let waiting: (() => void)[] = []
  const later = (act: () => void): number => waiting.push(act)
  const context = createContext({
    document: { getElementById: element, documentElement: new Element(), querySelectorAll: () => boxes },
    getComputedStyle: () => ({ getPropertyValue: () => '#000' }),
    requestAnimationFrame: later,
    setTimeout: later,
    clearTimeout: () => {},
    devicePixelRatio: 1,
    matchMedia: () => ({ addEventListener: () => {} }),
    ResizeObserver: class {
      observe(): void {}
    },
  })
  // Names a window has already, and lets nobody declare: the whole script would be refused.
  runInContext('let top, location, window', context)
  runInContext(script, context)
  const settle = (): void => {
    const acts = waiting
    waiting = []
    for (const act of acts) act()
  }
  const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(html)?.[1] ?? ''
  return { element, settle, policy, html }
}
