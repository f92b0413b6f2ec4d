import { formatCount, type Io, type StoreLocation } from '@kim/cli-kit'
import { type ConsumerCursor, formatCursorToken, KimError, Signal } from '@kim/manifest'
import { noStore } from '../missing.js'
import type { Plan } from '../plan.js'
import { createFacts } from '../read/facts.js'
import { MissingSegments } from '../read/missing-segments.js'
import { SeenPersonas } from '../read/query-records.js'
import { RecordLog } from '../read/record-log.js'
import type { JournalFacts, RecordLine } from '../record-line.js'
import { countBacklog, entriesBehind, pastEntries, readFrom, unknownPersonas } from './backlog.js'
import { type Claim, claimCursor } from './claim.js'
import { CursorCommitter } from './commit.js'
import { sleepUntilDue } from './due.js'
import { type End, endOf, exitCodeOf } from './end.js'
import type { ExecDelivery } from './exec.js'
import type { Feed, FeedBatch } from './feed.js'
import { lookEnd } from './look-end.js'
import { openFeed } from './observer-feed.js'
import { Printer } from './printer.js'
import { ReadCursor } from './read-cursor.js'
import type { ReportedGap } from './reporter.js'
import { type Beginning, beginningOf } from './start.js'
import { StoreWatch } from './store-watch.js'
import { tellGap } from './tell-gap.js'
import { Timetable } from './timetable.js'

/** Prints from a place on, to the end of what stands there or for as long as it is wanted. */
export async function follow(plan: Plan, location: StoreLocation, io: Io): Promise<number> {
  // Before anything is waited for: who is gone by then must be missed too.
  const parent = process.ppid
  let session: Session | undefined
  let feed: Feed | undefined
  const facts = createFacts(location.eventsDir, () => feed?.projectId)
  const printer = await Printer.create(plan, facts, io)
  const claim = await claimCursor(plan, location, io, printer, () => session?.end('consumer_lost'))
  try {
    const past = RecordLog.open(location.eventsDir)
    if (past === undefined && !plan.follow) throw noStore(location)
    const beginning = beginningOf(plan, claim.stored, past, facts)
    feed = await openFeed(location.eventsDir, beginning.start, {
      onDrained: () => session?.look(),
    })
    // Listed anew: a segment that began meanwhile may hold records up to the head that the feed begins at.
    const standing = RecordLog.open(location.eventsDir)
    const parts = { plan, location, io, facts, printer, claim, beginning, feed, past: standing, parent }
    session = new Session(parts)
    return await session.run()
  } finally {
    await feed?.close()
    await claim.release()
  }
}

const MISSES_EARLIER =
  '--wait prints only what comes from now on, earlier mail is not seen; to miss none between two calls: --consumer NAME'

interface Parts {
  readonly plan: Plan
  readonly location: StoreLocation
  readonly io: Io
  readonly facts: JournalFacts
  readonly printer: Printer
  readonly claim: Claim
  readonly beginning: Beginning
  readonly feed: Feed
  readonly past: RecordLog | undefined
  /** Whose end is this process's end too, where that is asked for. */
  readonly parent: number
}

class Session {
  readonly #parts: Parts
  readonly #wake = new Signal()
  readonly #progress: ReadCursor
  readonly #committer: CursorCommitter
  readonly #timetable: Timetable
  readonly #store: StoreWatch
  /** Ends a look at what stands there. */
  readonly #looking: AbortSignal
  /** Aborted by the end, whatever it is. */
  readonly #ended = new AbortController()
  #end: End | undefined
  #arrived: { readonly batch: FeedBatch | undefined } | { readonly error: unknown } | undefined
  #isCaughtUp = false
  /** It was ended before it found where to begin: whoever goes on has to begin as this one did. */
  #isCut = false
  /** Whose journal what was passed stands in. */
  #project: string | undefined
  #exec: ExecDelivery | undefined
  /** Stores the place a consumer begins at, once. */
  #begins: (() => void) | undefined

