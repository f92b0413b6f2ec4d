/** Where the simulated store stands. */
export const storeDir = '/kim/store'
export const eventsDir = `${storeDir}/events`
