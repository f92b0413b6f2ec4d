/** What the watch of one directory tells, and how it is let go: the same for every kind of watch. */

/** Who is told. Nothing is told any more once the watch is closed. */
export interface WatchListener {
  /** Something in the directory may have changed. */
  heard(): void
  /** From now on the system reports; what happened before it did not. */
  armed(): void
  /** The system reports nothing, or nothing any more. */
  broken(): void
}

/** A watch that was taken. */
export interface SystemWatch {
  /** Leaves no handle and no timer. */
  close(): void
}
