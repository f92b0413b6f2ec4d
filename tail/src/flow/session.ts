/** One run of kim-tail: prints the records that exist, and with -f those that come, until it is done. */
import { formatCount, type Io, type StoreLocation } from '@kim/cli-kit'
import { formatCursorToken, KimError, Signal } from '@kim/manifest'
import type { JournalFacts } from '@kim/monitor'
import type { Change, Gap, JournalLine, RecordTail } from '@kim/observer-sdk'
import { type JournalHistory, openHistory, payloadOf } from '@kim/observer-sdk/history'
import { requireHistory, withObserver } from '../journal.js'
import type { Plan } from '../plan.js'
import { type Beginning, beginningOf } from '../position.js'
import {
  countUnhandled,
  type Entries,
  entriesBehind,
  lookForPersonas,
  pastEntries,
  SeenPersonas,
  unknownPersonas,
} from '../read/past-entries.js'
import { type Claim, claimCursor, ReadCursor } from './cursor.js'
import type { execDelivery } from './exec.js'
import { producerState } from './health.js'
import type { MonitorHeartbeat } from './heartbeat.js'
import { Printer } from './printer.js'
import { gapError } from './reporter.js'
import { type End, endOf, Timetable } from './timetable.js'

const MISSES_EARLIER =
  '--wait prints only what comes from now on, earlier mail is not seen; to miss none between two calls: --consumer NAME'

/** Prints what a plan asks for; returns the exit code. */
export async function printRecords(plan: Plan, location: StoreLocation, io: Io): Promise<number> {
  // Before anything is awaited: a parent that ends meanwhile has ended too.
  const parent = process.ppid
  const { eventsDir } = location
  const asksForExisting = 'lines' in plan.position
  // A command that only looks needs no tail, and loads none.
  const isLook = !plan.follow && asksForExisting
  let past = isLook ? requireHistory(location) : undefined
  let tail: RecordTail | undefined
  let heartbeat: MonitorHeartbeat | undefined
  let session: Session | undefined
  const facts: JournalFacts = {
    projectId: () => tail?.projectId ?? past?.projectId ?? '',
    payloadOf: record => payloadOf(eventsDir, record),
  }
  const printer = await Printer.create(plan, facts, io)
  const claim = await claimCursor(plan, location, io, printer, () => session?.end('consumer_lost'))
  try {
    if (!asksForExisting) past = plan.follow ? openHistory(eventsDir) : requireHistory(location)
    const beginning = beginningOf(plan, claim.stored, past, facts)
    if (!isLook) {
      const { openTail } = await import('@kim/observer-sdk')
      // The cursor is kept here: a journal that takes the place of the first one is printed from its first record.
      const cursors = { load: () => undefined, save: () => {} }
      tail = await openTail({ eventsDir, cursors, from: beginning.from })
      // Listed after the tail was opened: a segment that began meanwhile may hold records up to its head.
      if (asksForExisting) past = openHistory(eventsDir)
      if (plan.mode === 'monitor' && plan.heartbeatMs !== undefined)
        heartbeat = await (await import('./heartbeat.js')).openHeartbeat(eventsDir)
    }
    const parts = { plan, location, io, facts, printer, claim, beginning, past, tail, heartbeat, parent }
    session = new Session(parts)
    return await session.run()
  } finally {
    await heartbeat?.close()
    await tail?.close()
    await claim.release?.()
  }
}

interface Parts {
  readonly plan: Plan
  readonly location: StoreLocation
  readonly io: Io
  readonly facts: JournalFacts
  readonly printer: Printer
  readonly claim: Claim
  readonly beginning: Beginning
  /** The records that exist; undefined if there is no journal yet. */
  readonly past: JournalHistory | undefined
  /** Hands over the records that come; undefined for a command that only looks. */
  readonly tail: RecordTail | undefined
  readonly heartbeat: MonitorHeartbeat | undefined
  /** Whose end is this process's end too, with `--exit-with-parent`. */
  readonly parent: number
}

