/** As much of the editor's module as the extension uses, and a record of what it was asked to show. */

export const shown: { messages: string[]; bars: StubBar[]; providers: Map<string, unknown> } = {
  messages: [],
  bars: [],
  providers: new Map(),
}

/** What the next extension finds in its settings. */
export const settings: Map<string, unknown> = new Map()

class StubBar {
  text = ''
  tooltip: unknown = ''
  name = ''
  isShown = false
  show(): void {
    this.isShown = true
  }
  dispose(): void {
    this.isShown = false
  }
}

export const StatusBarAlignment = { Left: 1 }
export const TreeItemCollapsibleState = { None: 0, Collapsed: 1 }

export class TreeItem {
  readonly label: string
  readonly collapsibleState: number
  constructor(label: string, collapsibleState: number) {
    this.label = label
    this.collapsibleState = collapsibleState
  }
}

export class EventEmitter<T> {
  readonly #listeners = new Set<(value: T) => void>()
  readonly event = (listener: (value: T) => void): { dispose(): void } => {
    this.#listeners.add(listener)
    return { dispose: () => this.#listeners.delete(listener) }
  }
  fire(value: T): void {
    for (const listener of this.#listeners) listener(value)
  }
  dispose(): void {
    this.#listeners.clear()
  }
}

export const workspace = {
  getConfiguration: () => ({ get: (name: string) => settings.get(name) }),
}

const say = async (message: string): Promise<void> => void shown.messages.push(message)

/** A notification stays until somebody closes it: only then does the host answer. */
const ask = (message: string): Promise<void> => {
  shown.messages.push(message)
  return new Promise(() => {})
}

export const window = {
  createStatusBarItem: (): StubBar => {
    const bar = new StubBar()
    shown.bars.push(bar)
    return bar
  },
  registerTreeDataProvider: (id: string, provider: unknown): { dispose(): void } => {
    shown.providers.set(id, provider)
    return { dispose: () => shown.providers.delete(id) }
  },
  setStatusBarMessage: say,
  showWarningMessage: ask,
  showErrorMessage: ask,
}
