/** A file that entities point into. Its path changes when gc parks it; the file it names does not. */
export interface StoreFile {
  path: string
}

/** Where a line stands. */
export interface StoredLineLocation {
  readonly file: StoreFile
  readonly offset: number
  /** Without the `\n`, and without the comma of a checkpoint's line. */
  readonly length: number
}