/** What the tail answered. */
type Arrival = { readonly change: Change | undefined } | { readonly error: unknown }

class Session {
  readonly #parts: Parts
  readonly #wake = new Signal()
  readonly #head: { readonly seq: number; readonly writer: string | null }
  readonly #cursor: ReadCursor
  readonly #timetable: Timetable | undefined
  /** Ends a search of existing records. */
  readonly #looking: AbortSignal
  /** Aborted by the end, whatever it is. */
  readonly #ended = new AbortController()
  #end: End | undefined
  #arrived: Arrival | undefined
  /** The tail handed over everything that exists. */
  #isDrained = false
  #isCaughtUp = false
  /** It ended before it found where to begin: the next run has to begin as this one did. */
  #isCut = false
  #hasEntries = false
  #isThere: boolean
  #deliverTo: ReturnType<typeof execDelivery> | undefined

  constructor(parts: Parts) {
    this.#parts = parts
    const { beginning, claim, heartbeat, io, past, plan, printer, tail } = parts
    const needsHead = plan.mode === 'agent' || plan.showCursor || plan.sayCaughtUp
    const { seq = 0, writer = null } = tail?.head ?? (needsHead ? past?.newest()?.record : undefined) ?? {}
    this.#head = { seq, writer }
    const { from } = beginning
    const start = from === 'head' ? this.#head : { seq: from.seq, writer: from.writer ?? null }
    const checkpointSeq = plan.position.kind === 'consumer' ? tail?.checkpointSeq : 0
    this.#cursor = new ReadCursor(start, claim, checkpointSeq)
    this.#looking = printer.stop.lookEnd(io.signal)
    this.#isThere = this.#exists
    if (tail === undefined) return
    this.#cursor.projectId = this.#projectId
    tail.onIdle(() => {
      this.#isDrained = true
      this.#wake.raise()
    })
    this.#timetable = new Timetable({
      ...parts,
      isDrained: () => this.#isDrained,
      beat: () => {
        if (heartbeat === undefined) printer.report.heartbeat(this.#cursor.seq)
        else for (const line of heartbeat.lines(plan.selection.personas)) printer.out.line(line)
      },
      end: reason => this.end(reason),
    })
  }

  /** Ends the command; the first reason counts. */
  end(reason: End): void {
    this.#end ??= reason
    // Another process has the cursor now.
    if (reason === 'consumer_lost') this.#cursor.close()
    this.#ended.abort(reason)
    this.#wake.raise()
  }

  async run(): Promise<number> {
    const { tail } = this.#parts
    const looking = this.#looking
    const onAbort = (): void => this.end(endOf(looking.reason))
    looking.addEventListener('abort', onAbort, { once: true })
    if (looking.aborted) onAbort()
    try {
      await this.#begin()
      if (tail !== undefined) await this.#follow(tail, this.#timetable as Timetable)
      return await this.#finish()
    } finally {
      looking.removeEventListener('abort', onAbort)
      this.#cursor.finish()
    }
  }

  get #exists(): boolean {
    const { past, tail } = this.#parts
    return tail === undefined ? past !== undefined : tail.status.kind !== 'no_store'
  }

  get #projectId(): string | undefined {
    return this.#exists ? this.#parts.facts.projectId() : undefined
  }

  /** Reports how things are, and prints what is selected of the existing records. */
  async #begin(): Promise<void> {
    const { beginning, io, location, past, plan, printer, tail } = this.#parts
    const { report, stop } = printer
    const isAgent = plan.mode === 'agent'
    const head = this.#head
    if (stop.isDone) this.end('met')
    const seen = new SeenPersonas(plan.selection.personas)
    // The first line of an agent says how many entries there are: no more may be printed.
    const toSeq = tail !== undefined || isAgent ? head.seq : undefined
    const entries =
      beginning.printsPast && past !== undefined
        ? await pastEntries(past, plan, printer.selects, seen, this.#looking, toSeq)
        : undefined
    if (isAgent) {
      const unhandled = beginning.isNew ? [] : (entries ?? this.#behind(this.#cursor.seq, head.seq))
      const counted = await countUnhandled(unhandled, Date.now())
      if (tail === undefined) await this.#requirePersonas(seen)
      const producer = this.#timetable?.producer?.state ?? producerState(location).state
      report.ready({ seq: head.seq, ...counted, producer })
    }
    if (plan.missesEarlier && !plan.quiet) report.warn(MISSES_EARLIER)
    if (!this.#isThere) this.#sayMissing('there is no journal at', ' yet')
    else if (tail !== undefined) await this.#lookForPersonas(seen)
    if (beginning.isNew) {
      // The deadline does not end this count: a short one would keep the consumer from ever beginning.
      const { unhandled: passed } = await countUnhandled(this.#behind(0, undefined, io.signal), Date.now())
      if (io.signal.aborted) {
        // It never began: what it skips must be reported first.
        this.#cursor.close()
        this.#isCut = true
        return
      }
      const text = `the consumer begins at seq ${head.seq}; skipping ${formatCount(passed, 'existing entry', 'existing entries')}`
      report.say('started', text, { seq: head.seq, skipped: passed })
    }
    await this.#printPast(entries ?? [])
    if (tail === undefined && this.#end !== 'met') await this.#requirePersonas(seen)
    const { toSeq: lastSeq = Number.POSITIVE_INFINITY } = plan.selection
    const isPast =
      tail === undefined
        ? this.#cursor.seq > lastSeq
        : this.#end === undefined && beginning.printsPast && this.#cursor.seq >= lastSeq
    if (isPast) this.#cursor.stand(lastSeq)
    if (tail === undefined) return
    if (this.#cursor.seq >= lastSeq) this.end('met')
    await this.#flush()
  }

  /** If the command ends early, the next run begins with what was not printed. */
  async #printPast(entries: Entries): Promise<void> {
    const { beginning, past, printer } = this.#parts
    let read: number | undefined
    let last: JournalLine | undefined
    for await (const entry of entries) {
      const { record } = entry
      this.#hasEntries = true
      if (this.#end !== undefined) {
        const { seq, writer } = last?.record ?? { seq: record.seq - 1 }
        this.#cursor.stand(seq, writer)
        return
      }
      read ??= this.#completeFrom(record.seq) - 1
      for (const gap of past?.missing(read, record.seq) ?? []) await this.#tell(gap)
      read = record.seq
      last = entry
      this.#cursor.pass(record)
      if (printer.print(entry)) this.end('met')
      if (printer.out.isFull) await printer.out.flush()
    }
    if (!beginning.printsPast || this.#end === undefined || this.#end === 'met') return
    if (last === undefined) this.#isCut = true
    else this.#cursor.stand(last.record.seq, last.record.writer)
  }

  /** From this seq on, missing records are reported: from the start, or from the first entry that is printed. */
  #completeFrom(first: number): number {
    const { past, plan } = this.#parts
    const { position } = plan
    const printsAll = position.kind === 'last' && position.lines === Number.POSITIVE_INFINITY
    return printsAll ? (past?.segments[0]?.number ?? 1) : first
  }

  /** The entries after a cursor, up to a seq. */
  #behind(seq: number, toSeq?: number, end = this.#looking): Entries {
    const { past, printer } = this.#parts
    return past === undefined ? [] : entriesBehind(past, seq, printer.selects, end, toSeq)
  }

  /** Refuses a name that no record is about. */
  async #requirePersonas(seen: SeenPersonas): Promise<void> {
    const { past } = this.#parts
    const [refusal] = past === undefined ? [] : await unknownPersonas(past, seen, this.#looking)
    if (refusal !== undefined) throw refusal
  }

  /** Refuses a name that no record is about, or with -f waits for one. */
  async #lookForPersonas(seen: SeenPersonas): Promise<void> {
    const { location, past, plan, printer } = this.#parts
    if (past === undefined) return
    await lookForPersonas(past, seen, this.#looking)
    if (seen.unseen.length === 0 || this.#looking.aborted) return
    // Records about a persona may be missing, and a checkpoint may know it.
    const known = await withObserver(location, observer => new Set(observer.personas()))
    if (seen.unseen.every(name => known.has(name))) return
    for (const error of await unknownPersonas(past, seen, this.#looking)) {
      if (!plan.follow) throw error
      const { code, message } = error
      printer.report.say('waiting', `${message}; waiting for it`, { reason: code, text: message })
    }
  }

  /** Handles what the tail hands over, and what is due by the clock, until the end. */
  async #follow(tail: RecordTail, timetable: Timetable): Promise<void> {
    const changes = tail.changes()
    const pull = (): void => {
      const arrive = (arrived: Arrival): void => {
        this.#arrived = arrived
        this.#wake.raise()
      }
      changes.next().then(
        ({ value }) => arrive({ change: value ?? undefined }),
        (error: unknown) => arrive({ error }),
      )
    }
    pull()
    while (this.#end === undefined) {
      await timetable.sleep(this.#wake)
      // Silence must not look like no mail: a missing journal is reported each time.
      const wasThere = this.#isThere
      this.#isThere = this.#exists
      if (wasThere && !this.#isThere) this.#sayMissing('the journal at', ' is missing')
      const arrived = this.#arrived
      if (arrived !== undefined) {
        this.#arrived = undefined
        if ('error' in arrived) throw arrived.error
        if (arrived.change === undefined) return
        await this.#take(arrived.change)
        if (this.#end === undefined) pull()
      } else if (this.#isDrained) {
        this.#catchUp(tail)
      }
      await this.#onTime()
    }
  }

  #sayMissing(before: string, after: string): void {
    const { location, printer } = this.#parts
    const text = `${before} ${location.eventsDir}${after}`
    printer.report.say('waiting', `${text}; waiting for it`, { reason: 'no_store', text })
  }

  async #take({ cursor, gap, lines }: Change): Promise<void> {
    if (gap !== undefined) await this.#tell(gap)
    const isRewound = gap?.reason === 'rewound'
    if (isRewound) this.#cursor.stand(gap.from - 1)
    // Until the gap was reported, no record of another journal was passed.
    if (isRewound || this.#cursor.seq === 0) this.#cursor.projectId = this.#projectId
    for (const entry of lines) {
      if (this.#end !== undefined) break
      await this.#handle(entry)
      if (this.#parts.printer.out.isFull) await this.#flush()
    }
    if (this.#end === undefined) this.#cursor.pass(cursor)
    await this.#flush()
  }

  /** Reports missing records in the way that was asked for. If that is an error, what came before is written first. */
  async #tell(gap: Gap): Promise<void> {
    const { plan, printer } = this.#parts
    if (plan.onGap === 'report') printer.report.gap(gap)
    if (plan.onGap !== 'fail') return
    await this.#flush()
    throw gapError(gap, openHistory(this.#parts.location.eventsDir))
  }

  async #handle(entry: JournalLine): Promise<void> {
    const { plan, printer } = this.#parts
    const { toSeq = Number.POSITIVE_INFINITY } = plan.selection
    if (entry.record.seq > toSeq) {
      this.end('met')
      return
    }
    const selected = printer.selects(entry)
    if (selected && plan.exec !== undefined && !(await this.#deliver(entry))) return
    this.#cursor.pass(entry.record)
    if (selected && plan.exec === undefined && printer.print(entry)) this.end('met')
    if (this.#cursor.seq >= toSeq) this.end('met')
  }

  /** Delivers an event to the command; false if it must be delivered again. */
  async #deliver(entry: JournalLine): Promise<boolean> {
    const { printer } = this.#parts
    this.#deliverTo ??= await this.#openExec()
    let isOver = false
    const delivering = this.#deliverTo(entry).finally(() => {
      isOver = true
      this.#wake.raise()
    })
    // An error is thrown where it is awaited; until then there is something else to await.
    delivering.catch(() => {})
    // A command may take long, or may be tried for ever: meanwhile the clock runs, and it is no silence.
    while (!isOver && this.#end === undefined) {
      await this.#timetable?.sleep(this.#wake)
      printer.stop.onCame(performance.now())
      if (!isOver) await this.#onTime()
    }
    const delivery = await delivering
    if (delivery === 'interrupted') return false
    if (delivery === 'acknowledged' && printer.count(entry)) this.end('met')
    if (delivery !== 'none') {
      this.#cursor.pass(entry.record)
      await this.#flush()
    }
    return true
  }

  /** Loads the runner of commands. */
  async #openExec(): Promise<ReturnType<typeof execDelivery>> {
    const { report } = this.#parts.printer
    const { execDelivery } = await import('./exec.js')
    return execDelivery({ ...this.#parts, ended: this.#ended.signal, warn: text => report.warn(text) })
  }

  /** All existing records were handed over. */
  #catchUp(tail: RecordTail): void {
    const { location, plan, printer } = this.#parts
    if (this.#isCaughtUp || (!this.#exists && plan.follow)) return
    this.#isCaughtUp = true
    if (tail.status.reasons.includes('unreadable')) {
      const past = openHistory(location.eventsDir)
      past?.tryAll()
      printer.report.unreadable(past?.failures ?? [])
    }
    if (plan.sayCaughtUp) printer.report.caughtUp(this.#cursor.seq)
    if (!plan.follow) this.end('caught_up')
  }

  /** Does what is due by the clock. */
  async #onTime(): Promise<void> {
    this.#timetable?.keep()
    await this.#parts.printer.out.flush()
  }

  async #flush(): Promise<void> {
    const { printer, tail } = this.#parts
    await printer.out.flush()
    // A journal that appeared meanwhile is the first one.
    if (tail !== undefined) this.#cursor.projectId ??= this.#projectId
    this.#cursor.flushed()
  }

  async #finish(): Promise<number> {
    const { past, plan, printer, tail } = this.#parts
    const { report, stop } = printer
    const reason = this.#end ?? 'caught_up'
    if (reason === 'consumer_lost')
      throw new KimError('consumer_held', 'lost the consumer: another process took it over')
    const isWhole = reason === 'met' || reason === 'caught_up'
    printer.settleRate(true)
    if (tail !== undefined) await this.#flush()
    else {
      report.unreadable(past?.failures ?? [])
      const asksForNone = stop.isDone || ('lines' in plan.position && plan.position.lines === 0)
      if (!this.#hasEntries && !asksForNone && isWhole) {
        const hidesSome = plan.selection.records !== 'all' && past?.newest() !== undefined
        report.nothing(hidesSome ? '; to print changes and notes too: --all-records' : '')
      }
      if (plan.sayCaughtUp) report.caughtUp(this.#head.seq)
      this.#cursor.flushed()
    }
    if (plan.showCursor && !this.#isCut) {
      this.#cursor.projectId ??= this.#projectId
      const { place } = this.#cursor
      if (place !== undefined) report.cursor(formatCursorToken(place))
    }
    const { position } = plan
    const resume =
      position.kind === 'consumer' ? `--consumer ${position.name}` : `--after-seq ${this.#cursor.seq}`
    report.end(tail === undefined && isWhole ? 'done' : reason, this.#isCut ? undefined : resume)
    await this.#flush()
    return stop.exitCode(reason, plan.mode === 'agent')
  }
}
