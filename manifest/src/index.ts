export const packageName = 'x'
