import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** What `systemctl show` says of a unit that is as it should be. */
const WELL = {
  LoadState: 'loaded',
  UnitFileState: 'enabled',
  ActiveState: 'active',
  NeedDaemonReload: 'no',
  Result: 'success',
}

/** The commands of a systemd that does nothing: each call is written down, and one verb can be refused. */
export class FakeSupervisor {
  /** The whole of a `PATH` on which there is nothing else. */
  readonly path: string

  constructor(directory: string) {
    this.path = directory
    mkdirSync(directory, { recursive: true })
    for (const name of ['systemctl', 'loginctl']) {
      const file = join(directory, name)
      const script = [
        '#!/bin/sh',
        `cd '${directory}'`,
        `echo "${name} $*" >> calls`,
        '[ -e refused ] && read -r refused < refused',
        'for word in "$@"; do',
        '  [ "$word" = "$refused" ] && { echo "no $word today" >&2; exit 1; }',
        'done',
        '[ "$2" = show ] && while read -r line; do echo "$line"; done < shown',
        'exit 0',
        '',
      ]
      writeFileSync(file, script.join('\n'))
      chmodSync(file, 0o755)
    }
    this.says({})
  }

  /** From now on it refuses this verb, or none. */
  refuse(verb: string | undefined): void {
    const file = join(this.path, 'refused')
    if (verb === undefined) rmSync(file, { force: true })
    else writeFileSync(file, `${verb}\n`)
  }

  /** What it says of any unit, where that is not that all is well. */
  says(properties: Partial<typeof WELL>): void {
    const lines = Object.entries({ ...WELL, ...properties }).map(([name, value]) => `${name}=${value}\n`)
    writeFileSync(join(this.path, 'shown'), lines.join(''))
  }

  /** What was asked since the last time, but for what only looks. */
  calls(): string[] {
    const file = join(this.path, 'calls')
    if (!existsSync(file)) return []
    const lines = readFileSync(file, 'utf8').trim().split('\n')
    rmSync(file)
    return lines.filter(line => !/ (--version|show|is-\w+) ?/.test(line))
  }
}
