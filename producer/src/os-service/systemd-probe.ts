import { isBusless, type Runner } from './host.js'
import { isInTmp } from './shared-tmp.js'
import type { SystemdFeatures } from './systemd-unit.js'

/**
 * What the systemd of this user can do. Whether it really walls a user unit in is tried, not assumed: where there are
 * no user namespaces it may ignore the walls without a word, or not start the unit at all.
 */
export function probeSystemd(run: Runner, home: string): SystemdFeatures {
  const version = /systemd (\d+)/.exec(run(['systemctl', '--version']).output)?.[1]
  return {
    version: Number(version ?? 0),
    notify: run(['systemd-notify', '--version']).status === 0,
    ...wallsOf(run, home),
  }
}

/** A transient unit with the walls tries to write into the home directory; it must run, and must fail to. */
function wallsOf(run: Runner, home: string): Pick<SystemdFeatures, 'sandbox' | 'untried'> {
  // A home that it does not see at all would be no proof that it cannot write there.
  const ownTmp = isInTmp(home) ? [] : ['PrivateTmp=yes']
  const walls = ['ProtectSystem=strict', 'ProtectHome=read-only', ...ownTmp].flatMap(wall => ['-p', wall])
  const attempt = 'f="$1/.kim-probe.$$"; if (: > "$f") 2>/dev/null; then rm -f "$f"; exit 9; else exit 7; fi'
  const { status, output } = run([
    ...['systemd-run', '--user', '--quiet', '--wait', '--collect', ...walls],
    ...['/bin/sh', '-c', attempt, 'probe', home],
  ])
  const isTried = status !== null && !isBusless(output)
  return { sandbox: status === 7, ...(isTried ? {} : { untried: output }) }
}
