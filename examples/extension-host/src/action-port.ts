/** What a host lets people do about an entry. Nothing here acts: a client that can plugs in. */
export interface ActionPort {
  /** Names of what can be done about an entity now; an observer alone can do nothing. */
  available(itemType: string, itemId: string): readonly string[]
  /** Asks for it. The result is shown when its record arrives in the journal. */
  perform(name: string, itemType: string, itemId: string): Promise<void>
}

/** A host without a client that acts. */
export const noActions: ActionPort = {
  available: () => [],
  perform: async name => {
    throw new RangeError(`this host has no action ${name}`)
  },
}
