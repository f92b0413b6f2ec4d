/** True only for types that no use can tell apart: `readonly`, optional members and `any` included. */
export type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

/** Compiles only if what is asserted is true. */
export type Assert<T extends true> = T
