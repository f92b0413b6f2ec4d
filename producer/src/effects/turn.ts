/** The end of the current turn of the event loop: what callers asked for within one turn shares one sync. */
export interface Turn {
  /** Calls `run` once, after every callback that is due in this turn. */
  soon(run: () => void): void
}

/** The event loop's own turn. */
export const loopTurn: Turn = { soon: run => void setImmediate(run) }
