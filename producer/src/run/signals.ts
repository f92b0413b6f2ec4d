/** What the service does at a signal that does not end it. */
export interface SignalHandlers {
  /** SIGUSR1. */
  poke(): void
  /** SIGHUP. */
  reload(): void
}

/** Listens until what comes back is called. Where a platform has no such signal nothing ever comes. */
export function listenToSignals({ poke, reload }: SignalHandlers): () => void {
  process.on('SIGUSR1', poke)
  process.on('SIGHUP', reload)
  return () => {
    process.off('SIGUSR1', poke)
    process.off('SIGHUP', reload)
  }
}
