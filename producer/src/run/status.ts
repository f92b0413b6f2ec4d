import type { CoreStatus, PersonaStatus } from '../core/core.js'
import type { SinkStatus } from '../sinks/sink.js'

/** What the service says about itself: in `run/health.json` and over the control socket. */
export interface ProducerStatus {
  readonly schema_version: 1
  readonly state: 'running' | 'stopped'
  /** Why it stopped. */
  readonly reason?: string
  readonly version: string
  readonly pid: number
  readonly start_key: string
  /** RFC 3339, UTC, like every time here. */
  readonly started: string
  readonly updated: string
  /** How often the file is replaced. */
  readonly interval_ms: number
  readonly store: string
  readonly source: string
  readonly dialect: string
  readonly project_id: string
  readonly head_seq: number
  readonly disk: 'ok' | 'full'
  readonly counts: CoreStatus['counts']
  readonly registry_genesis: boolean
  readonly polls: number
  readonly failures: number
  readonly requests: Readonly<Record<string, number>>
  readonly personas: readonly PersonaLine[]
  readonly sinks: readonly SinkStatus[]
}

/** One inbox in a status; a type and no interface, so that it counts as JSON. */
export type PersonaLine = {
  readonly persona: string
  readonly state: PersonaStatus['state']
  readonly armed: boolean
  readonly watermark: number
  readonly pinned: boolean
  readonly consecutive_failures: number
  readonly last_poll?: string
  readonly last_healthy?: string
  readonly unread?: number
  readonly unread_urgent?: number
  readonly reason?: string
}

/** Both clocks, read together: the core's times are monotonic, a status is for people. */
export interface ClockPair {
  readonly monoMs: number
  readonly wallMs: number
}

/** A time of the monotonic clock as people read it. */
function wallTime(at: number | undefined, { monoMs, wallMs }: ClockPair): string | undefined {
  return at === undefined ? undefined : new Date(Math.round(wallMs - (monoMs - at))).toISOString()
}

/** One persona as a status shows it; what is not known is left out. */
export function personaLine(persona: PersonaStatus, now: ClockPair): PersonaLine {
  const lastPoll = wallTime(persona.lastPollMs, now)
  const lastHealthy = wallTime(persona.lastHealthyMs, now)
  return {
    persona: persona.persona,
    state: persona.state,
    armed: persona.armed,
    watermark: persona.watermark,
    pinned: persona.pinned,
    consecutive_failures: persona.consecutiveFailures,
    ...(lastPoll === undefined ? {} : { last_poll: lastPoll }),
    ...(lastHealthy === undefined ? {} : { last_healthy: lastHealthy }),
    ...(persona.unread === undefined ? {} : { unread: persona.unread }),
    ...(persona.unreadUrgent === undefined ? {} : { unread_urgent: persona.unreadUrgent }),
    ...(persona.lastReason === undefined ? {} : { reason: persona.lastReason }),
  }
}
