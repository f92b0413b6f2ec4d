import { KimError } from '@kim/manifest'
import { isInTmp, type ServiceTarget, type SystemdFeatures, serviceName } from './supervisors.js'

/** A producer as a supervisor is to run it. Every path in it is absolute. */
export interface ServiceSpec {
  /** Distinguishes several services of one user; undefined for the default one. */
  readonly instance: string | undefined
  readonly node: string
  /** Options of Node itself, before the script. */
  readonly nodeOptions: readonly string[]
  readonly script: string
  /** `run` and its flags. */
  readonly args: readonly string[]
  readonly storeDir: string
  /** Directories that the service writes to, apart from its store. */
  readonly writes: readonly string[]
  /** With another `XDG_STATE_HOME` the service would use other watermarks. */
  readonly stateHome: string
  /** Its directory below the user's runtime directory, if it needs one. */
  readonly runtimeDirectory: string | undefined
}

/** What the text of a service depends on apart from the service itself. */
export interface InstallContext {
  readonly user: string
  readonly uid: number
  /** Where launchd puts what the service prints. */
  readonly logFile: string
  readonly systemd: SystemdFeatures
}

/** The file that describes the service to its supervisor. */
export function serviceText(target: ServiceTarget, spec: ServiceSpec, context: InstallContext): string {
  if (target === 'systemd-user') return systemdUnit(spec, context.systemd)
  if (target === 'launchd') return launchdPlist(spec, context.logFile)
  return windowsTask(spec, context.user)
}

function commandLine({ node, nodeOptions, script, args }: ServiceSpec): string[] {
  return [node, ...nodeOptions, script, ...args]
}

/** From this version on, systemd can make the delay before a restart grow. */
const VERSION_OF_RESTART_STEPS = 254

/** Seconds without a sign of progress after which systemd restarts the producer. */
const WATCHDOG_SECONDS = 120

/** A systemd user unit. */
export function systemdUnit(spec: ServiceSpec, features: SystemdFeatures): string {
  const command = commandLine(spec)
  // With a private /tmp the service would not see its own files there.
  const usesTmp = [...command, spec.storeDir, ...spec.writes, spec.stateHome].some(isInTmp)
  const sandbox = [
    'ProtectSystem=strict',
    'ProtectHome=read-only',
    ...(usesTmp ? [] : ['PrivateTmp=yes']),
    ...[spec.storeDir, ...spec.writes].map(path => `ReadWritePaths=${systemdValue(path)}`),
    ...(spec.runtimeDirectory === undefined
      ? []
      : [`RuntimeDirectory=${spec.runtimeDirectory}`, 'RuntimeDirectoryMode=0700']),
  ]
  return [
    '[Unit]',
    'Description=KIM producer: appends what happens in Kijito inboxes to a journal',
    // A service that gave up would miss mail without notice; the delay keeps retries cheap.
    'StartLimitIntervalSec=0',
    '',
    '[Service]',
    ...(features.notify
      ? ['Type=notify', 'NotifyAccess=all', `WatchdogSec=${WATCHDOG_SECONDS}`]
      : ['Type=exec']),
    `Environment=${systemdValue(`XDG_STATE_HOME=${spec.stateHome}`)}`,
    // In a command line, systemd expands `$` too.
    `ExecStart=${command.map(word => systemdValue(word.replaceAll('$', '$$$$'))).join(' ')}`,
    'ExecReload=kill -HUP $MAINPID',
    'Restart=on-failure',
    'RestartSec=1',
    ...(features.version >= VERSION_OF_RESTART_STEPS ? ['RestartSteps=6', 'RestartMaxDelaySec=60'] : []),
    // After these exit codes a restart cannot help (CL-18).
    'RestartPreventExitStatus=2 77',
    'TimeoutStopSec=10',
    'UMask=0077',
    'NoNewPrivileges=yes',
    'LockPersonality=yes',
    'RestrictSUIDSGID=yes',
    'RestrictRealtime=yes',
    'SystemCallArchitectures=native',
    'MemoryMax=512M',
    'LimitCORE=0',
    ...(features.sandbox ? sandbox : []),
    '',
    '[Install]',
    'WantedBy=default.target',
    '',
  ].join('\n')
}