  constructor(parts: Parts) {
    this.#parts = parts
    const { beginning, claim, feed, io, location, printer } = parts
    const { start } = beginning
    const from = start.kind === 'head' ? feed.head : start
    this.#progress = new ReadCursor(from.seq, from.writer, feed.head.checkpointSeq)
    this.#project = feed.projectId
    const { begin } = claim
    if (begin !== undefined) this.#begins = () => this.#storeBegin(begin)
    this.#committer = new CursorCommitter(claim.save, () => this.#place(), claim.stored)
    this.#store = new StoreWatch(feed, location.eventsDir, printer.report)
    this.#looking = lookEnd(io.signal, printer.stop)
    this.#timetable = new Timetable({ ...parts, progress: this.#progress }, performance.now())
  }

  /** Ends following from outside; the first reason counts. */
  end(reason: End): void {
    this.#end ??= reason
    // The cursor is another's now.
    if (reason === 'consumer_lost') this.#committer.close()
    this.#ended.abort(reason)
    this.#wake.raise()
  }

  /** Something may be different now. */
  look(): void {
    this.#wake.raise()
  }

  async run(): Promise<number> {
    const looking = this.#looking
    const onAbort = (): void => this.end(endOf(looking.reason))
    looking.addEventListener('abort', onAbort, { once: true })
    if (looking.aborted) onAbort()
    try {
      await this.#begin()
      await this.#loop()
      return await this.#finish()
    } finally {
      looking.removeEventListener('abort', onAbort)
      this.#committer.finish()
    }
  }

