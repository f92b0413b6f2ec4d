/** Most bytes of lines read at a time for whoever waits: it has the first of a large write before the last are parsed. */
export const PART_BYTES: number = 64 * 1024
