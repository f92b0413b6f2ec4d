import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const MANAGER = ['/usr/lib/systemd/systemd', '/lib/systemd/systemd'].find(path => existsSync(path))
const READY_MS_MAX = 30_000

/**
 * A place of its own for a systemd: it takes its `/run` and its control groups for those of a machine that it started,
 * and the machine sees nothing of it. It ends when stdin does, so that it outlives no test.
 */
const SCRIPT = `set -eu
mount -t tmpfs none /run
mkdir -p /run/systemd/system "/run/user/$OF"
chown "$OF:$OF" "/run/user/$OF"
chmod 700 "/run/user/$OF"
umount -R /sys/fs/cgroup || true
mount -t cgroup2 none /sys/fs/cgroup
group="/sys/fs/cgroup/kim-$$"
mkdir "$group"
chown -R "$OF:$OF" "$group"
echo $$ > "$group/cgroup.procs"
[ -z "$BOUND" ] || mount --bind "$BOUND" /srv
[ -z "$HOMED" ] || mount --bind "$HOMED" /media
setpriv --reuid "$OF" --regid "$OF" --clear-groups env -i PATH="$PATH" HOME="$OF_HOME" XDG_RUNTIME_DIR="/run/user/$OF" \\
  ${MANAGER} --user --log-target=console >&2 &
read -r _ || true
kill $! || true
wait || true
echo $$ > /sys/fs/cgroup/cgroup.procs
find "$group" -depth -type d -exec rmdir {} +
`

/** Whose systemd it is, and what of the machine it sees elsewhere. */
export interface UserSystemdOptions {
  readonly uid: number
  /** Where the user is at home, as the user sees it. */
  readonly home: string
  /** A directory that is seen as \`/srv\`. */
  readonly srv?: string
  /** A directory that is seen as \`/media\`. */
  readonly media?: string
}

/** How a command ended. */
export interface Ran {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** The living systemd of a user, apart from the machine it runs on. */
export class UserSystemd {
  readonly #options: UserSystemdOptions
  readonly #holder: ChildProcess
  #log = ''

  /** Why there can be none here, if so. */
  static get cannot(): string | false {
    if (process.platform !== 'linux' || MANAGER === undefined) return 'there is no systemd here'
    if (process.getuid?.() !== 0) return 'only root can give a systemd a place of its own'
    if (existsSync('/run/systemd/system')) return 'this machine has a systemd of its own, which is left alone'
    const tools = ['unshare', 'nsenter', 'setpriv', 'systemctl']
    const lacks = tools.find(tool => spawnSync(tool, ['--version']).status !== 0)
    if (lacks !== undefined) return `${lacks} is not here`
    const mount = spawnSync('unshare', ['--mount', 'sh', '-c', 'mount -t cgroup2 none /media'])
    return mount.status === 0 ? false : 'no control groups can be mounted here'
  }

  constructor(options: UserSystemdOptions) {
    this.#options = options
    this.#holder = spawn('unshare', ['--mount', '--propagation', 'private', 'sh', '-c', SCRIPT], {
      env: {
        PATH: this.#path,
        OF: String(options.uid),
        OF_HOME: options.home,
        BOUND: options.srv ?? '',
        HOMED: options.media ?? '',
      },
      stdio: ['pipe', 'ignore', 'pipe'],
    })
    this.#holder.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#log += text
    })
  }

  /** Waits until it takes orders. */
  async ready(): Promise<void> {
    const deadline = performance.now() + READY_MS_MAX
    for (;;) {
      const { out } = this.run('systemctl', '--user', 'is-system-running')
      if (/running|degraded/.test(out)) return
      const { exitCode } = this.#holder
      if (exitCode !== null || performance.now() > deadline)
        throw new Error(`systemd did not come up: ${out} ${this.#log}`)
      await sleep(50)
    }
  }

  /** Runs a command as the user. */
  run(...command: readonly string[]): Ran {
    const { uid, home } = this.#options
    const id = String(uid)
    const env = [`PATH=${this.#path}`, `HOME=${home}`, `XDG_RUNTIME_DIR=/run/user/${id}`]
    const { status, stdout, stderr } = spawnSync(
      'nsenter',
      [
        ...[`--mount=/proc/${this.#holder.pid}/ns/mnt`, '--wd=/', '--'],
        ...['setpriv', '--reuid', id, '--regid', id, '--clear-groups', 'env', '-i', ...env, ...command],
      ],
      { encoding: 'utf8' },
    )
    return { code: status, out: stdout, err: stderr }
  }

  /** Properties of a unit. */
  show(unit: string, ...properties: readonly string[]): Readonly<Record<string, string>> {
    const { out } = this.run('systemctl', '--user', 'show', `--property=${properties.join(',')}`, unit)
    return Object.fromEntries(
      out
        .trim()
        .split('\n')
        .map(line => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    )
  }

  /** Ends it and all it runs. */
  async close(): Promise<void> {
    if (this.#holder.exitCode !== null || this.#holder.signalCode !== null) return
    const closed = once(this.#holder, 'close')
    this.#holder.stdin?.end()
    await closed
  }

  get #path(): string {
    return `${dirname(process.execPath)}:/usr/sbin:/usr/bin:/sbin:/bin`
  }
}

/** Whether a user other than this one could read a directory. */
export function isReadableBy(uid: number, path: string): boolean {
  accessSync(path, constants.R_OK)
  const id = String(uid)
  const args = ['--reuid', id, '--regid', id, '--clear-groups', 'test', '-r', path]
  return spawnSync('setpriv', args).status === 0
}