/** One word of a setting: systemd would expand `%`, and a line break would end the setting. */
function systemdValue(text: string): string {
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

/** What a property list can hold, as far as an agent needs it. */
type Plist = string | number | boolean | Plist[] | { [key: string]: Plist }

/** A launchd agent. launchd has no list of final exit codes, so it retries slowly. */
function launchdPlist(spec: ServiceSpec, logFile: string): string {
  const agent: Plist = {
    Label: serviceName('launchd', spec.instance),
    ProgramArguments: commandLine(spec),
    EnvironmentVariables: { XDG_STATE_HOME: spec.stateHome },
    RunAtLoad: true,
    KeepAlive: { SuccessfulExit: false },
    ThrottleInterval: 10,
    ExitTimeOut: 10,
    ProcessType: 'Background',
    Umask: 0o077,
    StandardOutPath: logFile,
    StandardErrorPath: logFile,
  }
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
    '<plist version="1.0">',
    ...plistLines(agent, ''),
    '</plist>',
    '',
  ].join('\n')
}

function plistLines(value: Plist, indent: string): string[] {
  if (typeof value === 'string') return [`${indent}<string>${xmlText(value)}</string>`]
  if (typeof value === 'number') return [`${indent}<integer>${value}</integer>`]
  if (typeof value === 'boolean') return [`${indent}<${value}/>`]
  const deeper = `${indent}  `
  const [tag, members] = Array.isArray(value)
    ? ['array', value.flatMap(item => plistLines(item, deeper))]
    : [
        'dict',
        Object.entries(value).flatMap(([key, item]) => [
          `${deeper}<key>${xmlText(key)}</key>`,
          ...plistLines(item, deeper),
        ]),
      ]
  return [`${indent}<${tag}>`, ...members, `${indent}</${tag}>`]
}

/**
 * A Windows task that runs from the user's logon on. It writes out every setting: by default the scheduler ends a task
 * after three days, does not start it on battery and ends it when the power cord is pulled.
 */
export function windowsTask(spec: ServiceSpec, user: string): string {
  const [command = '', ...args] = commandLine(spec)
  return [
    '<?xml version="1.0" encoding="UTF-16"?>',
    '<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">',
    '  <RegistrationInfo>',
    '    <Description>KIM producer: appends what happens in Kijito inboxes to a journal</Description>',
    `    <URI>${xmlText(serviceName('windows-task', spec.instance))}</URI>`,
    '  </RegistrationInfo>',
    '  <Triggers>',
    '    <LogonTrigger>',
    '      <Enabled>true</Enabled>',
    `      <UserId>${xmlText(user)}</UserId>`,
    '    </LogonTrigger>',
    '  </Triggers>',
    '  <Principals>',
    '    <Principal id="Author">',
    `      <UserId>${xmlText(user)}</UserId>`,
    '      <LogonType>InteractiveToken</LogonType>',
    '      <RunLevel>LeastPrivilege</RunLevel>',
    '    </Principal>',
    '  </Principals>',
    '  <Settings>',
    '    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>',
    '    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>',
    '    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>',
    '    <AllowHardTerminate>true</AllowHardTerminate>',
    '    <StartWhenAvailable>true</StartWhenAvailable>',
    '    <RunOnlyIfNetworkAvailable>false</RunOnlyIfNetworkAvailable>',
    '    <IdleSettings>',
    '      <StopOnIdleEnd>false</StopOnIdleEnd>',
    '      <RestartOnIdle>false</RestartOnIdle>',
    '    </IdleSettings>',
    '    <Enabled>true</Enabled>',
    '    <Hidden>false</Hidden>',
    '    <RunOnlyIfIdle>false</RunOnlyIfIdle>',
    '    <WakeToRun>false</WakeToRun>',
    '    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>',
    '    <Priority>7</Priority>',
    '    <RestartOnFailure>',
    '      <Interval>PT1M</Interval>',
    '      <Count>255</Count>',
    '    </RestartOnFailure>',
    '  </Settings>',
    '  <Actions Context="Author">',
    '    <Exec>',
    `      <Command>${xmlText(command)}</Command>`,
    `      <Arguments>${xmlText(args.map(windowsWord).join(' '))}</Arguments>`,
    '    </Exec>',
    '  </Actions>',
    '</Task>',
    '',
  ].join('\r\n')
}

/** The scheduler reads a task as UTF-16 with its byte order mark. */
export function windowsTaskBytes(xml: string): Buffer {
  return Buffer.from(`\ufeff${xml}`, 'utf16le')
}

/** One argument as Windows programs parse it: backslashes count only before a quotation mark. */
function windowsWord(text: string): string {
  if (text !== '' && !/[\s"]/.test(text)) return text
  return `"${text.replaceAll(/(\\*)"/g, '$1$1\\"').replace(/(\\+)$/, '$1$1')}"`
}

/** Text between tags. What XML 1.0 cannot hold at all is refused, because no escape would restore it. */
function xmlText(text: string): string {
  if (!text.isWellFormed() || /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u.test(text)) {
    throw new KimError('config_invalid', `${JSON.stringify(text)} holds characters that XML does not allow`)
  }
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('\r', '&#13;')
}
