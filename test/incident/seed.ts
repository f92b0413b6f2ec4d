/** The seed of the afternoon that docs/incident.md looks into. */
export const SEED = 7
