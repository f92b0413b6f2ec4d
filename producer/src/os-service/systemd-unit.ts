import { isInTmp } from './shared-tmp.js'
import { commandLine, FINAL_EXIT_CODES, type ServiceSpec } from './spec.js'

/** What is known of the systemd that a unit is written for. */
export interface SystemdFeatures {
  readonly version: number
  /** Whether `systemd-notify` is there, through which a process without a datagram socket can report. */
  readonly notify: boolean
  /** Whether a user unit was seen to be kept from writing outside what it was given. */
  readonly sandbox: boolean
  /** Why that could not be tried, where it could not. */
  readonly untried?: string
}

/** From here on a restart can be put off for longer each time. */
const VERSION_OF_RESTART_STEPS = 254

/** Seconds without a sign of progress after which the producer counts as hung. */
const WATCHDOG_SECONDS = 120

/** The unit's name, by which `systemctl --user` knows it. */
export function systemdUnitName(instance: string | undefined): string {
  return instance === undefined ? 'kim-producer.service' : `kim-producer-${instance}.service`
}

/** A user unit. */
export function systemdUnit(spec: ServiceSpec, features: SystemdFeatures): string {
  const report = features.notify
    ? ['Type=notify', 'NotifyAccess=all', `WatchdogSec=${WATCHDOG_SECONDS}`]
    : ['Type=exec']
  const patience =
    features.version >= VERSION_OF_RESTART_STEPS ? ['RestartSteps=6', 'RestartMaxDelaySec=60'] : []
  const walls = features.sandbox
    ? [
        'ProtectSystem=strict',
        'ProtectHome=read-only',
        ...(usesTmp(spec) ? [] : ['PrivateTmp=yes']),
        ...[spec.storeDir, ...spec.writes].map(path => `ReadWritePaths=${value(path)}`),
        ...(spec.runtimeDirectory === undefined
          ? []
          : [`RuntimeDirectory=${spec.runtimeDirectory}`, 'RuntimeDirectoryMode=0700']),
      ]
    : []
  return lines([
    '[Unit]',
    'Description=KIM producer: appends what happens in Kijito inboxes to a journal',
    // A service that gave up would miss mail without anybody noticing; the delay keeps trying cheap.
    'StartLimitIntervalSec=0',
    '',
    '[Service]',
    ...report,
    `Environment=${value(`XDG_STATE_HOME=${spec.stateHome}`)}`,
    `ExecStart=${commandLine(spec).map(word).join(' ')}`,
    'ExecReload=kill -HUP $MAINPID',
    'Restart=on-failure',
    'RestartSec=1',
    ...patience,
    `RestartPreventExitStatus=${FINAL_EXIT_CODES.join(' ')}`,
    'TimeoutStopSec=10',
    'UMask=0077',
    'NoNewPrivileges=yes',
    'LockPersonality=yes',
    'RestrictSUIDSGID=yes',
    'RestrictRealtime=yes',
    'SystemCallArchitectures=native',
    'MemoryMax=512M',
    'LimitCORE=0',
    ...walls,
    '',
    '[Install]',
    'WantedBy=default.target',
  ])
}

/** A `/tmp` of its own would hide what of the service lies in everybody's. */
function usesTmp(spec: ServiceSpec): boolean {
  return [...commandLine(spec), spec.storeDir, ...spec.writes, spec.stateHome].some(isInTmp)
}

/** One word of a command line, where `$` would be expanded too. */
function word(text: string): string {
  return value(text.replaceAll('$', '$$$$'))
}

/** One word of any setting: `%` would be expanded, and a line break would end the setting. */
function value(text: string): string {
  const plain = text.replaceAll('%', '%%')
  if (/^[\w@%+=:,./$-]+$/.test(plain)) return plain
  const escaped = plain
    .replaceAll('\\', '\\\\')
    .replaceAll('"', '\\"')
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r')
    .replaceAll('\t', '\\t')
  return `"${escaped}"`
}

function lines(all: readonly string[]): string {
  return `${all.join('\n')}\n`
}
