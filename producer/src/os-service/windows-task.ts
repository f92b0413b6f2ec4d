import { commandLine, type ServiceSpec } from './spec.js'
import { xmlText } from './xml.js'

/** The task's path in the scheduler. */
export function windowsTaskName(instance: string | undefined): string {
  return instance === undefined ? '\\KIM\\producer' : `\\KIM\\producer-${instance}`
}

/**
 * A task that runs from the user's logon on. Every setting is written out: by default the scheduler ends a task after
 * three days, does not start it on battery and ends it when the power cord is pulled.
 */
export function windowsTask(spec: ServiceSpec, user: string): string {
  const [command = '', ...args] = commandLine(spec)
  return [
    '<?xml version="1.0" encoding="UTF-16"?>',
    '<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">',
    '  <RegistrationInfo>',
    '    <Description>KIM producer: appends what happens in Kijito inboxes to a journal</Description>',
    `    <URI>${xmlText(windowsTaskName(spec.instance))}</URI>`,
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
    `      <Arguments>${xmlText(args.map(quoted).join(' '))}</Arguments>`,
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

/** One argument as Windows programs take command lines apart: backslashes count only before a quotation mark. */
function quoted(text: string): string {
  if (text !== '' && !/[\s"]/.test(text)) return text
  return `"${text.replaceAll(/(\\*)"/g, '$1$1\\"').replace(/(\\+)$/, '$1$1')}"`
}
