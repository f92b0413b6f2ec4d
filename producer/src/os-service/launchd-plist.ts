import { commandLine, type ServiceSpec } from './spec.js'
import { xmlText } from './xml.js'

/** What a property list can hold, as far as an agent needs it. */
type Plist = string | number | boolean | readonly Plist[] | { readonly [key: string]: Plist }

/** The label, by which `launchctl` knows the agent. */
export function launchdLabel(instance: string | undefined): string {
  return instance === undefined ? 'kim.producer' : `kim.producer.${instance}`
}

/** A user's agent. launchd cannot be told which exit codes are final, so it is told not to try often. */
export function launchdPlist(spec: ServiceSpec, logFile: string): string {
  const agent: Plist = {
    Label: launchdLabel(spec.instance),
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
    ...element(agent, ''),
    '</plist>',
    '',
  ].join('\n')
}

function element(value: Plist, indent: string): string[] {
  if (typeof value === 'string') return [`${indent}<string>${xmlText(value)}</string>`]
  if (typeof value === 'number') return [`${indent}<integer>${value}</integer>`]
  if (typeof value === 'boolean') return [`${indent}<${value}/>`]
  const deeper = `${indent}  `
  if (isList(value)) {
    return [`${indent}<array>`, ...value.flatMap(item => element(item, deeper)), `${indent}</array>`]
  }
  const members = Object.entries(value).flatMap(([key, item]) => [
    `${deeper}<key>${xmlText(key)}</key>`,
    ...element(item, deeper),
  ])
  return [`${indent}<dict>`, ...members, `${indent}</dict>`]
}

function isList(value: Plist): value is readonly Plist[] {
  return Array.isArray(value)
}
