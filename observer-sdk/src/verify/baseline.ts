/** Up to which seq the state was taken over from a checkpoint instead of from records; 0 if it was not. */
export interface Baseline {
  seq: number
}
