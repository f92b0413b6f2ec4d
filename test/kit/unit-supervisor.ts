import { type ChildProcess, spawn } from 'node:child_process'

/** One process of a service, from its start to its end. */
export interface Life {
  readonly pid: number
  /** Monotonic milliseconds. */
  readonly startedMs: number
  /** Its exit status or the signal that ended it; undefined while it lives. */
  end: number | NodeJS.Signals | undefined
  endedMs: number | undefined
  stderr: string
}

/** Signals that systemd takes for a clean end of a service. */
const CLEAN_SIGNALS: ReadonlySet<string> = new Set(['SIGHUP', 'SIGINT', 'SIGTERM', 'SIGPIPE'])

/**
 * Does for one unit what systemd does: runs its `ExecStart`, and after an end does as `Restart`, `RestartSec` and
 * `RestartPreventExitStatus` say. Settings it does not know have to be those of a sandbox or of reporting.
 */
export class UnitSupervisor {
  readonly lives: Life[] = []
  readonly #settings: ReadonlyMap<string, string>
  readonly #env: Readonly<Record<string, string>>
  readonly #onEnd: (() => void)[] = []
  #child: ChildProcess | undefined
  #timer: NodeJS.Timeout | undefined
  #isStopping = false

  /** `unit`: the text of a unit file; `env`: what a service of a user gets and no more. */
  constructor(unit: string, env: Readonly<Record<string, string>>) {
    this.#settings = new Map(
      unit.split('\n').flatMap(line => {
        const at = line.indexOf('=')
        return at === -1 ? [] : [[line.slice(0, at), line.slice(at + 1)] as const]
      }),
    )
    this.#env = env
  }

  setting(name: string): string {
    const value = this.#settings.get(name)
    if (value === undefined) throw new Error(`the unit has no ${name}`)
    return value
  }

  start(): void {
    const umask = this.setting('UMask')
    const [file = '', ...args] = words(this.setting('ExecStart'))
    const child = spawn('/bin/sh', ['-c', `umask ${umask}; exec "$@"`, 'sh', file, ...args], {
      env: this.#env,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const life: Life = {
      pid: child.pid ?? 0,
      startedMs: performance.now(),
      end: undefined,
      endedMs: undefined,
      stderr: '',
    }
    this.lives.push(life)
    this.#child = child
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      life.stderr += text
    })
    child.on('close', (code, signal) => {
      life.end = code ?? signal ?? 1
      life.endedMs = performance.now()
      for (const tell of this.#onEnd.splice(0)) tell()
      if (this.#mustRestart(life.end)) {
        this.#timer = setTimeout(
          () => {
            this.#timer = undefined
            this.start()
          },
          Number(this.setting('RestartSec')) * 1000,
        )
      }
    })
  }

  /** True while a process of it runs or is about to be started again. */
  get isActive(): boolean {
    return this.lives.at(-1)?.end === undefined || this.#timer !== undefined
  }

  signal(name: NodeJS.Signals): void {
    this.#child?.kill(name)
  }

  /** Waits for the end of the process that runs. */
  async ended(): Promise<Life['end']> {
    const life = this.lives.at(-1)
    if (life !== undefined && life.end === undefined) {
      await new Promise<void>(resolve => this.#onEnd.push(resolve))
    }
    return life?.end
  }

  /** Ends the service: SIGTERM, and nothing after it. */
  async stop(): Promise<Life['end']> {
    this.#isStopping = true
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.signal('SIGTERM')
    return this.ended()
  }

  #mustRestart(end: number | NodeJS.Signals): boolean {
    if (this.#isStopping || this.setting('Restart') !== 'on-failure') return false
    if (typeof end === 'string') return !CLEAN_SIGNALS.has(end)
    return end !== 0 && !this.setting('RestartPreventExitStatus').split(' ').includes(String(end))
  }
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' }

/** A command line as systemd takes it apart, for what units of ours use of it. */
export function words(line: string): string[] {
  const found = [...line.matchAll(/"((?:\\.|[^"\\])*)"|(\S+)/g)]
  return found.map(([, quoted, plain]) =>
    (quoted?.replace(/\\(.)/g, (_, letter: string) => ESCAPES[letter] ?? letter) ?? plain ?? '')
      .replaceAll('%%', '%')
      .replaceAll('$$', '$'),
  )
}