  /** Says how things stand, and prints what is selected of what stands there. */
  async #begin(): Promise<void> {
    const { beginning, feed, io, plan, printer } = this.#parts
    const { report } = printer
    if (printer.stop.isDone) this.end('met')
    const seen = new SeenPersonas(plan.selection.personas)
    const entries = await this.#pastEntries(seen)
    if (plan.mode === 'agent') {
      const backlog = beginning.isNew ? [] : (entries ?? this.#behind(this.#progress.seq, feed.head.seq))
      report.ready({
        seq: feed.head.seq,
        ...(await countBacklog(backlog, Date.now())),
        producer: this.#timetable.producer,
      })
    }
    if (plan.missesEarlier && !plan.quiet) report.warn(MISSES_EARLIER)
    if (this.#store.begin()) await this.#checkPersonas(seen)
    if (beginning.isNew) {
      // A deadline leaves it the time to begin: else one that is too short would keep it from that for ever.
      const { backlog: passed } = await countBacklog(this.#behind(0, undefined, io.signal), Date.now())
      if (io.signal.aborted) {
        // It never began: what it passes over is to be said first.
        this.#committer.close()
        this.#begins = undefined
        this.#isCut = true
        return
      }
      const text = `the consumer begins at seq ${feed.head.seq}; skipping ${formatCount(passed, 'existing entry', 'existing entries')}`
      report.say('started', text, { seq: feed.head.seq, skipped: passed })
    }
    await this.#printPast(entries ?? [])
    const { toSeq } = plan.selection
    if (toSeq !== undefined && this.#progress.seq >= toSeq) {
      if (this.#end === undefined && beginning.printsPast) this.#progress.stand(toSeq)
      this.end('met')
    }
    await this.#flush()
  }

  /** Where it ends early, what was not printed is still to come, for whoever goes on from there. */
  async #printPast(entries: Iterable<RecordLine> | AsyncIterable<RecordLine>): Promise<void> {
    const { beginning, past, plan, printer } = this.#parts
    const missing = new MissingSegments(() => past)
    let read: number | undefined
    let last: RecordLine | undefined
    for await (const entry of entries) {
      if (this.#end !== undefined) {
        const { seq, writer } = last?.record ?? { seq: entry.record.seq - 1, writer: undefined }
        this.#progress.stand(seq, writer ?? null)
        return
      }
      read ??= readFrom(plan, past, entry)
      for (const gap of missing.between(read, entry.record.seq)) await this.#tell(gap)
      read = entry.record.seq
      last = entry
      if (printer.print(entry)) this.end('met')
      if (printer.out.isFull) await printer.out.flush()
    }
    if (!beginning.printsPast || !this.#looking.aborted) return
    if (last === undefined) this.#isCut = true
    else this.#progress.stand(last.record.seq, last.record.writer ?? null)
  }

  /** What was asked for by number or time, as far as it stood there when the feed was opened. */
  async #pastEntries(
    seen: SeenPersonas,
  ): Promise<Iterable<RecordLine> | AsyncIterable<RecordLine> | undefined> {
    const { beginning, feed, past, plan, printer } = this.#parts
    if (!beginning.printsPast || past === undefined) return undefined
    return await pastEntries(past, plan, printer.selects, seen, this.#looking, feed.head.seq)
  }

  /** What waits behind a cursor, up to a seq. */
  #behind(
    seq: number,
    toSeq?: number,
    end = this.#looking,
  ): Iterable<RecordLine> | AsyncIterable<RecordLine> {
    const { past, printer } = this.#parts
    return past === undefined ? [] : entriesBehind(past, seq, printer.selects, end, toSeq)
  }

  /** A name that nobody has is refused, or said and waited for. */
  async #checkPersonas(seen: SeenPersonas): Promise<void> {
    const { feed, past, plan, printer } = this.#parts
    const known = new Set(feed.personas())
    if (past === undefined || seen.unseen.every(name => known.has(name))) return
    for (const error of await unknownPersonas(past, seen, this.#looking)) {
      if (!plan.follow) throw error
      const { code, message } = error
      printer.report.say('waiting', `${message}; waiting for it`, { reason: code, text: message })
    }
  }

  async #loop(): Promise<void> {
    this.#pull()
    while (this.#end === undefined) {
      await sleepUntilDue(this.#wake, this.#timetable.dues, () => performance.now())
      this.#store.look()
      const arrived = this.#arrived
      if (arrived !== undefined) {
        this.#arrived = undefined
        if ('error' in arrived) throw arrived.error
        if (arrived.batch === undefined) return
        await this.#take(arrived.batch)
        if (this.#end === undefined) this.#pull()
      } else if (this.#parts.feed.isDrained) {
        this.#catchUp()
      }
      await this.#onTime()
    }
  }

  #pull(): void {
    this.#parts.feed.next().then(
      batch => {
        this.#arrived = { batch }
        this.#wake.raise()
      },
      (error: unknown) => {
        this.#arrived = { error }
        this.#wake.raise()
      },
    )
  }

  async #take({ entries, gap, reached }: FeedBatch): Promise<void> {
    const { printer } = this.#parts
    if (gap !== undefined) {
      await this.#tell(gap)
      if (gap.reason === 'rewound') this.#progress.stand(gap.from - 1)
    }
    // Before the gap was told, nothing of another journal was passed.
    if (gap?.reason === 'rewound' || this.#progress.seq === 0) this.#project = this.#parts.feed.projectId
    for (const entry of entries) {
      if (this.#end !== undefined) break
      await this.#handle(entry)
      if (printer.out.isFull) await this.#flush()
    }
    if (this.#end === undefined) this.#progress.reach(reached)
    await this.#flush()
  }

  #tell(gap: ReportedGap): Promise<void> {
    const { plan, printer } = this.#parts
    return tellGap(gap, plan, printer.report, () => this.#flush())
  }

  async #handle(entry: RecordLine): Promise<void> {
    const { plan, printer } = this.#parts
    const { toSeq } = plan.selection
    if (toSeq !== undefined && entry.record.seq > toSeq) {
      this.end('met')
      return
    }
    const selected = printer.selects(entry)
    if (selected && plan.exec !== undefined) {
      if (!(await this.#deliver(entry))) return
    }
    this.#progress.pass(entry)
    if (selected && plan.exec === undefined && printer.print(entry)) this.end('met')
    if (toSeq !== undefined && this.#progress.seq >= toSeq) this.end('met')
  }

  /** Hands an event to the command; false if it must come again. */
  async #deliver(entry: RecordLine): Promise<boolean> {
    const { printer } = this.#parts
    this.#exec ??= await this.#openExec()
    let isOver = false
    const delivering = this.#exec.deliver(entry).finally(() => {
      isOver = true
      this.#wake.raise()
    })
    // Whoever awaits it hears of an error; until then there is something else to await.
    delivering.catch(() => {})
    // A command may take long, and one that is held for ever: time goes on meanwhile, and it is no silence.
    while (!isOver && this.#end === undefined) {
      await sleepUntilDue(this.#wake, this.#timetable.dues, () => performance.now())
      printer.stop.onCame(performance.now())
      if (!isOver) await this.#onTime()
    }
    const delivery = await delivering
    if (delivery === 'interrupted') return false
    if (delivery === 'acknowledged' && printer.count(entry)) this.end('met')
    if (delivery !== 'none') {
      this.#progress.pass(entry)
      await this.#flush()
    }
    return true
  }

  /** Loaded where it is asked for only. */
  async #openExec(): Promise<ExecDelivery> {
    const { facts, io, plan, printer } = this.#parts
    const { ExecDelivery } = await import('./exec.js')
    const warn = (text: string): void => printer.report.warn(text)
    const { command = '', maxAttempts } = plan.exec ?? {}
    return new ExecDelivery(command, maxAttempts, { plan, facts, io, ended: this.#ended.signal, warn })
  }

  /** Everything that stood there was given out. */
  #catchUp(): void {
    const { feed, plan, printer } = this.#parts
    if (this.#isCaughtUp || (!feed.exists && plan.follow)) return
    this.#isCaughtUp = true
    if (feed.isUnreadable) this.#tellUnreadable()
    if (plan.sayCaughtUp) printer.report.caughtUp(this.#progress.seq)
    if (!plan.follow) this.end('caught_up')
  }

  #tellUnreadable(): void {
    const { location, printer } = this.#parts
    const past = RecordLog.open(location.eventsDir)
    past?.tryAll()
    printer.report.unreadable(past?.failures ?? [])
  }

  /** What is due by the clock. */
  async #onTime(): Promise<void> {
    this.#timetable.keep(performance.now(), reason => this.end(reason))
    await this.#parts.printer.out.flush()
  }

  async #flush(): Promise<void> {
    await this.#parts.printer.out.flush()
    this.#begins?.()
    this.#progress.flushed()
    this.#committer.commit()
  }

  #place(): ReturnType<ReadCursor['place']> | undefined {
    // A journal that came to be meanwhile is the first one.
    this.#project ??= this.#parts.feed.projectId
    return this.#project === undefined ? undefined : this.#progress.place(this.#project)
  }

  /** What the progress says before anything counts as flushed is where it began. */
  #storeBegin(begin: (place: ConsumerCursor) => void): void {
    const place = this.#place()
    if (place === undefined) return
    begin(place)
    this.#begins = undefined
  }

  async #finish(): Promise<number> {
    const { plan, printer } = this.#parts
    const reason = this.#end ?? 'caught_up'
    if (reason === 'consumer_lost') {
      throw new KimError('consumer_held', 'lost the consumer: another process took it over')
    }
    printer.settleRate(true)
    await this.#flush()
    const place = this.#place()
    if (plan.showCursor && place !== undefined && !this.#isCut)
      printer.report.cursor(formatCursorToken(place))
    const { position } = plan
    const resume =
      position.kind === 'consumer' ? `--consumer ${position.name}` : `--after-seq ${this.#progress.seq}`
    printer.report.end(reason, this.#isCut ? undefined : resume)
    await this.#flush()
    const isAgent = plan.mode === 'agent'
    return exitCodeOf(reason, printer.stop, { isAgent, wantsMatch: plan.untilMatch !== undefined })
  }
}
