/** A browser without a window, driven over the pipes it was started with: no port, no dependency. */
import { type ChildProcess, spawn } from 'node:child_process'
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { onlyTheseFonts } from './browser-fonts.js'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome']
const FLAGS = [
  '--headless',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
  '--hide-scrollbars',
  // Letters are drawn alike whatever the machine's screen and its settings are.
  '--font-render-hinting=none',
  '--disable-lcd-text',
  '--force-device-scale-factor=1',
  '--force-color-profile=srgb',
  '--remote-debugging-pipe',
]

/** Where a Chromium is, if one is installed. */
export function findBrowser(): string | undefined {
  const places = (process.env['PATH'] ?? '').split(delimiter)
  return NAMES.flatMap(name => places.map(place => join(place, name))).find(file => {
    try {
      accessSync(file, constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

/** What the browser says of itself; only what is asked for here. */
interface Reply {
  readonly id?: number
  readonly method?: string
  readonly params?: Record<string, unknown>
  readonly result?: Record<string, unknown>
  readonly error?: { readonly message: string }
}

/** How a page is looked at. */
export interface Look {
  readonly width?: number
  readonly height?: number
  readonly dark?: boolean
}

/** One browser with one tab and an empty profile of its own. */
export class Browser {
  readonly #child: ChildProcess
  readonly #profile: string
  readonly #waiting = new Map<number, (reply: Reply) => void>()
  #session: string | undefined
  #id = 0
  #isGone = false
  #loaded: () => void = () => undefined
  /** What the page, or the browser about the page, complained of. */
  readonly complaints: string[] = []
  /** Addresses the page asked for, the page itself left out. */
  readonly requests: string[] = []

  private constructor(file: string, fonts: string | undefined) {
    this.#profile = mkdtempSync(join(tmpdir(), 'kim-browser-'))
    // The sandbox cannot be had by the superuser; the pages are our own.
    const sandbox = process.getuid?.() === 0 ? ['--no-sandbox'] : []
    const args = [...FLAGS, ...sandbox, `--user-data-dir=${this.#profile}`, 'about:blank']
    const env = fonts === undefined ? {} : onlyTheseFonts(fonts, this.#profile)
    this.#child = spawn(file, args, {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    })
    let text = ''
    const replies = this.#child.stdio[4] as Readable
    replies.setEncoding('utf8').on('data', (chunk: string) => {
      const parts = (text + chunk).split('\0')
      text = parts.pop() ?? ''
      for (const part of parts) this.#hear(JSON.parse(part) as Reply)
    })
    const gone = (): void => {
      this.#isGone = true
      for (const tell of this.#waiting.values()) tell({ error: { message: 'the browser is gone' } })
      this.#waiting.clear()
    }
    this.#child.on('error', gone).on('close', gone)
    this.#child.stdio[3]?.on('error', gone)
  }

  /** Starts one; with the directory of `findFonts`, its letters are the same on every machine. */
  static async open(file: string, fonts?: string): Promise<Browser> {
    const browser = new Browser(file, fonts)
    const { targetId } = await browser.ask('Target.createTarget', { url: 'about:blank' })
    const { sessionId } = await browser.ask('Target.attachToTarget', { targetId, flatten: true })
    browser.#session = sessionId as string
    for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await browser.ask(`${domain}.enable`)
    return browser
  }

  /** Opens an address and waits until it is loaded. */
  async go(url: string, { width = 1280, height = 900, dark = false }: Look = {}): Promise<void> {
    const metrics = { width, height, deviceScaleFactor: 1, mobile: width < 600 }
    await this.ask('Emulation.setDeviceMetricsOverride', metrics)
    const features = [{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }]
    await this.ask('Emulation.setEmulatedMedia', { features })
    this.complaints.length = 0
    this.requests.length = 0
    const loaded = new Promise<void>(resolve => {
      this.#loaded = resolve
    })
    const { errorText } = await this.ask('Page.navigate', { url })
    if (typeof errorText === 'string') throw new Error(`${url}: ${errorText}`)
    await loaded
  }

  /** The value of an expression in the page; a promise is waited for. */
  async eval<T>(expression: string): Promise<T> {
    const { result, exceptionDetails } = (await this.ask('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
    })) as { result: { value: T }; exceptionDetails?: { exception?: { description?: string }; text: string } }
    if (exceptionDetails !== undefined)
      throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text)
    return result.value
  }

  /** Presses a key as a person would, wherever the focus is. */
  async press(key: string, code = key, keyCode = 0): Promise<void> {
    const text = key.length === 1 ? { text: key } : {}
    const which = { key, code, windowsVirtualKeyCode: keyCode }
    await this.ask('Input.dispatchKeyEvent', { type: 'keyDown', ...which, ...text })
    await this.ask('Input.dispatchKeyEvent', { type: 'keyUp', ...which })
  }

  /** What is seen of the page, or the whole of it, as a PNG. */
  async screenshot(whole = false): Promise<Buffer> {
    const { data } = await this.ask('Page.captureScreenshot', { captureBeyondViewport: whole })
    return Buffer.from(data as string, 'base64')
  }

  /** Any method of the browser's protocol. */
  ask(method: string, params: object = {}): Promise<Record<string, unknown>> {
    const id = ++this.#id
    const session = this.#session === undefined ? {} : { sessionId: this.#session }
    if (this.#isGone) return Promise.reject(new Error(`${method}: the browser is gone`))
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, ({ result, error }) => {
        if (error === undefined) resolve(result ?? {})
        else reject(new Error(`${method}: ${error.message}`))
      })
      const pipe = this.#child.stdio[3] as Writable
      pipe.write(`${JSON.stringify({ id, method, params, ...session })}\0`)
    })
  }

  /** Ends it and takes its profile away. */
  async close(): Promise<void> {
    const ended = new Promise(resolve => this.#child.on('close', resolve))
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      // Asked to, it waits for its helpers, which write into the profile; killed, it would not.
      this.#session = undefined
      await this.ask('Browser.close').catch(() => this.#child.kill('SIGKILL'))
      await ended
    }
    rmSync(this.#profile, { recursive: true, force: true })
  }

  #hear({ id, method, params = {}, ...reply }: Reply): void {
    if (id !== undefined) {
      this.#waiting.get(id)?.(reply)
      this.#waiting.delete(id)
    }
    if (method === 'Page.loadEventFired') this.#loaded()
    if (method === 'Network.requestWillBeSent' && params['type'] !== 'Document')
      this.requests.push((params['request'] as { url: string }).url)
    if (method === 'Runtime.exceptionThrown' || method === 'Log.entryAdded')
      this.complaints.push(JSON.stringify(params))
    if (method === 'Runtime.consoleAPICalled') this.complaints.push(JSON.stringify(params['args']))
  }
}
